#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_scope.py: what one neurolens.scope costs in this interpreter, in nanoseconds; the mark is 300 when nothing records.

Run it alone, and under `neurolens record --` for the price of a recorded one. The quickest of many small batches: load
on the machine makes a batch slower, never quicker."""
import sys
import timeit
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
import neurolens  # noqa: E402

MARK_NS = 300


def with_scope():
    with neurolens.scope("x"):
        pass


def with_data():
    with neurolens.scope("x", batch=8):
        pass


def nothing():
    pass


def cost_ns(function, batch=500, batches=1000):
    return min(timeit.repeat(function, number=batch, repeat=batches)) / batch * 1e9


def main():
    empty = cost_ns(nothing)
    recording = neurolens.is_recording()
    print(f"python {sys.version.split()[0]}, {'recording' if recording else 'not recording'}")
    for function in (with_scope, with_data):
        cost = cost_ns(function) - empty
        verdict = "" if recording else f"  ({'within' if cost <= MARK_NS else 'OVER'} the mark of {MARK_NS} ns)"
        print(f"{function.__name__:<12} {cost:7.0f} ns{verdict}")


main()
