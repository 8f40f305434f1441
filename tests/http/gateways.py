#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# gateways: nginx and Caddy, as Debian has them, in front of a small backend, with herdgate and a key database behind: the
# files of examples/ with other paths and ports. Requests come by curl. Traefik and Envoy are not run: what their
# documentation says they send is sent. Usage: gateways.py BUILD SOURCE nginx|caddy|replay|tls
import hashlib
import http.server
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
WHICH = sys.argv[3]
GATEWAYS = {"nginx": "nginx/nginx.conf", "caddy": "caddy/Caddyfile"}
CROWD = 64
DEADLINE_S = 20


def fail(sentence):
    sys.exit(f"gateways.py {WHICH}: {sentence}")


def check(is_good, sentence):
    if not is_good:
        fail(sentence)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, sentence):
    end = time.monotonic() + DEADLINE_S
    while not what():
        if time.monotonic() > end:
            fail(sentence)
        time.sleep(0.01)


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Backend(http.server.BaseHTTPRequestHandler):
    """Says what it was told of who asks."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = "".join(
            f"{name}={self.headers.get(name)!r}\n"
            for name in ("X-Auth-User", "X-Auth-Key", "X-Auth-Scopes", "Authorization")
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    do_POST = do_GET

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


class Scene:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="herdgate-gateways-")
        self.started = []
        self.ports = {old: free_port() for old in ("7480", "7481", "8000", "8080")}
        for name in ("run", "lib", "gateway", "home"):
            os.mkdir(f"{self.dir}/{name}")
        self.make_keys()
        backend = Server(("127.0.0.1", self.ports["8080"]), Backend)
        threading.Thread(target=backend.serve_forever, daemon=True).start()

    def end(self):
        for name, process in reversed(self.started):
            process.send_signal(signal.SIGTERM)
            try:
                code = process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                fail(f"{name} did not end")
            check(name != "herdgated" or code == 0, f"herdgated ended with {code}")
        shutil.rmtree(self.dir)

    def make_keys(self):
        with sqlite3.connect(f"{self.dir}/lib/keys.db") as base:
            base.execute(
                "CREATE TABLE keys (key_hash TEXT PRIMARY KEY, user_id, api_key_id, allowed, scopes, expires_at)"
            )
            for token, allowed in (("good", 1), ("bad", 0), ("herd", 1)):
                digest = hashlib.sha256(token.encode()).hexdigest()
                base.execute(
                    "INSERT INTO keys VALUES (?, ?, ?, ?, 'read write', NULL)",
                    (digest, f"u-{token}", f"k-{token}", allowed),
                )
        base.close()

    def forbid(self, token):
        with sqlite3.connect(f"{self.dir}/lib/keys.db") as base:
            base.execute("UPDATE keys SET allowed = 0 WHERE user_id = ?", (f"u-{token}",))
        base.close()

    def example(self, name):
        """A file of examples/, with this scene's folders and ports."""
        with open(f"{SOURCE}/examples/{name}", encoding="utf-8") as file:
            text = file.read()
        for old, new in (
            ("/run/herdgate", f"{self.dir}/run"),
            ("/var/lib/herdgate", f"{self.dir}/lib"),
            ("/run/gateway", f"{self.dir}/gateway"),
        ):
            text = text.replace(old, new)
        for old, new in self.ports.items():
            text = re.sub(rf"\b{old}\b", str(new), text)
        path = f"{self.dir}/{os.path.basename(name)}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start(self, name, argv):
        log = open(f"{self.dir}/{name}.log", "w", encoding="utf-8")
        environment = dict(os.environ, HOME=f"{self.dir}/home")
        process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=self.dir, env=environment)
        self.started.append((name, process))
        return process

    def log(self, name):
        with open(f"{self.dir}/{name}.log", encoding="utf-8") as file:
            return file.read()

    def start_herdgate(self, path):
        process = self.start("herdgated", [f"{BUILD}/bin/herdgated", "-c", path])
        wait_for(
            lambda: "ready" in self.log("herdgated") or process.poll() is not None,
            "herdgated is not ready",
        )
        check(process.poll() is None, self.log("herdgated"))

    def start_gateway(self, path):
        if WHICH == "nginx":
            argv = ["/usr/sbin/nginx", "-p", self.dir, "-c", path]
            if os.geteuid() == 0:  # its workers would be nobody, who may not use the socket
                argv += ["-g", "user root;"]
        else:
            argv = ["caddy", "run", "--config", path, "--adapter", "caddyfile"]
        process = self.start(WHICH, argv)
        wait_for(
            lambda: is_listening(self.ports["8000"]) or process.poll() is not None,
            f"{WHICH} is not ready",
        )
        check(process.poll() is None, self.log(WHICH))

    def herdgate(self, *args):
        url = f"ipc://{self.dir}/run/herdgate.sock"
        ran = subprocess.run(
            [f"{BUILD}/bin/herdgate", "-e", url, *args], capture_output=True, text=True, check=False
        )
        check(ran.returncode == 0, f"herdgate {' '.join(args)}: {ran.stderr}")
        return ran.stdout

    def loads(self):
        metrics = curl(f"http://127.0.0.1:{self.ports['7480']}/metrics")[2]
        return int(re.search(r'^herdgate_loads_total{cache="auth"} (\d+)$', metrics, re.M).group(1))


