#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speedscope files and folded stacks against an own reading of them, and `neurolens flame` over both.

agrees.*       samples, weights and stacks of every sample file
round_trip.*   `neurolens flame --out` of a run, imported again: the same sums for every path
flame.*        the call tree of a run that has sampled stacks only
"""
import collections
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from fractions import Fraction

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SAMPLES = ROOT / "tests/cases/samples"
UNITS = {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "seconds": 10**9}


class Failure(Exception):
    pass


def expect(what, expected, found):
    if expected != found:
        raise Failure(f"{what}: expected {str(expected)[:300]}, found {str(found)[:300]}")


def call(store, *arguments):
    done = subprocess.run([BIN, "--store", str(store), *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=300, env={**os.environ, "COLUMNS": "80"})
    if done.returncode != 0:
        raise Failure(f"{arguments[0]} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
    return done.stdout.decode()


def imported(store, path):
    (run,) = json.loads(call(store, "import", path, "--json"))["runs"]
    return run


def rows(store, run, sql):
    return list(map(tuple, csv.reader(io.StringIO(call(store, "query", run, sql, "--format", "csv")))))[1:]


def folded(text):
    sums = collections.Counter()
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        sums[stack] += int(weight)
    return sums


def agrees_with_folded(path):
    def check(folder):
        run = imported(folder, path)
        expect("stacks", dict(folded(path.read_text())),
               {s: int(w) for s, w in rows(folder, run["run_id"], "SELECT stack, sum(weight) FROM cpu_sample GROUP BY stack")})
    return check


def label(frame):
    text = frame["name"]
    if frame.get("file"):
        text += f" ({frame['file']}:{frame['line']})" if "line" in frame else f" ({frame['file']})"
    return text.replace(";", ":")


def agrees_with_speedscope(path):
    def check(folder):
        file = json.loads(path.read_text(), parse_float=Fraction)
        frames = [label(f) for f in file["shared"]["frames"]]
        samples, spans = [], []
        for profile in file["profiles"]:
            scale = UNITS.get(profile["unit"])
            if profile["type"] == "sampled":
                at = profile["startValue"]
                for stack, weight in zip(profile["samples"], profile["weights"]):
                    if stack:
                        time = (str(int(at * scale)), str(int(weight * scale)), "") if scale else ("", "", str(weight))
                        samples.append((";".join(frames[f] for f in stack), *time))
                    at += weight
            else:
                open_frames = []
                for event in profile["events"]:
                    if event["type"] == "O":
                        open_frames.append(event)
                    else:
                        begin = open_frames.pop()
                        spans.append((frames[begin["frame"]], str(int(begin["at"] * scale)), str(int((event["at"] - begin["at"]) * scale))))
        run = imported(folder, path)["run_id"]
        expect("samples", sorted(samples), sorted(rows(folder, run, "SELECT stack, start_ns, weight_ns, weight FROM cpu_sample")))
        expect("spans", sorted(spans), sorted(rows(folder, run, "SELECT name, start_ns, dur_ns FROM range WHERE category = 'call'")))
    return check


def collapsed_tree_comes_back(folder):
    first = imported(folder / "a", ROOT / "data/h200/base.json.gz")["run_id"]
    path = folder / "base.collapsed"
    call(folder / "a", "flame", first, "--time", "host", "--out", path)
    second = imported(folder / "b", path)["run_id"]
    again = folder / "again.collapsed"
    call(folder / "b", "flame", second, "--out", again)
    expect("sums", folded(path.read_text()), folded(again.read_text()))


def speedscope_tree_comes_back(folder):
    first = imported(folder / "a", ROOT / "data/h200/base.json.gz")["run_id"]
    path, plain = folder / "base.speedscope.json", folder / "base.collapsed"
    call(folder / "a", "flame", first, "--out", path)
    call(folder / "a", "flame", first, "--time", "host", "--out", plain)
    second = imported(folder / "b", path)["run_id"]
    found = rows(folder / "b", second, "SELECT s.stack, sum(s.weight_ns) FROM cpu_sample s JOIN thread t ON t.id = s.thread_id "
                                       "WHERE t.name = 'host time' GROUP BY s.stack")
    expect("sums", dict(folded(plain.read_text())), {stack.replace("\t", " "): int(ns) for stack, ns in found})


def counted_stacks_have_a_flame(folder):
    run = imported(folder, SAMPLES / "collapsed/py_spy.collapsed")["run_id"]
    reply = json.loads(call(folder, "flame", run, "--json"))
    expect("unit and sum", ("samples", 68, None), (reply["unit"], reply["weight"], reply["host_ms"]))
    top = reply["tree"][0]
    expect("heaviest", ("MainThread", 61, 0), (top["name"], top["weight"], top["self_weight"]))
    text = call(folder, "flame", run)
    if "68 samples" not in text or " ms" in text or max(map(len, text.splitlines())) > 80:
        raise Failure(text[:300])
    for command in ("summary", "kernels", "operators", "show"):
        call(folder, command, run)


def main():
    chosen = os.environ.get("NEUROLENS_TEST_FILTER", "")
    cases = [(f"agrees.{p.name}", agrees_with_folded(p)) for p in sorted((SAMPLES / "collapsed").iterdir())]
    cases += [(f"agrees.{p.name}", agrees_with_speedscope(p)) for p in sorted((SAMPLES / "speedscope").iterdir())]
    cases += [("round_trip.collapsed", collapsed_tree_comes_back), ("round_trip.speedscope", speedscope_tree_comes_back),
              ("flame.counted_stacks", counted_stacks_have_a_flame)]
    failed = False
    for name, check in cases:
        if chosen and chosen not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="nl-stacks-") as folder:
            try:
                check(pathlib.Path(folder))
                print(f"PASS {name}", flush=True)
            except (Failure, OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
                failed = True
                print(f"FAIL {name}: {type(error).__name__} {' '.join(str(error).split())[:400]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
