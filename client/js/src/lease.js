// SPDX-License-Identifier: Apache-2.0
// lease: the duty to load a key that others wait for.
import { AbortedError, HerdgateError } from './errors.js';
import { OUTCOMES, valueToFulfil } from './values.js';

const UNKNOWN = 2;

/**
 * What a read with `lead` gets instead of an answer: this caller is to load, and everybody else who asks waits for it. It
 * belongs to the connection it was given on, and ends with that; when it has ended everything here is AbortedError.
 */
export class Lease {
    #client;
    #connection;

    constructor(client, connection, { cache, id, epoch, ttlMs, valueType }) {
        this.#client = client;
        this.#connection = connection;
        this.cache = cache;
        this.id = id;
        this.epoch = epoch;
        /** So long it lasts from when it was given, or renewed. */
        this.ttlMs = ttlMs;
        /** What the cache takes: 'bytes', 'json' or 'auth'. */
        this.valueType = valueType;
    }

    /** Aborted when the connection is gone, and the lease with it. */
    get over() {
        return this.#connection.over;
    }

    /**
     * The load has ended with this: it answers everybody who waits, and is stored.
     * @param {unknown} value as loaders give it
     * @param {object} [options] ttlMs, staleTtlMs, expiresAtMs, tags, keepMs, noStore; timeoutMs, signal, opId, metadata
     */
    async fulfil(value, { ttlMs, staleTtlMs, expiresAtMs, tags, keepMs, noStore, ...options } = {}) {
        const { outcome, bytes } = valueToFulfil(value, this.valueType);
        const reply = await this.#call('Fulfil', {
            outcome, value: bytes, ttlMs, staleTtlMs, expiresAtMs, tags, keepMs, noStore,
        }, options);
        return {
            generation: reply.generation, outcome: OUTCOMES[reply.outcome] ?? 'not_cached',
            ttlLeftMs: reply.ttlLeftMs, staleLeftMs: reply.staleLeftMs,
        };
    }

    /** The load has failed: the others are told as the cache's on_error says. @param {unknown} error */
    async fail(error, options = {}) {
        const status = error instanceof HerdgateError ? error.status : UNKNOWN;
        await this.#call('Fulfil', { status, message: error instanceof Error ? error.message : String(error) }, options);
    }

    /** Its time begins anew. @returns {Promise<number>} how long it lasts now */
    async renew(options = {}) {
        const { leaseTtlMs } = await this.#call('Renew', {}, options);
        this.ttlMs = leaseTtlMs;
        return leaseTtlMs;
    }

    /** Gives it up, for the next who asked to lead or the cache's loader; or gives up what keepMs keeps. */
    async release(options = {}) {
        await this.#call('Release', {}, options);
    }

    async #call(method, request, options) {
        if (this.over.aborted) {
            throw new AbortedError('the lease has ended: its connection was lost');
        }
        return this.#client.call(`herdgate.v1.Cache/${method}`,
            { cache: this.cache, leaseId: this.id, epoch: this.epoch, ...request }, { ...options, connection: this.#connection });
    }
}
