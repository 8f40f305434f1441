# SPDX-License-Identifier: Apache-2.0
"""process_works: what is measured without a wire, by bench-inprocess and its peer in node."""
import json
import os
import subprocess

from stepper import Stepper, WrongAnswers

WORKS = ["hits", "mixed", "growth", "rss", "clear", "tags", "policy", "snapshot"]
RECORDS = 1000000


def merge(figures: dict, line: str):
    figure = json.loads(line)
    sides = figures.setdefault(figure["work"], {})
    kept = sides.setdefault(figure["side"], {"unit": figure["unit"], "samples": []})
    kept["samples"] += figure["samples"]


def run(build: str, folder: str, is_quick: bool, say) -> dict:
    figures = {}
    program = os.path.join(build, "bench", "bench-inprocess")
    for work in WORKS:
        say(f"in process: {work}")
        command = [program, work, "--folder", folder] + (["--quick"] if is_quick else [])
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600, check=False)
        for line in done.stdout.splitlines():
            merge(figures, line)
        if done.returncode != 0:
            raise WrongAnswers(" ".join(command))
    return figures


def run_get_or_load(build: str, lru_cache: str, is_quick: bool, figures: dict):
    """Ours and npm's lru-cache in turn; ours alone where that could not be installed."""
    source = os.path.dirname(os.path.abspath(__file__))
    commands = [[os.path.join(build, "bench", "bench-inprocess"), "get_or_load"] + (["--quick"] if is_quick else [])]
    if lru_cache and os.path.exists(lru_cache):
        commands.append(["node", os.path.join(source, "lru.mjs"), lru_cache, str(RECORDS), "0.2" if is_quick else "0.5"])
    steppers = []
    try:
        for command in commands:
            steppers.append(Stepper(command))
        for _ in range(3 if is_quick else 5):
            for stepper in steppers:
                merge(figures, stepper.sample())
    finally:
        for stepper in steppers:
            stepper.stop()
