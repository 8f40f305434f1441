// SPDX-License-Identifier: Apache-2.0
// What a gateway written in JavaScript has at hand: npm's lru-cache, whose fetch() is get_or_load. Answers each line
// on stdin with one sample: nanoseconds of processor time for a fetch that hits.
// Usage: node lru.mjs PATH-OF-LRU-CACHE RECORDS SECONDS
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [path, recordsText, secondsText] = process.argv.slice(2);
const { LRUCache } = await import(pathToFileURL(path).href);
const records = Number(recordsText);
const seconds = Number(secondsText);
const runLength = 262144;

const keyOf = (number) => "sess:" + String(number).padStart(35, "0");
const valueOf = (number) => "v".repeat(88) + String(number).padStart(12, "0");

// The same distribution as ours: Zipf .99, ranks scattered.
function drawZipf() {
  const sums = new Float64Array(records);
  let sum = 0;
  for (let i = 0; i < records; i++) sums[i] = sum += Math.pow(i + 1, -0.99);
  return () => {
    const share = Math.random() * sum;
    let low = 0;
    let high = records - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] > share) high = middle;
      else low = middle + 1;
    }
    return Number((BigInt(low) * 2654435761n) % BigInt(records));
  };
}

const cache = new LRUCache({
  max: records,
  ttl: 3600 * 1000,
  fetchMethod: async () => {
    throw new Error("every key is there");
  },
});
const values = Array.from({ length: records }, (unused, i) => valueOf(i));
values.forEach((value, i) => cache.set(keyOf(i), value));

const draw = drawZipf();
const numbers = Array.from({ length: runLength }, draw);
const keys = numbers.map(keyOf);
const expected = numbers.map((number) => values[number]);

async function sample() {
  const cpu = process.cpuUsage();
  const end = process.hrtime.bigint() + BigInt(Math.round(seconds * 1e9));
  let count = 0;
  let wrong = 0;
  let at = 0;
  while (process.hrtime.bigint() < end) {
    for (let i = 0; i < 512; i++) {
      const value = await cache.fetch(keys[at]);
      if (value !== expected[at]) wrong++; // the same string: one comparison of pointers
      at = at + 1 === runLength ? 0 : at + 1;
    }
    count += 512;
  }
  const used = process.cpuUsage(cpu);
  return { wrong, ns: ((used.user + used.system) * 1000) / count };
}

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  void line;
  const { wrong, ns } = await sample();
  if (wrong > 0) {
    console.error(`lru-cache: ${wrong} wrong values`);
    process.exit(1);
  }
  console.log(JSON.stringify({ work: "get_or_load", side: "peer", unit: "ns", samples: [ns] }));
}
process.exit(0);
