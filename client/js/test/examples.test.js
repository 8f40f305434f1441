// SPDX-License-Identifier: Apache-2.0
// The examples, run as they are: the gateways in JavaScript and in C, and the middleware. Each is asked over HTTP and lets in
// who is allowed, and nobody else whatever happens.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { Client, auth, key } from '../src/index.js';
import { requireApiKey } from '../examples/middleware.js';
import { Server, build, until } from './server.js';

let server;
let client;
let upstream;
/** What the upstream was asked. */
let asked = [];
/** While it is a list, the upstream's answers wait in it. */
let held;
const hashed = (credential) => createHash('sha256').update(credential).digest('hex');
const at = (listening) => `http://127.0.0.1:${listening.address().port}`;

/** Status, headers and body; `more` are options of http.request. */
async function fetched(url, headers = {}, { body, ...more } = {}) {
    const request = http.request(url, { agent: false, headers, ...more });
    request.end(body);
    const [reply] = await once(request, 'response');
    let text = '';
    for await (const chunk of reply) {
        text += chunk;
    }
    return { status: reply.statusCode, headers: reply.headers, body: text };
}

before(async () => {
    server = await new Server(`
cache "keys" { key = "key_hash" value = "auth" loader = "script" ttl = "60s" }
`).start();
    client = new Client(server.ipcUrl);
    upstream = http.createServer(async (req, res) => {
        let body = '';
        for await (const chunk of req) {
            body += chunk;
        }
        asked.push({ url: req.url, method: req.method, headers: req.headers, body });
        if (req.url === '/cut') {
            req.socket.destroy();
            return;
        }
        await (held && new Promise((resolve) => held.push(resolve)));
        // What is of this hop only must stay here; what there are two of, must stay two.
        res.writeHead(207, { 'x-from': 'upstream', 'x-empty': '', 'set-cookie': ['a=1', 'b=2'], 'connection': 'x-hop', 'x-hop': '1',
            ...(req.url === '/long' && { 'content-length': '44' }) });
        res.end(`got ${body}`);
    });
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
});
after(async () => {
    client.close();
    upstream.close();
    upstream.closeAllConnections();
    await server.remove();
});

const GATEWAYS = {
    'in JavaScript': { argv: () => [process.execPath, fileURLToPath(new URL('../examples/gateway.js', import.meta.url)), server.ipcUrl, 'keys', at(upstream)] },
    'in C': { argv: () => [`${build}/bin/gateway_http`, server.ipcUrl, 'keys', at(upstream)] },
};

/** Bytes as they are: what comes back until the connection is closed. */
async function sent(url, bytes) {
    const socket = net.connect(new URL(url).port, '127.0.0.1');
    socket.write(bytes, 'latin1');
    let text = '';
    for await (const chunk of socket.setEncoding('latin1')) {
        text += chunk;
    }
    return text;
}

/** Nobody listens there any more. */
const isDeaf = (url) => new Promise((resolve) => {
    const socket = net.connect(new URL(url).port, '127.0.0.1', () => resolve(false)).on('error', () => resolve(true));
    socket.on('connect', () => socket.destroy());
});

/** What the upstream answers whoever gets through. */
const ok = 207;

/** Starts one, hands its address to `use`, and ends it well. */
async function running(argv, use) {
    const [program, ...args] = argv;
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    try {
        const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), exited]);
        await use(/^gateway ready: (http:\S+)$/.exec(line)[1]);
    } finally {
        child.kill('SIGTERM');
        const [code] = await exited;
        assert.equal(code, 0);
    }
}

