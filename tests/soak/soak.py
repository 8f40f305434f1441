# SPDX-License-Identifier: Apache-2.0
"""A real server under everything at once, for minutes. Usage: soak.py BUILD MINUTES [HOSTILE KILLED]

Gateways put, read, load and invalidate; another clears and reloads; loaders are killed, clients are killed with requests in flight,
and HOSTILE connections on each of ipc, tcp and TLS end as badly as they can. A key's value says its key and the number of its last write, so each
answer is known to be right or wrong. Prints memory, descriptors and what was counted; exits 1 for a wrong answer, an error nobody
caused, descriptors that do not come back within 15 s, memory that grows, or a server that does not end well."""
import multiprocessing
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "e2e"))
from client import Client, Refused, pack  # noqa: E402

WORKERS = 3
KEYS = 500             # of each worker, in each cache
JOURNAL_KEY_BYTES = 8 << 20
JOURNAL_EVENTS = 65536  # HGI_JOURNAL_EVENTS_MAX
BACK_S = 15            # descriptors are back at the base
GROWTH_MAX = 0.05      # of the last quarter's memory over the second one's
INJECTED = {4, 8, 10, 14}  # what killed loaders, full queues and clears may cost a read: never a wrong value
NOT_CACHED, VALUE = 0, 1


def key_of(name):
    return (2, pack((1, name)))


class Worker:
    """One gateway: nobody else writes its keys."""

    def __init__(self, number, writes_to, reads_from):
        self.number, self.writes_to, self.reads_from = number, writes_to, reads_from
        self.writes = [0] * KEYS
        self.counts = dict.fromkeys(("reads", "loads", "writes", "refused", "wrong", "errors"), 0)
        self.client = self.reader = None

    def name(self, i):
        return b"%d-%d" % (self.number, i)

    def wrong(self, text):
        self.counts["wrong"] += 1
        print(f"WRONG: {text}", flush=True)

    def put(self, i):
        self.writes[i] += 1
        value = b"%s:%d" % (self.name(i), self.writes[i])
        self.client.call("Cache/Put", pack((1, b"put"), key_of(self.name(i)), (3, VALUE), (4, value)))
        self.counts["writes"] += 1

    def delete(self, i):
        self.client.call("Cache/Invalidate", pack((1, b"put"), key_of(self.name(i))))
        self.counts["writes"] += 1
        if self.client.call("Cache/Get", pack((1, b"put"), key_of(self.name(i)))).number(4) != NOT_CACHED:
            self.wrong(f"{self.name(i)} is there after its invalidation")

    def read(self, i):
        answer = self.reader.call("Cache/Get", pack((1, b"put"), key_of(self.name(i))))
        self.counts["reads"] += 1
        if answer.number(4) == VALUE and answer.bytes(6) != b"%s:%d" % (self.name(i), self.writes[i]):
            self.wrong(f"{self.name(i)} is {answer.bytes(6)}, its last write was {self.writes[i]}")

    def load(self, i):
        name = b"l%d" % (i % 200)  # shared with the others
        answer = self.reader.call("Cache/GetOrLoad", pack((1, b"load"), key_of(name)))
        self.counts["loads"] += 1
        if answer.number(4) != VALUE or answer.bytes(6) != name:
            self.wrong(f"{name} was loaded as {answer.bytes(6)}")

    def run(self, until, results):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.client = self.writes_to.client()
        self.reader = self.reads_from.client()
        turn = 0
        while time.monotonic() < until:
            turn += 1
            i = turn * 7919 % KEYS
            try:
                (self.put, self.read, self.load, self.read, self.read, self.load, self.read,
                 self.delete if turn % 40 == 7 else self.read)[turn % 8](i)
            except Refused as refused:
                if refused.status in INJECTED:
                    self.counts["refused"] += 1
                else:
                    self.counts["errors"] += 1
                    print(f"ERROR: {refused}", flush=True)
        results.put(self.counts)


