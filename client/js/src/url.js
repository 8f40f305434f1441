// SPDX-License-Identifier: Apache-2.0
// url: where a server listens.
import { InvalidArgumentError } from './errors.js';

/** Where herdgated listens unless its configuration says otherwise. */
export const URL_DEFAULT = 'ipc:///run/herdgate/herdgate.sock';

const LOCAL = /^(?:ipc|unix):\/\/(\/.+)$/;
const ABSTRACT = /^abstract:\/\/(.+)$/;
const TCP = /^(tls\+)?tcp:\/\/(\[[^\]]+\]|[^:[\]]+):([0-9]{1,5})$/;

/**
 * @param {string} url ipc:///path (or unix:///path), abstract://name, tcp://host:port or tls+tcp://host:port
 * @returns {{isIpc: boolean, isTls: boolean, address: {path: string} | {host: string, port: number}}}
 */
export function parseUrl(url) {
    const [, path] = LOCAL.exec(url) ?? [];
    const [, name] = ABSTRACT.exec(url) ?? [];
    const [, tls, host, port] = TCP.exec(url) ?? [];
    if (path || name) {
        return { isIpc: true, isTls: false, address: { path: path ?? `\0${name}` } };
    }
    if (host && Number(port) > 0 && Number(port) <= 65535) {
        return { isIpc: false, isTls: Boolean(tls), address: { host: host.replace(/^\[|\]$/g, ''), port: Number(port) } };
    }
    throw new InvalidArgumentError(`"${url}" is no address; one is ipc:///path, abstract://name, tcp://host:port ` +
        'or tls+tcp://host:port, the port 1 to 65535');
}
