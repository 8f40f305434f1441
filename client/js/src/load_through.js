// SPDX-License-Identifier: Apache-2.0
// load_through: reads whose load, if one is needed, is a function of the caller's.
import {
    AbortedError, CancelledError, DeadlineExceededError, FailedPreconditionError, HerdgateError, InvalidArgumentError,
    UnavailableError, UnknownError, errorOf,
} from './errors.js';
import { VALUE_TYPES, valueOf, valueToFulfil } from './values.js';

const ROUNDS_MAX = 3;
const FULFIL_LEAST_MS = 1_000; // also for a load that ends at its caller's deadline
const RENEW_PART = 3;

/** What a loader gives that has more to say than the value. */
class Loaded {
    constructor(value, options) {
        this.value = value;
        this.options = options;
    }
}

/**
 * A value with lifetimes of its own, tags, and the like: `return loaded(row, { ttlMs: 5000, tags: ['plan-gold'] })`.
 * @param {unknown} value @param {object} options ttlMs, staleTtlMs, expiresAtMs, tags, keepMs, noStore
 */
export function loaded(value, options = {}) {
    return new Loaded(value, options);
}

/** The value counts for nobody else: the lease had ended, or nobody can tell. */
class Overtaken extends Error {}

/** One load, from its lease to its end. */
class Load {
    #controller = new AbortController();
    #renewTimer;
    #stopTimer;

    constructor({ key, loader, signal, dueAt, isBehind }, lease) {
        this.key = key;
        this.loader = loader;
        this.signal = signal;
        this.dueAt = dueAt;
        this.isBehind = isBehind;
        this.lease = lease;
    }

    /** The loaded value and what became of it; the lease is over in each case. */
    async run() {
        let given;
        try {
            given = await this.#load();
        } catch (error) {
            throw await this.#failed(error);
        }
        const { value, options } = given instanceof Loaded ? given : { value: given, options: {} };
        try {
            const sent = valueToFulfil(value, this.lease.valueType);
            const leastMs = { timeoutMs: Math.max(this.#leftMs, FULFIL_LEAST_MS) };
            return { sent, options, ...await this.lease.fulfil(sent, { ...options, ...leastMs }) };
        } catch (error) {
            if ([AbortedError, UnavailableError, DeadlineExceededError].some((Kind) => error instanceof Kind)) {
                throw Object.assign(new Overtaken(), { given: { value, options } });
            }
            throw await this.#failed(error);
        }
    }

    get #leftMs() {
        return Math.ceil(this.dueAt - performance.now());
    }

    /** The loader's result, or why there will be none: the caller left, its time is over, or the lease is. */
    async #load() {
        const stopped = new Promise((_, reject) => {
            this.#controller.signal.addEventListener('abort', () => reject(this.#controller.signal.reason), { once: true });
        });
        const leave = () => this.#controller.abort(new CancelledError('the caller gave it up', { cause: this.signal.reason }));
        const lose = () => this.#controller.abort(new Overtaken('the lease has ended: its connection was lost'));
        const ends = [[this.signal, leave], [this.lease.over, lose]].filter(([signal]) => signal);
        for (const [signal, end] of ends) {
            signal.addEventListener('abort', end, { once: true });
            if (signal.aborted) {
                end();
            }
        }
        this.#stopTimer = setTimeout(() => this.#controller.abort(
            new DeadlineExceededError('the load did not end in its caller\'s time', { source: 'loaded' })), Math.max(this.#leftMs, 0));
        this.#renewLater();
        try {
            const { cache, valueType } = this.lease;
            const loading = Promise.resolve().then(() => this.loader({
                cache, key: this.key, valueType, isBehind: this.isBehind, leftMs: this.#leftMs, signal: this.#controller.signal,
            }));
            return await Promise.race([loading, stopped]);
        } finally {
            clearTimeout(this.#stopTimer);
            clearTimeout(this.#renewTimer);
            ends.forEach(([signal, end]) => signal.removeEventListener('abort', end));
            stopped.catch(() => {});
        }
    }

    #renewLater() {
        this.#renewTimer = setTimeout(async () => {
            try {
                await this.lease.renew();
                if (!this.#controller.signal.aborted) {
                    this.#renewLater();
                }
            } catch (error) {
                this.#controller.abort(Object.assign(new Overtaken('the lease has ended', { cause: error })));
            }
        }, this.lease.ttlMs / RENEW_PART);
    }

    /** Tells the others, or lets one of them load. Gives what the caller is told. */
    async #failed(error) {
        if (error instanceof Overtaken) {
            // If it has not ended after all, nobody must wait for it.
            this.lease.release().catch(() => {});
            return error;
        }
        const isStopped = this.#controller.signal.aborted;
        try {
            await (isStopped ? this.lease.release() : this.lease.fail(error));
        } catch {
            // A lease that cannot be given up runs out.
        }
        if (isStopped) {
            return this.#controller.signal.reason;
        }
        if (error instanceof HerdgateError) {
            return errorOf(error.status, error.message, { source: 'loaded', retryAfterMs: error.retryAfterMs, cause: error });
        }
        return new UnknownError(error instanceof Error ? error.message : String(error), { source: 'loaded', cause: error });
    }
}

