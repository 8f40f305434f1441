// SPDX-License-Identifier: Apache-2.0
// server: the real herdgated in a folder of its own. Its scripted loader does what a test writes (tests/lib/loader_script.c).
// The environment's HERDGATE_BUILD names the folder in which herdgate was built; else it is the repository's build/dev.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const build = process.env.HERDGATE_BUILD ?? fileURLToPath(new URL('../../../build/dev', import.meta.url));

/** The caches all suites ask; `sections` of a suite come behind. */
const CACHES = `
cache "c" { key = "bytes" value = "bytes" loader = "script" ttl = "60s" load_timeout = "20s" }
cache "own" { key = "bytes" value = "bytes" ttl = "60s" load_timeout = "20s" wait_budget = "30s" }
cache "words" { key = "key_hash" value = "json" ttl = "60s" }
cache "auth" { key = "auth" value = "auth" ttl = "60s" }
cache "features" { key = "api_key_feature" value = "json" ttl = "60s" }
`;

export class Server {
    #process;
    #log = '';

    /** Writes the configuration; in `sections` "@DIR@" becomes the folder. */
    constructor(sections = '') {
        this.dir = mkdtempSync(path.join(tmpdir(), 'hgjs-'));
        this.ipcUrl = `ipc://${this.dir}/run/herdgate.sock`;
        this.script();
        writeFileSync(this.file('herdgate.conf'), `
runtime_dir = "@DIR@/run"
listen "ipc://@DIR@/run/herdgate.sock" { access = "owner" }
listen "tcp://127.0.0.1:0" { access = "data" }
loader "script" { plugin = "${build}/tests/lib/loader_script.so" workers = 8 option("control", "@DIR@/control") option("journal", "@DIR@/journal") }
${CACHES}${sections}`.replaceAll('@DIR@', this.dir));
    }

    file(name) {
        return path.join(this.dir, name);
    }

    /** From here on the loader obeys these lines; without any, each key's value is the key. */
    script(...lines) {
        writeFileSync(this.file('control.new'), lines.map((line) => `${line.replaceAll('@DIR@', this.dir)}\n`).join(''));
        renameSync(this.file('control.new'), this.file('control'));
    }

    /** Opens a gate of the script. */
    open(gate) {
        writeFileSync(this.file(gate), '');
    }

    /** How often the loader was asked for a key. */
    loads(key) {
        const lines = readFileSync(this.file('journal'), { encoding: 'utf8', flag: 'a+' }).split('\n');
        return lines.filter((line) => line.startsWith(`${key} `)).length;
    }

    async start() {
        const child = spawn(`${build}/bin/herdgated`, ['-c', this.file('herdgate.conf')], { stdio: ['ignore', 'pipe', 'pipe'] });
        this.#process = child;
        child.stderr.on('data', (chunk) => { this.#log += chunk; });
        // Not even a test that dies leaves it behind.
        const kill = () => child.kill('SIGKILL');
        process.once('exit', kill);
        child.once('exit', () => process.off('exit', kill));
        for await (const line of createInterface({ input: child.stdout })) {
            if (line.includes(' ready:')) {
                this.tcpUrl = /(?<![+\w])tcp:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
                this.tlsUrl = /tls\+tcp:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
                child.stdout.resume();
                return this;
            }
        }
        throw new Error(`herdgated did not become ready: ${this.#log}`);
    }

    /** Ends it, and fails if it does not end well. */
    async stop(signal = 'SIGTERM') {
        const child = this.#process;
        if (child && child.exitCode === null && child.signalCode === null) {
            child.kill(signal);
            await once(child, 'exit');
            if (signal === 'SIGTERM' && child.exitCode !== 0) {
                throw new Error(`herdgated ended with ${child.exitCode ?? child.signalCode}: ${this.#log}`);
            }
        }
    }

    async remove() {
        await this.stop();
        rmSync(this.dir, { recursive: true, force: true });
    }
}

/** Waits until the condition holds, for at most 20 s. */
export async function until(condition) {
    const end = performance.now() + 20_000;
    while (!await condition()) {
        if (performance.now() > end) {
            throw new Error(`it did not come to hold: ${condition}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
    }
}