for (const [name, { argv }] of Object.entries(GATEWAYS)) {
    test(`the gateway ${name} lets in who is allowed, and says what a refusal means`, async () => {
        await client.clear('keys');
        server.script(`${hashed('open-sesame')} value u_1`, `${hashed('nobody')} absent`, `${hashed('revoked')} denied`,
            `${hashed('broken')} fail 14 the backend is away`);
        await running(argv(), async (url) => {
            const shown = async (credential) => {
                const { status, headers } = await fetched(url, { 'x-api-key': credential });
                return [status, headers['www-authenticate'] ?? headers['retry-after'] ?? headers['content-length']];
            };
            assert.equal((await shown('open-sesame'))[0], ok);
            assert.deepEqual(await shown('nobody'), [401, 'Bearer']);
            assert.deepEqual(await shown('revoked'), [403, '0']);
            assert.deepEqual(await shown('broken'), [503, '1']);
            assert.equal((await fetched(url)).status, 401);
            assert.equal((await fetched(url, { authorization: 'Bearer open-sesame' })).status, ok);
            assert.equal((await fetched(url, { authorization: 'Basic open-sesame' })).status, 401);
            assert.equal((await fetched(url, { authorization: 'Bearer open-sesame', 'x-api-key': 'open-sesame' })).status, 400);
            assert.equal((await fetched(url, { 'x-api-key': 'open-sesame' }, { method: 'POST', body: 'x'.repeat(100_000) })).status, ok);
        });
    });

    test(`a key that is revoked is refused by the gateway ${name} from the next request on`, async () => {
        await client.put('keys', key.keyHash(hashed('mine')), auth({ userId: 'u_2', allowed: true }));
        await running(argv(), async (url) => {
            assert.equal((await fetched(url, { 'x-api-key': 'mine' })).status, ok);
            server.script(`${hashed('mine')} denied`);
            await client.clear('keys');
            assert.equal((await fetched(url, { 'x-api-key': 'mine' })).status, 403);
        });
    });

    test(`a herd at the gateway ${name} is one load, and blocks nobody else`, async () => {
        await client.clear('keys');
        const gate = `herd-${name.replaceAll(' ', '-')}`;
        server.script(`${hashed('open-sesame')} value u_1`, `${hashed('herd')} gate @DIR@/${gate}`);
        const before = server.loads(hashed('herd'));
        await running(argv(), async (url) => {
            const herd = Array.from({ length: 64 }, () => fetched(url, { 'x-api-key': 'herd' }));
            await until(async () => (await client.stats('keys')).caches.keys.waiting === 64n);
            assert.equal((await fetched(url, { 'x-api-key': 'open-sesame' })).status, ok);
            server.open(gate);
            assert.ok((await Promise.all(herd)).every(({ status }) => status === ok));
            assert.equal(server.loads(hashed('herd')) - before, 1);
        });
    });

    test(`the gateway ${name} lets nobody in while herdgate is away, and ends while requests wait`, async () => {
        const herdgate = await new Server(`
cache "keys" { key = "key_hash" value = "auth" loader = "script" ttl = "60s" }
`).start();
        herdgate.script(`${hashed('slow')} hang`);
        const other = argv().map((one) => (one === server.ipcUrl ? herdgate.ipcUrl : one));
        try {
            await running(other, async (url) => {
                assert.equal((await fetched(url, { 'x-api-key': 'open-sesame' })).status, ok);
                fetched(url, { 'x-api-key': 'slow' }).catch(() => {});
                await until(() => herdgate.loads(hashed('slow')) === 1);
                await herdgate.stop('SIGKILL');
                const { status, headers } = await fetched(url, { 'x-api-key': 'open-sesame' });
                assert.deepEqual([status, headers['retry-after']], [503, '1']);
            });
        } finally {
            await herdgate.remove();
        }
    });

    test(`the gateway ${name} tells the upstream who it is, and nothing that the client made up`, async () => {
        server.script(`${hashed('open-sesame')} value u_é`);
        await client.clear('keys');
        asked = [];
        await running(argv(), async (url) => {
            const reply = await fetched(url, {
                'x-api-key': 'open-sesame', 'x-user-id': 'root', x_user_id: 'root', 'X-Scopes': 'admin', 'x-own': 'kept',
                'x-none': '', connection: 'close, x-hop', 'x-hop': '1',
            }, { method: 'PUT', path: '/a/../b?c=%20d', body: 'body' });
            assert.deepEqual([reply.status, reply.headers['x-from'], reply.body], [207, 'upstream', 'got body']);
            assert.deepEqual([reply.headers['set-cookie'], reply.headers['x-hop']], [['a=1', 'b=2'], undefined]);
            const [{ url: path, method, headers, body }] = asked;
            assert.deepEqual([path, method, body], ['/a/../b?c=%20d', 'PUT', 'body']);
            assert.deepEqual([headers['x-user-id'], headers['x-scopes'], headers['x-own'], headers['x-none']], ['u_%C3%A9', '', 'kept', '']);
            assert.equal(headers.host, at(upstream).slice('http://'.length));
            for (const gone of ['x-api-key', 'x_user_id', 'x-hop', 'authorization', 'accept', 'expect', 'content-type']) {
                assert.equal(headers[gone], undefined, gone);
            }
            assert.equal((await fetched(url, { 'x-api-key': 'open-sesame' }, { path: `${at(upstream)}/elsewhere` })).status, 400);
            assert.equal(asked.length, 1);
        });
    });

    test(`bodies of any length and method pass through the gateway ${name}`, async () => {
        server.script(`${hashed('open-sesame')} value u_1`);
        await client.clear('keys');
        asked = [];
        const long = 'x'.repeat(300_000);
        await running(argv(), async (url) => {
            for (const [method, body] of [['POST', long], ['PUT', ''], ['GET', undefined], ['DELETE', undefined], ['PATCH', 'a']]) {
                const reply = await fetched(url, { 'x-api-key': 'open-sesame' }, { method, body });
                assert.deepEqual([reply.status, reply.body], [ok, `got ${body ?? ''}`], method);
            }
            assert.equal(asked[1].headers['content-length'], '0');
            const chunked = await fetched(url, { 'x-api-key': 'open-sesame', 'transfer-encoding': 'chunked' }, { method: 'POST', body: 'c' });
            assert.equal(chunked.body, 'got c');
            const head = await fetched(url, { 'x-api-key': 'open-sesame' }, { method: 'HEAD' });
            assert.deepEqual([head.status, head.headers['x-from'], head.body], [ok, 'upstream', '']);
            const longHead = await fetched(url, { 'x-api-key': 'open-sesame' }, { method: 'HEAD', path: '/long' });
            assert.deepEqual([longHead.headers['content-length'], longHead.body], ['44', '']);
            assert.deepEqual(asked.map(({ method }) => method), ['POST', 'PUT', 'GET', 'DELETE', 'PATCH', 'POST', 'HEAD', 'HEAD']);
        });
    });

    test(`the gateway ${name} hands on nothing that an upstream could take for another header`, async () => {
        server.script(`${hashed('open-sesame')} value u_1`);
        await client.clear('keys');
        let got = '';
        const lenient = net.createServer((socket) => {
            socket.on('error', () => {}).on('data', (bytes) => {
                got += bytes;
                socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
            });
        }).listen(0, '127.0.0.1');
        await once(lenient, 'listening');
        const request = (line, ...headers) => [line, 'Host: h', 'X-API-Key: open-sesame', 'Connection: close', ...headers, '', ''].join('\r\n');
        const forged = [
            ...['X-User-Id : mallory', 'X-User-Id\t: mallory', 'X-User-Id;: mallory', 'X-Own: a\rX-User-Id: mallory'].map((header) => request('GET / HTTP/1.1', header)),
            request('GET /a\rX-User-Id:mallory HTTP/1.1'), request('GET\t/mallory / HTTP/1.1'),
        ];
        try {
            await running([...argv().slice(0, -1), at(lenient)], async (url) => {
                for (const bytes of forged) {
                    assert.match(await sent(url, bytes), /^HTTP\/1\.1 400 /, bytes);
                }
                assert.equal(got, '');
                assert.match(await sent(url, request('GET / HTTP/1.1', 'X.User.Id: mallory', 'Connection: x-hop', 'X-Hop: mallory')), /^HTTP\/1\.1 200 /);
                assert.match(got, /^x-user-id: u_1\r$/mi);
                assert.doesNotMatch(got, /mallory/);
            });
        } finally {
            lenient.close();
        }
    });

    test(`the gateway ${name} makes the load a part of the request's trace`, async () => {
        const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
        server.script(`${hashed('traced')} trace`);
        await client.clear('keys');
        asked = [];
        await running(argv(), async (url) => {
            assert.equal((await fetched(url, { 'x-api-key': 'traced', traceparent })).status, ok);
            assert.equal(asked[0].headers['x-user-id'], traceparent);
        });
    });

    test(`the gateway ${name} forwards what changes something once, even if the upstream hangs up`, async () => {
        server.script(`${hashed('open-sesame')} value u_1`);
        await client.clear('keys');
        asked = [];
        await running(argv(), async (url) => {
            const statusOf = async (method, path) => (await fetched(url, { 'x-api-key': 'open-sesame' }, { method, path })).status;
            assert.equal(await statusOf('GET', '/'), ok); // leaves a connection that is used again
            assert.equal(await statusOf('POST', '/cut'), 502);
            assert.deepEqual(asked.map((one) => one.url), ['/', '/cut']);
        });
    });

    test(`the gateway ${name} answers what is at the upstream before it ends`, async () => {
        server.script(`${hashed('open-sesame')} value u_1`);
        await client.clear('keys');
        held = [];
        let gateway;
        let replies;
        const ended = running(argv(), async (url) => {
            gateway = url;
            replies = Promise.all(Array.from({ length: 32 }, () => fetched(url, { 'x-api-key': 'open-sesame' })));
            await until(() => held.length === 32);
        });
        try {
            await until(() => gateway && isDeaf(gateway));
        } finally {
            held.forEach((answer) => answer());
            held = undefined;
        }
        assert.ok((await replies).every(({ status, body }) => status === ok && body === 'got '));
        await ended;
    });

    test(`the gateway ${name} says what is no upstream`, () => {
        const [program, ...args] = [...argv().slice(0, -1), 'ftp://127.0.0.1'];
        const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 20_000 });
        assert.match(stderr, /^gateway(_http)?: "ftp:\/\/127\.0\.0\.1" is no upstream: it is http:\/\/host:port\n$/);
        assert.equal(status, 2);
    });

    test(`the gateway ${name} says 502 of an upstream that is away`, async () => {
        server.script(`${hashed('open-sesame')} value u_1`);
        await client.clear('keys');
        await running([...argv().slice(0, -1), 'http://127.0.0.1:1'], async (url) => {
            const { status, headers } = await fetched(url, { 'x-api-key': 'open-sesame' });
            assert.deepEqual([status, headers['content-length']], [502, '0']);
            assert.equal((await fetched(url)).status, 401);
        });
    });
}

