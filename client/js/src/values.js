// SPDX-License-Identifier: Apache-2.0
// values: what a key may have: bytes, JSON, an auth value, or the knowledge that there is none or that it is refused.
import { InvalidArgumentError } from './errors.js';
import { textOf } from './keys.js';
import { pack, typeOf, unpack } from './wire.js';

const authType = typeOf('herdgate.v1.AuthValue');

export const OUTCOMES = ['not_cached', 'value', 'absent', 'denied'];
export const VALUE_TYPES = ['none', 'bytes', 'json', 'auth'];

/** A value that says of what type it is, or an outcome without one. Made by json(), auth(), ABSENT and DENIED. */
export class Value {
    /** @param {number} outcome @param {number} type @param {Uint8Array} bytes */
    constructor(outcome, type, bytes) {
        this.outcome = outcome;
        this.type = type;
        this.bytes = bytes;
        Object.freeze(this);
    }
}

/** It was looked up, and it is not there. */
export const ABSENT = new Value(2, 0, Buffer.alloc(0));
/** It is known, and refused. */
export const DENIED = new Value(3, 0, Buffer.alloc(0));

/** A value of a json cache. @param {unknown} value whatever JSON.stringify takes */
export function json(value) {
    const text = JSON.stringify(value);
    if (text === undefined) {
        throw new InvalidArgumentError(`json: ${typeof value} has no JSON`);
    }
    return new Value(1, 2, Buffer.from(text));
}

/**
 * A value of an auth cache.
 * @param {{userId: string, apiKeyId?: string, allowed: boolean, scopes?: string[],
 *          attributes?: Record<string, string>, notAfterMs?: number}} value
 */
export function auth({ attributes = {}, ...fields }) {
    if (typeof fields.allowed !== 'boolean') {
        throw new InvalidArgumentError('auth: allowed must be true or false');
    }
    return new Value(1, 3, pack(authType, {
        ...fields, attributes: Object.entries(attributes).map(([name, value]) => ({ name, value })),
    }));
}

/** What may be put: a Value, or bytes. @param {unknown} given @returns {Value} */
export function valueToPut(given) {
    if (given instanceof Value) {
        return given;
    }
    if (typeof given === 'string' || given instanceof Uint8Array) {
        return new Value(1, 1, Buffer.from(given));
    }
    throw new InvalidArgumentError('a value is a string, bytes, json(...), auth(...), ABSENT or DENIED');
}

/** What a loader may give: the same, or for a json or an auth cache a plain value. @param {unknown} given @param {string} type */
export function valueToFulfil(given, type) {
    if (given instanceof Value || type === 'bytes') {
        return valueToPut(given);
    }
    if (type === 'auth' && typeof given === 'object' && given !== null) {
        return auth(/** @type {any} */ (given));
    }
    if (type === 'json') {
        return json(given);
    }
    throw new InvalidArgumentError(`a loader for a cache of type ${type} must give a value of it, ABSENT or DENIED`);
}

function authOf(bytes) {
    const { userId, apiKeyId, allowed, scopes, attributes, notAfterMs } = unpack(authType, bytes);
    return {
        userId: textOf(userId), apiKeyId: textOf(apiKeyId), allowed, scopes: scopes.map(textOf),
        attributes: Object.fromEntries(attributes.map(({ name, value }) => [textOf(name), textOf(value)])), notAfterMs,
    };
}

/** The bytes of an answer as what they are. They are copied, for they lie in what was read from the socket. */
export function valueOf(bytes, type) {
    switch (type) {
    case 'json':
        return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
    case 'auth':
        return bytes.length ? authOf(bytes) : undefined;
    case 'bytes':
        return Buffer.from(bytes);
    default:
        return undefined;
    }
}
