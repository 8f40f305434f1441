// SPDX-License-Identifier: Apache-2.0
// wire: messages to bytes and back, as the .proto files describe them; the only user of protobufjs.
//
// A message is a plain object: fields in camelCase, bytes as Uint8Array (a string is taken, too, as its UTF-8), enums as
// numbers, 64-bit numbers as bigint, but for times (names that end in Ms): those are numbers.
import { existsSync, readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import { InternalError, InvalidArgumentError } from './errors.js';

// In the package they lie beside it, in the repository in its own folder.
const packed = new URL('../proto/', import.meta.url);
const folder = existsSync(packed) ? packed : new URL('../../../proto/', import.meta.url);
const root = new protobuf.Root();
for (const name of ['herdgate.proto', 'health.proto']) {
    protobuf.parse(readFileSync(new URL(name, folder), 'utf8'), root);
}
root.resolveAll();

const WIDE = new Map([['uint64', [0n, 2n ** 64n]], ['fixed64', [0n, 2n ** 64n]],
    ['int64', [-(2n ** 63n), 2n ** 63n]], ['sint64', [-(2n ** 63n), 2n ** 63n]]]);
const UINT32_END = 2 ** 32;
const NOTHING = Buffer.alloc(0);

/** @param {string} name such as "herdgate.v1.AuthValue" */
export const typeOf = (name) => root.lookupType(name);

const requestType = typeOf('herdgate.v1.Request');
const replyType = typeOf('herdgate.v1.Reply');

/**
 * @param {string} path "herdgate.v1.Cache/Get"
 * @returns {{name: Buffer, request: protobuf.Type, reply: protobuf.Type}}
 */
export const methodOf = (() => {
    const known = new Map();
    return (path) => {
        let method = known.get(path);
        if (!method) {
            const [service, name] = path.split('/');
            const found = root.lookup(service, protobuf.Service)?.methods[name]?.resolve();
            if (!found) {
                throw new InvalidArgumentError(`"${path}" is no method; one is such as "herdgate.v1.Cache/Get"`);
            }
            method = { name: Buffer.from(path), request: found.resolvedRequestType, reply: found.resolvedResponseType };
            known.set(path, method);
        }
        return method;
    };
})();

// ---- plain objects to what protobufjs encodes ----

function wrong(field, value, right) {
    const shown = typeof value === 'object' ? Object.prototype.toString.call(value).slice(8, -1) : `${typeof value} ${String(value)}`;
    return new InvalidArgumentError(`${field.parent.name}.${field.name}: got ${shown}; it takes ${right}`);
}

function wideOf(field, value) {
    const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value);
    const [from, end] = WIDE.get(field.type);
    if (!isWhole || BigInt(value) < from || BigInt(value) >= end) {
        throw wrong(field, value, `a whole number (${field.type})`);
    }
    const bits = BigInt.asUintN(64, BigInt(value));
    return protobuf.util.Long.fromBits(Number(bits & 0xffffffffn), Number(bits >> 32n), from === 0n);
}

function scalarOf(field, value) {
    if (field.resolvedType instanceof protobuf.Type) {
        return prepare(field.resolvedType, value);
    }
    if (WIDE.has(field.type)) {
        return wideOf(field, value);
    }
    if (field.type === 'bytes') {
        if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
            throw wrong(field, value, 'a string or bytes');
        }
        return typeof value === 'string' ? Buffer.from(value) : value;
    }
    if (field.type === 'bool') {
        if (typeof value !== 'boolean') {
            throw wrong(field, value, 'true or false');
        }
        return value;
    }
    if (!Number.isInteger(value) || value < 0 || value >= UINT32_END) {
        throw wrong(field, value, 'a whole number from 0 to 2^32 - 1');
    }
    return value;
}

function prepare(type, object) {
    if (typeof object !== 'object' || object === null) {
        throw new InvalidArgumentError(`${type.name}: an object is needed`);
    }
    const message = {};
    for (const [name, value] of Object.entries(object)) {
        const field = type.fields[name];
        if (!field) {
            throw new InvalidArgumentError(`${type.name} has no field "${name}"`);
        }
        if (value === undefined || value === null) {
            continue;
        }
        if (field.repeated && !Array.isArray(value)) {
            throw wrong(field, value, 'an array');
        }
        message[name] = field.repeated ? value.map((one) => scalarOf(field, one)) : scalarOf(field, value);
    }
    return message;
}

// ---- what protobufjs decoded to plain objects ----

function plainOf(field, value) {
    if (field.resolvedType instanceof protobuf.Type) {
        return plain(field.resolvedType, value);
    }
    if (WIDE.has(field.type)) {
        const wide = (BigInt(value.high) << 32n) | BigInt(value.low >>> 0);
        const signed = WIDE.get(field.type)[0] === 0n ? BigInt.asUintN(64, wide) : wide;
        return field.name.endsWith('Ms') ? Number(signed) : signed;
    }
    // protobufjs has an array for bytes that were left out.
    return field.type === 'bytes' && value.length === 0 ? NOTHING : value;
}

function plain(type, message) {
    const object = {};
    for (const field of type.fieldsArray) {
        const isThere = Object.hasOwn(message, field.name);
        if (field.repeated) {
            object[field.name] = message[field.name].map((one) => plainOf(field, one));
        } else if (isThere || !(field.partOf || field.resolvedType instanceof protobuf.Type)) {
            object[field.name] = plainOf(field, message[field.name]);
        }
    }
    return object;
}

/** @param {protobuf.Type} type @param {object} object @returns {Uint8Array} */
export function pack(type, object) {
    return type.encode(prepare(type, object)).finish();
}

/** @param {protobuf.Type} type @param {Uint8Array} bytes @returns {Record<string, any>} */
export function unpack(type, bytes) {
    try {
        return plain(type, type.decode(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)));
    } catch (error) {
        throw new InternalError(`these bytes are no ${type.name}`, { cause: error });
    }
}

// ---- the envelope ----

/** @param {{method: Uint8Array, timeoutMs: number, payload: Uint8Array, metadata: object[], opId?: Uint8Array}} request */
export function packRequest({ method, timeoutMs, payload, metadata, opId }) {
    return requestType.encode({ method, timeoutMs, payload, metadata, ...(opId && { opId }) }).finish();
}

/** @param {Uint8Array} body */
export const unpackReply = (body) => unpack(replyType, body);
