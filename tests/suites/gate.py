# SPDX-License-Identifier: Apache-2.0
"""baseline, gate and trend through the program: exit statuses, files for CI, change points planted in a history."""
import json
import pathlib
import random
import xml.etree.ElementTree as ElementTree

import pytest

from neurolens_cli import H200, ROOT, Store, narrow, real

# What Jenkins, GitLab and GitHub readers of JUnit agree on: element -> (attributes it must have, it may have, children).
JUNIT = {
    "testsuites": ({"tests", "failures"}, {"name", "errors", "time"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"time", "timestamp"}, {"properties", "testcase", "system-out"}),
    "properties": (set(), set(), {"property"}), "property": ({"name", "value"}, set(), set()),
    "testcase": ({"name", "classname"}, {"time"}, {"failure", "error", "skipped"}),
    "failure": ({"message", "type"}, set(), set()), "error": ({"message", "type"}, set(), set()),
    "skipped": ({"message"}, set(), set()), "system-out": (set(), set(), set()),
}


def trace(path, step_ms, seed, steps=10, device="NVIDIA H200", labels=True):
    """A run of `steps` decode steps around `step_ms`; one gemm of half a step each."""
    noise = random.Random(seed)
    events, at = [], 1000.0
    for i in range(steps):
        duration = 1000 * step_ms * (1 + 0.002 * noise.gauss(0, 1))
        if labels:
            events.append({"ph": "X", "cat": "user_annotation", "name": "LLM@decode_step", "pid": 1, "tid": 1, "ts": at, "dur": duration})
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at + 1, "dur": 40, "args": {"External id": i + 1}})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5, "dur": 10,
                       "args": {"External id": i + 1, "correlation": i + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 60, "dur": duration / 2,
                       "args": {"External id": i + 1, "correlation": i + 1, "device": 0, "stream": 7}})
        at += duration
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": device}], "traceEvents": events, "traceName": f"run {seed}"}
    pathlib.Path(path).write_text(json.dumps(document))
    return str(path)


class Place(Store):
    """A store, and traces written beside it."""

    def __init__(self, folder):
        super().__init__(folder / "store", cwd=folder)
        self.seed = 0

    def traces(self, count, step_ms, **options):
        out = []
        for _ in range(count):
            self.seed += 1
            out.append(trace(self.cwd / f"trace_{self.seed}.json", step_ms, self.seed, **options))
        return out


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def exits(result, status):
    assert result.returncode == status, f"exit {result.returncode}, not {status}: {(result.stdout + result.stderr)[-400:]}"
    return result


def test_unchanged_passes_and_slower_fails(place):
    place.run("baseline", "set", "main", *place.traces(6, 10))
    exits(place.run("gate", "--baseline", "main", "--candidate", *place.traces(6, 10)), 0)
    slower = exits(place.run("gate", "--baseline", "main", "--candidate", *place.traces(6, 10.5), "--metric", "wall", "stage:LLM@decode_step"), 1)
    assert slower.stdout.startswith("regressed: wall, stage:decode_step (limit 2 %)"), slower.stdout
    exits(place.run("gate", "--baseline", "main", "--candidate", *place.traces(6, 10.5), "--max-regression", "20%"), 0)
    exits(place.run("gate", "--baseline", "main", "--candidate", *place.traces(6, 9)), 0)
    reply = place.json("gate", "--baseline", "main", "--candidate", *place.traces(6, 10.5), "--stage", "decode_step", status=1)
    assert reply["metrics"][0]["metric"] == "stage:decode_step", str(reply)[:300]
    assert abs(reply["metrics"][0]["change"] - 0.05) < 0.01, str(reply["metrics"][0]["change"])
    assert reply["metrics"][0]["ci_low"] < 0.05 < reply["metrics"][0]["ci_high"], str(reply["metrics"][0])
    assert reply["explanation"]["contributions"], "no explanation"


def test_undecided_exits_with_2_unless_told_otherwise(place):
    one, other = place.traces(1, 10), place.traces(1, 12)
    words = ("gate", "--baseline", *one, "--candidate", *other)
    undecided = exits(place.run(*words), 2)
    assert "on each side" in undecided.stdout, undecided.stdout
    exits(place.run(*words, "--undecided", "pass"), 0)
    exits(place.run(*words, "--undecided", "fail"), 1)
    reply = place.json(*words, status=2)
    assert reply["outcome"] == "undecided" and reply["metrics"][0]["more_runs_needed"] >= 1, str(reply)[:300]


