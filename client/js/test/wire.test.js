// SPDX-License-Identifier: Apache-2.0
// What needs no server: addresses, frames, messages, keys, values, credentials.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import {
    ABSENT, Client, FailedPreconditionError, HerdgateError, InvalidArgumentError, UnknownError, auth, json, key,
} from '../src/index.js';
import { errorOf } from '../src/errors.js';
import { FrameReader, HELLO_BACK, writeFrame } from '../src/frame.js';
import { keyMessage, keyOf } from '../src/keys.js';
import { parseUrl } from '../src/url.js';
import { valueOf, valueToFulfil, valueToPut } from '../src/values.js';
import { methodOf, pack, typeOf, unpack } from '../src/wire.js';

const says = (message) => (error) => error instanceof InvalidArgumentError && error.message === message;

test('an address is taken apart, and what is none is said', () => {
    assert.deepEqual(parseUrl('ipc:///run/a b'), { isIpc: true, isTls: false, address: { path: '/run/a b' } });
    assert.deepEqual(parseUrl('unix:///x').address, { path: '/x' });
    assert.deepEqual(parseUrl('abstract://gate').address, { path: '\0gate' });
    assert.deepEqual(parseUrl('tcp://[::1]:7448'), { isIpc: false, isTls: false, address: { host: '::1', port: 7448 } });
    assert.deepEqual(parseUrl('tls+tcp://cache.example:7450'), { isIpc: false, isTls: true, address: { host: 'cache.example', port: 7450 } });
    for (const wrong of ['', 'ipc://', 'ipc://relative', 'tcp://host', 'tcp://:1', 'tcp://h:0', 'tcp://h:65536', 'http://h:80']) {
        assert.throws(() => parseUrl(wrong), says(`"${wrong}" is no address; one is ipc:///path, abstract://name, ` +
            'tcp://host:port or tls+tcp://host:port, the port 1 to 65535'), wrong);
    }
});

test('frames are the same wherever they were cut', () => {
    for (const isIpc of [true, false]) {
        const bodies = ['first', '', 'third'].map((text) => Buffer.from(text));
        const bytes = Buffer.concat([HELLO_BACK, ...bodies.map((body, at) => writeFrame(isIpc, at + 7, body))]);
        for (let cut = 0; cut <= bytes.length; cut++) {
            const reader = new FrameReader(isIpc, 100);
            const replies = [...reader.push(bytes.subarray(0, cut)), ...reader.push(bytes.subarray(cut))];
            assert.deepEqual(replies.map(({ id, body }) => [id, body.toString()]), [[7, 'first'], [8, ''], [9, 'third']]);
        }
    }
});

test('a peer that speaks something else is found out', () => {
    const greeted = (isIpc) => {
        const reader = new FrameReader(isIpc, 100);
        reader.push(HELLO_BACK);
        return reader;
    };
    assert.throws(() => new FrameReader(true, 100).push(Buffer.from('HTTP/1.1 400 Bad Request')), /no SP REP socket/);
    assert.throws(() => greeted(true).push(Buffer.from([2])), /a message of kind 2/);
    assert.throws(() => greeted(false).push(writeFrame(false, 1, Buffer.alloc(101))), /of 105 bytes; at most 104/);
    assert.throws(() => greeted(false).push(Buffer.from([0, 0, 0, 0, 0, 0, 0, 3])), /of 3 bytes/);
    assert.throws(() => greeted(false).push(Buffer.from([0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1])), /without an id/);
});

test('a message is what docs/PROTOCOL.md, section 7, says byte by byte', () => {
    const { request, reply } = methodOf('herdgate.v1.Cache/GetOrLoad');
    const packed = pack(request, { cache: 'auth', key: keyMessage(key.keyHash('5f4d')) });
    assert.equal(Buffer.from(packed).toString('hex'), '0a046175746812061204' + Buffer.from('5f4d').toString('hex'));
    const answer = unpack(reply, Buffer.from('2002280348' + '8080c09b88ba9703' + '588827608827', 'hex'));
    assert.deepEqual([answer.outcome, answer.source, answer.generation, answer.ttlLeftMs, answer.staleLeftMs],
        [2, 3, 1792000000000000n, 5000, 5000]);
});

