# SPDX-License-Identifier: Apache-2.0
"""rows: what is asked of each figure, and whether it was met.

A figure is the samples of one work on one side: figures[work][side] = {"unit": ..., "samples": [...]}.
"""
from dataclasses import dataclass
from statistics import median
from typing import Optional

# How a row is judged. UP and DOWN: ours over the peer's. SPEEDUP: the peer's over ours (times). The others look at
# ours alone, or at the difference in points.
UP, DOWN, SPEEDUP, LEAST, MOST, POINTS = "up", "down", "speedup", "least", "most", "points"


@dataclass
class Row:
    work: str
    text: str
    against: str
    judge: str
    must: float
    aim: float
    note: str = ""


REAP_WAIT_S = 13  # bench/work_clear.c waits no longer than about this

ROWS = [
    Row("hit_1_zipf_cpu", "in-process hit, 1 thread, Zipf .99", "mutex + GHashTable", SPEEDUP, 4, 5),
    Row("hit_1_uniform_cpu", "in-process hit, 1 thread, uniform", "mutex + GHashTable", SPEEDUP, 2.5, 3),
    Row("hit_2_zipf", "in-process hit, 2 threads, Zipf .99", "mutex + GHashTable", UP, 8, 11),
    Row("hit_2_uniform", "in-process hit, 2 threads, uniform", "mutex + GHashTable", UP, 6, 8),
    Row("batch_zipf_cpu", "in-process batch of 16, a key, Zipf .99", "mutex + GHashTable", SPEEDUP, 8, 11),
    Row("batch_uniform_cpu", "in-process batch of 16, a key, uniform", "mutex + GHashTable", SPEEDUP, 8, 11),
    Row("get_or_load", "get_or_load hit in process", "npm lru-cache fetch", SPEEDUP, 7, 15),
    Row("mixed", "4 readers and 1 writer", "2 readers", UP, 0.7, 0.9),
    Row("local_read", "local read across processes, 1 process", "redis GET over a unix socket, 1 connection", UP, 50, 150),
    Row("ipc_50_1", "ipc GET, 50 connections, 1 in flight", "redis, unix socket", UP, 0.55, 0.64),
    Row("tcp_50_1", "tcp GET, 50 connections, 1 in flight", "redis, tcp", UP, 0.55, 0.66),
    Row("ipc_50_16", "ipc GET, 50 connections, 16 in flight", "redis, unix socket", UP, 2, 3),
    Row("tcp_50_16", "tcp GET, 50 connections, 16 in flight", "redis, tcp", UP, 1.3, 1.8),
    Row("tcp_batch_16", "tcp, batches of 16", "redis, tcp, 16 GETs a write", UP, 2, 3),
    Row("tcp_batch_100", "tcp, batches of 100", "redis, tcp, 100 GETs a write", UP, 4, 8),
    Row("ipc_1_1", "ipc GET, 1 connection, 1 in flight", "redis, unix socket", UP, 0.9, 1.2),
    Row("ipc_50_1_cpu", "server CPU for an ipc GET, 50 connections", "redis, unix socket", DOWN, 2, 1),
    Row("rss", "RSS an entry, 1 M x (40 + 100 bytes, ttl)", "redis", MOST, 200, 190),
    Row("rss_memcached", "the same", "memcached", MOST, 200, 190),
    Row("policy_zipf_2", "hit ratio, Zipf 1.0 and ttls, capacity 2 %", "LRU", POINTS, 4.5, 5.5),
    Row("policy_zipf_10", "hit ratio, Zipf 1.0 and ttls, capacity 10 %", "LRU", POINTS, 2.5, 3),
    Row("policy_auth28", "hit ratio, profile auth28", "LRU", POINTS, -0.3, 0),
    Row("policy_store52", "hit ratio, profile store52", "LRU", POINTS, -0.3, 0),
    Row("policy_ttl4", "hit ratio, profile ttl4", "LRU", POINTS, -0.3, 0),
    Row("policy_ttl6", "hit ratio, profile ttl6", "LRU", POINTS, -0.3, 0),
    Row("policy_neg22", "hit ratio, profile neg22", "LRU", POINTS, -0.3, 0),
    Row("policy_write12", "hit ratio, profile write12", "LRU", POINTS, -0.3, 0),
    Row("clear_call", "clear of {entries}: the call", "", MOST, 5, 1),
    Row("clear_reaped", "clear of {entries}: until reaped", "", MOST, 10, 4),
    Row("clear_p99", "clear of {entries}: get p99 meanwhile", "before the clear", DOWN, 2, 1),
    Row("tag_call", "tag invalidation over 1 M entries", "", MOST, 5, 1),
    Row("snapshot_save", "snapshot of 1 M rows", "sqlite3 itself", UP, 0.6, 0.8),
    Row("snapshot_gets", "gets during a snapshot", "without one", UP, 0.9, 0.95),
    Row("snapshot_restore", "restore of 1 M rows", "", LEAST, 1e6, 2e6),
    Row("herd_last_reply", "1,000 waiters of one key: last reply after the load", "", MOST, 25, 15),
]


