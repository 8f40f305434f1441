// SPDX-License-Identifier: Apache-2.0
// Callers that load themselves: one for all, on a real server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
    ABSENT, AbortedError, CancelledError, Client, DENIED, DeadlineExceededError, FailedPreconditionError, InvalidArgumentError,
    Lease, NotFoundError, ResourceExhaustedError, UnknownError, auth, key, loaded,
} from '../src/index.js';
import { Server, until } from './server.js';

let server;
let client;
let other;
const k = (text) => key.bytes(text);
const waiting = async () => Number((await client.stats('own')).caches.own.waiting);

/** A promise to be settled from outside. */
function gate() {
    const made = {};
    made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
    return made;
}

before(async () => {
    server = await new Server(`
cache "brief" { key = "bytes" value = "bytes" ttl = "60s" load_timeout = "3s" }
cache "old" { key = "bytes" value = "bytes" ttl = "60s" stale_ttl = "120s" load_timeout = "20s" }
`).start();
    client = new Client(server.ipcUrl);
    other = new Client(server.ipcUrl);
});
after(async () => {
    client.close();
    other.close();
    await server.remove();
});

test('one loads for all, in this process and in others', async () => {
    const go = gate();
    let loads = 0;
    const load = async () => {
        loads++;
        await go.promise;
        return 'value';
    };
    const calls = Array.from({ length: 20 }, (_, at) => (at % 2 ? other : client).getOrLoad('own', k('herd'), load));
    await until(async () => await waiting() === 19);
    go.resolve();
    const answers = await Promise.all(calls);
    assert.equal(loads, 1);
    assert.ok(answers.every(({ outcome, value }) => outcome === 'value' && value.toString() === 'value'));
    assert.deepEqual(answers.map(({ source }) => source).sort(), [...Array(19).fill('joined'), 'loaded']);
    const hit = await client.getOrLoad('own', k('herd'), () => assert.fail('it is there'));
    assert.deepEqual([hit.source, hit.lease], ['fresh', undefined]);
    assert.ok(answers[0].ttlLeftMs > 0 && answers[0].generation > 0n);
});

test('more than a connection may have in flight can wait for a load of that same connection', async () => {
    const go = gate();
    const lead = client.getOrLoad('own', k('crowd'), () => go.promise);
    await until(async () => Number((await other.stats('own')).caches.own.in_flight) === 1);
    const crowd = Array.from({ length: 400 }, () => client.getOrLoad('own', k('crowd'), () => assert.fail('somebody loads')));
    await until(async () => Number((await other.stats('own')).caches.own.waiting) === 224);
    go.resolve('come in');
    assert.equal((await lead).value.toString(), 'come in');
    assert.ok((await Promise.all(crowd)).every(({ value }) => value.toString() === 'come in'));
});

test('the loader\'s error is the call\'s, and the followers get it, too', async () => {
    const go = gate();
    const lead = client.getOrLoad('own', k('fails'), () => go.promise).catch((error) => error);
    await until(async () => Number((await client.stats('own')).caches.own.in_flight) === 1);
    const follower = other.getOrLoad('own', k('fails'), () => assert.fail('it follows')).catch((error) => error);
    await until(async () => await waiting() === 1);
    const reason = new NotFoundError('no such tenant');
    go.reject(reason);
    const [own, followed] = await Promise.all([lead, follower]);
    assert.ok(own instanceof NotFoundError && followed instanceof NotFoundError);
    assert.deepEqual([own.message, own.source, own.cause], ['no such tenant', 'loaded', reason]);
    assert.deepEqual([followed.message, followed.source], ['no such tenant', 'joined']);
    const plain = await client.getOrLoad('own', k('fails'), () => { throw new TypeError('oh'); }).catch((error) => error);
    assert.ok(plain instanceof UnknownError && plain.cause instanceof TypeError);
    assert.equal((await client.getOrLoad('own', k('fails'), () => 'now')).value.toString(), 'now');
});

test('a loader may say absent and denied, and how long its value lives', async () => {
    assert.equal((await client.getOrLoad('own', k('absent'), () => ABSENT)).outcome, 'absent');
    assert.equal((await other.get('own', k('absent'))).outcome, 'absent');
    assert.equal((await client.getOrLoad('own', k('denied'), () => DENIED)).outcome, 'denied');
    const short = await client.getOrLoad('own', k('short'), () => loaded('x', { ttlMs: 5000, tags: ['gold'] }));
    assert.ok(short.ttlLeftMs > 0 && short.ttlLeftMs <= 5000);
    await client.invalidate('own', { tags: ['gold'] });
    assert.equal((await client.get('own', k('short'))).outcome, 'not_cached');
    await client.getOrLoad('own', k('once'), () => loaded('x', { noStore: true }));
    assert.equal((await client.get('own', k('once'))).outcome, 'not_cached');
});