def curl(url, *args):
    """Status, head in lower case, body."""
    ran = subprocess.run(
        ["curl", "-sS", "-i", "-m", str(DEADLINE_S), "--noproxy", "*", *args, url],
        capture_output=True, text=True, check=False,
    )
    check(ran.returncode == 0, f"curl {url}: {ran.stderr}")
    head, _, body = ran.stdout.replace("\r\n", "\n").partition("\n\n")
    return int(head.split()[1]), head.lower(), body


def bearer(token):
    return ("-H", f"Authorization: Bearer {token}")


def ask(scene, *args, path="/api/things?x=1"):
    return curl(f"http://127.0.0.1:{scene.ports['8000']}{path}", *args)


def who_may_and_who_may_not(scene):
    status, _, body = ask(scene, *bearer("good"))
    check(status == 200, f"good: {status}")
    check(
        body == "X-Auth-User='u-good'\nX-Auth-Key='k-good'\nX-Auth-Scopes='read write'\nAuthorization=None\n",
        f"the backend was told: {body}",
    )
    status, _, body = ask(scene, *bearer("good"), "-H", "X-Auth-User: root", "-X", "POST", "-d", "a=b")
    check(status == 200 and "'u-good'" in body and "root" not in body, f"a client named itself: {body}")
    check(ask(scene, *bearer("bad"))[0] == 403, "bad is not refused")
    status, head, _ = ask(scene, *bearer("nobody"))
    check(status == 401 and "www-authenticate: bearer realm=" in head, f"nobody: {head}")
    status, head, _ = ask(scene)
    check(status == 401 and "www-authenticate: bearer realm=" in head, f"no credential: {head}")


def sixty_four_first_requests_are_one_load(scene):
    before = scene.loads()
    url = f"http://127.0.0.1:{scene.ports['8000']}/api/x"
    ran = subprocess.run(
        ["curl", "-sS", "-m", str(DEADLINE_S), "--noproxy", "*", "--parallel", "--parallel-immediate",
         "--parallel-max", str(CROWD), *bearer("herd"), "-w", "%{http_code}\n"]
        + [word for _ in range(CROWD) for word in ("-o", "/dev/null", url)],
        capture_output=True, text=True, check=False,
    )
    check(ran.returncode == 0, ran.stderr)
    check(ran.stdout.split() == ["200"] * CROWD, f"answers: {ran.stdout.split()}")
    check(scene.loads() == before + 1, f"{scene.loads() - before} loads")


def a_revoked_key_is_refused_at_once(scene):
    check(ask(scene, *bearer("good"))[0] == 200, "good is refused")
    scene.forbid("good")
    check(ask(scene, *bearer("good"))[0] == 200, "what is cached is not used")
    scene.herdgate("del", "auth", "--key-hash", hashlib.sha256(b"good").hexdigest())
    check(ask(scene, *bearer("good"))[0] == 403, "a revoked key is let in")


def without_a_loader_nobody_new_comes_in(scene):
    check(ask(scene, *bearer("herd"))[0] == 200, "herd is refused")
    os.rename(f"{scene.dir}/lib/keys.db", f"{scene.dir}/lib/away.db")
    pids = re.findall(r"process (\d+) runs", scene.log("herdgated"))
    os.kill(int(pids[-1]), signal.SIGKILL)  # what it had open would still answer
    wait_for(lambda: ask(scene, *bearer("new"))[0] == 503, "a loader that is down is not told")
    status, head, _ = ask(scene, *bearer("newer"))
    check(status == 503 and "retry-after:" in head, f"loader down: {head}")
    check(ask(scene, *bearer("herd"))[0] == 200, "what is cached is not served")


def a_wrong_path_fails_closed(scene):
    path = scene.example(GATEWAYS[WHICH])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    check("/authz/auth" in text, "the example names another path")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("/authz/auth", "/livez"))
    _, process = scene.started.pop()
    process.terminate()
    process.wait(DEADLINE_S)
    scene.start_gateway(path)
    check(ask(scene, *bearer("herd"))[0] == 403, "a gateway with a wrong path lets in")


