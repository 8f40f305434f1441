# SPDX-License-Identifier: Apache-2.0
"""Bad inputs and what is answered, word for word. Usage: bad.py [--record] BUILD FILE.bad...

A case is a line ": what is wrong", the input, and what must come: "=> CODE TEXT", more lines of text with "=| " before them.
The file's name says what an input is:
  config    a configuration file, for herdgated -t; \\xNN and \\0 are bytes if the first line ends in [bytes]
  command   a command line of ours, run beside a server
  request   METHOD PAYLOAD, the payload in Python with client.py's pack(); "raw BODY"; "tcp" before it: over the data listener
  loader    what a loader's process writes to the server that starts it, in Python with frame()
  host      what a server writes to herdgate-loader
  snapshot  SQL that is done to a snapshot, or "bytes" and what the file is made of, in Python
  certificate  WHO [OPTION=VALUE, ...]: what the files of a server (herdgated -t), of a client (herdgate ping), or of a client that a
            real server judges ("guest") are made of: cert, key, ca; bytes, in Python with pem(), key(), cut(), openssl(); None is no
            file, mode_cert=0o666 its mode. What is not said is good
  plugin    what a loader's .so is made of, in Python: static(), the shipped one, cut(), put(), renamed(), described()
@DIR@ is the folder of the run, @BUILD@ that of the build, @FILE@ the input's own file. --record writes down what comes instead: read it before you keep it."""
import base64
import os
import re
import shlex
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from client import Client, Message, pack, unpack, varint  # noqa: E402

TIMEOUT_S = 60


def frame(*fields):
    """A message between server and loader with its length before it."""
    body = pack(*fields)
    return struct.pack(">I", len(body)) + body


def evaluate(text):
    return eval(text, {"pack": pack, "varint": varint, "frame": frame})  # our own files


def put(data, at, other):
    """The same bytes, but for some."""
    return data[:at] + other + data[at + len(other):]


def cut(data, size):
    return data[:size]


def renamed(data, old, new):
    """A name of the same length in the place of each that is there."""
    assert len(old) == len(new) and old in data, "no such name"
    return data.replace(old, new)


def described(data, at, word):
    """`word` in the descriptor of a loader, which begins with its magic."""
    magic = struct.pack("<II", 0x48474C44, 1)
    assert data.count(magic) == 1, "not one descriptor"
    return put(data, data.index(magic) + at, struct.pack("<I", word))


def der(pem):
    return base64.b64decode(b"".join(line for line in pem.splitlines() if not line.startswith(b"-----")))