test('a loader\'s plain value is written as the cache\'s type', async () => {
    const row = await client.getOrLoad('words', key.keyHash('row'), ({ valueType }) => ({ valueType }));
    assert.deepEqual(row.value, { valueType: 'json' });
    assert.deepEqual((await other.get('words', key.keyHash('row'))).value, row.value);
    const may = { userId: 'u', apiKeyId: 'k', allowed: true, scopes: [], attributes: {}, notAfterMs: 0 };
    assert.deepEqual((await client.getOrLoad('auth', key.keyHash('may'), () => may)).value, may);
    const refused = await client.getOrLoad('auth', key.keyHash('may-not'), () => auth({ ...may, allowed: false }));
    assert.deepEqual([refused.outcome, refused.value.allowed], ['denied', false]);
    const over = await client.getOrLoad('auth', key.keyHash('over'), () => auth({ ...may, notAfterMs: 1 }));
    assert.deepEqual([over.outcome, over.value], ['denied', undefined]);
    await assert.rejects(client.getOrLoad('own', k('wrong'), () => ({ a: 1 })), InvalidArgumentError);
    await assert.rejects(client.getOrLoad('own', k('huge'), () => Buffer.alloc(65_537)), InvalidArgumentError);
    assert.equal((await client.getOrLoad('own', k('wrong'), () => 'right')).value.toString(), 'right');
    await assert.rejects(client.getOrLoad('own', k('wrong')), /needs a function/);
});

test('a lease lasts as long as its load', async () => {
    let renewals = 0;
    const renew = Lease.prototype.renew;
    Lease.prototype.renew = async function counted(...given) {
        const ttlMs = await renew.apply(this, given);
        renewals++;
        return ttlMs;
    };
    try {
        // Four thirds of load_timeout.
        const answer = await client.getOrLoad('brief', k('long'), () => until(() => renewals >= 4).then(() => 'at last'));
        assert.deepEqual([answer.source, answer.value.toString()], ['loaded', 'at last']);
        assert.equal((await other.get('brief', k('long'))).value.toString(), 'at last');
    } finally {
        Lease.prototype.renew = renew;
    }
});

test('a lease that cannot be renewed is given up, and its key loaded anew', async () => {
    const { renew, release } = Lease.prototype;
    let releases = 0;
    Lease.prototype.renew = async () => { throw new ResourceExhaustedError('no room'); };
    Lease.prototype.release = function counted(...given) {
        releases++;
        return release.apply(this, given);
    };
    try {
        const signals = [];
        const answer = await client.getOrLoad('brief', k('unkept'), ({ signal }) => {
            signals.push(signal);
            return signals.length === 1 ? new Promise(() => {}) : 'anew';
        });
        assert.deepEqual([answer.value.toString(), signals[0].aborted, signals.length, releases], ['anew', true, 2, 1]);
    } finally {
        Object.assign(Lease.prototype, { renew, release });
    }
});

test('a load that a clear overtook is not kept, and looked at again', async () => {
    const values = ['before', 'after'];
    const answer = await client.getOrLoad('own', k('overtaken'), async () => {
        const value = values.shift();
        if (value === 'before') {
            await other.clear('own');
        }
        return value;
    });
    assert.deepEqual([answer.value.toString(), answer.isFenced], ['after', false]);
    assert.equal((await client.get('own', k('overtaken'))).value.toString(), 'after');
    await assert.rejects(client.getOrLoad('own', k('never'), () => other.clear('own').then(() => 'x')), AbortedError);
    const fenced = await client.getOrLoad('own', k('never'), () => other.clear('own').then(() => 'x'), { deliverFenced: true });
    assert.deepEqual([fenced.value.toString(), fenced.isFenced, fenced.outcome], ['x', true, 'value']);
    const bare = await client.getOrLoad('own', k('never'), () => other.clear('own').then(() => loaded('y')), { deliverFenced: true });
    assert.deepEqual([bare.value.toString(), bare.isFenced], ['y', true]);
    assert.equal((await client.get('own', k('never'))).outcome, 'not_cached');
    const denied = await client.getOrLoad('auth', key.keyHash('fenced'),
        () => other.clear('auth').then(() => auth({ userId: 'u', allowed: true, notAfterMs: 1 })), { deliverFenced: true });
    assert.deepEqual([denied.outcome, denied.value, denied.isFenced], ['denied', undefined, true]);
});

