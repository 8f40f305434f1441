// SPDX-License-Identifier: Apache-2.0
// channel: gets requests to a server: connects when there is something to ask, again after the connection was lost,
// and ends each call in its time. A request is handed to a connection once and never again.
import { Connection } from './connection.js';
import {
    AbortedError, CancelledError, DeadlineExceededError, InvalidArgumentError, ResourceExhaustedError, UnavailableError,
} from './errors.js';

/** A caller waits so much longer than the server, to hear the server's word and not its own clock's. */
export const GRACE_MS = 1_000;

/**
 * @typedef {object} Ask
 * @property {(leftMs: number) => Uint8Array} pack the envelope, with the time that is left
 * @property {number} timeoutMs
 * @property {boolean} changes it is no read
 * @property {AbortSignal} [signal]
 * @property {boolean} [waitForReady] does not end when the server cannot be reached, but waits until it can
 * @property {Connection} [on] only this connection will do
 * @property {Uint8Array} [opId]
 * @property {(reply: {body: Buffer, connection: Connection}) => void} [late] the reply to a call that was given up
 */

class Call {
    #timer;
    #abort;
    /** @type {Connection | undefined} */ connection;
    id = 0;
    sentAt = 0;
    isOver = false;

    /** @param {Ask} ask */
    constructor(ask, channel, resolve, reject) {
        this.ask = ask;
        this.channel = channel;
        this.resolve = resolve;
        this.reject = reject;
        this.dueAt = performance.now() + ask.timeoutMs;
        this.#timer = setTimeout(() => this.#due(), ask.timeoutMs);
        this.#abort = () => this.fail(CancelledError, 'the caller gave it up', { cause: ask.signal.reason });
        ask.signal?.addEventListener('abort', this.#abort, { once: true });
    }

    get leftMs() {
        return Math.ceil(this.dueAt - performance.now());
    }

    answered(body) {
        this.#over();
        this.resolve({ body, connection: this.connection });
    }

    lost(reason) {
        this.fail(this.channel.isClosed ? CancelledError : UnavailableError, `the connection was lost: ${reason}`);
    }

    fail(Kind, message, details = {}) {
        if (this.isOver) {
            return;
        }
        const { changes, opId, late } = this.ask;
        const { connection } = this;
        this.#over();
        connection?.forget(this.id, late && ((body) => late({ body, connection })));
        this.channel.left(this);
        this.reject(new Kind(message, { ...details, opId, isDoneUnknown: changes && connection !== undefined }));
    }

    #over() {
        this.isOver = true;
        clearTimeout(this.#timer);
        this.ask.signal?.removeEventListener('abort', this.#abort);
    }

    #due() {
        if (!this.connection) {
            this.fail(DeadlineExceededError, this.channel.whyUnsent);
            return;
        }
        // First what has come and was not read yet, because this process was busy, is read.
        this.#timer = setTimeout(() => setImmediate(() => this.#silent()), GRACE_MS);
    }

    /** The server should have said so itself by now. One that said nothing at all is not there any more. */
    #silent() {
        if (this.isOver) {
            return;
        }
        const { connection, sentAt } = this;
        this.fail(DeadlineExceededError, `no answer within ${this.ask.timeoutMs} ms`);
        if (connection.heardAt <= sentAt) {
            connection.end('the server is silent');
        }
    }
}

export class Channel {
    #where;
    #options;
    #name;
    /** @type {Connection | undefined} */ #connection;
    /** Not sent yet. @type {Set<Call>} */ #queue = new Set();
    #failures = 0;
    #failedBecause = '';
    #retryAt = 0;
    #retryTimer;
    isClosed = false;

    /**
     * @param {string} name the address, for people
     * @param {object} where what parseUrl() gave
     * @param {{tls?: object, connectTimeoutMs: number, idleMs: number, messageMaxBytes: number, unsentMaxBytes: number,
     *          inFlightMax: number, queueMax: number, backoff: {minMs: number, maxMs: number}}} options
     */
    constructor(name, where, options) {
        this.#name = name;
        this.#where = where;
        this.#options = options;
    }

