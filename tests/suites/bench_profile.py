# SPDX-License-Identifier: Apache-2.0
"""bench deep-dive, --profile and sweep through the program, on programs without a GPU; tests/suites/deep.py has one with the fake GPU."""
import csv
import json

import pytest
from neurolens_cli import PYTHON, ROOT, Store, error_of

EXAMPLES = ROOT / "examples/bench"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store", cwd=tmp_path)


def only_run(folder):
    (run,) = (folder / "artifacts/runs").iterdir()
    return run


def test_a_deep_dive_names_the_function_that_got_faster(store, tmp_path):
    reply = store.json("bench", "deep-dive", "python:join", "--suite", EXAMPLES, "--python", PYTHON, "--budget", "300ms")
    (target,) = reply["targets"]
    profile = target["profile"]
    assert reply["action"] == "deep_dive" and profile["profile"] == "deep_dive"
    assert profile["metric_set"] is None and profile["metric_reason"] == "the programs use no GPU"
    assert profile["pairing"] is None and profile["kernels"] == [] and profile["reason"] is None, profile
    assert "benchmark_fn" in profile["why"]["causes"][0]["text"], profile["why"]
    assert any("benchmark_fn" in sentence for sentence in profile["narrative"]), profile["narrative"]
    runs = {run["run_id"]: run["tags"] for run in store.json("ls")["runs"]}
    assert runs[profile["baseline"]["run_id"]] == {"bench": "python:join", "side": "baseline"}
    assert runs[profile["optimized"]["run_id"]] == {"bench": "python:join", "side": "optimized"}
    # Only the labelled runs were counted: as many as the profile says.
    (steps,) = store.json("query", profile["baseline"]["run_id"], "SELECT count(*) AS n FROM step")["rows"]
    assert steps[0] == profile["iterations"]
    folder = only_run(tmp_path)
    assert {p.name for p in folder.iterdir()} == {"manifest.json", "results", "profiles", "reports", "logs", "progress"}
    assert folder.name == reply["run_id"] and "__bench__deep_dive__python_join" in folder.name
    document = json.loads((folder / "reports/deep_dive_compare.json").read_text())
    (example,) = document["examples"]
    assert example["example"] == example["selected"] == "python:join"
    assert example["targets"][0]["speedup"] == target["speedup"] and example["targets"][0]["profile"] == profile
    assert [example["comparison"]["run_a"], example["comparison"]["run_b"]] == [profile["baseline"]["run_id"], profile["optimized"]["run_id"]]


def test_only_the_fastest_variant_is_profiled(store, tmp_path):
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "bench.yaml").write_text("pairs:\n- name: nap\n  baseline: sleep 0.06\n  optimized: {little: sleep 0.04, more: sleep 0.01}\n")
    reply = store.json("bench", "run", "--suite", suite, "--profile", "minimal", "--iterations", 12)
    assert {t["target"]: t["profile"] is not None for t in reply["targets"]} == {".:nap_little": False, ".:nap_more": True}
    profile = reply["targets"][1]["profile"]
    assert profile["iterations"] == 1 and profile["metric_reason"] == "--profile minimal records without counters"
    document = json.loads((only_run(tmp_path) / "reports/deep_dive_compare.json").read_text())
    assert document["examples"][0]["selected"] == ".:nap_more" and len(document["examples"][0]["targets"]) == 2


def test_without_a_profile_nothing_is_recorded(store, tmp_path):
    reply = store.json("bench", "run", "python:join", "--suite", EXAMPLES, "--python", PYTHON, "--iterations", 20, status=(0, 1))
    assert reply["targets"][0]["profile"] is None and not (tmp_path / "artifacts").exists()
    assert "--profile" in error_of(store.run("bench", "run", "python:join", "--suite", EXAMPLES, "--ncu-metric-set", "stalls", "--json"), 3)["message"]
    assert "no pair" in error_of(store.run("bench", "deep-dive", "--suite", EXAMPLES, "--json"), 3)["message"]


