// SPDX-License-Identifier: Apache-2.0
// client: asks a herdgate server. index.d.ts says what each call takes and gives.
import { randomBytes } from 'node:crypto';
import { answerOf, sourceOfError } from './answer.js';
import { Channel } from './channel.js';
import { bearerOf, tlsOf } from './credentials.js';
import { InvalidArgumentError, errorOf } from './errors.js';
import { keyMessage, textOf } from './keys.js';
import { loadThrough } from './load_through.js';
import { URL_DEFAULT, parseUrl } from './url.js';
import { valueToPut } from './values.js';
import { watch } from './watch.js';
import { methodOf, pack, packRequest, unpack, unpackReply } from './wire.js';

const OP_ID_LEN = 16;
const TIMEOUT_MAX_MS = 120_000;
const MODES = { default: 0, fresh: 1, allow_stale: 2, revalidate: 3, peek: 4 };
const HEALTH = ['unknown', 'serving', 'not_serving', 'service_unknown'];

/** Whoever asks for these twice has changed nothing. */
const READS = /\/(Get|GetOrLoad|BatchGetOrLoad|Generation|Renew|Watch|Check|List\w+|Stats|Explain|SnapshotInfo|VerifySnapshot)$/;

const DEFAULTS = {
    timeoutMs: 15_000,
    connectTimeoutMs: 5_000,
    // Below the server's in_flight_max (256), so that what ends a wait, such as the fulfilment of a lease, still gets through.
    inFlightMax: 224,
    queueMax: 4_096,
    messageMaxBytes: 1024 * 1024,
    unsentMaxBytes: 8 * 1024 * 1024,
    // Below the server's idle (5 min), so that it is not the server that closes, while a request is on its way.
    idleMs: 240_000,
    waitForReady: false,
    backoff: { minMs: 20, maxMs: 2_000 },
};
const CREDENTIALS = ['token', 'tokenFile', 'caFile', 'certFile', 'keyFile', 'serverName'];

function checkOptions(options) {
    for (const [name, value] of Object.entries(options)) {
        if (CREDENTIALS.includes(name)) {
            continue;
        }
        if (!Object.hasOwn(DEFAULTS, name)) {
            throw new InvalidArgumentError(`there is no option "${name}"`);
        }
        if (typeof DEFAULTS[name] === 'number' && !(Number.isInteger(value) && value > 0)) {
            throw new InvalidArgumentError(`${name}: ${String(value)} is no whole number above 0`);
        }
    }
}

function modeOf(mode = 'default') {
    if (!Object.hasOwn(MODES, mode)) {
        throw new InvalidArgumentError(`"${mode}" is no mode; one is ${Object.keys(MODES).join(', ')}`);
    }
    return MODES[mode];
}

const reportOf = ({ cache, generation, dropped, fenced, released }) => ({
    cache: textOf(cache), generation, dropped: Number(dropped), fenced: Number(fenced), released: Number(released),
});

const countersOf = (counters) => Object.fromEntries(counters.map(({ name, value }) => [textOf(name), value]));

export class Client {
    #channel;
    #bearer;
    #timeoutMs;
    #waitForReady;

    /** Does not connect: the first call does, and the first one after the connection was lost. */
    constructor(url = URL_DEFAULT, options = {}) {
        checkOptions(options);
        const all = { ...DEFAULTS, ...options, backoff: { ...DEFAULTS.backoff, ...options.backoff } };
        const where = parseUrl(url);
        this.#bearer = bearerOf(options);
        this.#timeoutMs = all.timeoutMs;
        this.#waitForReady = all.waitForReady;
        this.#channel = new Channel(url, where, { ...all, tls: where.isTls ? tlsOf(options, where.address.host) : undefined });
    }

    /** Ends the connection; calls that wait end with CancelledError. */
    close() {
        this.#channel.close();
    }

    // ---- reading ----

    get(cache, key, options = {}) {
        return this.#read('Get', cache, key, { ...options, lead: undefined });
    }

    load(cache, key, options = {}) {
        return this.#read('GetOrLoad', cache, key, options);
    }

