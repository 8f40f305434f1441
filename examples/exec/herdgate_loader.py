# SPDX-License-Identifier: Apache-2.0
"""What a herdgate loader in Python needs: the frames of proto/loader.proto over descriptor 3, and nothing but the
standard library. lookup.py beside this file shows how it is used; docs/LOADERS.md has the rules.

A loader is a class with

    open(self, settings)     optional; settings is a dict of str; raise Refused("one sentence") to refuse them
    load(self, request)      a Value, ABSENT or DENIED; raise Failed(status, text) for "I could not find out".
                             Called from `workers` threads at once.
    health(self)             optional; None, or one sentence of what is wrong

and is run by serve(loader, name, version)."""
import collections
import queue
import socket
import struct
import threading

SERVER_FD = 3
ABI = 1
BYTES, JSON, AUTH = 1, 2, 3  # value_type of a request
ERROR, WARN, INFO, DEBUG = 0, 1, 2, 3  # levels of a log line
# Those of include/herdgate/status.def that a loader has use for.
INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, FAILED_PRECONDITION, INTERNAL, UNAVAILABLE = 3, 4, 5, 9, 13, 14
ABSENT, DENIED = object(), object()

HELLO, READY, LOAD, CANCEL, DONE, LOG, DRAIN, HEALTH, HEALTH_REPLY, LOADS, INVALIDATE = range(1, 12)
ALL, KEY, TAG, USER = 1, 2, 3, 4
TEXT_MAX = 256


class Failed(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Refused(Exception):
    pass


class Value(collections.namedtuple(
        "Value", "value ttl_ms stale_ttl_ms expires_at_ms no_store tags etag", defaults=(0, 0, 0, False, (), b""))):
    """bytes; str for JSON; an Auth for a cache of auth. Times shorten what the cache has, 0 is the cache's."""


class Auth(collections.namedtuple("Auth", "allowed user_id api_key_id scopes attributes not_after_ms",
                                  defaults=("", "", (), {}, 0))):
    pass


class Request(collections.namedtuple(
        "Request", "cache key user_id api_key_id standalone value_type attempt remaining_ms traceparent")):
    """key is bytes, of caches whose keys have one part; user_id, api_key_id and standalone are of the others."""


# ---- protobuf: a message is a list of (field number, value) ----

def _varint(number):
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def pack(fields):
    """int and bool as varints, bytes and str by length, Fixed64 as such."""
    out = bytearray()
    for number, value in fields:
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, (bytes, bytearray)):
            out += _varint(number << 3 | 2) + _varint(len(value)) + value
        elif isinstance(value, Fixed64):
            out += _varint(number << 3 | 1) + struct.pack("<Q", value)
        elif value:
            out += _varint(number << 3) + _varint(int(value))
    return bytes(out)


class Fixed64(int):
    pass


def unpack(data):
    """A dict of lists, by field number."""
    fields = collections.defaultdict(list)
    at = 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            value = varint()
        elif kind == 1:
            value = struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif kind == 2:
            size = varint()
            value = data[at:at + size]
            at += size
        else:
            raise ValueError("a field of wire type %d" % kind)
        fields[tag >> 3].append(value)
    return fields


def _one(fields, number, default=0):
    return fields[number][-1] if number in fields else default


# ---- keys ----

def _parts(key):
    """The kind of a canonical key, and its parts."""
    parts, at = [], 1
    while at < len(key):
        size = struct.unpack_from(">H", key, at)[0]
        parts.append(key[at + 2:at + 2 + size])
        at += 2 + size
    return key[0], parts


def canonical(kind, *parts):
    """A key as Invalidate has it. Kinds: 1 bytes, 2 key_hash, 3 user_api_key (user id, API key id), 4 api_key_feature
    (user id, API key id, b"\\0" or b"\\1" if standalone)."""
    return bytes([kind]) + b"".join(struct.pack(">H", len(part)) + part for part in parts)


def _request(fields):
    kind, parts = _parts(_one(fields, 3, b""))
    pair = kind in (3, 4)
    return Request(cache=_one(fields, 2, b"").decode(), key=b"" if pair else parts[0],
                   user_id=parts[0].decode(errors="replace") if pair else "",
                   api_key_id=parts[1].decode(errors="replace") if pair else "",
                   standalone=kind == 4 and parts[2] == b"\1", value_type=_one(fields, 4), attempt=_one(fields, 5),
                   remaining_ms=_one(fields, 6), traceparent=_one(fields, 10, b"").decode())


# ---- the talk with the server ----

