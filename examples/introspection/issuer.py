#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for an authorization server: POST /introspect as in RFC 7662, and two things to try it with.

  issuer.py SECRET_FILE [PORT]     herdgate's password; prints its address
  curl -d token=T -d sub=alice -d scope='read write' ADDRESS/issue
  curl -d token=T ADDRESS/revoke

Whoever reaches it may issue and revoke: it listens on this host only, and is no more than an example."""
import base64
import hmac
import http.server
import json
import sys
import time
import urllib.parse

with open(sys.argv[1], encoding="utf-8") as file:
    expected = "Basic " + base64.b64encode(("herdgate:" + file.read().strip()).encode()).decode()
tokens = {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
        token, sub, scope = (form.get(name, [""])[0] for name in ("token", "sub", "scope"))
        if self.path == "/issue":
            tokens[token] = {"active": True, "sub": sub, "scope": scope, "client_id": "example",
                             "exp": int(time.time()) + 3600}
            self.answer(200, {"token": token})
        elif self.path == "/revoke":
            tokens.pop(token, None)
            self.answer(200, {})
        elif self.path != "/introspect":
            self.answer(404, {})
        elif not hmac.compare_digest(self.headers.get("Authorization", ""), expected):
            self.answer(401, {"error": "invalid_client"})
        else:
            self.answer(200, tokens.get(token, {"active": False}))


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
server.daemon_threads = True
print("http://127.0.0.1:%d" % server.server_address[1], flush=True)
server.serve_forever()