    async batchLoad(cache, keys, { mode, maxAgeMs, minGeneration, ...options } = {}) {
        const { reply, connection } = await this.#exchange('herdgate.v1.Cache/BatchGetOrLoad', {
            cache, keys: keys.map(keyMessage), mode: modeOf(mode), maxAgeMs, minGeneration,
        }, options);
        return reply.answers.map((message) => answerOf(message, { client: this, connection, cache }));
    }

    getOrLoad(cache, key, loader, options = {}) {
        return loadThrough(this, cache, key, loader, options);
    }

    async #read(method, cache, key, { mode, maxAgeMs, minGeneration, lead, ...options }) {
        const answered = ({ reply, connection }) => answerOf(reply, { client: this, connection, cache });
        // A lease that comes to somebody who has left is given up: others wait for it.
        const late = lead && ((reply) => answered(reply).lease?.release().catch(() => {}));
        return answered(await this.#exchange(`herdgate.v1.Cache/${method}`, {
            cache, key: keyMessage(key), mode: modeOf(mode), maxAgeMs, minGeneration, lead,
        }, { ...options, late }));
    }

    // ---- changing ----

    async put(cache, key, value, { ttlMs, staleTtlMs, expiresAtMs, ifGeneration, tags, ...options } = {}) {
        const { outcome, bytes } = valueToPut(value);
        const { generation } = await this.call('herdgate.v1.Cache/Put', {
            cache, key: keyMessage(key), outcome, value: bytes, ttlMs, staleTtlMs, expiresAtMs, ifGeneration, tags,
        }, options);
        return { generation };
    }

    async invalidate(cache, { keys = [], tags, prefix, soft } = {}, options = {}) {
        return reportOf(await this.call('herdgate.v1.Cache/Invalidate', {
            cache, keys: keys.map(keyMessage), tags, prefix, soft,
        }, options));
    }

    async generation(cache, key, options = {}) {
        const { token } = await this.call('herdgate.v1.Cache/Generation', { cache, key: keyMessage(key) }, options);
        return token;
    }

    async clear(cache, { wait, ...options } = {}) {
        if (!cache) {
            throw new InvalidArgumentError('clear needs a cache; clearAll() is for all of them');
        }
        const { reports } = await this.call('herdgate.v1.Admin/Clear', { cache, wait }, options);
        return reportOf(reports[0]);
    }

    async clearAll({ wait, ...options } = {}) {
        const { reports } = await this.call('herdgate.v1.Admin/Clear', { wait }, options);
        return reports.map(reportOf);
    }

    // ---- looking on ----

    watch(options = {}) {
        return watch(this, options);
    }

    async health(service = '', options = {}) {
        const { reply, message } = await this.#exchange('grpc.health.v1.Health/Check', { service }, options);
        return { status: HEALTH[reply.status] ?? 'unknown', message };
    }

    async stats(cache = '', options = {}) {
        const { caches, server } = await this.call('herdgate.v1.Admin/Stats', { cache }, options);
        return {
            caches: Object.fromEntries(caches.map((one) => [textOf(one.cache), countersOf(one.counters)])),
            server: countersOf(server),
        };
    }

    // ---- any method ----

    async call(method, request = {}, options = {}) {
        return (await this.#exchange(method, request, options)).reply;
    }

    /** The time a call has that was given this one. */
    timeoutOf(timeoutMs = this.#timeoutMs) {
        if (!(timeoutMs > 0)) {
            throw new InvalidArgumentError(`timeoutMs: ${String(timeoutMs)} is no time above 0`);
        }
        return Math.ceil(Math.min(timeoutMs, TIMEOUT_MAX_MS));
    }

    async #exchange(path, request, { timeoutMs, signal, opId, metadata = {}, waitForReady = this.#waitForReady, connection, late, ...rest }) {
        const [stray] = Object.keys(rest);
        if (stray !== undefined) {
            throw new InvalidArgumentError(`a call has no option "${stray}"`);
        }
        const method = methodOf(path);
        const changes = !READS.test(path);
        const ask = {
            timeoutMs: this.timeoutOf(timeoutMs), changes, signal, waitForReady, on: connection,
            opId: changes ? opId ?? randomBytes(OP_ID_LEN) : undefined,
        };
        const pairs = Object.entries(metadata).map(([name, value]) => ({ name: Buffer.from(name), value: Buffer.from(value) }));
        if (this.#bearer) {
            pairs.push({ name: Buffer.from('authorization'), value: Buffer.from(this.#bearer()) });
        }
        const payload = pack(method.request, request);
        const read = (reply) => ({ ...this.#readReply(method, reply.body, ask.opId), connection: reply.connection });
        return read(await this.#channel.submit({
            ...ask,
            pack: (leftMs) => packRequest({ method: method.name, timeoutMs: leftMs, payload, metadata: pairs, opId: ask.opId }),
            late: late && ((reply) => {
                try {
                    late(read(reply));
                } catch {
                    // It is an error, and there is nobody to tell.
                }
            }),
        }));
    }

    #readReply(method, body, opId) {
        const envelope = unpackReply(body);
        const message = envelope.message.toString();
        if (envelope.status) {
            const { retryAfterMs, payload } = envelope;
            throw errorOf(envelope.status, message, { retryAfterMs, opId, source: this.#sourceIn(method, payload) });
        }
        return { reply: unpack(method.reply, envelope.payload), message };
    }

    #sourceIn(method, payload) {
        return method.reply.name === 'Answer' && payload.length ? sourceOfError(unpack(method.reply, payload).source) : undefined;
    }
}
