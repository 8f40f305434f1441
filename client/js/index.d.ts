// SPDX-License-Identifier: Apache-2.0
// A client of herdgate. README.md shows how it is used, docs/PROTOCOL.md of the project what is behind it.

// ---- keys ----

/** Text; as bytes where it need not be UTF-8. */
export type Text = string | Uint8Array;

export interface BytesKey { readonly kind: 'bytes'; readonly bytes: Text }
export interface KeyHashKey { readonly kind: 'key_hash'; readonly keyHash: Text }
export interface UserApiKeyKey { readonly kind: 'user_api_key'; readonly userId: Text; readonly apiKeyId: Text }
export interface ApiKeyFeatureKey {
    readonly kind: 'api_key_feature'; readonly userId: Text; readonly apiKeyId: Text; readonly isStandalone: boolean;
}
/** A cache takes the kind it is configured for; one of `key = "auth"` the middle two. */
export type Key = BytesKey | KeyHashKey | UserApiKeyKey | ApiKeyFeatureKey;

export const key: {
    /** Compared exactly. */
    bytes(bytes: Text): BytesKey;
    /** White space at both ends is cut off, here and below. */
    keyHash(keyHash: Text): KeyHashKey;
    userApiKey(userId: Text, apiKeyId: Text): UserApiKeyKey;
    /** `userId` may be empty if `isStandalone`, which is false unless given. */
    apiKeyFeature(userId: Text, apiKeyId: Text, isStandalone?: boolean): ApiKeyFeatureKey;
};

// ---- values ----

/** The value of an auth cache as it is read. */
export interface AuthValue {
    userId: Text;
    apiKeyId: Text;
    allowed: boolean;
    scopes: Text[];
    attributes: Record<string, Text>;
    /** Unix milliseconds; 0: no end. */
    notAfterMs: number;
}

/** The value of an auth cache as it is given. */
export interface AuthValueInit {
    userId: Text;
    apiKeyId?: Text;
    allowed: boolean;
    scopes?: Text[];
    attributes?: Record<string, Text>;
    notAfterMs?: number;
}

/** A value that says its type, or an outcome without one. Made by json(), auth(), ABSENT and DENIED. */
export class Value {
    private constructor();
    readonly outcome: number;
    readonly type: number;
    readonly bytes: Uint8Array;
}
/** For a json cache: whatever JSON.stringify takes. */
export function json(value: unknown): Value;
/** For an auth cache. */
export function auth(value: AuthValueInit): Value;
/** It was looked up, and it is not there. */
export const ABSENT: Value;
/** It is known, and refused. */
export const DENIED: Value;

export type ValueType = 'bytes' | 'json' | 'auth';
export type Outcome = 'value' | 'absent' | 'denied' | 'not_cached';
export type Source = 'none' | 'fresh' | 'stale' | 'loaded' | 'joined' | 'leased';
export type Mode = 'default' | 'fresh' | 'allow_stale' | 'revalidate' | 'peek';

/** What is known of one key. All four outcomes are answers; a gateway lets in on 'value' only. */
export interface Answer<T = unknown> {
    outcome: Outcome;
    /** A Buffer, what JSON.parse made, or an AuthValue, by `valueType`. With 'denied' only an auth value, if any. */
    value: T | undefined;
    valueType: ValueType | undefined;
    /** 'loaded': this call began the load; 'joined': another's answered it; 'leased': no answer, this caller is to load. */
    source: Source;
    /** Overtaken by an invalidation while it was loaded: use it once, it was not kept. */
    isFenced: boolean;
    /** At which the value was born; never smaller for a newer value of the same key. */
    generation: bigint;
    ageMs: number;
    /** Fresh for so long. */
    ttlLeftMs: number;
    /** Servable for so long. */
    staleLeftMs: number;
    /** To who asked to lead. */
    lease: Lease | undefined;
}

// ---- calls ----

export interface CallOptions {
    /** How long the server may take; the call ends a second later at the latest. At most 120,000. */
    timeoutMs?: number;
    /** Gives the call up: CancelledError, with the signal's reason as `cause`. The server goes on. */
    signal?: AbortSignal;
    /** Does not end when the server cannot be reached, but waits for it until the deadline. */
    waitForReady?: boolean;
    /** Sent along, such as `traceparent`; names the server does not know are passed over. */
    metadata?: Record<string, string>;
}

export interface ChangeOptions extends CallOptions {
    /** 16 bytes; the same id for the same request happens once. Else random ones, see HerdgateError.opId. */
    opId?: Uint8Array;
}

export interface ReadOptions extends CallOptions {
    /** What may be served; of load() only. */
    mode?: Mode;
    /** Older is not fresh for this reader; 0: only what is of this millisecond. */
    maxAgeMs?: number;
    /** What was born before it does not count for this reader. */
    minGeneration?: bigint;
}

