// SPDX-License-Identifier: Apache-2.0
export { Client } from './client.js';
export {
    AbortedError, CancelledError, DeadlineExceededError, FailedPreconditionError, HerdgateError, InternalError,
    InvalidArgumentError, NotFoundError, PermissionDeniedError, ResourceExhaustedError, UnauthenticatedError, UnavailableError,
    UnimplementedError, UnknownError,
} from './errors.js';
export { key } from './keys.js';
export { Lease } from './lease.js';
export { loaded } from './load_through.js';
export { URL_DEFAULT } from './url.js';
export { ABSENT, DENIED, Value, auth, json } from './values.js';
