// SPDX-License-Identifier: Apache-2.0
// fake: a server that behaves as a test says, to show what a client does with one that is slow, silent, wrong or gone.
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { typeOf } from '../src/wire.js';

const requestType = typeOf('herdgate.v1.Request');
const replyType = typeOf('herdgate.v1.Reply');
const HELLO_LEN = 8;

/** One client's connection. */
class Peer {
    #rest = Buffer.alloc(0);
    #isGreeted = false;

    constructor(socket, fake) {
        this.socket = socket;
        socket.on('error', () => {});
        socket.on('data', (chunk) => {
            this.#rest = Buffer.concat([this.#rest, chunk]);
            if (!this.#isGreeted && this.#rest.length >= HELLO_LEN) {
                this.#isGreeted = true;
                this.#rest = this.#rest.subarray(HELLO_LEN);
                fake.greet(this);
            }
            while (this.#isGreeted && this.#rest.length >= 13) {
                const end = 9 + Number(this.#rest.readBigUInt64BE(1));
                if (this.#rest.length < end) {
                    return;
                }
                const word = this.#rest.readUInt32BE(9);
                const request = requestType.decode(this.#rest.subarray(13, end));
                this.#rest = this.#rest.subarray(end);
                fake.requests.push(request);
                fake.answer(this, word, request);
            }
        });
    }

    hello() {
        this.socket.write(Buffer.from([0, 0x53, 0x50, 0, 0, 0x31, 0, 0]));
    }

    /** @param {number} word @param {object} reply of the envelope */
    reply(word, reply = {}) {
        const body = replyType.encode(reply).finish();
        const head = Buffer.alloc(13);
        head[0] = 1;
        head.writeBigUInt64BE(BigInt(body.length + 4), 1);
        head.writeUInt32BE(word, 9);
        this.socket.write(Buffer.concat([head, body]));
    }
}

export class Fake {
    #dir = mkdtempSync(path.join(tmpdir(), 'hgjs-fake-'));
    #server;
    #sockets = new Set();
    /** All envelopes it ever got. */
    requests = [];
    connections = 0;
    greet = (peer) => peer.hello();
    answer = (peer, word) => peer.reply(word);
    url = `ipc://${this.#dir}/socket`;

    async start() {
        this.#server = net.createServer((socket) => {
            this.connections++;
            this.#sockets.add(socket);
            socket.on('close', () => this.#sockets.delete(socket));
            this.peer = new Peer(socket, this);
        });
        await new Promise((resolve) => this.#server.listen(`${this.#dir}/socket`, resolve));
        return this;
    }

    /** Nobody listens any more. */
    async stop() {
        this.#sockets.forEach((socket) => socket.destroy());
        await new Promise((resolve) => this.#server.close(resolve));
    }

    async remove() {
        await this.stop();
        rmSync(this.#dir, { recursive: true, force: true });
    }
}