// ---- the answer of who loaded ----

/** With a denial goes only what says so itself: an auth value whose time was over still says "allowed". */
function valueIn(sent, outcome) {
    const value = sent.bytes.length || sent.outcome === 1 ? valueOf(sent.bytes, VALUE_TYPES[sent.type]) : undefined;
    return outcome === 'denied' && value?.allowed !== false ? undefined : value;
}

function answerWith({ sent, outcome, generation = 0n, ttlLeftMs = 0, staleLeftMs = 0, isFenced = false }) {
    const value = valueIn(sent, outcome);
    return {
        outcome, value, valueType: value === undefined ? undefined : VALUE_TYPES[sent.type], source: 'loaded', isFenced, generation,
        ageMs: 0, ttlLeftMs, staleLeftMs, lease: undefined,
    };
}

const isPast = (unixMs) => Boolean(unixMs) && unixMs <= Date.now();

/** What the server would have made of a value that it did not get to see. */
function answerFenced({ value, options }, valueType) {
    const sent = valueToFulfil(value, valueType);
    const shown = valueIn(sent, 'value');
    let outcome = ['not_cached', 'value', 'absent', 'denied'][sent.outcome];
    if (valueType === 'auth' && outcome === 'value' && (!shown.allowed || isPast(shown.notAfterMs) || isPast(options.expiresAtMs))) {
        outcome = 'denied';
    }
    if (valueType !== 'auth' && isPast(options.expiresAtMs)) {
        throw new FailedPreconditionError('expiresAtMs has already passed', { source: 'loaded' });
    }
    return answerWith({ sent, outcome, isFenced: true });
}

/**
 * @param {import('./client.js').Client} client
 * @param {string} cache
 * @param {object} key
 * @param {(lead: object) => unknown} loader
 * @param {object} options
 */
export async function loadThrough(client, cache, key, loader, { deliverFenced = false, ...options }) {
    if (typeof loader !== 'function') {
        throw new InvalidArgumentError('getOrLoad needs a function that loads');
    }
    const timeoutMs = client.timeoutOf(options.timeoutMs);
    const dueAt = performance.now() + timeoutMs;
    for (let round = 0; round < ROUNDS_MAX; round++) {
        const leftMs = Math.ceil(dueAt - performance.now());
        if (leftMs <= 0) {
            throw new DeadlineExceededError('the load was overtaken, and there is no time for another');
        }
        const answer = await client.load(cache, key, { ...options, timeoutMs: leftMs, lead: true });
        const { lease } = answer;
        if (!lease) {
            return answer;
        }
        if (answer.source !== 'leased') {
            // There is nobody to tell what comes of it.
            const behind = { key, loader, dueAt: performance.now() + timeoutMs, isBehind: true };
            new Load(behind, lease).run().catch(() => {});
            return { ...answer, lease: undefined };
        }
        try {
            return answerWith(await new Load({ key, loader, signal: options.signal, dueAt, isBehind: false }, lease).run());
        } catch (error) {
            if (!(error instanceof Overtaken)) {
                throw error;
            }
            if (deliverFenced && error.given) {
                return answerFenced(error.given, lease.valueType);
            }
        }
    }
    throw new AbortedError(`the load was overtaken by invalidations ${ROUNDS_MAX} times`);
}
