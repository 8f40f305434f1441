// SPDX-License-Identifier: Apache-2.0
// middleware: lets in requests whose API key is allowed, for Express and whatever else calls (req, res, next).
//
//     app.use(requireApiKey({ client, cache: 'auth' }));
//     app.get('/', (req, res) => res.send(`hello ${req.auth.userId}`));
//
// Two rules make it safe. It fails closed: only a value that says `allowed` lets a request in. And it says which refusals are
// final (401, 403: the client must change something) and which are not (503: ask again), so that a cache that is away does not
// look like a revoked key.
import { createHash } from 'node:crypto';
import { InvalidArgumentError, key } from 'herdgate';

const TIMEOUT_MS = 2_000;
const SCHEME = /^Bearer +(\S+)$/i;

/** All API keys a request shows: more than one is nobody's. @param {import('node:http').IncomingMessage} req */
export function credentialsOf(req) {
    const bearer = SCHEME.exec(req.headers.authorization ?? '')?.[1];
    return [req.headers['x-api-key'], bearer].filter((one) => one !== undefined && one !== '');
}

/** The server knows hashes only: what is cached, or in a snapshot, opens nothing. */
const hashOf = (credential) => createHash('sha256').update(credential).digest('hex');

/** A load that this request begins is part of its trace. */
const traceOf = ({ headers: { traceparent } }) => (traceparent ? { traceparent } : {});

function refuse(res, status, headers = {}) {
    res.writeHead(status, { 'content-length': '0', ...headers });
    res.end();
}

const tryLater = (res, retryAfterMs) => refuse(res, 503, { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) });
const unknown = (res) => refuse(res, 401, { 'www-authenticate': 'Bearer' });

/**
 * @param {{client: import('herdgate').Client, cache: string, timeoutMs?: number}} options
 * @returns {(req: any, res: import('node:http').ServerResponse, next: () => void) => Promise<void>}
 */
export function requireApiKey({ client, cache, timeoutMs = TIMEOUT_MS }) {
    return async (req, res, next) => {
        const credentials = credentialsOf(req);
        if (credentials.length !== 1) {
            credentials.length ? refuse(res, 400) : unknown(res);
            return;
        }
        // A client that hangs up does not wait any longer; who else asks for the key goes on waiting.
        const gone = new AbortController();
        const leave = () => gone.abort();
        res.once('close', leave);
        let answer;
        try {
            answer = await client.load(cache, key.keyHash(hashOf(credentials[0])), {
                timeoutMs, signal: gone.signal, metadata: traceOf(req),
            });
        } catch (error) {
            error instanceof InvalidArgumentError ? unknown(res) : tryLater(res, error.retryAfterMs ?? 0);
            return;
        } finally {
            res.off('close', leave);
        }
        if (answer.outcome === 'value' && answer.valueType === 'auth' && answer.value.allowed === true) {
            req.auth = answer.value;
            next();
        } else if (answer.outcome === 'absent') {
            unknown(res);
        } else {
            answer.outcome === 'denied' || answer.valueType === 'auth' ? refuse(res, 403) : tryLater(res, 0);
        }
    };
}
