# SPDX-License-Identifier: Apache-2.0
"""`explain` and `timeline-window`: they agree with the commands they shorten and with SQL, and what they suggest works."""
import shlex

import pytest

from neurolens_cli import H200, error_of, narrow, near

TRACES = sorted(H200.glob("*.gz"))


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name)
def test_explain_agrees_with_what_it_shortens(trace, imported):
    run = imported(trace)
    answer, findings = run.ask("explain", "--limit", 100), run.ask("findings", "--limit", 1000)
    assert answer["run_id"] == run.id and answer["verdict"]
    assert [f["rule"] for f in answer["findings"]] == [f["rule"] for f in findings["findings"]]
    assert answer["findings_total"] == findings["findings_total"]
    assert answer["bound"] == findings["diagnosis"]["class"]
    assert answer["step_ms"] == (findings["step"] or {}).get("ms")
    if answer["breakdown"]:
        near("shares of the breakdown", sum(part["share"] for part in answer["breakdown"]), 1, 1e-6)
    if answer["phases"]:
        near("phases", sum(span["ms"] for span in answer["phases"]["spans"]), answer["wall_ms"], 1e-3)
    narrow(run.store.text("explain", run.id))


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name)
def test_what_explain_suggests_works(trace, imported):
    run = imported(trace)
    steps = run.ask("explain")["next"]
    assert 1 <= len(steps) <= 3
    for step in steps:
        run.store.text(*shlex.split(step["command"])[1:])
        assert step["operation"].replace("_", "-") == shlex.split(step["command"])[1] and step["arguments"]["run"] == run.id


def test_explain_takes_a_profile(store):
    """A file is imported once, and the answer is that about its run."""
    trace = H200 / "base.json.gz"
    first, again = store.json("explain", trace), store.json("explain", trace)
    assert first == again == store.json("explain", first["run_id"])
    assert [one["run_id"] for one in store.json("ls")["runs"]] == [first["run_id"]]
    missing = error_of(store.run("explain", "no/such/file.json", "--json"))
    assert missing["code"] == "not_found" and "no such file" in missing["message"], missing
    assert "no run is named" in error_of(store.run("explain", "nothing", "--json"))["message"]


def test_names_of_operations_may_have_underscores(imported):
    run = imported(H200 / "base.json.gz")
    words = (run.id, "--from-ms", "1", "--to-ms", "2", "--json")
    assert run.store.text("timeline_window", *words) == run.store.text("timeline-window", *words)
    assert "unknown command 'timeline_windo'" in run.store.run("timeline_windo").stderr


@pytest.mark.parametrize("name, rule", [("item_sync", "sync_in_loop"), ("h2d_pageable", "pageable_transfer"), ("eager_attn", "attention_unfused"),
                                        ("fp32_mlp", "fp32_in_mixed")])
def test_the_planted_cause_is_among_the_first_findings(name, rule, imported):
    assert rule in [f["rule"] for f in imported(H200 / f"{name}.json.gz").ask("explain")["findings"]]


def window(run, from_ms, to_ms, *words):
    return run.ask("timeline-window", "--from-ms", from_ms, "--to-ms", to_ms, *words)


def test_the_spans_of_a_window_are_those_of_the_tables(imported):
    run = imported(H200 / "base.json.gz")
    first = min(row[0] for row in run.values("SELECT min(start_ns) FROM op UNION ALL SELECT min(start_ns) FROM range UNION ALL SELECT min(start_ns) FROM api_call"))
    reply = window(run, 100, 102, "--limit", 0)
    (device,) = [lane for lane in reply["lanes"] if lane["kind"] == "device"]
    touching = f"start_ns < {first + 102_000_000} AND start_ns + dur_ns > {first + 100_000_000}"
    expected = [tuple(row) for row in run.values(f"SELECT 'kernel', id, dur_ns FROM kernel WHERE {touching} UNION ALL SELECT 'memcpy', id, dur_ns FROM memcpy "
                                                 f"WHERE {touching} UNION ALL SELECT 'memset', id, dur_ns FROM memset WHERE {touching}")]
    assert sorted((s["table"], s["id"], round(1e6 * s["dur_ms"])) for s in device["spans"]) == sorted(expected) and expected
    assert device["spans_total"] == len(expected)
    for lane in reply["lanes"]:
        assert 0 <= lane["busy_ms"] <= 2 + 1e-9
        durations = [s["dur_ms"] for s in lane["spans"]]
        assert durations == sorted(durations, reverse=True)
    (main,) = [lane for lane in reply["lanes"] if "python3" in lane["lane"]]
    assert main["enclosing"][:2] == ["LLM@request", "LLM@decode_all"]
    for s in main["spans"][:20]:
        (row,) = run.values(f"SELECT name, start_ns - {first}, dur_ns FROM {s['table']} WHERE id = {s['id']}")
        assert (s["name"], round(1e6 * s["start_ms"]), round(1e6 * s["dur_ms"])) == tuple(row)


def test_busy_time_of_all_windows_is_that_of_the_run(imported):
    run = imported(H200 / "resnet50_train_stack.json.gz")
    whole = window(run, 0, 0, "--lanes", "device", "--limit", 1)
    cuts = [round(whole["wall_ms"] * i / 7, 3) for i in range(7)] + [0]
    parts = [window(run, a, b, "--lanes", "device", "--limit", 1) for a, b in zip(cuts, cuts[1:])]
    for lane in whole["lanes"]:
        found = sum(part_lane["busy_ms"] for part in parts for part_lane in part["lanes"] if part_lane["lane"] == lane["lane"])
        near(lane["lane"], found, lane["busy_ms"], 1e-5)


def test_lanes_limits_and_wrong_windows(imported):
    run = imported(H200 / "base.json.gz")
    narrow(run.store.text("timeline-window", run.id, "--from-ms", 50, "--to-ms", 51))
    host = window(run, 100, 101, "--lanes", "host", "--limit", 2)
    assert host["lanes"] and all(lane["kind"] == "host" and len(lane["spans"]) <= 2 for lane in host["lanes"])
    assert host["lanes_total"] > len(host["lanes"])
    assert not window(run, 100, 101, "--lanes", "no such lane")["lanes"]
    for from_ms, to_ms in ((5, 5), (6, 5), (1e9, 0)):
        error = error_of(run.store.run("timeline-window", run.id, "--from-ms", from_ms, "--to-ms", to_ms, "--json"))
        assert "is empty" in error["message"] and "lasts" in error["hint"]


def test_a_run_without_a_timeline_has_no_window_but_an_explanation(imported):
    run = imported(H200 / "llama_layer_raw.csv.gz")
    assert error_of(run.store.run("timeline-window", run.id, "--json"))["code"] == "unsupported"
    assert run.ask("explain")["phases"] is None


@pytest.mark.parametrize("flag", ["--from-ms", "--to-ms"])
def test_times_before_the_run_are_refused(flag, imported):
    run = imported(H200 / "base.json.gz")
    assert "must be between" in error_of(run.store.run("timeline-window", run.id, flag, "-1", "--json"))["message"]
