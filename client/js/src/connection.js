// SPDX-License-Identifier: Apache-2.0
// connection: one connection, from its first byte to its end. Many requests are in flight on it, told apart by id.
import { setMaxListeners } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { FrameReader, HELLO, writeFrame } from './frame.js';

const ID_END = 0x80000000;
const KEEP_ALIVE_MS = 30_000;

/**
 * @typedef {object} Call what is in flight
 * @property {(body: Buffer) => void} answered the reply's envelope
 * @property {(reason: string) => void} lost the connection ended before the reply
 */

export class Connection {
    /** Why it ended; undefined while it has not. @type {string | undefined} */
    endedBecause;
    #over = new AbortController();
    /** Aborted when it ends; for what must not outlive it. */
    over = this.#over.signal;
    isReady = false;
    /** Something was answered on it, so the server takes us. */
    hasAnswered = false;
    /** When the last byte came, of performance.now(). */
    heardAt = 0;

    #socket;
    #reader;
    #isIpc;
    #events;
    #lastId = 0;
    /** All ids the server has not answered. @type {Map<number, Call>} */
    #unanswered = new Map();
    #isCorked = false;

    /**
     * Begins to connect.
     * @param {{isIpc: boolean, isTls: boolean, address: object}} where
     * @param {{tls?: object, connectTimeoutMs: number, idleMs: number, messageMaxBytes: number}} options
     * @param {{ready: () => void, answered: () => void, ended: (reason: string) => void}} events
     */
    constructor(where, options, events) {
        setMaxListeners(0, this.over);
        this.#isIpc = where.isIpc;
        this.#events = events;
        this.#reader = new FrameReader(where.isIpc, options.messageMaxBytes);
        const socket = where.isTls ? tls.connect({ ...where.address, ...options.tls }) : net.connect(where.address);
        this.#socket = socket;
        if (!where.isIpc) {
            socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
        }
        const late = setTimeout(() => this.end(`no greeting within ${options.connectTimeoutMs} ms`), options.connectTimeoutMs);
        socket.once('close', () => clearTimeout(late));
        socket.once(where.isTls ? 'secureConnect' : 'connect', () => socket.write(HELLO));
        socket.on('data', (chunk) => this.#read(chunk, () => {
            clearTimeout(late);
            socket.setTimeout(options.idleMs, () => this.#unanswered.size === 0 && this.end('idle'));
        }));
        socket.on('error', (error) => this.end(error.message || error.code || 'it cannot be reached'));
        socket.on('close', () => this.end('the server closed the connection'));
    }

    /** Requests the server has not answered, those of callers who have given up among them. */
    get inFlight() {
        return this.#unanswered.size;
    }

    /** Bytes that wait for a server that does not read. */
    get unsentBytes() {
        return this.#socket.writableLength;
    }

    /** @param {Uint8Array} body @param {Call} call @returns {number} the id */
    send(body, call) {
        do {
            this.#lastId = (this.#lastId + 1) % ID_END;
        } while (this.#unanswered.has(this.#lastId));
        this.#unanswered.set(this.#lastId, call);
        this.#socket.ref();
        if (!this.#isCorked) {
            // What is asked in one turn leaves in one write.
            this.#isCorked = true;
            this.#socket.cork();
            process.nextTick(() => {
                this.#isCorked = false;
                this.#socket.uncork();
            });
        }
        this.#socket.write(writeFrame(this.#isIpc, this.#lastId, body));
        return this.#lastId;
    }

    /**
     * Nobody waits for this one any more. Its id stays taken until the server has answered.
     * @param {number} id
     * @param {(body: Buffer) => void} [late] what to do with the reply
     */
    forget(id, late = () => {}) {
        if (this.#unanswered.has(id)) {
            this.#unanswered.set(id, { answered: late, lost: () => {} });
        }
    }

    /** @param {string} reason */
    end(reason) {
        if (this.endedBecause !== undefined) {
            return;
        }
        this.endedBecause = reason;
        this.#socket.destroy();
        const lost = [...this.#unanswered.values()];
        this.#unanswered.clear();
        lost.forEach((call) => call.lost(reason));
        this.#over.abort();
        this.#events.ended(reason);
    }

    #read(chunk, greeted) {
        if (this.endedBecause !== undefined) {
            return;
        }
        this.heardAt = performance.now();
        let replies;
        try {
            replies = this.#reader.push(chunk);
        } catch (error) {
            this.end(error.message);
            return;
        }
        if (!this.isReady && this.#reader.isGreeted) {
            this.isReady = true;
            greeted();
            this.#rest();
            this.#events.ready();
        }
        for (const { id, body } of replies) {
            const call = this.#unanswered.get(id);
            this.#unanswered.delete(id);
            this.hasAnswered = true;
            call?.answered(body);
        }
        if (replies.length) {
            this.#rest();
            this.#events.answered();
        }
    }

    /** A connection on which nothing is in flight does not keep the process alive. */
    #rest() {
        if (this.#unanswered.size === 0) {
            this.#socket.unref();
        }
    }
}
