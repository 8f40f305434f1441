// SPDX-License-Identifier: Apache-2.0
// Who watches is told of each change once, in order, and never that nothing happened when something may have.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CancelledError, Client, InvalidArgumentError, key } from '../src/index.js';
import { Server } from './server.js';

let server;
let client;
const k = (text) => key.bytes(text);

before(async () => {
    server = await new Server().start();
    client = new Client(server.ipcUrl);
});
after(async () => {
    client.close();
    await server.remove();
});

test('each change is told, in order, with its key and generation', async () => {
    const changes = client.watch();
    const next = async () => (await changes.next()).value;
    assert.equal((await next()).kind, 'start');
    const put = await client.put('own', k('a'), 'x');
    const report = await client.invalidate('own', { keys: [k('a'), k('b')] });
    await client.clear('own');
    await client.call('herdgate.v1.Admin/ReloadLoader', { name: 'script' });
    const told = [await next(), await next(), await next(), await next(), await next()];
    assert.deepEqual(told.map(({ kind }) => kind), ['put', 'invalidate', 'invalidate', 'clear', 'loader']);
    assert.deepEqual([told[0].cache, told[0].key, told[0].generation], ['own', k(Buffer.from('a')), put.generation]);
    assert.deepEqual([told[2].key, told[2].generation], [k(Buffer.from('b')), report.generation]);
    assert.deepEqual([told[3].key, told[4].loader, told[4].cache], [undefined, 'script', undefined]);
    assert.deepEqual(told.map(({ number }) => number - told[0].number), [0n, 1n, 2n, 3n, 4n]);
    assert.ok(Math.abs(told[0].atMs - Date.now()) < 60_000);
    await changes.return();

    // Whoever comes later goes on from where it was.
    const resumed = client.watch({ after: told[2].position });
    assert.deepEqual((await resumed.next()).value, told[3]);
    await resumed.return();
});

test('over tcp keys are not told', async () => {
    const reader = new Client(server.tcpUrl);
    const changes = reader.watch();
    await changes.next();
    await client.put('own', k('secret'), 'x');
    const { value } = await changes.next();
    assert.deepEqual([value.kind, value.cache, value.key], ['put', 'own', undefined]);
    reader.close();
});

test('a restart is a gap, told after the loss and before the return', async () => {
    const changes = client.watch();
    const next = async () => (await changes.next()).value;
    await next();
    const lost = next();
    await server.stop();
    assert.deepEqual([(await lost).kind, (await lost).error.code], ['lost', 'UNAVAILABLE']);
    await server.start();
    const kinds = [(await next()).kind, (await next()).kind];
    assert.deepEqual(kinds, ['gap', 'back']);
    const put = next();
    await client.put('own', k('a'), 'x', { waitForReady: true });
    assert.equal((await put).kind, 'put');
    await changes.return();
});

test('a watch ends with its signal, and begins only where there is a position', async () => {
    const leaving = new AbortController();
    const changes = client.watch({ signal: leaving.signal });
    await changes.next();
    const waiting = changes.next();
    leaving.abort(new Error('enough'));
    await assert.rejects(waiting, (error) => error instanceof CancelledError && error.cause.message === 'enough');
    assert.deepEqual(await changes.next(), { value: undefined, done: true });
    await assert.rejects(client.watch({ after: 'yesterday' }).next(), InvalidArgumentError);
});
