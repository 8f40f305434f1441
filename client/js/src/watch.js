// SPDX-License-Identifier: Apache-2.0
// watch: what changes on a server, in order, over restarts and lost connections.
import { setTimeout as sleep } from 'node:timers/promises';
import {
    CancelledError, DeadlineExceededError, InternalError, InvalidArgumentError, ResourceExhaustedError, UnavailableError,
} from './errors.js';
import { keyOf, textOf } from './keys.js';

const KINDS = ['other', 'clear', 'invalidate', 'put', 'loader'];
const POLL_MS = 30_000;
const PAUSE_MIN_MS = 50;
const PAUSE_MAX_MS = 5_000;
const POSITION = /^([0-9]{1,20}):([0-9]{1,20})$/;

function readPosition(text) {
    if (text === undefined) {
        return { after: 0n, epoch: 0n };
    }
    const [, after, epoch] = POSITION.exec(text) ?? [];
    if (!epoch) {
        throw new InvalidArgumentError(`"${text}" is no position; one is what an event says, NUMBER:EPOCH`);
    }
    return { after: BigInt(after), epoch: BigInt(epoch) };
}

function changeOf(event, epoch) {
    const kind = KINDS[event.kind] ?? 'other';
    return {
        kind, [kind === 'loader' ? 'loader' : 'cache']: textOf(event.name), key: keyOf(event.key), generation: event.generation,
        number: event.number, atMs: event.atMs, position: `${event.number}:${epoch}`,
    };
}

const isWorthAnother = (error) => [UnavailableError, DeadlineExceededError, ResourceExhaustedError, InternalError]
    .some((Kind) => error instanceof Kind);

/** Waits as long as was advised, or longer each time. */
async function pause(error, failures, signal) {
    const growing = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** failures);
    try {
        await sleep(Math.max(error.retryAfterMs, growing * (0.5 + Math.random() / 2)), undefined, { signal });
    } catch (reason) {
        throw new CancelledError('the caller gave it up', { cause: signal.reason ?? reason });
    }
}

/**
 * @param {import('./client.js').Client} client
 * @param {{after?: string, signal?: AbortSignal, metadata?: Record<string, string>}} options
 */
export async function* watch(client, { after, ...options }) {
    let position = readPosition(after);
    let failures = 0;
    for (;;) {
        let reply;
        try {
            // The first one after a failure asks only whether somebody is there.
            const timeoutMs = failures ? 1 : POLL_MS;
            reply = await client.call('herdgate.v1.Events/Watch', position, { ...options, timeoutMs });
        } catch (error) {
            if (!isWorthAnother(error)) {
                throw error;
            }
            if (failures === 0) {
                yield { kind: 'lost', error };
            }
            await pause(error, failures++, options.signal);
            continue;
        }
        const isStart = position.epoch === 0n;
        position = { after: reply.last, epoch: reply.epoch };
        if (isStart || reply.gap) {
            yield { kind: isStart ? 'start' : 'gap', position: `${reply.last}:${reply.epoch}` };
        }
        for (const event of reply.events) {
            yield changeOf(event, reply.epoch);
        }
        if (failures) {
            failures = 0;
            yield { kind: 'back', position: `${reply.last}:${reply.epoch}` };
        }
    }
}
