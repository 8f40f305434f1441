# SPDX-License-Identifier: Apache-2.0
"""Asks a real server, with client.py, for what docs/PROTOCOL.md promises.

usage: ask.py SOCKET PORT GATE
SOCKET is the path of an ipc listener with access "owner", PORT that of a tcp one with access "data". The cache "c" (bytes) has a
loader whose key "slow" waits until the file GATE is there, "none" is absent, "bad" fails with UNAVAILABLE "the backend is away",
and whose other keys are their own values. The cache "empty" (bytes) has no loader. test_protocol.sh sets that up.
"""
import sys

from client import Client, Message, Refused, pack, unpack

OK, INVALID, NOT_FOUND, DENIED, ABORTED, UNIMPLEMENTED, UNAVAILABLE = 0, 3, 5, 7, 10, 12, 14
NOT_CACHED, VALUE, ABSENT = 0, 1, 2
FRESH, LOADED, LEASED = 1, 3, 5


def expect(what, found, right):
    if found != right:
        sys.exit(f"ask.py: {what}: got {found!r}, and {right!r} is right")


def refusal(client, status, method, payload):
    """The sentence of a call that must end with this status."""
    try:
        client.call(method, payload)
    except Refused as refused:
        expect(f"{method}: status ({refused})", refused.status, status)
        return refused.sentence
    return expect(f"{method}: status", OK, status)


def read(key, cache=b"c", *more):
    return pack((1, cache), (2, pack((1, key))), *more)


def put(key, value, *more, cache=b"c"):
    return pack((1, cache), (2, pack((1, key))), (3, VALUE), (4, value), *more)


def expect_answer(what, answer, outcome, source, value):
    expect(what, (answer.number(4), answer.number(5), answer.bytes(6)), (outcome, source, value))


# ---- sections 3 to 5: what the methods promise ----

def reads(client):
    expect_answer("a peek at nothing", client.call("Cache/Get", read(b"k")), NOT_CACHED, 0, b"")
    expect_answer("a load", client.call("Cache/GetOrLoad", read(b"k")), VALUE, LOADED, b"k")
    answer = client.call("Cache/Get", read(b"k"))
    expect_answer("a hit", answer, VALUE, FRESH, b"k")
    expect("value_type", answer.number(7), 1)
    expect("ttl_left_ms is within the ttl", 0 < answer.number(11) <= 60000, True)
    expect_answer("what is not there", client.call("Cache/GetOrLoad", read(b"none")), ABSENT, LOADED, b"")


def batch(client):
    keys = [b"k", b"none", b"bad"]
    reply = client.call("Cache/BatchGetOrLoad", pack((1, b"c"), *[(2, pack((1, key))) for key in keys]))
    answers = [Message(unpack(answer)) for answer in reply[1]]
    expect("answers", len(answers), 3)
    expect_answer("the first of a batch", answers[0], VALUE, FRESH, b"k")
    expect("the second's outcome", answers[1].number(4), ABSENT)
    expect("the third's own status", (answers[2].number(1), answers[2].bytes(2)), (UNAVAILABLE, b"the backend is away"))


def changes(client):
    born = client.call("Cache/Put", put(b"p", b"1")).number(1)
    answer = client.call("Cache/Get", read(b"p"))
    expect_answer("what was put", answer, VALUE, FRESH, b"1")
    expect("it was born with the put", answer.number(9), born)
    token = client.call("Cache/Generation", read(b"p")).bytes(1)
    client.call("Cache/Put", put(b"p", b"2", (8, token)))
    report = client.call("Cache/Invalidate", read(b"p"))
    expect("an invalidation's generation and what it dropped", (report.number(2) > born, report.number(3)), (True, 1))
    sentence = refusal(client, ABORTED, "Cache/Put", put(b"p", b"3", (8, token)))
    expect("a conflict has a sentence", b"if_generation" in sentence, True)
    expect_answer("after the conflict", client.call("Cache/Get", read(b"p")), NOT_CACHED, 0, b"")
    op_id = b"sixteen bytes id"
    again = [client.call("Cache/Put", put(b"o", b"1"), op_id=op_id).number(1) for _ in range(2)]
    expect("one op_id, one effect", again[0], again[1])
    (cleared,) = client.call("Admin/Clear", pack((1, b"c")))[1]
    cleared = Message(unpack(cleared))
    expect("the report of a clear", (cleared.bytes(1), cleared.number(2) > again[0]), (b"c", True))
    expect_answer("after the clear", client.call("Cache/Get", read(b"o")), NOT_CACHED, 0, b"")


def lease(client):
    answer = client.call("Cache/GetOrLoad", read(b"l", b"empty", (6, 1)))
    expect_answer("a lease", answer, NOT_CACHED, LEASED, b"")
    held = (2, ("fixed64", answer.number(13))), (3, ("fixed64", answer.number(14)))
    client.call("Cache/Renew", pack((1, b"empty"), *held))
    client.call("Cache/Fulfil", pack((1, b"empty"), *held, (4, VALUE), (5, b"mine")))
    expect_answer("what was fulfilled", client.call("Cache/Get", read(b"l", b"empty")), VALUE, FRESH, b"mine")
    refusal(client, ABORTED, "Cache/Release", pack((1, b"empty"), *held))


def out_of_order(client, gate):
    slow = client.send("Cache/GetOrLoad", read(b"slow"))
    quick = [client.send("Cache/GetOrLoad", read(b"quick %d" % i)) for i in range(20)]
    answered = {}
    while len(answered) < len(quick):
        got, status, _, message = client.receive()
        expect("status", status, OK)
        answered[got] = message.bytes(6)
    expect("those behind a slow one", answered, {sent: b"quick %d" % i for i, sent in enumerate(quick)})
    with open(gate, "wb"):
        pass
    got, status, _, message = client.receive()
    expect("the slow one", (got, status, message.bytes(6)), (slow, OK, b"slow"))


def errors(client):
    expect("an error's sentence", refusal(client, UNAVAILABLE, "Cache/GetOrLoad", read(b"bad")), b"the backend is away")
    expect("the name is in it", b"nowhere" in refusal(client, NOT_FOUND, "Cache/Get", read(b"k", b"nowhere")), True)
    expect("an empty key has a sentence", len(refusal(client, INVALID, "Cache/Get", read(b""))) > 0, True)
    expect("a method that is none has a sentence", len(refusal(client, UNIMPLEMENTED, "Cache/Fetch", b"")) > 0, True)


def stats(client):
    (cache,) = client.call("Admin/Stats", pack((1, b"c")))[1]
    counters = {}
    for counter in map(Message, map(unpack, Message(unpack(cache))[2])):
        counters[counter.bytes(1)] = counter.number(2)
    expect("clear, put_conflict", (counters[b"clear"], counters[b"put_conflict"]), (1, 1))


def main(path, port, gate):
    owner, reader = Client(path), Client(("127.0.0.1", int(port)))
    reads(owner)
    batch(owner)
    changes(owner)
    lease(owner)
    out_of_order(owner, gate)
    errors(owner)
    stats(owner)
    expect_answer("over tcp", reader.call("Cache/GetOrLoad", read(b"slow")), VALUE, FRESH, b"slow")
    expect("a refusal has a sentence", len(refusal(reader, DENIED, "Cache/Put", put(b"k", b"v"))) > 0, True)


main(*sys.argv[1:])