def openssl(data, *arguments):
    return subprocess.run(["openssl", *arguments], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


# What a command sees of ours: where programs are and, in a sanitizer's build, what that is to pass over.
ENVIRONMENT = {"LC_ALL": "C", **{name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")
                                 if name in os.environ},
               "LSAN_OPTIONS": f"print_suppressions=0:suppressions={HERE}/lsan.supp"}

class Runner:
    def __init__(self, build):
        build = self.build = os.path.abspath(build)
        self.bin = os.path.join(build, "bin")
        self.script = os.path.join(build, "tests", "lib", "loader_script.so")
        self.folder = tempfile.TemporaryDirectory(prefix="hg-bad-")
        self.dir = self.folder.name
        self.daemon = self.tls_daemon = None
        self.clients = {}

    def close(self):
        for daemon in filter(None, (self.daemon, self.tls_daemon)):
            daemon.terminate()
            daemon.wait(TIMEOUT_S)
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def run(self, argv, **options):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
                              cwd=self.dir, env=ENVIRONMENT, **options)
        return done.returncode, done.stdout.decode(errors="replace")

    # ---- what an input is run by; each gives a code and a text ----

    def config(self, text, first):
        if first.endswith("[bytes]"):
            content = text.encode().decode("unicode_escape").encode("latin-1")
        else:
            content = text.replace("@DIR@", self.dir)
        file = self.write("bad.conf", content)
        code, said = self.run([os.path.join(self.bin, "herdgated"), "-t", "-c", file])
        return code, said.replace(file, "@FILE@")

    def start(self):
        if self.daemon:
            return
        for name in ("control", "journal"):
            self.write(name, "")
        conf = self.write("server.conf", f"""
runtime_dir = "{self.dir}"
listen "ipc://{self.dir}/s" {{ access = "owner" }}
listen "tcp://127.0.0.1:0" {{ access = "data" }}
loader "script" {{ plugin = "{self.script}" option("control", "{self.dir}/control") option("journal", "{self.dir}/journal") }}
cache "c" {{ key = "bytes" value = "bytes" ttl = "1h" }}
cache "j" {{ key = "bytes" value = "json" }}
cache "a" {{ key = "auth" value = "auth" }}
cache "h" {{ key = "key_hash" value = "bytes" }}
cache "u" {{ key = "user_api_key" value = "bytes" }}
cache "f" {{ key = "api_key_feature" value = "bytes" }}
cache "l" {{ key = "bytes" value = "bytes" loader = "script" }}
""")
        self.daemon = subprocess.Popen([os.path.join(self.bin, "herdgated"), "-c", conf], stdout=subprocess.PIPE,
                                       stderr=open(self.path("log"), "wb"))
        ready = self.daemon.stdout.readline().decode()
        if "ready" not in ready:
            raise RuntimeError(open(self.path("log")).read())
        self.port = int(re.search(r"tcp://127.0.0.1:(\d+)", ready).group(1))

    def command(self, text, _):
        self.start()
        argv = shlex.split(text.replace("@DIR@", self.dir).replace("@PORT@", str(self.port)))
        environment = f"HERDGATE_URL=ipc://{self.dir}/s"
        return self.run(["env", environment, os.path.join(self.bin, argv[0]), *argv[1:]])

    def request(self, text, _):
        self.start()
        where = "tcp" if text.startswith("tcp ") else "ipc"
        text = text.removeprefix("tcp ")
        address = self.path("s") if where == "ipc" else ("127.0.0.1", self.port)
        client = self.clients.get(where) or self.clients.setdefault(where, Client(address))
        method, payload = text.split(None, 1)
        if method == "raw":
            body = evaluate(payload)
            client.last_id += 1
            head = struct.pack(">QI", 4 + len(body), 0x80000000 | client.last_id)
            client.socket.sendall((b"\x01" if client.is_ipc else b"") + head + body)
        else:
            client.send(method, evaluate(payload))
        _, status, sentence, message = client.receive()
        if method.endswith("Batch") or method.endswith("BatchGetOrLoad"):  # each key has its own answer
            answers = [Message(unpack(answer)) for answer in message.get(1, [])]
            sentence += b"".join(b"%d %s\n" % (answer.number(1), answer.bytes(2)) for answer in answers)
        return status, sentence.decode(errors="replace")

    def loader(self, text, _):
        self.write("said", evaluate(text))
        program = self.write("loader", f"#!/bin/sh\ncat {self.dir}/said >&3\nexec sleep 60\n")  # until it is killed for it
        os.chmod(program, 0o755)
        file = self.write("loader.conf", f"""loader_program = "{program}"
listen "ipc://{self.dir}/x" {{ }}
loader "l" {{ plugin = "{self.script}" }}
cache "c" {{ key = "bytes" value = "bytes" loader = "l" }}
""")
        code, said = self.run([os.path.join(self.bin, "herdgated"), "-t", "-c", file])
        return code, said.replace(file, "@FILE@").replace(self.build, "@BUILD@")

    def host(self, text, _):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            argv = ["sh", "-c", f"exec 3<&{theirs.fileno()}; exec {self.bin}/herdgate-loader"]
            child = subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT)
            theirs.close()
            ours.settimeout(TIMEOUT_S)
            ours.sendall(evaluate(text.replace("@SCRIPT@", self.script)))
            answer = b""
            try:  # until it ends, or has said its first frame
                while (len(answer) < 4 or len(answer) < 4 + struct.unpack_from(">I", answer)[0]) and (part := ours.recv(65536)):
                    answer += part
            except ConnectionResetError:  # it ended without reading all of it
                pass
            ours.close()
            said = child.communicate(timeout=TIMEOUT_S)[0].decode()
        if len(answer) > 4:  # the first frame: a Ready that says what is wrong
            size = struct.unpack_from(">I", answer)[0]
            ready = Message(unpack(Message(unpack(answer[4:4 + size])).bytes(2)))
            said += f"Ready {ready.number(1)} {ready.bytes(2).decode()}"
        return child.returncode, re.sub(r"process \d+", "process N", said).replace(self.script, "@SCRIPT@")

    def snapshot(self, text, _):
        name = "data/cache.db"
        conf = self.write("snapshot.conf", f"""runtime_dir = "{self.dir}"
listen "ipc://{self.dir}/v" {{ access = "owner" }}
snapshot {{ path = "{self.path(name)}" }}
cache "c" {{ key = "bytes" value = "bytes" ttl = "1h" }}
""")
        herdgated = [os.path.join(self.bin, "herdgated"), "-c", conf]
        herdgate = [os.path.join(self.bin, "herdgate"), "-e", f"ipc://{self.dir}/v"]
        self.run(["rm", "-rf", self.path("data")])

        def serve(asked):
            with open(self.path("log"), "wb") as log:
                daemon = subprocess.Popen(herdgated, stdout=subprocess.PIPE, stderr=log)
                daemon.stdout.readline()
                said = [self.run([*herdgate, *words]) for words in asked]
                daemon.terminate()
                daemon.wait(TIMEOUT_S)
            return said, open(self.path("log"), errors="replace").read()

        serve([["put", "c", "k", "value"], ["snapshot", "save"]])
        if text.startswith("bytes "):
            self.write(name, evaluate(text.removeprefix("bytes ")))
        else:
            database = sqlite3.connect(self.path(name))
            database.executescript(text)
            database.close()
        said, log = serve([["get", "c", "k"]])
        lines = [line for line in log.splitlines() if not re.search(r"stopp|served|ready|listening|restored 0", line)]
        lines.append(said[0][1].strip())
        return said[0][0], re.sub(r"(corrupt-|(?:reads|of) version )\d{4,5}\b|corrupt-\d+", lambda m: (m.group(1) or "corrupt-") + "N", "\n".join(lines))

    # ---- files that are judged before they are used ----

    def certs(self):
        folder = self.path("certs")
        if not os.path.isdir(folder):
            subprocess.run([os.path.join(HERE, "..", "lib", "make_certs.sh"), folder], check=True)
        return folder

    def serve_tls(self):
        if self.tls_daemon:
            return
        certs = self.certs()
        conf = self.write("tls.conf", f"""
runtime_dir = "{self.dir}"
listen "tls+tcp://127.0.0.1:0" {{ cert = "{certs}/server.pem" key = "{certs}/server.key" ca = "{certs}/ca.pem" }}
key_file = "{self.dir}/tls-key"
tokens_file = "{self.dir}/tls-tokens"
cache "c" {{ key = "bytes" value = "bytes" }}
""")
        self.tls_daemon = subprocess.Popen([os.path.join(self.bin, "herdgated"), "-c", conf], stdout=subprocess.PIPE,
                                           stderr=open(self.path("tls-log"), "wb"))
        self.tls_port = int(re.search(r":(\d+)", self.tls_daemon.stdout.readline().decode().split("ready:")[1]).group(1))

    def certificate(self, text, _):
        who, asked = text.split(None, 1) if " " in text else (text, "")
        certs = self.certs()

        def pem(name):
            return open(f"{certs}/{name}.pem", "rb").read()

        def key(name):
            return open(f"{certs}/{name}.key", "rb").read()

        side = "server" if who == "server" else "client"
        files = {"cert": pem(side), "key": key(side), "ca": pem("ca")}
        files.update(eval(f"dict({asked})", {"certs": certs, "pem": pem, "key": key, "cut": cut, "put": put, "der": der,
                                                "openssl": openssl}))
        for name in ("cert", "key", "ca"):
            path = self.path(f"{name}.pem")
            if os.path.lexists(path):
                os.unlink(path)
            if files[name] is not None:
                os.chmod(self.write(f"{name}.pem", files[name]), files.get(f"mode_{name}", 0o600))
        if who == "server":
            conf = self.write("server-tls.conf", f"""key_file = "{self.dir}/k"
tokens_file = "{self.dir}/t"
listen "tls+tcp://127.0.0.1:0" {{ cert = "{self.dir}/cert.pem" key = "{self.dir}/key.pem" ca = "{self.dir}/ca.pem" }}
cache "c" {{ key = "bytes" value = "bytes" }}
""")
            return self.run([os.path.join(self.bin, "herdgated"), "-t", "-c", conf])
        if who == "guest":
            self.serve_tls()
        port = self.tls_port if who == "guest" else 1
        code, said = self.run([os.path.join(self.bin, "herdgate"), "-e", f"tls+tcp://localhost:{port}", "--timeout", "10s",
                               "--ca-file", self.path("ca.pem"), "--cert-file", self.path("cert.pem"), "--key-file", self.path("key.pem"),
                               "ping"])
        return code, said.replace(f"localhost:{port}", "localhost:@PORT@")

    def plugin(self, text, _):
        def static():
            return open(os.path.join(self.build, "lib", "herdgate", "static.so"), "rb").read()

        self.write("p.so", eval(text, {"static": static, "cut": cut, "put": put, "renamed": renamed, "described": described}))
        file = self.write("plugin.conf", f"""listen "ipc://{self.dir}/x" {{ }}
loader "l" {{ plugin = "{self.dir}/p.so" option("path", "{self.dir}/keys") }}
cache "c" {{ key = "bytes" value = "bytes" loader = "l" }}
""")
        code, said = self.run([os.path.join(self.bin, "herdgated"), "-t", "-c", file])
        return code, said.replace(file, "@FILE@")


