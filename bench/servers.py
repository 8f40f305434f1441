# SPDX-License-Identifier: Apache-2.0
"""servers: herdgated and its peers, each in a folder of its own, on a unix socket and a loopback port.

Each is ended by its own process id, whatever happens.
"""
import os
import re
import socket
import subprocess
import time

READY_S = 20


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def rss_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Server:
    """A process, its addresses as the load generator takes them, and its protocol's name there."""

    protocol = ""

    def __init__(self, folder: str):
        self.folder = folder
        self.unix_path = os.path.join(folder, f"{self.protocol}.sock")
        self.process = None
        self.tcp = ""
        self.unix = f"unix://{self.unix_path}"

    def start(self, command: list, **options):
        self.log = open(os.path.join(self.folder, f"{self.protocol}.log"), "wb")
        self.process = subprocess.Popen(command, stderr=self.log, stdin=subprocess.DEVNULL,
                                        **{"stdout": self.log, **options})
        return self

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for_socket(self):
        end = time.monotonic() + READY_S
        while time.monotonic() < end and self.process.poll() is None:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(self.unix_path) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError(f"{self.protocol} did not start; see {self.log.name}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(READY_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()


class Redis(Server):
    protocol = "redis"

    def __init__(self, folder: str):
        super().__init__(folder)
        self.port = free_port()
        self.tcp = f"tcp://127.0.0.1:{self.port}"
        self.start(["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", self.unix_path,
                    "--save", "", "--appendonly", "no", "--dir", folder, "--maxclients", "4096"])
        self.wait_for_socket()


class Memcached(Server):
    protocol = "memcached"

    def __init__(self, folder: str):
        super().__init__(folder)
        # Root has to name a user; its own is as good as any here.
        user = ["-u", "root"] if os.geteuid() == 0 else []
        self.start(["memcached", "-s", self.unix_path, "-m", "2048", "-t", "2", *user])
        self.wait_for_socket()


CONFIG = """
runtime_dir = "{folder}/run"
log_level = "warn"
limits {{ connections_max = 4096 }}
listen "ipc://{folder}/run/herdgate.sock" {{ access = "owner" }}
listen "tcp://127.0.0.1:0" {{ access = "data" }}
loader "slow" {{ plugin = "{plugin}" }}
cache "bench" {{ key = "bytes" value = "bytes" ttl = "12h" jitter = "0%" max_entries = 4000000 max_bytes = "4GiB" }}
cache "near" {{ key = "bytes" value = "bytes" ttl = "12h" jitter = "0%" max_entries = 2000000 max_bytes = "1GiB" local_reads = on }}
cache "herd" {{ key = "bytes" value = "bytes" loader = "slow" ttl = "1h" }}
"""


class Herdgate(Server):
    protocol = "herdgate"

    def __init__(self, folder: str, build: str):
        super().__init__(folder)
        self.runtime_dir = f"{folder}/run"
        self.unix = f"ipc://{self.runtime_dir}/herdgate.sock"
        config = os.path.join(folder, "herdgate.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(folder=folder, plugin=os.path.join(build, "bench", "slow.so")))
        self.start([os.path.join(build, "bin", "herdgated"), "-c", config], stdout=subprocess.PIPE)
        # The ready line names the port the system chose.
        line = self.process.stdout.readline().decode()
        found = re.search(r"tcp://[\d.]+:\d+", line)
        if not found:
            raise RuntimeError(f"herdgated did not start; see {self.log.name}")
        self.tcp = found.group(0)