def replay(scene):
    """What Traefik and Envoy send, by the addresses that the examples configure."""
    with open(scene.example("traefik/dynamic.yml"), encoding="utf-8") as file:
        address = re.search(r'address: "(\S+)"', file.read()).group(1)
    forwarded = ("-H", "X-Forwarded-Method: GET", "-H", "X-Forwarded-Proto: https", "-H",
                 "X-Forwarded-Host: shop.example", "-H", "X-Forwarded-Uri: /api/x?y=1", "-H",
                 "X-Forwarded-For: 192.0.2.1")
    for token, wanted in (("good", 200), ("bad", 403), ("nobody", 401)):
        status, head, body = curl(address, *bearer(token), *forwarded)
        check(status == wanted and body == "", f"traefik, {token}: {head}")
        check("content-length: 0" in head, f"traefik, {token}: {head}")
    status, head, _ = curl(address, *bearer("good"), *forwarded)
    check("x-auth-user: u-good" in head and "x-auth-scopes: read write" in head, head)
    with open(scene.example("envoy/envoy.yaml"), encoding="utf-8") as file:
        text = file.read()
    uri = re.search(r'uri: "(\S+)"', text).group(1)
    prefix = re.search(r"path_prefix: (\S+)", text).group(1)
    for method in ("GET", "POST", "DELETE", "PATCH"):
        status, head, body = curl(f"{uri}{prefix}/api/x?y=1", "-X", method, *bearer("good"), "-H",
                                  "Host: shop.example", "-H", "Content-Length: 0")
        check(status == 200 and body == "", f"envoy, {method}: {head}")  # 200 and nothing else
        check("x-auth-user: u-good" in head, head)
    check(curl(f"{uri}{prefix}/api/x", "-X", "PUT", *bearer("bad"))[0] == 403, "envoy, bad")
    check(curl(f"{uri}/api/x", *bearer("good"))[0] == 403, "envoy without its prefix is let in")


def tls(scene):
    """The same over https, and what a plain request is told there."""
    run = lambda *argv: subprocess.run(argv, check=True, capture_output=True)
    cert, key = f"{scene.dir}/lib/cert.pem", f"{scene.dir}/lib/key.pem"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
        "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-addext",
        "extendedKeyUsage=serverAuth", "-keyout", key, "-out", cert)
    os.chmod(key, 0o600)
    path = scene.example("gateways/herdgated.conf")
    plain = f'http "http://127.0.0.1:{scene.ports["7481"]}" {{ services = "authz" }}'
    with open(path, encoding="utf-8") as file:
        text = file.read()
    check(plain in text, "the example has another address")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(plain, f'http "https://127.0.0.1:{scene.ports["7481"]}" {{ services = "authz" '
                                       f'cert = "{cert}" key = "{key}" threads = 2 }}'))
    scene.start_herdgate(path)
    url = f"https://localhost:{scene.ports['7481']}/authz/auth"
    status, head, _ = curl(url, "--cacert", cert, *bearer("good"))
    check(status == 200 and "x-auth-user: u-good" in head, head)
    check(curl(url, "--cacert", cert, *bearer("bad"))[0] == 403, "bad is not refused")
    ran = subprocess.run(["curl", "-sS", "-m", "10", "--noproxy", "*", url.replace("https", "http")],
                         capture_output=True, check=False)
    check(ran.returncode != 0, "a plain request is answered on https")
    os.chmod(key, 0o644)
    ran = subprocess.run([f"{BUILD}/bin/herdgated", "-t", "-c", path], capture_output=True, text=True, check=False)
    check(ran.returncode != 0 and "chmod 0600" in ran.stderr, f"a key that others may read: {ran.stderr}")


def main():
    scene = Scene()
    try:
        if WHICH == "tls":
            tls(scene)
        else:
            scene.start_herdgate(scene.example("gateways/herdgated.conf"))
        if WHICH == "replay":
            replay(scene)
        elif WHICH in GATEWAYS:
            scene.start_gateway(scene.example(GATEWAYS[WHICH]))
            who_may_and_who_may_not(scene)
            sixty_four_first_requests_are_one_load(scene)
            a_revoked_key_is_refused_at_once(scene)
            without_a_loader_nobody_new_comes_in(scene)
            a_wrong_path_fails_closed(scene)
    except SystemExit:
        for name, _ in scene.started:
            print(f"---- {name}\n{scene.log(name)}", file=sys.stderr)
        raise
    finally:
        scene.end()


main()