    /** @param {Ask} ask @returns {Promise<{body: Buffer, connection: Connection}>} */
    submit(ask) {
        return new Promise((resolve, reject) => {
            if (this.isClosed) {
                throw new CancelledError('the client has been closed');
            }
            if (ask.signal?.aborted) {
                throw new CancelledError('the caller gave it up', { cause: ask.signal.reason });
            }
            if (ask.on?.endedBecause !== undefined) {
                throw new AbortedError('the lease has ended: its connection was lost');
            }
            if (this.#queue.size >= this.#options.queueMax) {
                throw new ResourceExhaustedError(`${this.#queue.size} calls wait to be sent already`);
            }
            const call = new Call(ask, this, resolve, reject);
            if (ask.on) {
                // Not behind those who wait: what they wait for may be this.
                this.#send(ask.on, call);
                return;
            }
            this.#queue.add(call);
            this.#pump();
        });
    }

    /** No more of this call. @param {Call} call */
    left(call) {
        this.#queue.delete(call);
    }

    /** What to say to a call whose time ended in the queue. */
    get whyUnsent() {
        return this.#connection?.isReady ? `it was not sent in time: ${this.#connection.inFlight} requests are in flight`
            : `${this.#name} could not be reached in time${this.#failedBecause && `: ${this.#failedBecause}`}`;
    }

    /** Ends everything with CANCELLED. */
    close() {
        this.isClosed = true;
        clearTimeout(this.#retryTimer);
        for (const call of [...this.#queue]) {
            call.fail(CancelledError, 'the client has been closed');
        }
        this.#connection?.end('the client has been closed');
    }

    #pump() {
        if (!this.#connection) {
            this.#connect();
            return;
        }
        const { inFlightMax, unsentMaxBytes } = this.#options;
        for (const call of this.#queue) {
            if (!this.#connection?.isReady || this.#connection.inFlight >= inFlightMax ||
                this.#connection.unsentBytes > unsentMaxBytes) {
                return;
            }
            this.#queue.delete(call);
            this.#send(this.#connection, call);
        }
    }

    #send(connection, call) {
        const { messageMaxBytes } = this.#options;
        const body = call.ask.pack(Math.max(call.leftMs, 1));
        if (body.length > messageMaxBytes) {
            call.fail(InvalidArgumentError, `a request of ${body.length} bytes; at most ${messageMaxBytes}`);
            return;
        }
        call.connection = connection;
        call.sentAt = performance.now();
        call.id = connection.send(body, call);
    }

    #connect() {
        if (this.isClosed || this.#queue.size === 0) {
            return;
        }
        const waitMs = this.#retryAt - performance.now();
        if (waitMs > 0) {
            this.#refuse(Math.ceil(waitMs));
            return;
        }
        const connection = new Connection(this.#where, this.#options, {
            ready: () => this.#pump(),
            answered: () => {
                this.#failures = 0;
                this.#pump();
            },
            ended: (reason) => this.#ended(connection, reason),
        });
        this.#connection = connection;
    }

    #ended(connection, reason) {
        this.#connection = undefined;
        if (connection.hasAnswered) {
            this.#pump();
            return;
        }
        if (reason !== 'idle') {
            const { minMs, maxMs } = this.#options.backoff;
            const pauseMs = Math.min(maxMs, minMs * 2 ** this.#failures++);
            this.#failedBecause = reason;
            this.#retryAt = performance.now() + pauseMs * (0.5 + Math.random() / 2);
        }
        this.#pump();
    }

    /** It cannot be reached now: who does not want to wait is told, for the rest it is tried again. */
    #refuse(waitMs) {
        for (const call of [...this.#queue].filter(({ ask }) => !ask.waitForReady)) {
            call.fail(UnavailableError, `cannot reach ${this.#name}: ${this.#failedBecause}`, { retryAfterMs: waitMs });
        }
        clearTimeout(this.#retryTimer);
        if (this.#queue.size) {
            this.#retryTimer = setTimeout(() => this.#pump(), waitMs);
        }
    }
}
