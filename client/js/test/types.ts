// SPDX-License-Identifier: Apache-2.0
// What index.d.ts allows and what it does not; types.test.js hands it to tsc. It is never run.
import {
    ABSENT, Client, DENIED, HerdgateError, UnavailableError, auth, json, key, loaded,
    type Answer, type AuthValue, type Key, type Lease, type WatchItem,
} from 'herdgate';

const client = new Client('tls+tcp://h:1', { caFile: 'a', certFile: 'b', keyFile: 'c', token: () => 'hg_', backoff: { maxMs: 5 } });
// @ts-expect-error there is no such option
new Client('tcp://h:1', { timeout: 5 });

async function reads(): Promise<void> {
    const answer: Answer<AuthValue> = await client.load<AuthValue>('auth', key.keyHash('kh'), { maxAgeMs: 5, mode: 'fresh' });
    const allowed: boolean = answer.outcome === 'value' && answer.value?.allowed === true;
    // @ts-expect-error it may be undefined
    answer.value.allowed;
    // @ts-expect-error a text is no key
    await client.get('auth', 'kh');
    // @ts-expect-error there is no such mode
    await client.load('auth', key.keyHash('kh'), { mode: 'old' });
    // @ts-expect-error generations are bigint
    await client.get('auth', key.keyHash('kh'), { minGeneration: 5 });
    for (const one of await client.batchLoad('c', [key.bytes(new Uint8Array(1))])) {
        if (one instanceof HerdgateError) {
            const status: number = one.status;
            continue;
        }
        one.ttlLeftMs.toFixed();
    }
    const lease: Lease | undefined = (await client.load('c', key.bytes('k'), { lead: true })).lease;
    await lease?.fulfil('x', { keepMs: 5 });
    await client.getOrLoad('c', key.bytes('k'), async ({ signal, leftMs }) => {
        const is: boolean = signal.aborted;
        return leftMs > 5 ? loaded(json({ a: 1 }), { tags: ['t'] }) : ABSENT;
    }, { deliverFenced: true, signal: new AbortController().signal });
}

async function changes(): Promise<void> {
    const { generation } = await client.put('c', key.bytes('k'), auth({ userId: 'u', allowed: true }), { tags: ['t'] });
    const next: bigint = generation + 1n;
    await client.put('c', key.bytes('k'), DENIED, { ifGeneration: await client.generation('c', key.bytes('k')) });
    // @ts-expect-error say of which type it is: json(...)
    await client.put('c', key.bytes('k'), { a: 1 });
    // @ts-expect-error allowed must be said
    auth({ userId: 'u' });
    const dropped: number = (await client.invalidate('c', { prefix: 'u_1', soft: true })).dropped;
    await client.clear('c', { wait: true, opId: new Uint8Array(16) });
    for await (const item of client.watch()) {
        if (item.kind === 'lost') {
            item.error.retryAfterMs.toFixed();
        } else if (item.kind === 'invalidate') {
            const which: Key | undefined = item.key;
            if (which?.kind === 'user_api_key') {
                which.apiKeyId;
            }
        } else {
            const where: string = item.position;
        }
    }
}

function errors(error: unknown, item: WatchItem): number {
    if (error instanceof UnavailableError) {
        return error.retryAfterMs;
    }
    // @ts-expect-error what was lost has no position
    return item.position.length;
}

void [reads, changes, errors];