# ---- hostile connections: each is opened and closed at a bad moment ----

HANDSHAKE = b"\0SP\0\0\x30\0\0"


class Door:
    """How one reaches the server over one transport."""

    def __init__(self, address, tls=None, token=None):
        self.address, self.tls, self.token = address, tls, token
        self.is_ipc = isinstance(address, str)

    def client(self):
        return Client(self.address, self.tls, self.token)

    def dial(self):
        sock = socket.socket(socket.AF_UNIX if self.is_ipc else socket.AF_INET)
        sock.settimeout(20)
        sock.connect(self.address)
        return sock

    def greeting(self):
        """What TLS begins with."""
        out = ssl.MemoryBIO()
        try:
            self.tls.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost").do_handshake()
        except ssl.SSLWantReadError:
            pass
        return out.read()

    def request(self, number, payload):
        shown = [(4, pack((1, b"authorization"), (2, b"Bearer " + self.token)))] if self.token else []
        body = pack((1, b"herdgate.v1.Cache/GetOrLoad"), (2, 15000), (3, payload), *shown)
        return (b"\x01" if self.is_ipc else b"") + struct.pack(">QI", 4 + len(body), 0x80000000 | number) + body

    def in_flight(self):
        return HANDSHAKE + b"".join(self.request(i, pack((1, b"load"), key_of(b"h%d" % i))) for i in range(1, 17))

    def attack(self, kind):
        load = self.request(1, pack((1, b"load"), key_of(b"hostile")))
        return (b"",
                HANDSHAKE[:5],
                b"GET / HTTP/1.1\r\n\r\n",
                b"\0SP\0\0\x31\0\0",
                HANDSHAKE,
                HANDSHAKE + load[:len(load) // 2],
                HANDSHAKE + load,
                self.in_flight(),
                HANDSHAKE + (b"\x01" if self.is_ipc else b"") + struct.pack(">Q", 1 << 62),
                HANDSHAKE + (b"\x02" if self.is_ipc else b"") + b"\xff" * 64)[kind % 10]


def visit(door, number):
    """Over TLS two of four never get through its handshake: they speak something else, or stop in the middle."""
    sock = door.dial()
    try:
        said = door.attack(number)
        is_greeted = not door.tls or number % 4 > 1
        if door.tls and is_greeted:
            sock = door.tls.wrap_socket(sock, server_hostname="localhost")
        elif door.tls and number % 4 == 0:
            said = door.greeting()[:number % 211]
        sock.sendall(said)
        if number % 3 == 0:  # gone with a reset, if there is something to read
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif number % 3 == 1 and is_greeted:  # else nobody answers before the handshake's time is up
            sock.recv(4)
    except (ConnectionError, TimeoutError, ssl.SSLError):
        pass
    finally:
        sock.close()


def die_in_flight(door):
    """A process that opens a connection, puts 16 requests on it and is killed."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            sock = door.dial()
            if door.tls:
                sock = door.tls.wrap_socket(sock, server_hostname="localhost")
            sock.sendall(door.in_flight())
            os.write(told, b"x")
            signal.pause()
        finally:
            os._exit(1)
    os.close(told)
    is_ready = os.read(ready, 1) == b"x"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(ready)
    if not is_ready:
        raise OSError("a client ended before it could be killed")


def churn(doors, hostile, killed, until, results):
    """All doors in turn, over the whole time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    began, done, died, failed = time.monotonic(), 0, 0, 0
    span = max(until - began - 5, 1)
    while done < hostile or died < killed:
        dies = died < killed and died * hostile <= done * killed
        for door in doors:
            try:
                if done < hostile:
                    visit(door, done)
                if dies:
                    die_in_flight(door)
            except OSError as error:
                failed += 1
                print(f"ERROR: {door.address} cannot be reached: {error}", flush=True)
        died += dies
        done += done < hostile
        ahead = done / max(hostile, 1) * span - (time.monotonic() - began)
        if ahead > 0:
            time.sleep(ahead)
    results.put({"hostile": done * len(doors), "killed clients": died * len(doors), "errors": failed})


# ---- the server ----

class Server:
    def __init__(self, build, folder):
        self.folder = folder
        plugin = os.path.join(os.path.abspath(build), "tests", "lib", "loader_script.so")
        for name in ("control", "journal"):
            open(os.path.join(folder, name), "w").close()
        certs = os.path.join(folder, "certs")
        subprocess.run([os.path.join(TESTS, "lib", "make_certs.sh"), certs], check=True)
        self.write("soak.conf", f"""
runtime_dir = "{folder}"
log_level = "error"
listen "ipc://{folder}/s" {{ access = "owner" }}
listen "tcp://127.0.0.1:0" {{ access = "data" }}
listen "tls+tcp://127.0.0.1:0" {{ cert = "{certs}/server.pem" key = "{certs}/server.key" ca = "{certs}/ca.pem" }}
key_file = "{folder}/key"
tokens_file = "{folder}/tokens"
principal "gateway" {{ allow("*", "read, load, write, clear") }}
snapshot {{ path = "{folder}/data/cache.db" interval = "1s" }}
loader "script" {{ plugin = "{plugin}" option("control", "{folder}/control") option("journal", "/dev/null") }}
cache "put" {{ key = "bytes" value = "bytes" ttl = "1h" }}
cache "load" {{ key = "bytes" value = "bytes" loader = "script" ttl = "200ms" stale_ttl = "400ms" }}
""")
        self.process = subprocess.Popen([os.path.join(build, "bin", "herdgated"), "-c", os.path.join(folder, "soak.conf")],
                                        stdout=subprocess.PIPE, stderr=open(os.path.join(folder, "log"), "wb"))
        ready = self.process.stdout.readline().decode()
        if "ready" not in ready:
            raise SystemExit(open(os.path.join(folder, "log")).read())
        self.ipc = Door(os.path.join(folder, "s"))
        self.tcp = Door(("127.0.0.1", int(re.search(r" tcp://127.0.0.1:(\d+)", ready).group(1))))
        tls = ssl.create_default_context(cafile=os.path.join(certs, "ca.pem"))
        tls.load_cert_chain(os.path.join(certs, "client.pem"), os.path.join(certs, "client.key"))
        issued = self.ipc.client().call("Admin/NewToken", pack((1, b"gateway")))
        self.tls = Door(("127.0.0.1", int(re.search(r"tls\+tcp://127.0.0.1:(\d+)", ready).group(1))), tls, issued.bytes(1))
        self.proc = f"/proc/{self.process.pid}"

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def memory_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", open(self.proc + "/status").read()).group(1))

    def descriptors(self):
        return len(os.listdir(self.proc + "/fd"))

    def loaders(self):
        return [int(pid) for task in os.listdir(self.proc + "/task")
                for pid in open(f"{self.proc}/task/{task}/children").read().split()]

    def descriptors_are_back_at(self, base):
        until = time.monotonic() + BACK_S
        while self.descriptors() > base:
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True


def disturb(server, until, samples):
    """Clears, reloads, kills loaders and looks at the server, until the time is over."""
    admin = server.ipc.client()
    counts, second = {"clears": 0, "reloads": 0, "killed loaders": 0}, 0
    while time.monotonic() < until and server.process.poll() is None:
        time.sleep(1)
        second += 1
        admin.call("Admin/Clear", pack((1, b"put" if second % 2 else b"load")))
        counts["clears"] += 1
        if second % 20 == 10:  # five deaths a minute would open the breaker
            for pid in server.loaders():
                os.kill(pid, signal.SIGKILL)
                counts["killed loaders"] += 1
        elif second % 20 == 0:
            try:
                admin.call("Admin/ReloadLoader", pack((1, b"script")))
                counts["reloads"] += 1
            except Refused as refused:
                if refused.status not in INJECTED | {9}:  # it is just being started again
                    raise
        samples.append((time.monotonic(), server.memory_kib(), server.descriptors()))
        if second % 60 == 0:
            print(f"{second // 60} min: {samples[-1][1]} KiB, {samples[-1][2]} descriptors", flush=True)
    return counts


def warm(door):
    """Fills what is bounded but grows to its bound, the journal's events and its 8 MiB of keys above all: what grows
    after that is a leak."""
    client = door.client()
    keys = [b"w%d" % (i % KEYS) for i in range(JOURNAL_EVENTS + 5000)]
    keys += [b"%01000d" % (i % KEYS) for i in range(JOURNAL_KEY_BYTES // 1000 + 500)]
    for i, key in enumerate(keys):
        client.send("Cache/Put", pack((1, b"put"), key_of(key), (3, VALUE), (4, b"warm")))
        if i >= 64:
            client.receive()
    for _ in range(64):
        client.receive()
    client.socket.close()


def mean(samples):
    return sum(memory for _, memory, _ in samples) / max(len(samples), 1)


def slope_percent_per_hour(samples):
    """Of a line through the second half."""
    half = samples[len(samples) // 2:]
    at = sum(time for time, _, _ in half) / len(half)
    spread = sum((time - at) ** 2 for time, _, _ in half)
    rise = sum((time - at) * (memory - mean(half)) for time, memory, _ in half) / max(spread, 1e-9)
    return rise * 3600 / mean(half) * 100


def main():
    build, minutes = os.path.abspath(sys.argv[1]), float(sys.argv[2])
    hostile, killed = (int(word) for word in sys.argv[3:5]) if len(sys.argv) > 4 else (20000, 500)
    samples, total, faults = [], {}, []
    with tempfile.TemporaryDirectory(prefix="hg-soak-") as folder:
        server = Server(build, folder)
        doors = (server.ipc, server.tcp, server.tls)
        for door in doors:
            door.client().socket.close()
        warm(server.ipc)
        time.sleep(2)  # a first save, and nng's own descriptors
        base = server.descriptors()
        until = time.monotonic() + minutes * 60
        results = multiprocessing.Queue()
        tasks = [multiprocessing.Process(target=Worker(n, doors[n % 2 * 2], doors[1 + n % 2]).run, args=(until, results))
                 for n in range(WORKERS)]
        tasks.append(multiprocessing.Process(target=churn, args=(doors, hostile, killed, until, results)))
        for task in tasks:
            task.start()
        total.update(disturb(server, until, samples))
        for _ in tasks:
            for name, count in results.get(timeout=300).items():
                total[name] = total.get(name, 0) + count
        for task in tasks:
            task.join(60)
        if not server.descriptors_are_back_at(base):
            faults.append(f"{server.descriptors()} descriptors {BACK_S} s after the last client, {base} at first")
        after = server.descriptors()
        server.process.terminate()
        if server.process.wait(60) != 0:
            faults.append(f"the server ended with {server.process.returncode}")
        log = open(os.path.join(folder, "log"), errors="replace").read()
    quarter = max(len(samples) // 4, 1)
    growth = mean(samples[-quarter:]) / mean(samples[quarter:2 * quarter]) - 1
    if growth > GROWTH_MAX:
        faults.append(f"memory grew by {growth:.1%} from the second to the last quarter")
    faults += [f"{total[name]} {text}" for name, text in (("wrong", "wrong answers"), ("errors", "errors that nobody caused")) if total[name]]
    print(", ".join(f"{count} {name}" for name, count in total.items()))
    print(f"memory {samples[-1][1]} KiB, {growth:+.2%} from the second to the last quarter, slope {slope_percent_per_hour(samples):+.2f} %/h")
    print(f"descriptors {base} at first, {max(count for _, _, count in samples)} at most, {after} after the last client")
    if faults:
        print("".join(f"FAILED: {fault}\n" for fault in faults) + log[-2000:])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
