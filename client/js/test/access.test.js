// SPDX-License-Identifier: Apache-2.0
// Tokens, and TLS with certificates on both sides.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, PermissionDeniedError, UnauthenticatedError, UnavailableError, key } from '../src/index.js';
import { Server } from './server.js';

const makeCerts = process.env.HERDGATE_MAKE_CERTS ?? fileURLToPath(new URL('../../../tests/lib/make_certs.sh', import.meta.url));
let server;
let admin;
let token;
const one = key.bytes('one');
const cert = (name) => path.join(server.dir, 'certs', name);

/** A client over TLS with the certificate of this name. */
const shows = (name, options) => new Client(server.tlsUrl, {
    caFile: cert('ca.pem'), certFile: cert(`${name}.pem`), keyFile: cert(`${name}.key`), serverName: 'localhost', token, ...options,
});

async function asked(client, ask) {
    try {
        return await ask(client);
    } finally {
        client.close();
    }
}

before(async () => {
    server = new Server(`
key_file = "@DIR@/key"
tokens_file = "@DIR@/tokens"
listen "tls+tcp://127.0.0.1:0" { cert = "@DIR@/certs/server.pem" key = "@DIR@/certs/server.key" ca = "@DIR@/certs/ca.pem" }
principal "gateway" { allow("own", "read, write") }
`);
    execFileSync(makeCerts, [path.join(server.dir, 'certs')]);
    await server.start();
    admin = new Client(server.ipcUrl);
    const reply = await admin.call('herdgate.v1.Admin/NewToken', { principal: 'gateway' });
    token = reply.token.toString();
    writeFileSync(server.file('token'), `${token}\n`, { mode: 0o600 });
});
after(async () => {
    admin.close();
    await server.remove();
});

test('a certificate and a token open what is granted, and nothing else', async () => {
    await asked(shows('client'), async (client) => {
        await client.put('own', one, 'over tls');
        assert.equal((await client.get('own', one)).value.toString(), 'over tls');
        assert.equal((await client.getOrLoad('own', key.bytes('none'), () => 'x').catch((error) => error)).code, 'PERMISSION_DENIED');
        await assert.rejects(client.get('c', one), PermissionDeniedError);
        const big = Buffer.alloc(60_000, 'tls');
        await Promise.all(Array.from({ length: 20 }, (_, at) => client.put('own', key.bytes(`big${at}`), big)));
        assert.deepEqual((await client.get('own', key.bytes('big19'))).value, big);
    });
});

test('a token may be in a file, or come from a function each time', async () => {
    await asked(shows('client', { token: undefined, tokenFile: server.file('token') }), (client) => client.get('own', one));
    const tokens = ['hg_wrong', token];
    await asked(shows('client', { token: () => tokens.shift() }), async (client) => {
        await assert.rejects(client.get('own', one), UnauthenticatedError);
        await client.get('own', one);
    });
    await assert.rejects(asked(shows('client', { token: undefined }), (client) => client.get('own', one)), UnauthenticatedError);
});

test('a token that is revoked ends on an open connection', async () => {
    const { id, token: bytes } = await admin.call('herdgate.v1.Admin/NewToken', { principal: 'gateway' });
    await asked(shows('client', { token: bytes.toString() }), async (client) => {
        await client.get('own', one);
        await admin.call('herdgate.v1.Admin/RevokeToken', { id });
        await assert.rejects(client.get('own', one), UnauthenticatedError);
    });
});

test('the wrong certificate on either side is no connection', async () => {
    const tried = (name, options) => asked(shows(name, options), (client) => client.get('own', one).catch((error) => error));
    for (const name of ['client-other', 'client-expired', 'client-self', 'client-purpose']) {
        assert.ok(await tried(name) instanceof UnavailableError, name);
    }
    const other = await tried('client', { caFile: cert('other-ca.pem') });
    assert.ok(other instanceof UnavailableError);
    assert.match(other.message, /certificate/);
    assert.match((await tried('client', { serverName: 'elsewhere.example' })).message, /does not match/);
});
