# SPDX-License-Identifier: Apache-2.0
"""Speedscope files and folded stacks against an own reading of them, and `neurolens flame` over both."""
import collections
import json
from fractions import Fraction

import pytest

from neurolens_cli import H200, SAMPLES, equal, named, narrow

UNITS = {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "seconds": 10**9}


def folded(text):
    sums = collections.Counter()
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        sums[stack] += int(weight)
    return sums


@pytest.mark.parametrize("path", named(sorted((SAMPLES / "collapsed").iterdir())))
def test_folded_stacks_agree_with_the_file(path, imported):
    found = imported(path).rows("SELECT stack, sum(weight) FROM cpu_sample GROUP BY stack")
    equal("stacks", dict(folded(path.read_text())), {s: int(w) for s, w in found})


def label(frame):
    text = frame["name"]
    if frame.get("file"):
        text += f" ({frame['file']}:{frame['line']})" if "line" in frame else f" ({frame['file']})"
    return text.replace(";", ":")


@pytest.mark.parametrize("path", named(sorted((SAMPLES / "speedscope").iterdir())))
def test_speedscope_samples_and_spans_agree_with_the_file(path, imported):
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
    run = imported(path)
    equal("samples", sorted(samples), sorted(run.rows("SELECT stack, start_ns, weight_ns, weight FROM cpu_sample")))
    equal("spans", sorted(spans), sorted(run.rows("SELECT name, start_ns, dur_ns FROM range WHERE category = 'call'")))


def test_a_collapsed_call_tree_comes_back_with_the_same_sums(imported, store, tmp_path):
    path, again = tmp_path / "base.collapsed", tmp_path / "again.collapsed"
    imported(H200 / "base.json.gz").ask("flame", "--time", "host", "--out", path)
    store.add(path).ask("flame", "--out", again)
    equal("sums", folded(path.read_text()), folded(again.read_text()))


def test_a_speedscope_call_tree_comes_back_with_the_same_sums(imported, store, tmp_path):
    path, plain = tmp_path / "base.speedscope.json", tmp_path / "base.collapsed"
    first = imported(H200 / "base.json.gz")
    first.ask("flame", "--out", path)
    first.ask("flame", "--time", "host", "--out", plain)
    found = store.add(path).rows("SELECT s.stack, sum(s.weight_ns) FROM cpu_sample s JOIN thread t ON t.id = s.thread_id "
                                 "WHERE t.name = 'host time' GROUP BY s.stack")
    equal("sums", dict(folded(plain.read_text())), {stack.replace("\t", " "): int(ns) for stack, ns in found})


def test_a_run_with_counted_stacks_only_has_a_flame_graph(imported):
    run = imported(SAMPLES / "collapsed/py_spy.collapsed")
    reply = run.ask("flame")
    equal("unit and sum", ("samples", 68, None), (reply["unit"], reply["weight"], reply["host_ms"]))
    top = reply["tree"][0]
    equal("heaviest", ("MainThread", 61, 0), (top["name"], top["weight"], top["self_weight"]))
    text = run.store.text("flame", run.id)
    assert "68 samples" in text and " ms" not in text, text[:300]
    narrow(text)
    for command in ("summary", "kernels", "operators", "show"):
        run.store.text(command, run.id)


@pytest.mark.parametrize("form, extension", [("speedscope", ".speedscope.json"), ("collapsed", ".collapsed")])
def test_export_writes_the_call_tree_that_flame_writes(imported, tmp_path, form, extension):
    run = imported(H200 / "base.json.gz")
    by_flame, by_export = tmp_path / f"flame{extension}", tmp_path / f"export{extension}"
    run.store.text("flame", run.id, "--out", by_flame)
    run.store.text("export", run.id, "--format", form, "--out", by_export)
    assert by_export.read_bytes() == by_flame.read_bytes()
    reply = run.ask("flame")
    if form == "speedscope":
        document = json.loads(by_export.read_text())
        sums = [sum(profile["weights"]) for profile in document["profiles"]]
        assert sums == [pytest.approx(1e6 * reply["host_ms"]), pytest.approx(1e6 * reply["gpu_ms"])]
    else:
        assert sum(folded(by_export.read_text()).values()) == pytest.approx(1e6 * reply["gpu_ms"])