test('the gateway in C takes no body that is longer than it would hold', async () => {
    server.script(`${hashed('open-sesame')} value u_1`, `${hashed('nobody')} absent`);
    await client.clear('keys');
    await running(GATEWAYS['in C'].argv(), async (url) => {
        const body = 'x'.repeat((8 << 20) + 1);
        const shown = async (credential) => (await fetched(url, { 'x-api-key': credential }, { method: 'POST', body })).status;
        assert.equal(await shown('open-sesame'), 413);
        // Who may not pass is told so: nothing of his was kept.
        assert.equal(await shown('nobody'), 401);
    });
});

test('the middleware hands on to the next one, who is told who it is', async () => {
    const middleware = requireApiKey({ client, cache: 'keys' });
    const app = http.createServer((req, res) => middleware(req, res, () => res.end(String(req.auth.userId))));
    app.listen(0, '127.0.0.1');
    await once(app, 'listening');
    try {
        await client.put('keys', key.keyHash(hashed('middle')), auth({ userId: 'u_3', allowed: true, scopes: ['read'] }));
        assert.equal((await fetched(at(app), { 'x-api-key': 'middle' })).body, 'u_3');
        await client.put('keys', key.keyHash(hashed('middle')), auth({ userId: 'u_3', allowed: false }));
        assert.equal((await fetched(at(app), { 'x-api-key': 'middle' })).status, 403);
        // Its trace is the load's.
        const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
        server.script(`${hashed('traced')} trace`);
        const traced = await fetched(at(app), { 'x-api-key': 'traced', traceparent });
        assert.equal(traced.body, traceparent);
        const wrong = requireApiKey({ client, cache: 'words' });
        await client.put('words', key.keyHash(hashed('middle')), '{"allowed":true}').catch(() => {});
        app.removeAllListeners('request');
        app.on('request', (req, res) => wrong(req, res, () => res.end('in')));
        assert.equal((await fetched(at(app), { 'x-api-key': 'middle' })).status, 503);
        // A client that hangs up is waited for by nobody.
        server.script(`${hashed('gone')} gate @DIR@/gone`);
        app.removeAllListeners('request');
        app.on('request', (req, res) => middleware(req, res, () => res.end('in')));
        const leaving = http.get(at(app), { headers: { 'x-api-key': 'gone' } }).on('error', () => {});
        await until(() => server.loads(hashed('gone')) === 1);
        leaving.destroy();
        const rest = fetched(at(app), { 'x-api-key': 'gone' });
        server.open('gone');
        assert.equal((await rest).status, 200);
    } finally {
        app.close();
        app.closeAllConnections();
    }
});