def test_bad_input_exits_with_3(place):
    good, other = place.traces(3, 10), place.traces(3, 10)
    sides = ("--baseline", *good, "--candidate", *other)
    for words, part in [
        (("gate",), "missing"),
        (("gate", "--baseline", "nope", "--candidate", *other), "nope"),
        (("gate", *sides, "--max-regression", "2"), "2% or 0.02"),
        (("gate", *sides, "--metric", "speed"), "unknown metric"),
        (("gate", *sides, "--metric", "mfu"), "not measured"),
        (("gate", *sides, "--metric", "memory"), "not measured"),
        (("gate", *sides, "--metric", "stage:decode"), "decode_step"),
        (("gate", *sides, "--metric", "op:aten::linear"), "aten::mm"),
        (("gate", *sides, "--metric", "op:x", "--stage", "decode_step"), "cannot be restricted"),
        (("gate", *sides, "--nonsense"), "unknown flag"),
        (("gate", "--baseline", *good, "--candidate", good[0]), "both sides"),
        (("gate", "--baseline", *good, "--candidate", other[0], "--paired"), "as many runs"),
        (("gate", "--baseline", *good, "--candidate", str(ROOT / "CMakeLists.txt")), "error"),
    ]:
        result = exits(place.run(*words), 3)
        assert part in result.stderr, f"{words}: {result.stderr}"
    # A metric that one run lacks is no pass, however the others look.
    bare = place.traces(1, 10, labels=False)
    exits(place.run("gate", "--baseline", *good, "--candidate", *other, *bare, "--metric", "stage:decode_step"), 3)
    result = exits(place.run("gate", "--baseline", *good, "--candidate", *place.traces(3, 10, device="NVIDIA H100")), 3)
    assert "not comparable: device" in result.stderr, result.stderr
    allowed = place.run("gate", "--baseline", *good, "--candidate", *place.traces(3, 10, device="NVIDIA H100"), "--allow-different")
    assert allowed.returncode in (0, 2) and "the setups differ in device:" in allowed.stdout, allowed.stdout


def test_junit_and_markdown_are_what_ci_reads(place):
    words = ("gate", "--baseline", *place.traces(6, 10), "--candidate", *place.traces(6, 11), "--metric", "wall", "op:aten::mm", "kernel:gem*")
    exits(place.run(*words, "--junit", "out/gate.xml", "--md", "out/gate.md"), 1)
    tree = ElementTree.parse(place.cwd / "out/gate.xml").getroot()
    assert tree.tag == "testsuites", tree.tag
    for element in tree.iter():
        required, allowed, children = JUNIT[element.tag]
        names = set(element.attrib)
        assert required <= names <= required | allowed, f"<{element.tag}> has {names}"
        assert {child.tag for child in element} <= children, f"<{element.tag}> holds {[c.tag for c in element]}"
    suite = tree.find("testsuite")
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases) == 3, "tests"
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == 3, "failures"
    assert [c.get("name") for c in cases] == ["wall", "op:aten::mm", "kernel:gem*"], str([c.get("name") for c in cases])
    markdown = (place.cwd / "out/gate.md").read_text()
    assert markdown.startswith("### NeuroLens gate: regressed: wall, op:aten::mm"), markdown[:100]
    assert "| METRIC" in markdown and markdown.count("<details>") == markdown.count("</details>") == 1, markdown


def test_baselines_are_kept_and_guarded(place):
    traces = place.traces(3, 10)
    exits(place.run("baseline", "set", "main", *traces[:2], "--note", "first"), 0)
    exits(place.run("baseline", "set", "main", traces[2], "--add"), 0)
    shown = place.json("baseline", "show", "main")["baselines"][0]
    assert len(shown["runs"]) == 3 and shown["note"] == "first", str(shown)[:200]
    assert "main" in exits(place.run("baseline"), 0).stdout, "list"
    refused = exits(place.run("rm", "@latest"), 2)
    assert "is part of baseline main" in refused.stderr, refused.stderr
    exits(place.run("rm", "@latest", "--force"), 0)
    assert len(place.json("baseline", "show", "main")["baselines"][0]["runs"]) == 2, "forced rm"
    for words in [("baseline", "show", "other"), ("baseline", "rm", "other"), ("baseline", "set", "x"), ("baseline", "set", "@x", traces[0]),
                  ("baseline", "list", "x")]:
        exits(place.run(*words), 2)
    exits(place.run("baseline", "rm", "main"), 0)
    exits(place.run("rm", "@all", "--yes"), 0)


