// SPDX-License-Identifier: Apache-2.0
// Every call, asked of a real server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
    ABSENT, AbortedError, Client, DENIED, FailedPreconditionError, HerdgateError, InvalidArgumentError, NotFoundError,
    PermissionDeniedError, UnavailableError, auth, json, key,
} from '../src/index.js';
import { Server, until } from './server.js';

let server;
let client;
const k = (text) => key.bytes(text);

before(async () => {
    server = await new Server(`
cache "soft" { key = "bytes" value = "bytes" loader = "script" ttl = "60s" stale_ttl = "120s" }
`).start();
    client = new Client(server.ipcUrl);
});
after(async () => {
    client.close();
    await server.remove();
});

test('a get never loads, a load does, and then it is there', async () => {
    assert.equal((await client.get('c', k('one'))).outcome, 'not_cached');
    const loaded = await client.load('c', k('one'));
    assert.deepEqual([loaded.outcome, loaded.value.toString(), loaded.valueType, loaded.source, loaded.isFenced],
        ['value', 'one', 'bytes', 'loaded', false]);
    const hit = await client.get('c', k('one'));
    assert.deepEqual([hit.source, hit.generation, hit.lease], ['fresh', loaded.generation, undefined]);
    assert.ok(hit.ttlLeftMs > 0 && hit.ttlLeftMs <= 60_000 && hit.staleLeftMs >= hit.ttlLeftMs);
    assert.equal(server.loads('one'), 1);
});

test('absent and denied are answers, a failure is an error that says whose load it was', async () => {
    server.script('none absent', 'bad fail 14 the backend is away', 'odd fail 3 no such thing');
    assert.equal((await client.load('c', k('none'))).outcome, 'absent');
    await client.put('c', k('no'), DENIED);
    assert.equal((await client.get('c', k('no'))).outcome, 'denied');
    await assert.rejects(client.load('c', k('bad')), (error) => {
        assert.ok(error instanceof UnavailableError);
        assert.deepEqual([error.status, error.code, error.message, error.source, error.isDoneUnknown],
            [14, 'UNAVAILABLE', 'the backend is away', 'loaded', false]);
        return true;
    });
    await assert.rejects(client.load('c', k('odd')), InvalidArgumentError);
    await assert.rejects(client.get('nowhere', k('k')), NotFoundError);
    await assert.rejects(client.get('c', key.keyHash('k')), InvalidArgumentError);
});

test('a herd is loaded for once, and whoever asks for something else does not wait', async () => {
    server.script('herd gate @DIR@/herd-gate');
    const herd = Array.from({ length: 100 }, () => client.load('c', k('herd')));
    await until(async () => (await client.stats('c')).caches.c.waiting === 100n);
    assert.equal((await client.load('c', k('quick'))).value.toString(), 'quick');
    server.open('herd-gate');
    const answers = await Promise.all(herd);
    assert.ok(answers.every(({ value }) => value.toString() === 'herd'));
    assert.equal(answers.filter(({ source }) => source === 'loaded').length, 1);
    assert.equal(server.loads('herd'), 1);
});

test('a batch has one answer for each key, and one key\'s error is its own', async () => {
    server.script('none absent', 'b-bad fail 9 not now');
    const [there, none, bad] = await client.batchLoad('c', [k('there'), k('none'), k('b-bad')]);
    assert.equal(there.value.toString(), 'there');
    assert.equal(none.outcome, 'absent');
    assert.ok(bad instanceof FailedPreconditionError);
    assert.deepEqual([bad.message, bad.source], ['not now', 'loaded']);
    await assert.rejects(client.batchLoad('c', []), InvalidArgumentError);
});

test('values of each type and keys of each kind are put and read', async () => {
    const row = { user_id: 'u', limits: [1, 2.5], note: 'é' };
    await client.put('words', key.keyHash('  kh  '), json(row));
    assert.deepEqual((await client.get('words', key.keyHash('kh'))).value, row);
    await client.put('features', key.apiKeyFeature('u', 'k', true), json(null));
    assert.equal((await client.get('features', key.apiKeyFeature('u', 'k', true))).value, null);
    assert.equal((await client.get('features', key.apiKeyFeature('u', 'k'))).outcome, 'not_cached');
    const value = { userId: 'u', apiKeyId: 'k', allowed: true, scopes: ['read'], attributes: { plan: 'gold' }, notAfterMs: 0 };
    await client.put('auth', key.userApiKey('u', 'k'), auth(value));
    assert.deepEqual((await client.get('auth', key.userApiKey('u', 'k'))).value, value);
    await client.put('auth', key.keyHash('refused'), auth({ ...value, allowed: false }));
    const refused = await client.get('auth', key.keyHash('refused'));
    assert.deepEqual([refused.outcome, refused.value?.allowed ?? false], ['denied', false]);
    const bytes = Buffer.from([0, 1, 254, 255]);
    await client.put('own', k('raw'), bytes);
    assert.deepEqual((await client.get('own', k('raw'))).value, bytes);
    await client.put('own', k('gone'), ABSENT);
    assert.equal((await client.get('own', k('gone'))).outcome, 'absent');
    await assert.rejects(client.put('words', key.keyHash('x'), 'no json'), InvalidArgumentError);
});

