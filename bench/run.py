# SPDX-License-Identifier: Apache-2.0
"""run: all benchmarks in one go; what scripts/bench calls once everything is built.

Prints the table, writes bench.json and the plots into the build folder, and with --docs the table and the plots into
docs/ as well. Nothing fails for being slow; a wrong answer ends it.
"""
import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import plots
import process_works
import rows
from wire_works import WORKS, Wire, WrongAnswers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARKS = ("<!-- measured: begin -->", "<!-- measured: end -->")
began = time.monotonic()


def say(text: str):
    print(f"[{time.monotonic() - began:4.0f} s] {text}", file=sys.stderr, flush=True)


def first_line(*command) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (done.stdout or done.stderr).splitlines()[0]
    except (OSError, IndexError):
        return "not there"


def machine() -> dict:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "cores": os.cpu_count(),
            "kernel": platform.release(), "load_before": os.getloadavg(),
            "commit": first_line("git", "-C", ROOT, "rev-parse", "--short", "HEAD"),
            "redis": first_line("redis-server", "--version").split(" sha")[0],
            "memcached": first_line("memcached", "--version"), "node": first_line("node", "--version")}


def busy(about: dict) -> str:
    """A word of warning, or nothing."""
    load = about["load_before"][0]
    if load <= 0.5:
        return ""
    return (f"The machine was busy with other things (load average {load:.1f} before it began): throughputs and latencies "
            "depend on who was let run, and a server with several threads gets more turns than redis with its one. "
            "Trust the CPU times more. ")


def middle(samples: list, field: str) -> float:
    values = sorted(sample[field] for sample in samples)
    return values[len(values) // 2]


def wire_lines(wire: Wire) -> list:
    """What stands behind the ratios: throughput, latency, processor time, of both sides."""
    lines = []
    for work in WORKS:
        for side, name in (("ours", "herdgate"), ("peer", "redis")):
            samples = wire.details[work][side]
            lines.append([work, name] + [rows.number(middle(samples, field)) for field in
                                         ("per_s", "p50_us", "p99_us", "p999_us", "server_cpu_us", "own_cpu_us")])
    for pipeline, work in ((1, "tcp_50_1"), (16, "tcp_batch_16"), (100, "tcp_batch_100")):
        figure = rows.spread(wire.figures[f"redis_benchmark_P{pipeline}"]["peer"])
        lines.append([work, f"redis, by redis-benchmark -P {pipeline}", rows.number(figure["median"])] + ["-"] * 5)
    return lines


WIRE_HEADS = ["work", "server", "keys/s", "p50 us", "p99 us", "p99.9 us", "server CPU us/key", "generator CPU us/key"]


def growth_lines(figures: dict) -> list:
    sizes = sorted(int(work.split("_")[1]) for work in figures if work.startswith("growth_"))
    return [[f"{size:,}"] + [rows.shown(rows.spread(figures[f"growth_{size}"].get(side)))
                             for side in ("ours", "peer", "bare", "chained")] for size in sizes]


GROWTH_HEADS = ["entries", "herdgate's table", "mutex + GHashTable", "memory alone, reads overlapping",
                "memory alone, one after the other"]


def publish(about: dict, table: list, wire: Wire, figures: dict, plot_folder: str, is_quick: bool):
    """Into docs/: the plots, and what stands between the two marks of PERFORMANCE.md."""
    for name in ("connections.png", "size.png"):
        os.makedirs(os.path.join(ROOT, "docs", "img"), exist_ok=True)
        shutil.copy(os.path.join(plot_folder, name), os.path.join(ROOT, "docs", "img", name))
    path = os.path.join(ROOT, "docs", "PERFORMANCE.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    head = (f"{about['cpu']}, {about['cores']} cores, Linux {'.'.join(about['kernel'].split('.')[:2])}, "
            f"{about['redis']}, {about['memcached']}, node {about['node']}. "
            f"{'A quick run, with fewer repeats. ' if is_quick else ''}{busy(about)}").rstrip()
    body = "\n\n".join([head, rows.as_markdown(rows.HEADS, [rows.cells(line) for line in table]),
                        "### Behind the ratios", rows.as_markdown(WIRE_HEADS, wire_lines(wire)),
                        "### Cost against size", rows.as_markdown(GROWTH_HEADS, growth_lines(figures))])
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{MARKS[0]}\n{body}\n{MARKS[1]}{after}")


def measure(arguments, folder: str) -> tuple:
    figures = process_works.run(arguments.build, folder, arguments.quick, say)
    say("in process: get_or_load")
    process_works.run_get_or_load(arguments.build, arguments.lru_cache, arguments.quick, figures)
    wire = Wire(arguments.build, folder, arguments.quick, say)
    wire.run()
    figures.update(wire.figures)
    return figures, wire


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--quick", action="store_true", help="fewer repeats: about two minutes")
    parser.add_argument("--docs", action="store_true", help="also write the table and the plots into docs/")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--lru-cache", default="", help=argparse.SUPPRESS)
    parser.add_argument("--json", required=True, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    about = machine()
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(143))  # so that what was started is ended
    with tempfile.TemporaryDirectory(prefix="herdgate-bench-") as folder:
        try:
            figures, wire = measure(arguments, folder)
        except WrongAnswers as fault:
            print(f"scripts/bench: {fault}", file=sys.stderr)
            return 1
    about["load_after"] = os.getloadavg()
    table = rows.evaluate(figures)
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump({"machine": about, "quick": arguments.quick, "seconds": round(time.monotonic() - began),
                   "rows": table, "figures": figures, "wire": wire.details, "curve": wire.curve}, file, indent=1)
    plot_folder = os.path.join(os.path.dirname(os.path.abspath(arguments.json)), "bench-plots")
    plots.draw_all(figures, wire.curve, plot_folder)
    if arguments.docs:
        publish(about, table, wire, figures, plot_folder, arguments.quick)
    print(rows.as_text(rows.HEADS, [rows.cells(line) for line in table]))
    print()
    print(rows.as_text(WIRE_HEADS, wire_lines(wire)))
    print()
    print(rows.as_text(GROWTH_HEADS, growth_lines(figures)))
    print(f"\n{busy(about)}{arguments.json}, {plot_folder}/*.png; {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