def sweep(store, folder, text):
    path = folder / "sizes.yaml"
    path.write_text(text)
    return store.run("bench", "sweep", "--config", path, "--json")


def test_a_sweep_records_every_point_and_goes_on_after_a_failure(store, tmp_path):
    text = f"""
command: {PYTHON} -c 'import sys; print(sys.argv[1]); print("too large", file=sys.stderr); sys.exit({{code}})' {{word}}
grid: {{word: ["a, b", c], code: [0, 7]}}
repeats: 2
tags: {{team: x}}
"""
    done = sweep(store, tmp_path, text)
    assert done.returncode == 1, done.stderr
    reply = json.loads(done.stdout)["sweep"]
    assert reply["settings"] == ["word", "code"] and reply["repeats"] == 2 and len(reply["runs"]) == 8
    points = {(p["settings"]["word"], p["settings"]["code"]): (p["runs"], p["failed"]) for p in reply["points"]}
    assert points == {("a, b", "0"): (2, 0), ("a, b", "7"): (0, 2), ("c", "0"): (2, 0), ("c", "7"): (0, 2)}
    for p in reply["points"]:
        assert (p["wall_ms"] is None) == (p["runs"] == 0)
    folder = only_run(tmp_path)
    with open(folder / "summary.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(r["word"], r["code"], r["repeat"], r["run_id"]) for r in rows] == [
        (r["settings"]["word"], r["settings"]["code"], str(r["repeat"]), r["run_id"]) for r in reply["runs"]]
    assert all(("too large" in r["reason"]) == (r["exit_status"] == "7") for r in rows), rows
    assert {r["repeat"] for r in rows[:4]} == {"1"}, "each repeat goes over the whole grid"
    tags = {run["run_id"]: run["tags"] for run in store.json("ls", "--limit", 20)["runs"]}
    assert tags[rows[0]["run_id"]] == {"team": "x", "sweep": "sizes", "word": rows[0]["word"], "code": rows[0]["code"], "repeat": "1"}
    for i, row in enumerate(rows):
        assert (folder / f"logs/{i + 1:04}.out").read_text().strip() == row["word"], "a value is one word"


def test_a_program_that_is_too_short_to_be_seen_still_counts(store, tmp_path):
    done = sweep(store, tmp_path, "command: 'true {n}'\ngrid: {n: [1, 2]}\n")
    assert done.returncode == 0, done.stderr
    for point in json.loads(done.stdout)["sweep"]["points"]:
        assert (point["runs"], point["failed"]) == (1, 0) and point["wall_ms"] > 0


@pytest.mark.parametrize(("text", "said"), [
    ("command: echo {n}\n", "the grid is missing"),
    ("command: echo\ngrid: {n: [1]}\n", "does not use {n}"),
    ("grid: {n: [1]}\n", "either a `command` or a `workload`"),
    ("command: echo {n}\ngrid: {n: []}\n", "'n' of the grid has no values"),
    ("command: echo {n}\ngrid: {n: [1]}\nrepeat: 3\n", "unknown entry 'repeat'"),
    ("workload: llama_8b\ngrid: {workload.bach: [1]}\n", "bach"),
    ("command: [\n", "line 2"),
])
def test_a_wrong_sweep_is_refused_before_anything_runs(store, tmp_path, text, said):
    assert said in error_of(sweep(store, tmp_path, text), 3)["message"]
    assert not (tmp_path / "artifacts").exists()


def test_fixtures_may_be_incomplete_and_expectations_are_checked_alone(store, tmp_path):
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "baseline_x.py").write_text("def get_benchmark(): pass\n")
    (suite / "optimized_y.py").write_text("pass\n")
    assert len(store.json("bench", "check", "--suite", suite, status=1)["problems"]) == 2
    assert len(store.json("bench", "check", "--suite", suite, "--allow-unvalidated")["problems"]) == 2
    assert store.json("bench", "expectations", "check", "--suite", suite)["problems"] == []
    (suite / "expectations_cpu.json").write_text("{")
    assert store.json("bench", "expectations", "check", "--suite", suite, status=1)["problems"][0]["kind"] == "bad_file"
