# SPDX-License-Identifier: Apache-2.0
"""wire_works: what is measured over a wire, ours and redis in turn, asked by the same generator."""
import csv
import io
import json
import os
import subprocess

from servers import Herdgate, Memcached, Redis, rss_bytes
from stepper import Stepper, WrongAnswers

RECORDS = 1000000
# work: (socket, connections, in flight, batch)
WORKS = {
    "ipc_1_1": ("unix", 1, 1, 1),
    "ipc_50_1": ("unix", 50, 1, 1),
    "tcp_50_1": ("tcp", 50, 1, 1),
    "ipc_50_16": ("unix", 50, 16, 1),
    "tcp_50_16": ("tcp", 50, 16, 1),
    "tcp_batch_16": ("tcp", 50, 1, 16),
    "tcp_batch_100": ("tcp", 50, 1, 100),
}
CONNECTIONS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
QUICK_CONNECTIONS = [1, 10, 50, 200]
PATTERN = "sess:00000000000000000000000__rand_int__"


class Wire:
    def __init__(self, build: str, folder: str, is_quick: bool, say):
        self.load_program = os.path.join(build, "bench", "bench-load")
        self.build = build
        self.folder = folder
        self.is_quick = is_quick
        self.say = say
        self.repeats = 3 if is_quick else 5
        self.seconds = 0.6 if is_quick else 1.5
        self.figures = {}
        self.curve = []
        self.details = {}

    def load(self, server, which: str, *options) -> dict:
        address = server.tcp if which == "tcp" else server.unix
        command = [self.load_program, "--json", "-p", server.protocol, "-a", address, "-r", str(RECORDS),
                   "-P", str(server.pid), *map(str, options)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise WrongAnswers(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def add(self, work: str, side: str, unit: str, value: float):
        figure = self.figures.setdefault(work, {}).setdefault(side, {"unit": unit, "samples": []})
        figure["samples"].append(value)

    def fill(self, server) -> float:
        """Puts every record; returns how many bytes of memory each took."""
        # Connections have their buffers, and herdgate its journal of events, which is as large whatever is stored.
        self.load(server, "unix", "-o", "put", "-i", "-r", 1000, "-N", 250000, "-c", 50)
        before = rss_bytes(server.pid)
        self.load(server, "unix", "-o", "put", "-i", "-N", RECORDS, "-c", 4, "-d", 64, "-t", 36000)
        return (rss_bytes(server.pid) - before) / RECORDS

    def measure_rss(self, ours, redis, memcached):
        for server in (ours, redis, memcached):
            self.say(f"filling {server.protocol}")
            size = self.fill(server)
            if server is ours:
                self.add("rss", "ours", "bytes", size)
                self.add("rss_memcached", "ours", "bytes", size)
            else:
                self.add("rss" if server is redis else "rss_memcached", "peer", "bytes", size)

    def measure_work(self, work: str, ours, redis):
        which, connections, in_flight, batch = WORKS[work]
        for repeat in range(self.repeats):
            for side, server in (("ours", ours), ("peer", redis)):
                found = self.load(server, which, "-c", connections, "-d", in_flight, "-b", batch, "-s", self.seconds,
                                  "-S", repeat + 1)
                self.add(work, side, "keys/s", found["per_s"])
                self.add(work + "_cpu", side, "us", found["server_cpu_us"])
                self.details.setdefault(work, {}).setdefault(side, []).append(found)

    def measure_local_read(self, ours, redis):
        """Our memory, read by a process that asks nobody, and redis asked by one connection, in turn."""
        self.load(ours, "unix", "-n", "near", "-o", "put", "-i", "-N", RECORDS, "-c", 4, "-d", 64, "-t", 36000)
        reader = Stepper([os.path.join(self.build, "bench", "bench-local"), ours.unix, ours.runtime_dir, "near",
                          str(RECORDS), str(self.seconds)])
        try:
            for repeat in range(self.repeats):
                self.add("local_read", "ours", "reads/s", json.loads(reader.sample())["samples"][0])
                found = self.load(redis, "unix", "-c", 1, "-s", self.seconds, "-S", repeat + 1)
                self.add("local_read", "peer", "reads/s", found["per_s"])
        finally:
            reader.stop()

    def measure_curve(self, ours, redis):
        for connections in QUICK_CONNECTIONS if self.is_quick else CONNECTIONS:
            tries = {"ours": [], "peer": []}
            for _ in range(1 if self.is_quick else 3):
                for side, server in (("ours", ours), ("peer", redis)):
                    tries[side].append(self.load(server, "unix", "-c", connections, "-s", self.seconds / 2))
            # Of each side the try in the middle, whole.
            self.curve.append({"connections": connections,
                               **{side: sorted(found, key=lambda one: one["per_s"])[len(found) // 2]
                                  for side, found in tries.items()}})

    def measure_redis_benchmark(self, redis):
        """What redis' own tool says, with random keys, too."""
        for pipeline, count in ((1, 200000), (16, 1000000), (100, 2000000)):
            count = count // 4 if self.is_quick else count
            for _ in range(1 if self.is_quick else 3):
                done = subprocess.run(["redis-benchmark", "-p", str(redis.port), "-c", "50", "-n", str(count),
                                       "-P", str(pipeline), "-r", str(RECORDS), "--csv", "GET", PATTERN],
                                      capture_output=True, text=True, timeout=120, check=True)
                row = list(csv.reader(io.StringIO(done.stdout)))[-1]
                self.add(f"redis_benchmark_P{pipeline}", "peer", "keys/s", float(row[1]))

    def measure_herd(self, ours):
        done = subprocess.run([os.path.join(self.build, "bench", "bench-herd"), ours.unix, "1000", str(self.repeats)],
                              capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise WrongAnswers(done.stderr)
        for line in done.stdout.splitlines():
            figure = json.loads(line)
            self.figures.setdefault(figure["work"], {})[figure["side"]] = figure
        if any(loads != 1 for loads in self.figures["herd_loads"]["ours"]["samples"]):
            raise WrongAnswers("a key with a thousand waiters was loaded more than once")

    def run(self):
        with Herdgate(self.folder, self.build) as ours, Redis(self.folder) as redis:
            with Memcached(self.folder) as memcached:
                self.measure_rss(ours, redis, memcached)
            for work in WORKS:
                self.say(f"over the wire: {work}")
                self.measure_work(work, ours, redis)
            self.say("local reads")
            self.measure_local_read(ours, redis)
            self.say("over the wire: connections")
            self.measure_curve(ours, redis)
            self.say("redis-benchmark")
            self.measure_redis_benchmark(redis)
            self.say("a thousand waiters")
            self.measure_herd(ours)