test('numbers of 64 bits come and go whole', () => {
    const type = typeOf('herdgate.v1.LeaseRequest');
    for (const leaseId of [0n, 1n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
        assert.equal(unpack(type, pack(type, { leaseId })).leaseId, leaseId);
    }
    const flight = typeOf('herdgate.v1.FlightInfo');
    assert.equal(unpack(flight, pack(flight, { leftMs: -1, pid: -7n })).leftMs, -1);
    assert.equal(unpack(flight, pack(flight, { leftMs: -1, pid: -7n })).pid, -7n);
});

test('a request that cannot be meant is refused before it is sent', () => {
    const { request } = methodOf('herdgate.v1.Cache/Put');
    assert.throws(() => pack(request, { cahce: 'auth' }), says('PutRequest has no field "cahce"'));
    assert.throws(() => pack(request, { cache: 7 }), says('PutRequest.cache: got number 7; it takes a string or bytes'));
    assert.throws(() => pack(request, { ttlMs: 1.5 }), says('PutRequest.ttlMs: got number 1.5; it takes a whole number (uint64)'));
    assert.throws(() => pack(request, { ttlMs: -1 }), InvalidArgumentError);
    assert.throws(() => pack(request, { tags: 'gold' }), says('PutRequest.tags: got string gold; it takes an array'));
    assert.throws(() => methodOf('herdgate.v1.Cache/Gett'), says('"herdgate.v1.Cache/Gett" is no method; one is such as "herdgate.v1.Cache/Get"'));
});

test('keys of all kinds come back as they went', () => {
    const type = typeOf('herdgate.v1.Key');
    const keys = [key.bytes(Buffer.from([0, 255])), key.keyHash('kh'), key.userApiKey('u', 'k'), key.apiKeyFeature('u', 'k', true),
        key.apiKeyFeature('', 'k'), key.keyHash(Buffer.from([0xff])), key.bytes(Buffer.alloc(0))];
    for (const one of keys) {
        assert.deepEqual(keyOf(unpack(type, pack(type, keyMessage(one)))), one);
    }
    assert.throws(() => keyMessage('kh'), /a key is made by key.bytes\(\)/);
    assert.throws(() => key.userApiKey('u'), says('apiKeyId must be a string or bytes'));
});

test('a value is what the cache takes, or is refused', () => {
    const back = (value, type) => valueOf(value.bytes, type);
    assert.deepEqual(back(json({ a: [1, null] }), 'json'), { a: [1, null] });
    const full = { userId: 'u', apiKeyId: 'k', allowed: true, scopes: ['r', 'w'], attributes: { plan: 'gold' }, notAfterMs: 7 };
    assert.deepEqual(back(auth(full), 'auth'), full);
    assert.deepEqual(back(valueToFulfil(full, 'auth'), 'auth'), full);
    assert.equal(back(valueToPut('é'), 'bytes').toString(), 'é');
    assert.equal(valueToFulfil(ABSENT, 'json'), ABSENT);
    assert.throws(() => valueToPut({ a: 1 }), says('a value is a string, bytes, json(...), auth(...), ABSENT or DENIED'));
    assert.throws(() => valueToFulfil(undefined, 'json'), says('json: undefined has no JSON'));
    assert.throws(() => valueToFulfil(undefined, 'auth'), /for a cache of type auth/);
    assert.throws(() => auth({ userId: 'u' }), says('auth: allowed must be true or false'));
});

test('every status has its class, and a number nobody knows is UNKNOWN', () => {
    for (const status of [1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14, 16]) {
        const error = errorOf(status, 'why', { retryAfterMs: 5 });
        assert.ok(error instanceof HerdgateError);
        assert.deepEqual([error.status, error.message, error.retryAfterMs], [status, 'why', 5]);
        assert.equal(error.name, error.code.toLowerCase().replace(/(?:^|_)(.)/g, (_, letter) => letter.toUpperCase()) + 'Error');
    }
    assert.ok(errorOf(99, '') instanceof UnknownError);
    assert.equal(errorOf(99, '').message, 'status 99');
});

test('options and credentials that cannot be used are said when the client is made', () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'hgjs-'));
    const file = path.join(dir, 'token');
    const made = (options, url) => () => new Client(url ?? 'tcp://127.0.0.1:1', options);
    try {
        writeFileSync(file, 'hg_abc\n', { mode: 0o600 });
        new Client('tcp://127.0.0.1:1', { tokenFile: file }).close();
        chmodSync(file, 0o604);
        assert.throws(made({ tokenFile: file }), (error) => error instanceof FailedPreconditionError &&
            error.message === `${file}: everybody may read or write it; give it mode 0600`);
        assert.throws(made({ tokenFile: path.join(dir, 'none') }), FailedPreconditionError);
        assert.throws(made({ token: 'secret' }), says('token holds no token; one is what "herdgate token new" printed, hg_...'));
        assert.throws(made({ token: 'hg_a', tokenFile: file }), says('give token or tokenFile, not both'));
        assert.throws(made({ timeout: 5 }), says('there is no option "timeout"'));
        assert.throws(made({ timeoutMs: 0 }), says('timeoutMs: 0 is no whole number above 0'));
        assert.throws(made({ caFile: file, certFile: file }, 'tls+tcp://h:1'),
            says('TLS needs a caFile, a certFile and a keyFile; there is no keyFile'));
    } finally {
        rmSync(dir, { recursive: true });
    }
});