/** How long something lives; these can only shorten what the cache says. */
export interface Lifetimes {
    ttlMs?: number;
    staleTtlMs?: number;
    /** Unix milliseconds. */
    expiresAtMs?: number;
    /** At most 16 of 1 to 128 bytes; invalidate() takes all that has one of them. */
    tags?: Text[];
}

/** A moment of a cache. */
export interface Token { generation: bigint; epoch: bigint }

export interface PutOptions extends ChangeOptions, Lifetimes {
    /** AbortedError if the key was invalidated or put after that moment. */
    ifGeneration?: Token;
}

/** At least one key, tag or prefix. */
export interface Covered {
    /** At most 256. */
    keys?: Key[];
    tags?: Text[];
    /** A user id: all of that user's keys and auth values. */
    prefix?: Text;
    /** Stale instead of gone. */
    soft?: boolean;
}

/** What an invalidation or a clear did. */
export interface Report { cache: Text; generation: bigint; dropped: number; fenced: number; released: number }

// ---- loading by the caller ----

export interface FulfilOptions extends Lifetimes {
    /** Who asks within this time gets the value, whatever its ttl. */
    keepMs?: number;
    /** It answers who waits, and is kept nowhere. */
    noStore?: boolean;
}

/** The duty to load a key that others wait for. It ends with its connection; then every call is an AbortedError. */
export class Lease {
    private constructor();
    readonly cache: string;
    readonly id: bigint;
    readonly epoch: bigint;
    readonly ttlMs: number;
    /** What the cache takes. */
    readonly valueType: ValueType;
    /** Aborted when the connection is gone, and the lease with it. */
    readonly over: AbortSignal;
    fulfil(value: unknown, options?: FulfilOptions & ChangeOptions): Promise<{
        generation: bigint; outcome: Outcome; ttlLeftMs: number; staleLeftMs: number;
    }>;
    /** The load has failed: a HerdgateError's status and any error's message go to the others. */
    fail(error: unknown, options?: ChangeOptions): Promise<void>;
    renew(options?: CallOptions): Promise<number>;
    release(options?: ChangeOptions): Promise<void>;
}

/** What a loader is told. */
export interface Lead {
    cache: string;
    key: Key;
    valueType: ValueType;
    /** The caller has an old value already, and does not wait. */
    isBehind: boolean;
    /** Until the caller's deadline. */
    leftMs: number;
    /** Aborted when nobody waits any more: the caller left, its time is over, or the lease has ended. */
    signal: AbortSignal;
}

/** What loaded() makes. */
export interface Loaded { readonly value: unknown; readonly options: FulfilOptions }
/** A loader's value with lifetimes of its own, tags and the like. */
export function loaded(value: unknown, options?: FulfilOptions): Loaded;

/** Gives the value: bytes or a string for a bytes cache, anything with JSON for a json cache, an AuthValueInit for an auth
 *  cache; or json(), auth(), ABSENT, DENIED; or any of these in loaded(). What it throws is the others' error, too. */
export type Loader = (lead: Lead) => unknown;

export interface GetOrLoadOptions extends ReadOptions {
    /** A value that an invalidation overtook is given to this caller all the same, marked isFenced; else it is loaded anew. */
    deliverFenced?: boolean;
}

// ---- what changes ----

export interface Change {
    /** 'other' is newer than this client: if it names a cache, as 'clear'. */
    kind: 'clear' | 'invalidate' | 'put' | 'other';
    cache: Text;
    /** undefined: any key of the cache. */
    key: Key | undefined;
    generation: bigint;
    number: bigint;
    atMs: number;
    position: string;
}
export interface LoaderChange {
    kind: 'loader'; loader: Text; key: undefined; generation: bigint; number: bigint; atMs: number; position: string;
}
/** Where the watch stands: at the start; or events are lost, and whatever was copied may be out of date; or it is heard again. */
export interface Standing { kind: 'start' | 'gap' | 'back'; position: string }
/** Nothing is heard until 'back': copies may be out of date. */
export interface Lost { kind: 'lost'; error: HerdgateError }
export type WatchItem = Change | LoaderChange | Standing | Lost;

// ---- the client ----

export interface ClientOptions {
    /** Of a call that names none: 15,000. */
    timeoutMs?: number;
    /** Until the server has greeted: 5,000. */
    connectTimeoutMs?: number;
    /** Of calls that do not say: false. */
    waitForReady?: boolean;
    /** Sent and not answered: 224. Must be below the server's in_flight_max. */
    inFlightMax?: number;
    /** Waiting to be sent: 4,096; one more is a ResourceExhaustedError. */
    queueMax?: number;
    /** 1 MiB, as the server's message_max. */
    messageMaxBytes?: number;
    /** 8 MiB wait for a server that does not read. */
    unsentMaxBytes?: number;
    /** A connection without requests is closed after it: 240,000. Should be below the server's idle. */
    idleMs?: number;
    /** Pauses between attempts to connect, each twice the last: 20 to 2,000. */
    backoff?: { minMs?: number; maxMs?: number };
    /** An access token, or what gives it for each request. */
    token?: string | (() => string);
    /** A file with a token and nothing else, not for everybody to read; read once. */
    tokenFile?: string;
    /** For tls+tcp://, PEM files, read once: who signs servers, the own certificate, and its key, not for everybody to read. */
    caFile?: string;
    certFile?: string;
    keyFile?: string;
    /** What the server's certificate must be of, if not the address's host. */
    serverName?: string;
}

