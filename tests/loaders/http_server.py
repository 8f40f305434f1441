#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A web server that answers as a test asks by the path, and tells what it was asked.

Prints its port. It ends when it is killed."""
import http.server
import json
import threading
import urllib.parse

documents = {
    "user": {"found": {"name": "alice", "n": [1, {"a/b": "deep"}], "none": None}, "ttl": 1.5,
             "end": 4102444800, "tags": ["gold", "team-7"], "words": "read, write",
             "yes": True, "no": False, "bad": {"x": 1}, "zero": 0},
}
tokens = {
    "good": {"active": True, "sub": "alice", "scope": "read write", "exp": 4102444800, "client_id": "app"},
    "over": {"active": True, "sub": "bob", "exp": 1},
    "gone": {"active": False, "sub": "never told"},
    "odd": {"sub": "mallory"},
    "text": {"active": "true"},
}
meeting = threading.Condition()
present = 0
revision = "1"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def meet(self, count):
        """Nobody is answered before so many are here."""
        global present
        with meeting:
            present += 1
            meeting.notify_all()
            meeting.wait_for(lambda: present >= count)
        self.answer(200, b'"met"')

    def introspect(self, body):
        token = urllib.parse.parse_qs(body).get("token", [""])[0]
        if self.headers.get("Authorization") != "Basic Z2F0ZTpzM2NyZXQ=":  # gate:s3cret
            self.answer(401, b"{}")
        elif token == "twice":
            self.answer(200, b'{"active":false,"active":true}')
        else:
            self.answer(200, tokens.get(token, {"active": False}))

    def versioned(self):
        tag = '"v' + revision + '"'
        if self.headers.get("If-None-Match") == tag:
            self.answer(304, headers=[("ETag", tag)])
        else:
            self.answer(200, b'"value ' + revision.encode() + b'"', [("ETag", tag)])

    def handle_any(self):
        global revision
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path = urllib.parse.urlsplit(self.path).path.split("/")
        what, rest = path[1], path[2:]
        if what == "echo":
            self.answer(200, {"method": self.command, "path": self.path, "body": body,
                              "headers": {name.lower(): value for name, value in self.headers.items()}})
        elif what == "status":
            status = int(rest[0])
            self.answer(status, b"" if status in (204, 304) else b"secret words of the server")
        elif what == "document":
            self.answer(200, documents["user"])
        elif what == "raw":
            self.answer(200, urllib.parse.unquote(rest[0]).encode())
        elif what == "meet":
            self.meet(int(rest[0]))
        elif what == "never":
            with meeting:
                meeting.wait_for(lambda: False)
        elif what == "long":
            self.answer(200, b'"' + b"x" * int(rest[0]) + b'"')
        elif what == "redirect":
            self.answer(302, headers=[("Location", "/echo/landed")])
        elif what == "versioned":
            self.versioned()
        elif what == "revise":
            revision = rest[0]
            self.answer(200, b'"revised"')
        elif what == "introspect":
            self.introspect(body)
        else:
            self.answer(404)

    do_GET = do_POST = handle_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
