// SPDX-License-Identifier: Apache-2.0
// answer: what a read is told of one key.
import { InternalError, errorOf } from './errors.js';
import { Lease } from './lease.js';
import { OUTCOMES, VALUE_TYPES, valueOf } from './values.js';

const SOURCES = ['none', 'fresh', 'stale', 'loaded', 'joined', 'leased'];
const LOADED = 3;
const JOINED = 4;

/** The message as an answer; of one with a status in a batch the error. */
export function answerOf(message, { client, connection, cache }) {
    if (message.status) {
        return errorOf(message.status, message.message.toString(), {
            retryAfterMs: message.retryAfterMs, source: sourceOfError(message.source),
        });
    }
    const valueType = VALUE_TYPES[message.valueType] ?? 'none';
    const answer = {
        outcome: OUTCOMES[message.outcome] ?? 'not_cached',
        value: undefined,
        valueType: valueType === 'none' ? undefined : valueType,
        source: SOURCES[message.source] ?? 'none',
        isFenced: message.fenced,
        generation: message.generation,
        ageMs: message.ageMs,
        ttlLeftMs: message.ttlLeftMs,
        staleLeftMs: message.staleLeftMs,
        lease: undefined,
    };
    if (message.leaseId) {
        answer.lease = new Lease(client, connection, {
            cache, id: message.leaseId, epoch: message.leaseEpoch, ttlMs: message.leaseTtlMs, valueType,
        });
    }
    if (answer.outcome === 'value' || message.value.length) {
        try {
            answer.value = valueOf(message.value, valueType);
        } catch (error) {
            throw new InternalError(`a value of ${cache} cannot be read as ${valueType}`, { cause: error });
        }
    }
    return answer;
}

/** Whose load it was that failed. */
export function sourceOfError(source) {
    return source === LOADED ? 'loaded' : source === JOINED ? 'joined' : undefined;
}