/** Where herdgated listens unless its configuration says otherwise. */
export const URL_DEFAULT: string;

/** Any number of calls at once share one connection. No request is ever sent twice. */
export class Client {
    /** ipc:///path (or unix:///path), abstract://name, tcp://host:port or tls+tcp://host:port. The first call connects. */
    constructor(url?: string, options?: ClientOptions);
    close(): void;

    /** Fresh from the cache, or 'not_cached'. */
    get<T = unknown>(cache: string, key: Key, options?: Omit<ReadOptions, 'mode'>): Promise<Answer<T>>;
    /** The cache's answer, loaded by its loader if need be. With `lead` this caller would load on a miss (Lease). */
    load<T = unknown>(cache: string, key: Key, options?: ReadOptions & { lead?: boolean }): Promise<Answer<T>>;
    /** One answer for each of 1 to 256 keys, in their order; of a key that failed the error. */
    batchLoad<T = unknown>(cache: string, keys: Key[], options?: ReadOptions): Promise<Array<Answer<T> | HerdgateError>>;
    /** load(), with the load done by `loader` if it is this caller who has to. Needs the right to put. */
    getOrLoad<T = unknown>(cache: string, key: Key, loader: Loader, options?: GetOrLoadOptions): Promise<Answer<T>>;

    /** Strings and bytes for a bytes cache, json(), auth(), ABSENT or DENIED. */
    put(cache: string, key: Key, value: Text | Value, options?: PutOptions): Promise<{ generation: bigint }>;
    invalidate(cache: string, covered: Covered, options?: ChangeOptions): Promise<Report>;
    generation(cache: string, key: Key, options?: CallOptions): Promise<Token>;
    /** With `wait` also the loads begun before it have ended. Needs the admin right. */
    clear(cache: string, options?: ChangeOptions & { wait?: boolean }): Promise<Report>;
    clearAll(options?: ChangeOptions & { wait?: boolean }): Promise<Report[]>;

    /** Each change, in order, until the signal; over restarts of the server. `after`: a position that was told. */
    watch(options?: { after?: string; signal?: AbortSignal; metadata?: Record<string, string> }): AsyncGenerator<WatchItem, never>;
    health(service?: string, options?: CallOptions): Promise<{
        status: 'unknown' | 'serving' | 'not_serving' | 'service_unknown'; message: string;
    }>;
    /** Counters (docs/COUNTERS.md). Needs the admin right. */
    stats(cache?: string, options?: CallOptions): Promise<{
        caches: Record<string, Record<string, bigint>>; server: Record<string, bigint>;
    }>;

    /** Any method of the .proto files: fields in camelCase, bytes as Buffer (strings are taken, too), enums as numbers, 64-bit
     *  numbers as bigint, but for times (...Ms): those are numbers. */
    call(method: string, request?: object, options?: ChangeOptions): Promise<Record<string, any>>;
    /** The time a call has that was given this one. */
    timeoutOf(timeoutMs?: number): number;
}

// ---- errors ----

/** A call that has no answer. */
export class HerdgateError extends Error {
    static readonly status: number;
    static readonly code: string;
    constructor(message: string, details?: {
        retryAfterMs?: number; isDoneUnknown?: boolean; source?: 'loaded' | 'joined'; opId?: Uint8Array; cause?: unknown;
    });
    /** gRPC's number. */
    readonly status: number;
    /** Its name, as 'UNAVAILABLE'. */
    readonly code: string;
    /** The server's advice; 0: none. */
    readonly retryAfterMs: number;
    /** The call changes something, and may have done so. */
    readonly isDoneUnknown: boolean;
    /** Of a failed load: this call's own, or another's. */
    readonly source: 'loaded' | 'joined' | undefined;
    /** Of a change: with the same id, within two minutes, it may be asked for again and happens once. */
    readonly opId: Uint8Array | undefined;
    readonly cause?: unknown;
}
export class CancelledError extends HerdgateError {}
export class UnknownError extends HerdgateError {}
export class InvalidArgumentError extends HerdgateError {}
export class DeadlineExceededError extends HerdgateError {}
export class NotFoundError extends HerdgateError {}
export class PermissionDeniedError extends HerdgateError {}
export class ResourceExhaustedError extends HerdgateError {}
export class FailedPreconditionError extends HerdgateError {}
export class AbortedError extends HerdgateError {}
export class UnimplementedError extends HerdgateError {}
export class InternalError extends HerdgateError {}
export class UnavailableError extends HerdgateError {}
export class UnauthenticatedError extends HerdgateError {}