def spread(figure: Optional[dict]) -> Optional[dict]:
    if not figure or not figure["samples"]:
        return None
    samples = figure["samples"]
    return {"median": median(samples), "min": min(samples), "max": max(samples), "unit": figure["unit"]}


def number(value: float) -> str:
    for limit_, divisor, suffix in ((1e6, 1e6, " M"), (1e4, 1e3, " k")):
        if abs(value) >= limit_:
            return f"{value / divisor:.3g}{suffix}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def shown(spread_: Optional[dict]) -> str:
    if not spread_:
        return "-"
    text = f"{number(spread_['median'])} {spread_['unit']}"
    if spread_["min"] != spread_["max"]:
        text += f" ({number(spread_['min'])} to {number(spread_['max'])})"
    return text


def judged(row: Row, ours: dict, peer: Optional[dict]):
    """The figure that is judged, how it is written, and whether more of it is better; None without a peer."""
    if row.judge in (LEAST, MOST):
        text = f"{ours['median'] / peer['median']:.2f}x" if peer and peer["median"] else ""
        return ours["median"], text, row.judge == LEAST
    if not peer:
        return None
    if row.judge == POINTS:
        difference = ours["median"] - peer["median"]
        return difference, f"{difference:+.1f} points", True
    ratio = ours["median"] / peer["median"] if peer["median"] else float("inf")
    if row.judge == SPEEDUP:
        ratio = 1 / ratio if ratio else float("inf")
    return ratio, f"{ratio:.2f}x", row.judge != DOWN


def limit(row: Row, value: float, unit: str) -> str:
    if row.judge in (UP, DOWN, SPEEDUP):
        return f"{value:g}x"
    if row.judge == POINTS:
        return f"{value:+g}"
    return f"{number(value)} {unit}"


def evaluate(figures: dict) -> list:
    """One dictionary for each row, in the order of the table."""
    entries = figures.get("clear_entries", {}).get("ours", {}).get("samples", [1e7])[0]
    result = []
    for row in ROWS:
        sides = figures.get(row.work, {})
        ours, peer = spread(sides.get("ours")), spread(sides.get("peer"))
        line = {"work": row.work, "text": row.text.format(entries=number(entries)), "against": row.against,
                "ours": ours, "peer": peer, "ratio": "-", "met": "not measured"}
        if row.work == "clear_reaped" and ours and ours["median"] > REAP_WAIT_S:
            line["text"] += ", worked out"
        found = judged(row, ours, peer) if ours else None
        if found:
            value, line["ratio"], is_more_better = found
            line["value"] = value
            reaches = (lambda goal: value >= goal) if is_more_better else (lambda goal: value <= goal)
            line["met"] = "aim" if reaches(row.aim) else "must" if reaches(row.must) else "no"
        unit = ours["unit"] if ours else ""
        line["must"], line["aim"] = limit(row, row.must, unit), limit(row, row.aim, unit)
        result.append(line)
    return result


def cells(line: dict) -> list:
    return [line["text"], line["against"] or "-", shown(line["ours"]), shown(line["peer"]), line["ratio"],
            line["must"], line["aim"], line["met"]]


HEADS = ["work", "against", "herdgate", "the other", "ratio", "must", "aim", "met"]


def as_text(heads: list, lines: list) -> str:
    widths = [max(len(line[i]) for line in [heads] + lines) for i in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
                     for line in [heads] + lines)


def as_markdown(heads: list, lines: list) -> str:
    rows = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(rows + ["| " + " | ".join(line) + " |" for line in lines])
