// SPDX-License-Identifier: Apache-2.0
// Time that is over, callers that leave, servers that are slow, silent, wrong or gone.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import {
    CancelledError, Client, DeadlineExceededError, InvalidArgumentError, ResourceExhaustedError, UnavailableError, key,
} from '../src/index.js';
import { Fake } from './fake.js';
import { Server, until } from './server.js';

const one = key.bytes('one');
let fake;
let client;

const open = (options) => {
    client = new Client(fake.url, { backoff: { minMs: 5, maxMs: 20 }, ...options });
    return client;
};
const rejected = async (promise, Kind, message) => {
    const error = await promise.then(() => assert.fail('it was answered'), (reason) => reason);
    assert.ok(error instanceof Kind, `${error}`);
    assert.match(error.message, message);
    return error;
};

beforeEach(async () => { fake = await new Fake().start(); });
afterEach(async () => {
    client?.close();
    await fake.remove();
});

test('replies find their callers in whatever order they come, and cut into single bytes', async () => {
    const held = [];
    fake.answer = (peer, word, { payload }) => {
        held.push([word, payload]);
        if (held.length === 3) {
            held.reverse().forEach(([id]) => peer.reply(id, { status: 5, message: Buffer.from(`${id & 0xffff}`) }));
        }
    };
    open();
    const messages = await Promise.all(['a', 'b', 'c'].map((text) => client.get(text, one).catch((error) => error.message)));
    assert.deepEqual(messages, ['1', '2', '3']);
    assert.equal(fake.connections, 1);
});

test('the deadline is sent, and the server is given a second more to say so', async () => {
    fake.answer = (peer, word) => peer.reply(word, { status: 4, message: Buffer.from('the server says so') });
    open();
    await rejected(client.get('c', one, { timeoutMs: 700 }), DeadlineExceededError, /^the server says so$/);
    assert.ok(fake.requests[0].timeoutMs > 0 && fake.requests[0].timeoutMs <= 700);
    await rejected(client.get('c', one, { timeoutMs: -1 }), InvalidArgumentError, /no time above 0/);
});

test('a server that is silent past the deadline is left, for a new connection', async () => {
    open();
    await client.get('c', one);
    fake.answer = () => {};
    const error = await rejected(client.put('c', one, 'x', { timeoutMs: 10 }), DeadlineExceededError, /no answer within 10 ms/);
    assert.equal(error.isDoneUnknown, true);
    fake.answer = (peer, word) => peer.reply(word);
    assert.equal((await client.get('c', one, { waitForReady: true })).outcome, 'not_cached');
    assert.equal(fake.connections, 2);
});

test('a caller may leave, before and after its request was sent', async () => {
    const late = [];
    fake.answer = (peer, word) => late.push(() => peer.reply(word));
    open();
    const gone = new AbortController();
    gone.abort(new Error('closed its tab'));
    const before = await rejected(client.get('c', one, { signal: gone.signal }), CancelledError, /gave it up/);
    assert.equal(before.cause.message, 'closed its tab');
    assert.equal(fake.requests.length, 0);
    const leaving = new AbortController();
    const call = client.put('c', one, 'x', { signal: leaving.signal });
    await until(() => late.length === 1);
    leaving.abort();
    assert.equal((await rejected(call, CancelledError, /gave it up/)).isDoneUnknown, true);
    // Its id is not given to another while the server may still answer it.
    const next = client.get('c', one);
    await until(() => late.length === 2);
    late.forEach((answer) => answer());
    assert.equal((await next).outcome, 'not_cached');
});

test('what was in flight when the connection broke is never sent again', async () => {
    fake.answer = (peer) => peer.socket.destroy();
    open();
    const calls = [client.put('c', one, 'x'), client.get('c', one)].map((call) => call.catch((error) => error));
    const [put, get] = await Promise.all(calls);
    assert.ok(put instanceof UnavailableError && get instanceof UnavailableError);
    assert.deepEqual([put.isDoneUnknown, get.isDoneUnknown], [true, false]);
    fake.answer = (peer, word) => peer.reply(word);
    await client.get('c', one, { waitForReady: true });
    assert.deepEqual(fake.requests.map(({ method }) => Buffer.from(method).toString().split('/')[1]).filter((name) => name === 'Put'), ['Put']);
});

