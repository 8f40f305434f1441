// SPDX-License-Identifier: Apache-2.0
// credentials: what a client shows: a token with each request, certificates with TLS.
import { readFileSync, statSync } from 'node:fs';
import { FailedPreconditionError, InvalidArgumentError } from './errors.js';

const TOKEN = /^hg_[!-~]{1,253}$/;
const EVERYBODY = 0o007;

function read(path, isSecret) {
    try {
        if (isSecret && statSync(path).mode & EVERYBODY) {
            throw new FailedPreconditionError(`${path}: everybody may read or write it; give it mode 0600`);
        }
        return readFileSync(path);
    } catch (error) {
        throw error instanceof FailedPreconditionError ? error
            : new FailedPreconditionError(`${path}: ${error.message}`, { cause: error });
    }
}

/**
 * A function that gives the value of the metadata pair `authorization`, or null where no token is to be shown.
 * @param {{token?: string | (() => string), tokenFile?: string}} options
 * @returns {(() => string) | null}
 */
export function bearerOf({ token, tokenFile }) {
    if (token !== undefined && tokenFile !== undefined) {
        throw new InvalidArgumentError('give token or tokenFile, not both');
    }
    const check = (/** @type {unknown} */ text, /** @type {string} */ where) => {
        if (typeof text !== 'string' || !TOKEN.test(text)) {
            throw new InvalidArgumentError(`${where} holds no token; one is what "herdgate token new" printed, hg_...`);
        }
        return `Bearer ${text}`;
    };
    if (typeof token === 'function') {
        return () => check(token(), 'what the function token gave');
    }
    if (token === undefined && tokenFile === undefined) {
        return null;
    }
    const bearer = tokenFile !== undefined ? check(read(tokenFile, true).toString('latin1').trim(), tokenFile)
        : check(token, 'token');
    return () => bearer;
}

/**
 * What tls.connect() wants of a tls+tcp:// address. Files are read now.
 * @param {{caFile?: string, certFile?: string, keyFile?: string, serverName?: string}} options
 * @param {string} host
 */
export function tlsOf({ caFile, certFile, keyFile, serverName }, host) {
    const missing = Object.entries({ caFile, certFile, keyFile }).find(([, path]) => path === undefined);
    if (missing) {
        throw new InvalidArgumentError(`TLS needs a caFile, a certFile and a keyFile; there is no ${missing[0]}`);
    }
    return {
        ca: read(caFile, false), cert: read(certFile, false), key: read(keyFile, true),
        servername: serverName ?? host, minVersion: /** @type {const} */ ('TLSv1.2'), rejectUnauthorized: true,
    };
}
