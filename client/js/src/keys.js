// SPDX-License-Identifier: Apache-2.0
// keys: the four kinds of key. A cache takes the kind it is configured for.
import { isUtf8 } from 'node:buffer';
import { InvalidArgumentError } from './errors.js';

/** @typedef {string | Uint8Array} Text text; as bytes where it need not be UTF-8 */

function part(value, what) {
    if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
        throw new InvalidArgumentError(`${what} must be a string or bytes`);
    }
    return value;
}

/** Makes keys: `key.keyHash('kh_00001')`. */
export const key = Object.freeze({
    /** Compared exactly. @param {Text} bytes */
    bytes: (bytes) => Object.freeze({ kind: 'bytes', bytes: part(bytes, 'bytes') }),
    /** White space at both ends is cut off; must not be empty. @param {Text} keyHash */
    keyHash: (keyHash) => Object.freeze({ kind: 'key_hash', keyHash: part(keyHash, 'keyHash') }),
    /** @param {Text} userId @param {Text} apiKeyId */
    userApiKey: (userId, apiKeyId) => Object.freeze({ kind: 'user_api_key', userId: part(userId, 'userId'), apiKeyId: part(apiKeyId, 'apiKeyId') }),
    /** `userId` may be empty if `isStandalone`. @param {Text} userId @param {Text} apiKeyId @param {boolean} [isStandalone] */
    apiKeyFeature: (userId, apiKeyId, isStandalone = false) => Object.freeze({
        kind: 'api_key_feature', userId: part(userId, 'userId'), apiKeyId: part(apiKeyId, 'apiKeyId'), isStandalone: Boolean(isStandalone),
    }),
});

/** A key as the message Key. */
export function keyMessage(given) {
    switch (given?.kind) {
    case 'bytes':
        return { bytes: given.bytes };
    case 'key_hash':
        return { keyHash: given.keyHash };
    case 'user_api_key':
        return { userApiKey: { userId: given.userId, apiKeyId: given.apiKeyId } };
    case 'api_key_feature':
        return { apiKeyFeature: { userId: given.userId, apiKeyId: given.apiKeyId, isStandalone: given.isStandalone } };
    default:
        throw new InvalidArgumentError('a key is made by key.bytes(), key.keyHash(), key.userApiKey() or key.apiKeyFeature()');
    }
}

/** Text that came over the wire; bytes if it is no UTF-8, so that nothing is lost. @param {Uint8Array} bytes */
export function textOf(bytes) {
    return isUtf8(bytes) ? Buffer.from(bytes).toString() : Buffer.from(bytes);
}

/** A key of the message Key; undefined if there is none, or of a kind that is newer than this. */
export function keyOf(message) {
    if (message?.bytes) {
        return key.bytes(Buffer.from(message.bytes));
    }
    if (message?.keyHash) {
        return key.keyHash(textOf(message.keyHash));
    }
    if (message?.userApiKey) {
        return key.userApiKey(textOf(message.userApiKey.userId), textOf(message.userApiKey.apiKeyId));
    }
    if (message?.apiKeyFeature) {
        const { userId, apiKeyId, isStandalone } = message.apiKeyFeature;
        return key.apiKeyFeature(textOf(userId), textOf(apiKeyId), isStandalone);
    }
    return undefined;
}
