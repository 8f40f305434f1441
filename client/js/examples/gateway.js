// SPDX-License-Identifier: Apache-2.0
// gateway: a small API gateway: whoever shows an allowed API key gets through to the upstream, which is told who it is.
//
//     node gateway.js HERDGATE_URL CACHE UPSTREAM [PORT]
//     node gateway.js ipc:///run/herdgate/herdgate.sock auth http://127.0.0.1:9000 8080
//     curl -H 'X-API-Key: secret' http://127.0.0.1:8080/
//
// It says "gateway ready: http://127.0.0.1:PORT" when it listens, and ends on SIGTERM when what is under way has been answered.
import http from 'node:http';
import { pipeline } from 'node:stream';
import { Client } from 'herdgate';
import { requireApiKey } from './middleware.js';

/** Of one connection, not of the message (RFC 9110, 7.6.1); and what only this gateway may say. */
const NOT_PASSED = ['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
    'transfer-encoding', 'upgrade', 'authorization', 'x-api-key', 'x-user-id', 'x-api-key-id', 'x-scopes'];

/** The headers to hand on; a name with "_" counts as the one with "-", as it does in many programs behind, and so does any other sign. */
function passed(headers) {
    const named = String(headers.connection ?? '').toLowerCase().split(',').map((name) => name.trim());
    return Object.fromEntries(Object.entries(headers).filter(([name]) =>
        !NOT_PASSED.includes(name.replace(/[^a-z0-9]/g, '-')) && !named.includes(name)));
}

/** What cannot stand in a header becomes %XX. */
const header = (text) => encodeURI(String(text));

function refuse(res, status) {
    if (res.headersSent) {
        res.destroy();
        return;
    }
    res.writeHead(status, { 'content-length': '0' });
    res.end();
}

function forward(upstream, agent, req, res) {
    const { userId, apiKeyId, scopes } = req.auth;
    // Only a path: "GET http://elsewhere/" must not choose where this goes.
    if (!req.url.startsWith('/')) {
        refuse(res, 400);
        return;
    }
    const asked = http.request({
        agent, hostname: upstream.hostname, port: upstream.port || 80, method: req.method, path: req.url,
        headers: {
            ...passed(req.headers), host: upstream.host,
            'x-user-id': header(userId), 'x-api-key-id': header(apiKeyId), 'x-scopes': scopes.map(header).join(' '),
            ...(req.headers['transfer-encoding'] && { 'transfer-encoding': 'chunked' }),
        },
    });
    asked.on('error', () => refuse(res, 502));
    asked.on('response', (answer) => {
        res.writeHead(answer.statusCode, passed(answer.headers));
        pipeline(answer, res, () => {});
    });
    res.on('close', () => asked.destroy());
    req.pipe(asked);
}

const [herdgateUrl, cache, upstreamUrl, port = '0'] = process.argv.slice(2);
if (!upstreamUrl) {
    console.error('usage: node gateway.js HERDGATE_URL CACHE UPSTREAM [PORT]');
    process.exit(2);
}
if (!/^http:\/\/[^/]/.test(upstreamUrl)) {
    console.error(`gateway: "${upstreamUrl}" is no upstream: it is http://host:port`);
    process.exit(2);
}
const upstream = new URL(upstreamUrl);
const agent = new http.Agent({ keepAlive: true });
const client = new Client(herdgateUrl);
const authorized = requireApiKey({ client, cache });
const server = http.createServer((req, res) => {
    authorized(req, res, () => forward(upstream, agent, req, res)).catch(() => refuse(res, 400));
});

server.listen(Number(port), '127.0.0.1', () => console.log(`gateway ready: http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', () => {
    server.close(() => {
        client.close();
        agent.destroy();
    });
    server.closeIdleConnections();
});