class _Link:
    def __init__(self):
        self.socket = socket.socket(fileno=SERVER_FD)
        self.lock = threading.Lock()
        self.early = b""  # what is said while the loader opens goes behind Ready, which is the first frame
        self.clears = False

    def send(self, kind, fields):
        body = pack([(kind, pack(fields))])
        frame = struct.pack(">I", len(body)) + body
        with self.lock:
            if self.early is None:
                self.socket.sendall(frame)
            elif kind == INVALIDATE:
                self.clears = True  # told by Ready: whatever the caches hold by then
            else:
                self.early += frame

    def send_ready(self, fields):
        with self.lock:
            body = pack([(READY, pack(fields + [(11, self.clears)]))])
            self.socket.sendall(struct.pack(">I", len(body)) + body + self.early)
            self.early = None

    def _exactly(self, size):
        data = bytearray()
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return bytes(data)

    def read(self):
        """(kind, fields)"""
        size = struct.unpack(">I", self._exactly(4))[0]
        (kind, values), = unpack(self._exactly(size)).items()
        return kind, unpack(values[0])


def _auth(auth):
    return pack([(1, auth.user_id), (2, auth.api_key_id), (3, auth.allowed)] + [(4, scope) for scope in auth.scopes] +
                [(5, pack([(1, name), (2, value)])) for name, value in auth.attributes.items()] +
                [(6, auth.not_after_ms)])


class Server:
    """What a loader may say by itself, from any thread."""

    def __init__(self, link):
        self._link = link

    def log(self, level, text):
        self._link.send(LOG, [(1, level), (2, text[:TEXT_MAX])])

    def invalidate_all(self, cache=""):
        self._link.send(INVALIDATE, [(1, ALL), (2, cache)])

    def invalidate_key(self, *parts, kind=1, cache=""):
        parts = [part.encode() if isinstance(part, str) else part for part in parts]
        self._link.send(INVALIDATE, [(1, KEY), (2, cache), (3, canonical(kind, *parts))])

    def invalidate_tag(self, tag, cache=""):
        self._link.send(INVALIDATE, [(1, TAG), (2, cache), (4, tag)])

    def invalidate_user(self, user, cache=""):
        self._link.send(INVALIDATE, [(1, USER), (2, cache), (4, user)])


def _done(answer):
    if answer is ABSENT or answer is DENIED:
        return [(2, 0), (3, 2 if answer is ABSENT else 3)]
    value = _auth(answer.value) if isinstance(answer.value, Auth) else answer.value
    return [(2, 0), (3, 1), (4, value), (6, answer.no_store), (7, answer.ttl_ms), (8, answer.stale_ttl_ms),
            (9, answer.expires_at_ms)] + [(10, tag) for tag in answer.tags] + [(12, answer.etag)]


def _work(loader, link, jobs):
    while True:
        fields = jobs.get()
        if fields is None:
            return
        try:
            done = _done(loader.load(_request(fields)))
        except Failed as failed:
            done = [(2, failed.status), (5, str(failed)[:TEXT_MAX])]
        except Exception as error:  # whatever it is, the load must end
            done = [(2, INTERNAL), (5, "the loader failed: " + type(error).__name__)]
        link.send(DONE, [(1, Fixed64(_one(fields, 1)))] + done)


def _open(loader, link, hello, name, version, workers):
    settings = {}
    for setting in hello[4]:
        fields = unpack(setting)
        settings[_one(fields, 1, b"").decode()] = _one(fields, 2, b"").decode()
    loader.server = Server(link)
    try:
        if hasattr(loader, "open"):
            loader.open(settings)
        elif settings:
            raise Refused("%s knows no options" % name)
    except Refused as refused:
        link.send_ready([(1, FAILED_PRECONDITION), (2, str(refused))])
        return False
    link.send_ready([(3, name), (4, version), (5, ABI), (6, workers), (7, hasattr(loader, "health")), (8, 1)])
    return True


def serve(loader, name, version):
    """Returns when the server has no more to ask."""
    link = _Link()
    _, hello = link.read()
    workers = _one(hello, 2) or 1
    jobs = queue.Queue()
    if not _open(loader, link, hello, name, version, workers):
        return
    threads = [threading.Thread(target=_work, args=(loader, link, jobs), daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    while True:
        try:
            kind, fields = link.read()
        except (EOFError, ConnectionError):
            return  # the server is gone, and nobody waits for what still runs
        if kind == LOAD:
            jobs.put(fields)
        elif kind == LOADS:
            for load in fields[1]:
                jobs.put(unpack(load))
        elif kind == HEALTH:
            wrong = loader.health()
            link.send(HEALTH_REPLY, [(1, UNAVAILABLE if wrong else 0), (2, wrong or "")])
        elif kind == DRAIN:
            break  # Cancel is a hint, and nothing here is long enough to heed it
    for _ in threads:
        jobs.put(None)
    for thread in threads:
        thread.join()