test('nobody there is said at once, and a call that wants to wait is answered when somebody is', async () => {
    await fake.stop();
    open({ backoff: { minMs: 200, maxMs: 200 } });
    const first = await rejected(client.get('c', one), UnavailableError, /^cannot reach ipc:.*: connect ENOENT/);
    assert.equal(first.isDoneUnknown, false);
    const second = await rejected(client.put('c', one, 'x'), UnavailableError, /cannot reach/);
    assert.ok(second.retryAfterMs > 0 && second.retryAfterMs <= 200 && !second.isDoneUnknown);
    const patient = client.get('c', one, { waitForReady: true });
    const late = rejected(client.get('c', one, { waitForReady: true, timeoutMs: 1 }), DeadlineExceededError, /could not be reached in time: connect/);
    await late;
    await fake.start();
    assert.equal((await patient).outcome, 'not_cached');
});

test('pauses between attempts grow up to a limit, and there is none after a connection that was good', async () => {
    await fake.stop();
    open({ backoff: { minMs: 5, maxMs: 40 } });
    const pauses = [];
    await until(async () => {
        pauses.push((await client.get('c', one).catch((error) => error)).retryAfterMs);
        return pauses.at(-1) > 10;
    });
    assert.ok(pauses[0] <= 5 && Math.max(...pauses) <= 40, `${pauses}`);
    await fake.start();
    await client.get('c', one, { waitForReady: true });
    const { peer } = fake;
    fake.answer = () => peer.socket.destroy();
    await rejected(client.get('c', one), UnavailableError, /the connection was lost/);
    fake.answer = (other, word) => other.reply(word);
    assert.equal((await client.get('c', one)).outcome, 'not_cached');
});

test('what is no herdgate is said, and so is one that does not greet', async () => {
    fake.greet = (peer) => peer.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    open();
    await rejected(client.get('c', one), UnavailableError, /the peer is no SP REP socket/);
    client.close();
    fake.greet = () => {};
    open({ connectTimeoutMs: 20 });
    await rejected(client.get('c', one), UnavailableError, /no greeting within 20 ms/);
});

test('a reply that is no message ends its call only', async () => {
    fake.answer = (peer, word) => peer.reply(word, { payload: Buffer.from([0xff]) });
    open();
    await assert.rejects(client.get('c', one), { code: 'INTERNAL', message: 'these bytes are no Answer' });
    fake.answer = (peer, word) => peer.reply(word);
    assert.equal((await client.get('c', one)).outcome, 'not_cached');
    assert.equal(fake.connections, 1);
});

test('no more is in flight than inFlightMax, and no more waits than queueMax', async () => {
    const held = [];
    fake.answer = (peer, word) => held.push(() => peer.reply(word));
    open({ inFlightMax: 2, queueMax: 2 });
    const first = client.get('c', one);
    await until(() => held.length === 1);
    const calls = [first, client.get('c', one), client.get('c', one), client.get('c', one)];
    await rejected(client.get('c', one), ResourceExhaustedError, /2 calls wait to be sent already/);
    await until(() => held.length === 2);
    for (let answered = 0; answered < 4; answered++) {
        await until(() => held.length > 0);
        assert.ok(fake.requests.length <= answered + 2);
        held.shift()();
    }
    await Promise.all(calls);
    await rejected(client.put('c', one, Buffer.alloc(1024 * 1024)), InvalidArgumentError, /^a request of \d+ bytes; at most 1048576$/);
});

test('close ends what waits, and what comes after it', async () => {
    fake.answer = () => {};
    open();
    const call = client.get('c', one);
    await until(() => fake.requests.length === 1);
    client.close();
    await rejected(call, CancelledError, /closed/);
    await rejected(client.get('c', one), CancelledError, /closed/);
});

test('an idle connection is closed by the client, and made anew for the next call', async () => {
    open({ idleMs: 20 });
    await client.get('c', one);
    await until(() => fake.peer.socket.destroyed);
    assert.equal((await client.get('c', one)).outcome, 'not_cached');
    assert.equal(fake.connections, 2);
});

test('a real server that is killed is found again when it is back', async () => {
    const server = await new Server().start();
    const real = new Client(server.ipcUrl);
    try {
        server.script('slow hang');
        const slow = real.load('c', key.bytes('slow')).catch((error) => error);
        await until(() => server.loads('slow') === 1);
        await server.stop('SIGKILL');
        assert.match(`${await slow}`, /^UnavailableError: the connection was lost/);
        await rejected(real.get('c', one), UnavailableError, /cannot reach/);
        await server.start();
        assert.equal((await real.get('c', one, { waitForReady: true })).outcome, 'not_cached');
    } finally {
        real.close();
        await server.remove();
    }
});
