// SPDX-License-Identifier: Apache-2.0
// frame: SP messages as bytes (docs/PROTOCOL.md, section 1).

/** What a REQ peer says first. */
export const HELLO = Buffer.from([0, 0x53, 0x50, 0, 0, 0x30, 0, 0]);
/** What a REP peer must answer. */
export const HELLO_BACK = Buffer.from([0, 0x53, 0x50, 0, 0, 0x31, 0, 0]);

const IPC_MESSAGE = 1;
const ID_BIT = 0x80000000;
const WORD_LEN = 4;

/**
 * One request as it goes over the wire.
 * @param {boolean} isIpc
 * @param {number} id 31 bits
 * @param {Uint8Array} body
 */
export function writeFrame(isIpc, id, body) {
    const start = isIpc ? 1 : 0;
    const frame = Buffer.allocUnsafe(start + 8 + WORD_LEN + body.length);
    if (isIpc) {
        frame[0] = IPC_MESSAGE;
    }
    frame.writeBigUInt64BE(BigInt(WORD_LEN + body.length), start);
    frame.writeUInt32BE((ID_BIT | id) >>> 0, start + 8);
    frame.set(body, start + 8 + WORD_LEN);
    return frame;
}

/** Cuts what comes in into the handshake and replies, wherever it was cut before. */
export class FrameReader {
    #isIpc;
    #bodyMax;
    #rest = Buffer.alloc(0);
    #isGreeted = false;

    /** @param {boolean} isIpc @param {number} bodyMax the longest body taken */
    constructor(isIpc, bodyMax) {
        this.#isIpc = isIpc;
        this.#bodyMax = bodyMax;
    }

    get isGreeted() {
        return this.#isGreeted;
    }

    /**
     * The replies that are whole now; an Error whose message says what is wrong with the peer.
     * @param {Buffer} chunk
     * @returns {Array<{id: number, body: Buffer}>}
     */
    push(chunk) {
        this.#rest = this.#rest.length ? Buffer.concat([this.#rest, chunk]) : chunk;
        if (!this.#isGreeted && this.#rest.length >= HELLO_BACK.length) {
            if (!this.#rest.subarray(0, HELLO_BACK.length).equals(HELLO_BACK)) {
                throw new Error('the peer is no SP REP socket');
            }
            this.#isGreeted = true;
            this.#rest = this.#rest.subarray(HELLO_BACK.length);
        }
        const replies = [];
        for (let reply; this.#isGreeted && (reply = this.#next());) {
            replies.push(reply);
        }
        return replies;
    }

    #next() {
        const start = this.#isIpc ? 1 : 0;
        if (this.#isIpc && this.#rest.length && this.#rest[0] !== IPC_MESSAGE) {
            throw new Error(`the peer sent a message of kind ${this.#rest[0]}`);
        }
        if (this.#rest.length < start + 8) {
            return null;
        }
        const length = this.#rest.readBigUInt64BE(start);
        if (length < WORD_LEN || length > this.#bodyMax + WORD_LEN) {
            throw new Error(`the peer sent a message of ${length} bytes; at most ${this.#bodyMax + WORD_LEN}`);
        }
        const end = start + 8 + Number(length);
        if (this.#rest.length < end) {
            return null;
        }
        const word = this.#rest.readUInt32BE(start + 8);
        if (word < ID_BIT) {
            throw new Error('the peer sent a reply without an id');
        }
        const body = this.#rest.subarray(start + 8 + WORD_LEN, end);
        this.#rest = this.#rest.subarray(end);
        return { id: word - ID_BIT, body };
    }
}