def read_cases(path):
    """Of each: the line it begins on, its first line, its input, what is expected."""
    cases = []
    for number, line in enumerate(open(path, encoding="utf-8").read().split("\n"), 1):
        if line.startswith(": "):
            cases.append([number, line, [], []])
        elif line.startswith(("=> ", "=| ")) or line == "=|":
            cases[-1][3].append(line)
        elif cases:
            cases[-1][2].append(line)
    for case in cases:
        while case[2] and case[2][-1] == "":
            case[2].pop()
    return cases


def run_file(runner, path, is_record):
    kind = os.path.basename(path).removesuffix(".bad")
    head = open(path, encoding="utf-8").read().split("\n: ", 1)[0]
    written, wrong, cases = [head], 0, read_cases(path)
    for number, first, lines, expected in cases:
        code, text = getattr(runner, kind)("\n".join(lines), first)
        text = text.replace(runner.dir, "@DIR@").replace(runner.build, "@BUILD@").rstrip("\n").split("\n")
        text = [line.replace(str(getattr(runner, "port", "no port")), "@PORT@") for line in text]
        came = [f"=> {code} {text[0]}".rstrip()] + [f"=| {line}".rstrip() for line in text[1:]]
        written += [first, *lines, *came, ""]
        if came != expected and not is_record:
            wrong += 1
            print(f"{path}:{number}: {first[2:]}", *("  expected " + line for line in expected), *("  came     " + line for line in came),
                  sep="\n")
    if is_record:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(written).rstrip("\n") + "\n")
    return len(cases), wrong


def main():
    arguments = sys.argv[1:]
    is_record = arguments[:1] == ["--record"]
    build, *files = arguments[is_record:]
    runner = Runner(build)
    try:
        results = [run_file(runner, path, is_record) for path in files]
    finally:
        runner.close()
    print(f"{sum(count for count, _ in results)} bad inputs, {sum(wrong for _, wrong in results)} answered otherwise")
    return 1 if any(wrong for _, wrong in results) else 0


if __name__ == "__main__":
    sys.exit(main())