test('a leader that leaves hands on to the next', async () => {
    const leaving = new AbortController();
    const seen = gate();
    const lead = client.getOrLoad('own', k('left'), ({ signal }) => {
        seen.resolve(signal);
        return new Promise(() => {});
    }, { signal: leaving.signal });
    const signal = await seen.promise;
    const next = other.getOrLoad('own', k('left'), () => 'by the next');
    await until(async () => await waiting() === 1);
    leaving.abort();
    await assert.rejects(lead, CancelledError);
    assert.ok(signal.aborted);
    assert.deepEqual([(await next).source, (await next).value.toString()], ['loaded', 'by the next']);
});

test('a loader that takes too long is told, its caller hears of it, and the next one loads', async () => {
    const seen = gate();
    const lead = client.getOrLoad('own', k('slow'), ({ signal }) => {
        seen.resolve(signal);
        return new Promise(() => {});
    }, { timeoutMs: 1000 });
    const next = seen.promise.then(() => other.getOrLoad('own', k('slow'), () => 'in time'));
    await assert.rejects(lead, DeadlineExceededError);
    assert.ok((await seen.promise).aborted);
    assert.equal((await next).value.toString(), 'in time');
});

test('a leader whose connection is lost hands on to the next', async () => {
    const dying = new Client(server.ipcUrl);
    const seen = gate();
    const lead = dying.getOrLoad('own', k('dies'), ({ signal }) => new Promise(() => seen.resolve(signal))).catch((error) => error);
    await until(async () => Number((await client.stats('own')).caches.own.in_flight) === 1);
    const next = other.getOrLoad('own', k('dies'), () => 'alive');
    await until(async () => await waiting() === 1);
    dying.close();
    assert.equal((await next).value.toString(), 'alive');
    assert.ok(await lead instanceof CancelledError);
    assert.ok((await seen.promise).aborted);
});

test('a lease that comes to somebody who has left is given up', async () => {
    const { lease } = await other.load('own', k('late'), { lead: true });
    const leaving = new AbortController();
    const gone = client.getOrLoad('own', k('late'), () => assert.fail('nobody is there'), { signal: leaving.signal });
    await until(async () => await waiting() === 1);
    leaving.abort();
    await assert.rejects(gone, CancelledError);
    await lease.release();
    const third = await other.getOrLoad('own', k('late'), () => 'mine');
    assert.deepEqual([third.source, third.value.toString()], ['loaded', 'mine']);
});

test('behind a stale value one loads, and nobody waits for it', async () => {
    await client.put('old', k('s'), 'stale');
    await client.invalidate('old', { keys: [k('s')], soft: true });
    const go = gate();
    let isBehind;
    const answer = await client.getOrLoad('old', k('s'), (lead) => {
        isBehind = lead.isBehind;
        return go.promise;
    });
    assert.deepEqual([answer.source, answer.value.toString(), answer.lease], ['stale', 'stale', undefined]);
    go.resolve('new');
    await until(async () => (await other.get('old', k('s'))).outcome === 'value');
    assert.deepEqual([(await other.get('old', k('s'))).value.toString(), isBehind], ['new', true]);
});

test('a lease by hand is fulfilled once, failed, renewed and released', async () => {
    const first = await client.load('own', k('hand'), { lead: true });
    assert.deepEqual([first.source, first.outcome, first.lease.valueType], ['leased', 'not_cached', 'bytes']);
    assert.equal(await first.lease.renew(), 20_000);
    assert.deepEqual((await first.lease.fulfil('x', { keepMs: 1000 })).outcome, 'value');
    await assert.rejects(first.lease.fulfil('y'), AbortedError);
    await client.invalidate('own', { keys: [k('hand')] });
    const { lease } = await client.load('own', k('hand'), { lead: true });
    const follower = other.load('own', k('hand')).catch((error) => error);
    await until(async () => await waiting() === 1);
    await lease.fail(new FailedPreconditionError('not yet'));
    assert.deepEqual([(await follower).message, (await follower).code], ['not yet', 'FAILED_PRECONDITION']);
    const second = await other.load('own', k('hand'), { lead: true });
    other.close();
    await assert.rejects(second.lease.fulfil('z'), (error) => error instanceof AbortedError && second.lease.over.aborted);
    other = new Client(server.ipcUrl);
});