def test_trend_finds_the_planted_change(place):
    for step_ms in [10] * 16 + [10.6] * 12:
        exits(place.run("import", "-q", *place.traces(1, step_ms), "--tag", "job=nightly"), 0)
    exits(place.run("import", "-q", *place.traces(1, 10.6, labels=False), "--tag", "job=nightly"), 0)
    exits(place.run("import", "-q", *place.traces(1, 30, device="NVIDIA A100")), 0)
    reply = place.json("trend", "--metric", "stage:LLM@decode_step", "--tag", "job=nightly")
    assert len(reply["runs"]) == 29, f"{len(reply['runs'])} runs"
    points = reply["change_points"]
    assert [p["index"] for p in points] == [16], str(points)
    assert points[0]["class"] == "regressed" and abs(points[0]["change"] - 0.06) < 0.005, str(points)
    assert len(reply["unreadable"]) == 1 and len(reply["unreadable"][0]["runs"]) == 1, str(reply["unreadable"])
    text = exits(place.run("trend", "--metric", "stage:decode_step", "--tag", "job=nightly"), 0).stdout
    assert "1 change of level" in text and "could not be read" in text and "•" in text, text
    assert all(len(line) <= 80 for line in text.splitlines()), "wider than 80 columns"
    assert reply["baselines"] == []
    ids = [r["run_id"] for r in reply["runs"]]
    exits(place.run("baseline", "set", "main", *ids[:3]), 0)
    exits(place.run("baseline", "set", "unlabelled", ids[28]), 0)
    named = place.json("trend", "--metric", "stage:LLM@decode_step", "--tag", "job=nightly", "--limit", 5)
    main, unlabelled = named["baselines"]
    values = sorted(r["value"] for r in reply["runs"][:3])
    assert len(named["runs"]) == 5 and (main["name"], main["runs"], main["value"], main["reason"]) == ("main", 3, values[1], None), "runs before --limit count too"
    assert unlabelled["value"] is None and unlabelled["reason"] == reply["runs"][28]["reason"], str(unlabelled)
    text = exits(place.run("trend", "--metric", "stage:decode_step", "--tag", "job=nightly"), 0).stdout
    assert "baseline main: " in text and "median of 3 runs" in text and "the newest run +" in text and "baseline unlabelled: no value" in text, text
    assert all(len(line) <= 80 for line in text.splitlines()), "wider than 80 columns"
    newest = place.json("trend")
    assert newest["baselines"] == [], "a baseline of another workload"
    assert len(newest["runs"]) == 1 and newest["workload"]["device"] == "NVIDIA A100", str(newest["workload"])
    assert exits(place.run("trend", "--model", "nothing"), 0).stdout == "no runs match\n", "no match"
    exits(place.run("trend", "--metric", "speed"), 2)
    exits(place.run("trend", "--since", "yesterday-ish"), 2)


def test_the_same_program_twice_is_not_a_regression(place):
    rerun = real("h200", "kineto", "rerun.json.gz")
    words = ("gate", "--baseline", H200 / "base.json.gz", "--candidate", rerun, "--metric")
    exits(place.run(*words, "wall", "device", "stage:decode_step", "mfu", "tokens_per_s", "ttft", "tpot", "p10:decode_step"), 2)


def test_the_steady_phase_is_judged_where_the_start_is_long(place):
    runs = ["--baseline", H200 / "llama.nlc.gz", "--candidate", H200 / "llama_python_step.nlc.gz"]
    of = lambda *words: place.json("gate", *runs, *words, status=(0, 1, 2))
    steady, whole = of("--metric", "wall", "--metric", "stage:decode_step"), of("--phase", "all", "--metric", "wall", "--metric", "stage:decode_step")
    assert (steady["phase"]["phase"], steady["phase"]["steps"]) == ("steady", 6) and whole["phase"] is None
    wall, stage = ({m["metric"]: m["baseline_median"] for m in reply["metrics"]}[name] for reply, name in ((steady, "wall"), (steady, "stage:decode_step")))
    assert abs(wall - steady["explanation"]["wall_a_ms"]) < 1e-6, "the explanation is of the same part"
    assert stage == whole["metrics"][1]["baseline_median"], "a stage is the same wherever it is"
    assert abs(whole["metrics"][0]["baseline_median"] - wall - steady["phase"]["other_a_ms"]) < 1e-6
    assert of("--metric", "stage:decode_step")["phase"] is None, "nothing that a phase changes"
