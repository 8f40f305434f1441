#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operator's page, in a real browser before a real server. Usage: test_page.py BIN FOLDER

Looks at it as somebody does who wants to know in ten seconds, clears a cache with the keyboard alone, holds it narrow and in the dark,
and takes the server away. Leaves what was seen as pictures in FOLDER. Prints what is not so and exits 1."""
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

from browser import PATIENCE_S, Browser

CONFIG = """\
runtime_dir = "{folder}"
key_file = "{folder}/key"
tokens_file = "{folder}/tokens"
listen "ipc://{folder}/s.sock" {{ access = "owner" }}
http "http://127.0.0.1:{port}" {{ services = "operator" }}
principal "console" {{ allow("auth", "clear") }}
loader "keys" {{
    plugin = "sqlite"
    option("database", "{folder}/keys.db")
    option("query_key_hash", "SELECT user_id, allowed FROM keys WHERE key_hash = ?1")
}}
cache "auth" {{ key = "key_hash" value = "auth" loader = "keys" ttl = "1h" }}
cache "answers" {{ key = "bytes" value = "bytes" ttl = "1h" }}
"""


class Server:
    """herdgated with a page, a database of keys and a principal that may clear one of two caches."""

    def __init__(self, programs, folder, shots):
        self._herdgate = os.path.join(programs, "herdgate")
        self.shots = shots
        self.url = f"ipc://{folder}/s.sock"
        with sqlite3.connect(f"{folder}/keys.db") as keys:
            keys.execute("CREATE TABLE keys (key_hash TEXT PRIMARY KEY, user_id TEXT, allowed INTEGER)")
            keys.executemany("INSERT INTO keys VALUES (?, ?, 1)", [(f"kh_{i}", f"u_{i}") for i in range(40)])
        keys.close()
        self.port = free_port()
        with open(f"{folder}/herdgate.conf", "w", encoding="utf-8") as config:
            config.write(CONFIG.format(folder=folder, port=self.port))
        with open(f"{folder}/log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([os.path.join(programs, "herdgated"), "-c", f"{folder}/herdgate.conf"], stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE_S
        while not self._is_ready():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"the server does not start: {open(f'{folder}/log', encoding='utf-8').read()}")
            time.sleep(0.05)

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def ask(self, *words):
        return subprocess.run([self._herdgate, "-e", self.url, *words], check=False, capture_output=True, text=True, timeout=PATIENCE_S)

    def entries(self, cache):
        caches = json.loads(self.ask("-o", "json", "stats", cache).stdout)
        return find(caches, "entries")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find(tree, name):
    """The first member of this name, wherever it is."""
    if isinstance(tree, dict):
        if name in tree:
            return tree[name]
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            found = find(branch, name)
            if found is not None:
                return found
    return None


def cell(cache, label):
    return f"document.querySelector('#caches tr[data-name=\"{cache}\"] td[data-label=\"{label}\"]')?.textContent"


def expect(what, seen, wanted):
    if seen != wanted:
        raise AssertionError(f"{what}: {seen!r} instead of {wanted!r}")


def shows_what_is(browser, server):
    for i in range(30):
        server.ask("load", "auth", "--key-hash", f"kh_{i}")
    for i in range(10):
        server.ask("load", "auth", "--key-hash", f"kh_{i}")
    server.ask("put", "answers", "--kind", "bytes", "one", "value")
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.until(f"{cell('auth', 'Entries')} === '30'", "the entries of auth")
    expect("the caches", browser.run("[...document.querySelectorAll('#caches tbody tr')].map((row) => row.dataset.name).join()"), "auth,answers")
    expect("the loader", browser.run("document.querySelector('#loaders tbody tr').innerText.replace(/\\s+/g, ' ').slice(0, 12)"), "keys running")
    browser.until("document.querySelector('#changes').textContent.includes('one key put into answers')", "the put among the events")
    # A step of the history lasts ten seconds: the first is there after at most that.
    browser.until(f"{cell('auth', 'Loads')} === '30' && {cell('auth', 'Hits')} === '25.0 %'", "loads and hits of the last 15 minutes")
    expect("errors", browser.run(cell("auth", "Errors")), "0")
    expect("a median", browser.run(f"/^[0-9.,]+ m?s$/.test({cell('auth', 'Load p50')})"), True)
    expect("the line", browser.run("document.querySelector('tr[data-name=auth] svg path.reads').getAttribute('d').startsWith('M')"), True)


def clears_by_keyboard(browser, server, token):
    browser.run("document.querySelector('h1').scrollIntoView()")
    browser.press("Tab")
    expect("the focus", browser.run("document.activeElement.getAttribute('aria-label')"), "Clear auth")
    browser.press("Enter")
    browser.until("document.getElementById('clear').open", "the question")
    expect("what Enter would do", browser.run("document.activeElement.id"), "clear-no")
    browser.press("Escape")
    browser.until("!document.getElementById('clear').open", "the question is gone")
    expect("nothing was cleared", server.entries("auth"), 30)
    expect("the focus is back", browser.run("document.activeElement.getAttribute('aria-label')"), "Clear auth")

    browser.press("Enter")
    browser.press("Tab")
    expect("the other button", browser.run("document.activeElement.id"), "clear-yes")
    browser.press("Enter")
    browser.until("document.activeElement.id === 'clear-token'", "the question for a token")
    expect("nothing was cleared without one", server.entries("auth"), 30)
    browser.shoot(os.path.join(server.shots, "page-asks.png"))
    browser.type("hg_00000000_wrong")
    browser.press("Enter")
    browser.until("document.getElementById('clear-report').textContent.startsWith('Not cleared:')", "the wrong token is refused")
    browser.type(token)
    browser.press("Enter")
    browser.until("document.getElementById('clear-report').textContent.startsWith('Done: 30 entries')", "the report")
    browser.shoot(os.path.join(server.shots, "page-cleared.png"))
    expect("it is cleared", server.ask("get", "auth", "--key-hash", "kh_1").returncode != 0, True)
    expect("the token is nowhere", browser.run("document.getElementById('clear-token').value + JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie"), "{}")
    browser.press("Enter")
    browser.until("!document.getElementById('clear').open", "closed by Enter")
    browser.until("document.querySelector('#changes li').textContent.includes('cleared auth')", "the clear among the events")


def refuses_what_it_may_not(browser):
    browser.run("document.querySelector('[aria-label=\"Clear answers\"]').click()")
    browser.run("document.getElementById('clear-yes').click()")
    browser.until("document.getElementById('clear-report').textContent.startsWith('Not cleared:')", "a cache that the token is not for")
    browser.press("Escape")


def is_narrow_and_dark(browser, server):
    browser.size(1280, 800)
    browser.scheme("light")
    light = browser.run("getComputedStyle(document.body).backgroundColor")
    browser.shoot(os.path.join(server.shots, "page.png"))
    expect("no scrolling sideways on a desk", browser.run("document.documentElement.scrollWidth <= innerWidth"), True)
    browser.scheme("dark")
    expect("the dark is another colour", browser.run("getComputedStyle(document.body).backgroundColor") != light, True)
    browser.shoot(os.path.join(server.shots, "page-dark.png"))
    browser.size(390, 844, is_phone=True)
    browser.shoot(os.path.join(server.shots, "page-phone.png"))
    expect("no scrolling sideways on a phone", browser.run("document.documentElement.scrollWidth <= innerWidth"), True)
    expect("a figure says what it is of", browser.run("getComputedStyle(document.querySelector('td[data-label=Entries]'), '::before').content"), '"Entries"')


def says_that_nobody_answers(browser, server):
    expect("the server ends well", server.end(), 0)
    browser.until("document.getElementById('server').textContent.startsWith('no answer')", "the page says that it is old")


def main():
    programs, shots = sys.argv[1:3]
    os.makedirs(shots, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="herdgate-page-") as folder:
        server = Server(programs, folder, shots)
        browser = None
        try:
            token = server.ask("token", "new", "console").stdout.strip()
            browser = Browser()
            browser.size(1280, 800)
            shows_what_is(browser, server)
            clears_by_keyboard(browser, server, token)
            refuses_what_it_may_not(browser)
            # The two clears that are refused are told there; nothing else is.
            expect("complaints of the browser", [text for text in browser.complaints if "401" not in text and "403" not in text], [])
            is_narrow_and_dark(browser, server)
            says_that_nobody_answers(browser, server)
        except AssertionError as wrong:
            print(f"page: {wrong}; the browser complains of {browser.complaints if browser else 'nothing'}")
            return 1
        finally:
            server.end()
            if browser:
                browser.close()
    return 0


sys.exit(main())