test('the middleware is one of Express: its routes are told who it is, and what they throw is the application\'s to answer', async () => {
    server.script(`${hashed('open-sesame')} value u_1`, `${hashed('nobody')} absent`, `${hashed('revoked')} denied`,
        `${hashed('broken')} fail 14 the backend is away`);
    await client.clear('keys');
    const app = express();
    let reached = 0;
    app.get('/public', (req, res) => res.send('for all'));
    app.use('/api', requireApiKey({ client, cache: 'keys' }));
    app.use('/api', (req, res, next) => {
        reached++;
        next();
    });
    app.get('/api/who', async (req, res) => {
        await Promise.resolve();
        res.json({ userId: req.auth.userId });
    });
    app.post('/api/echo', express.text(), (req, res) => res.send(`${req.auth.userId} says ${req.body}`));
    app.get('/api/throw', async () => {
        throw new Error('of the route');
    });
    app.use((error, req, res, next) => (res.headersSent ? next(error) : res.status(418).send(error.message)));
    const listening = app.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const shown = (path, credential, more) => fetched(`${at(listening)}${path}`, { 'x-api-key': credential, 'content-type': 'text/plain' }, more);
    try {
        assert.equal((await fetched(`${at(listening)}/public`)).body, 'for all');
        assert.deepEqual(JSON.parse((await shown('/api/who', 'open-sesame')).body), { userId: 'u_1' });
        assert.equal((await shown('/api/echo', 'open-sesame', { method: 'POST', body: 'hello' })).body, 'u_1 says hello');
        const thrown = await shown('/api/throw', 'open-sesame');
        assert.deepEqual([thrown.status, thrown.body], [418, 'of the route']);
        assert.equal(reached, 3);
        const nobody = await shown('/api/who', 'nobody');
        assert.deepEqual([nobody.status, nobody.headers['www-authenticate']], [401, 'Bearer']);
        assert.equal((await fetched(`${at(listening)}/api/who`)).status, 401);
        assert.equal((await shown('/api/who', 'revoked')).status, 403);
        const broken = await shown('/api/who', 'broken');
        assert.deepEqual([broken.status, broken.headers['retry-after']], [503, '1']);
        assert.equal(reached, 3);
    } finally {
        listening.close();
        listening.closeAllConnections();
    }
});