test('an invalidation covers keys, tags and users, and soft leaves the old behind', async () => {
    await client.put('own', k('a'), 'a', { tags: ['gold'] });
    await client.put('own', k('b'), 'b');
    const report = await client.invalidate('own', { keys: [k('b'), k('never')] });
    assert.deepEqual([report.cache, report.dropped, typeof report.generation], ['own', 1, 'bigint']);
    assert.equal((await client.get('own', k('a'))).outcome, 'value');
    await client.invalidate('own', { tags: ['gold'] });
    assert.equal((await client.get('own', k('a'))).outcome, 'not_cached');
    await client.put('auth', key.keyHash('h'), auth({ userId: 'u_7', allowed: true }));
    await client.invalidate('auth', { prefix: 'u_7' });
    assert.equal((await client.get('auth', key.keyHash('h'))).outcome, 'not_cached');
    await client.load('soft', k('s'));
    await client.invalidate('soft', { keys: [k('s')], soft: true });
    assert.equal((await client.load('soft', k('s'), { mode: 'allow_stale' })).source, 'stale');
    assert.equal((await client.load('soft', k('s'), { mode: 'fresh' })).source, 'loaded');
    await assert.rejects(client.invalidate('own', {}), InvalidArgumentError);
});

test('a reader with a generation gets nothing older, and a put with a token only if nothing changed', async () => {
    const { generation } = await client.put('own', k('g'), '1');
    assert.equal((await client.get('own', k('g'), { minGeneration: generation })).value.toString(), '1');
    await assert.rejects(client.get('own', k('g'), { minGeneration: generation + 1000n }), FailedPreconditionError);
    const token = await client.generation('own', k('g'));
    await client.put('own', k('g'), '2', { ifGeneration: token });
    await client.invalidate('own', { keys: [k('g')] });
    await assert.rejects(client.put('own', k('g'), '3', { ifGeneration: token }), AbortedError);
    assert.equal((await client.get('own', k('g'))).outcome, 'not_cached');
    await client.put('own', k('g'), '4');
    assert.equal((await client.load('c', k('aged'), { maxAgeMs: 0 })).outcome, 'value');
});

test('a clear clears, and the same op id does it once', async () => {
    await client.put('own', k('x'), 'x');
    const opId = Buffer.from('sixteen bytes id');
    const first = await client.clear('own', { opId });
    await client.put('own', k('x'), 'again');
    assert.deepEqual(await client.clear('own', { opId }), first);
    assert.equal((await client.get('own', k('x'))).value.toString(), 'again');
    const reports = await client.clearAll({ wait: true });
    assert.deepEqual(reports.map(({ cache }) => cache).sort(), ['auth', 'c', 'features', 'own', 'soft', 'words']);
    assert.equal((await client.get('own', k('x'))).outcome, 'not_cached');
    await assert.rejects(client.clear(''), InvalidArgumentError);
});

test('over tcp one may read and change nothing', async () => {
    const reader = new Client(server.tcpUrl);
    try {
        assert.equal((await reader.load('c', k('tcp'))).value.toString(), 'tcp');
        await assert.rejects(reader.put('c', k('tcp'), 'x'), (error) => {
            assert.ok(error instanceof PermissionDeniedError && error instanceof HerdgateError);
            assert.equal(error.opId.length, 16);
            return true;
        });
    } finally {
        reader.close();
    }
});

test('a value of 64 KiB comes whole, and a longer one is refused by the server', async () => {
    const long = Buffer.alloc(65_536, 'long');
    await client.put('own', k('long'), long);
    assert.deepEqual((await client.get('own', k('long'))).value, long);
    await assert.rejects(client.put('own', k('long'), Buffer.alloc(65_537)), InvalidArgumentError);
    const keys = Array.from({ length: 12 }, (_, at) => k(`long${at}`));
    await Promise.all(keys.map((one) => client.put('c', one, long)));
    assert.ok((await client.batchLoad('c', keys)).every(({ value }) => value.equals(long)));
});

test('what the client does not name is called by its method', async () => {
    assert.deepEqual(await client.health(), { status: 'serving', message: '' });
    assert.equal((await client.stats()).server.connections > 0n, true);
    const { caches } = await client.call('herdgate.v1.Admin/ListCaches');
    const own = caches.find(({ name }) => name.toString() === 'own');
    assert.deepEqual([own.keyType.toString(), own.ttlMs], ['bytes', 60_000]);
    const { sentence } = await client.call('herdgate.v1.Admin/Explain', { cache: 'own', key: { bytes: 'nothing' } });
    assert.match(sentence.toString(), /./);
    await assert.rejects(client.call('herdgate.v1.Cache/Nothing'), InvalidArgumentError);
    await assert.rejects(client.get('c', k('k'), { timeout: 5 }), /a call has no option "timeout"/);
    await assert.rejects(client.get('c', k('k'), { mode: 'old' }), /"old" is no mode/);
});
