# SPDX-License-Identifier: Apache-2.0
"""A client written from docs/PROTOCOL.md and proto/herdgate.proto, with nothing but a socket. ask.py asks a server with it."""
import socket
import struct


class Refused(Exception):
    """The server's answer is no message, but a status and a sentence."""

    def __init__(self, status, sentence):
        super().__init__(f"status {status}: {sentence.decode()}")
        self.status, self.sentence = status, sentence


# ---- section 8, "Without protobuf": fields by hand ----

def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def pack(*fields):
    """Each field is (number, value): the value is bytes, an int (a varint), or ("fixed64", int)."""
    out = b""
    for number, value in fields:
        if isinstance(value, bytes):
            out += varint(number << 3 | 2) + varint(len(value)) + value
        elif isinstance(value, tuple):
            out += varint(number << 3 | 1) + struct.pack("<Q", value[1])
        else:
            out += varint(number << 3) + varint(value)
    return out


def unpack(data):
    """number -> all its values, in order."""
    fields, at = {}, 0

    def read_varint():
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
        tag = read_varint()
        if tag & 7 == 0:
            value = read_varint()
        elif tag & 7 == 1:
            value = struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif tag & 7 == 2:
            size = read_varint()
            value = data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {tag & 7}")
        fields.setdefault(tag >> 3, []).append(value)
    return fields


class Message(dict):
    """What unpack makes, with 0 or nothing for what was left out."""

    def number(self, field):
        return self.get(field, [0])[-1]

    def bytes(self, field):
        return self.get(field, [b""])[-1]


# ---- sections 1 and 2: frames and the envelope ----

class Client:
    def __init__(self, address, tls=None, token=None):
        """`address`: a path, or host and port; `tls`: an ssl.SSLContext; `token`: shown in each request."""
        self.is_ipc = isinstance(address, str)
        self.socket = socket.socket(socket.AF_UNIX if self.is_ipc else socket.AF_INET)
        self.socket.settimeout(20)
        self.socket.connect(address)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.metadata = [(4, pack((1, b"authorization"), (2, b"Bearer " + token)))] if token else []
        self.last_id = 0
        self.socket.sendall(b"\0SP\0\0\x30\0\0")
        if self.read(8) != b"\0SP\0\0\x31\0\0":
            raise ConnectionError("not an SP REP peer")

    def read(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the server closed the connection")
            data += part
        return data

    def send(self, method, payload, op_id=b""):
        self.last_id += 1
        body = pack((1, b"herdgate.v1." + method.encode()), (2, 15000), (3, payload), *self.metadata,
                    *([(5, op_id)] if op_id else []))
        frame = struct.pack(">QI", 4 + len(body), 0x80000000 | self.last_id) + body
        self.socket.sendall((b"\x01" if self.is_ipc else b"") + frame)
        return self.last_id

    def receive(self):
        """Id, status, sentence and message of the next reply, whichever request it answers."""
        if self.is_ipc and self.read(1) != b"\x01":
            raise ConnectionError("not an SP message")
        size, word = struct.unpack(">QI", self.read(12))
        reply = Message(unpack(self.read(size - 4)))
        return word & 0x7FFFFFFF, reply.number(1), reply.bytes(2), Message(unpack(reply.bytes(3)))

    def call(self, method, payload, op_id=b""):
        sent = self.send(method, payload, op_id)
        got = None
        while got != sent:  # another id: the late reply of a call that was given up
            got, status, sentence, message = self.receive()
        if status:
            raise Refused(status, sentence)
        return message
