// SPDX-License-Identifier: Apache-2.0
// errors: why a call has no answer. One class for each status of docs/PROTOCOL.md, section 5.

/** A call that has no answer. `status` is gRPC's number, `code` its name; catch a class, or switch on `code`. */
export class HerdgateError extends Error {
    static status = 2;
    static code = 'UNKNOWN';

    /**
     * @param {string} message one sentence, for people
     * @param {object} [details]
     * @param {number} [details.retryAfterMs] the server's advice, 0: none
     * @param {boolean} [details.isDoneUnknown] the call changes something, and may have done so
     * @param {'loaded'|'joined'} [details.source] of a failed load: this call's own, or another's
     * @param {Uint8Array} [details.opId] of a change: with the same id it may be asked for again and happens once
     * @param {unknown} [details.cause]
     */
    constructor(message, { retryAfterMs = 0, isDoneUnknown = false, source, opId, cause } = {}) {
        super(message, cause === undefined ? undefined : { cause });
        this.name = this.constructor.name;
        this.status = /** @type {typeof HerdgateError} */ (this.constructor).status;
        this.code = /** @type {typeof HerdgateError} */ (this.constructor).code;
        this.retryAfterMs = retryAfterMs;
        this.isDoneUnknown = isDoneUnknown;
        this.source = source;
        this.opId = opId;
    }
}

/** Given up: by an AbortSignal (`cause` is its reason), by close(), or by KillFlight. */
export class CancelledError extends HerdgateError { static status = 1; static code = 'CANCELLED'; }
/** A loader failed without saying how. */
export class UnknownError extends HerdgateError { static status = 2; static code = 'UNKNOWN'; }
/** The request is wrong and will stay wrong. */
export class InvalidArgumentError extends HerdgateError { static status = 3; static code = 'INVALID_ARGUMENT'; }
/** The caller's time, or the load's, was over. */
export class DeadlineExceededError extends HerdgateError { static status = 4; static code = 'DEADLINE_EXCEEDED'; }
/** There is no such cache, loader, flight, ...; a key that is not there is the outcome 'absent', and no error. */
export class NotFoundError extends HerdgateError { static status = 5; static code = 'NOT_FOUND'; }
/** The listener, the peer or the token has no right to this. */
export class PermissionDeniedError extends HerdgateError { static status = 7; static code = 'PERMISSION_DENIED'; }
/** A limit was reached; see `retryAfterMs`. */
export class ResourceExhaustedError extends HerdgateError { static status = 8; static code = 'RESOURCE_EXHAUSTED'; }
/** The server is not in a state for this. */
export class FailedPreconditionError extends HerdgateError { static status = 9; static code = 'FAILED_PRECONDITION'; }
/** Overtaken: by an invalidation, or the lease has ended. */
export class AbortedError extends HerdgateError { static status = 10; static code = 'ABORTED'; }
/** The server is older than this method. */
export class UnimplementedError extends HerdgateError { static status = 12; static code = 'UNIMPLEMENTED'; }
/** A fault of the server, or a reply that cannot be read. */
export class InternalError extends HerdgateError { static status = 13; static code = 'INTERNAL'; }
/** Nobody there: no connection, a lost one, the loader is down. */
export class UnavailableError extends HerdgateError { static status = 14; static code = 'UNAVAILABLE'; }
/** The listener wants a token, and there is none that it knows. */
export class UnauthenticatedError extends HerdgateError { static status = 16; static code = 'UNAUTHENTICATED'; }

const classes = new Map([CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError,
    PermissionDeniedError, ResourceExhaustedError, FailedPreconditionError, AbortedError, UnimplementedError,
    InternalError, UnavailableError, UnauthenticatedError].map((one) => [one.status, one]));

/**
 * The error of a status that came over the wire; a number that is not known is UNKNOWN.
 * @param {number} status
 * @param {string} message
 * @param {ConstructorParameters<typeof HerdgateError>[1]} [details]
 */
export function errorOf(status, message, details) {
    return new (classes.get(status) ?? UnknownError)(message || `status ${status}`, details);
}
