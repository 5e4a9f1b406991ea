# SPDX-License-Identifier: Apache-2.0
"""what-if on H200 recordings with a planted flaw: the fix of a rule gains what its finding says, fixes by name find the flaw, nothing is
gained twice, and mistakes are answered with what can be applied."""
import json
import statistics
import subprocess
import sys

import pytest

from neurolens_cli import BIN, H200, LIMIT_S, ROOT, error_of, near, narrow, outcome

sys.path.insert(0, str(ROOT / "bench/advice"))
import batches  # noqa: E402

RECORDINGS = ROOT / "bench/advice/h200"
MEASURED = {row["name"]: row for row in map(json.loads, (RECORDINGS / "measured.jsonl").read_text().splitlines())}
# Recording and the fix of its flaw by name: what a person types who knows the flaw.
BY_NAME = {"eager_decode": "graphs", "synchronize_after_each": "sync", "pageable_copies": "pinned:aten::to", "python_between_steps": "host",
           "loader_without_workers": "host:DataLoader", "empty_cache_each_step": "allocs", "fp32_training": "bf16"}


@pytest.fixture(scope="module")
def flawed(imported):
    return lambda name: imported(next(RECORDINGS.parent.glob(f"h200*/{name}.json.gz")))


def applied(run, *lists):
    return run.ask("what-if", *(word for one in lists for word in ("--apply", one)))


@pytest.mark.parametrize("name", ["eager_decode", "item_per_layer", "pageable_copies", "python_between_steps", "fp32_training", "attention_written_out", "adam_by_hand",
                                  "bags_in_a_loop", "weights_cast_each_step"])
def test_a_rule_gains_what_its_finding_says(name, flawed):
    run = flawed(name)
    findings = run.ask("findings")["findings"]
    first = findings[0]
    assert [f["rule"] for f in findings].count(first["rule"]) == 1, "the gain is of several findings"
    reply = applied(run, first["rule"])
    (fix,) = reply["fixes"]
    assert fix["what"], "what changes, in words"
    for bound in ("low", "expected", "high"):
        near(f"gain {bound}", fix["gain_ms"][bound], first["gain_ms"][bound], 1e-6)
        near(f"gain {bound} of all", reply["gain_ms"][bound], first["gain_ms"][bound], 1e-6)
    near("step after", reply["step_after_ms"], first["step_after_ms"], 1e-6)


@pytest.mark.parametrize("name", ["eager_decode", "item_per_layer", "empty_cache_each_step", "tensors_made_from_lists", "loader_without_workers"])
def test_all_is_the_sequence_of_the_findings(name, flawed):
    run = flawed(name)
    sequence = [f for f in run.ask("findings", "--limit", "1000")["findings"] if f["step_after_ms"] is not None]
    reply = applied(run, "all")
    assert [f["apply"] for f in reply["fixes"]] == [f["rule"] for f in sequence]
    for fix, finding in zip(reply["fixes"], sequence):
        near(f"step after {fix['apply']}", fix["step_after_ms"], finding["step_after_ms"], 1e-6)
    near("gain of all", sum(f["gain_ms"]["expected"] for f in reply["fixes"]), reply["gain_ms"]["expected"], 1e-6)
    near("speedup", reply["speedup"], reply["step"]["ms"] / reply["step_after_ms"], 1e-9)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_fix_by_name_gains_what_was_measured(name, flawed):
    """As near as bench/advice/score.py asks for: 25 % of the measured gain, or 2 % of the step."""
    (fix,) = applied(flawed(name), BY_NAME[name])["fixes"]
    assert fix["changes"] > 0 and fix["apply"] == BY_NAME[name], fix
    gain_ms, step_ms = MEASURED[name]["gain_ms"], statistics.median(MEASURED[name]["flawed_ms"])
    near(name, fix["gain_ms"]["expected"], gain_ms, max(0.25 * gain_ms, 0.02 * step_ms))


def test_a_fix_by_name_is_the_fix_of_the_rule(flawed):
    for name, fix, rule in (("item_per_layer", "sync:aten::item", "sync_in_loop"), ("python_between_steps", "host", "host_code")):
        run = flawed(name)
        near(name, applied(run, fix)["step_after_ms"], applied(run, rule)["step_after_ms"], 1e-6)


def test_the_order_of_independent_fixes_does_not_matter_for_the_end(flawed):
    run = flawed("python_between_steps")
    one, other = applied(run, "host,remove:aten::sum"), applied(run, "remove:aten::sum", "host")
    near("step after", one["step_after_ms"], other["step_after_ms"], 1e-6)
    assert [f["apply"] for f in one["fixes"]] == [f["apply"] for f in other["fixes"]][::-1]


@pytest.mark.parametrize("fix", ["graphs", "sync", "host", "bf16"])
def test_nothing_is_gained_twice(fix, flawed):
    run = flawed("item_per_layer")
    twice = applied(run, f"{fix},{fix}")
    near("step after", twice["step_after_ms"], applied(run, fix)["step_after_ms"], 1e-9)
    near("second gain", twice["fixes"][1]["gain_ms"]["expected"], 0, 1e-9)


@pytest.mark.parametrize("name", ["base", "compile", "resnet50_train_stack", "item_sync", "eager_attn", "fp32_mlp", "longer_prompt"])
def test_a_step_without_its_host_time_still_takes_the_time_of_its_device_work(name, imported):
    reply = applied(imported(H200 / f"{name}.json.gz"), "host,allocs,graphs")
    busy_ms = reply["step"]["busy_share"] * reply["step"]["recorded_ms"]
    assert busy_ms <= reply["step_after_ms"] * 1.01 and reply["step_after_ms"] <= reply["step"]["ms"], (busy_ms, reply["step_after_ms"], reply["step"])


def test_what_changes_nothing_says_so(flawed):
    reply = applied(flawed("gemm_at_peak"), "pinned,allocs,host_code")
    assert [f["gain_ms"]["expected"] for f in reply["fixes"]] == [0, 0, 0], reply["fixes"]
    assert reply["fixes"][0]["note"] == "no pageable copies in the steady steps", reply["fixes"][0]
    assert "lists nothing of host_code" in reply["fixes"][2]["note"], reply["fixes"][2]
    near("speedup", reply["speedup"], 1)


def test_without_apply_each_fix_is_listed_alone(flawed):
    run = flawed("item_per_layer")
    reply = run.ask("what-if")
    assert reply["alone"] and reply["step_after_ms"] is None and reply["speedup"] is None, reply
    gains = [f["gain_ms"]["expected"] for f in reply["fixes"]]
    assert gains == sorted(gains, reverse=True) and gains[0] > 0, gains
    for fix in reply["fixes"]:
        if fix["apply"] != "all":
            near(fix["apply"], applied(run, fix["apply"])["step_after_ms"], fix["step_after_ms"], 1e-6)
    assert {"graphs", "sync", "sync_in_loop"} <= {f["apply"] for f in reply["fixes"]}, [f["apply"] for f in reply["fixes"]]


def test_the_text_leads_with_the_verdict(flawed):
    run = flawed("item_per_layer")
    text = run.store.text("what-if", run.id, "--apply", "sync,graphs")
    assert text.startswith("With sync and graphs: a step of ") and "times faster." in text, text
    for column in ("FIX", "CHANGES", "STEP AFTER", "GAIN"):
        assert column in text, text
    narrow(text)
    narrow(run.store.text("what-if", run.id))


@pytest.mark.parametrize("bad,hint", [("graps", "did you mean 'graphs'?"), ("sync_in_lop", "did you mean 'sync_in_loop'?"), ("sync:aten::itm", "aten::item"),
                                      ("kernel:no_such=0.5", ""), ("remove", ""), ("fuse:aten::mm=3", "share"), ("gpu_idle", "")])
def test_unknown_names_are_refused(bad, hint, flawed):
    run = flawed("item_per_layer")
    error = error_of(run.store.run("what-if", run.id, "--apply", f"graphs,{bad}", "--json"))
    assert error["code"] == "invalid_input" and bad.split("=")[0] in error["message"] and hint in (error["hint"] or ""), error


def once(store, name, events):
    trace = store.folder.parent / name
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 100, "args": {"External id": 1}},
        *events]}))
    return store.add(trace)


def test_a_run_without_steps_is_one_step(store):
    run = once(store, "once.json", [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 90, "dur": 5, "args": {"External id": 1, "correlation": 7}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100, "dur": 300,
         "args": {"External id": 1, "correlation": 7, "device": 0, "context": 1, "stream": 7}}])
    reply = applied(run, "kernel:gemm=0.5")
    assert reply["step"]["steady_steps"] == 0, reply["step"]
    near("the run", reply["step"]["recorded_ms"], 0.4, 1e-6)
    near("gain", reply["gain_ms"]["expected"], 0.15, 1e-6)
    assert run.store.text("what-if", run.id, "--apply", "kernel:gemm=0.5").startswith("With kernel:gemm=0.5: the run of "), "of the run"


def test_a_run_without_device_work_says_what_to_record(store):
    run = once(store, "host_only.json", [])
    error = error_of(store.run("what-if", run.id, "--apply", "kernel:gemm=0.5", "--json"))
    assert error["code"] == "unsupported" and "label" in error["hint"] and "a step cannot be predicted: " in error["message"], error


@pytest.mark.parametrize("name", ["gemm_at_peak", "fp32_training", "eager_decode"])
def test_another_batch_size_is_predicted_with_bounds(name, flawed):
    run = flawed(name)
    before = None
    for factor in (0.5, 1, 2, 4, 16):
        (fix,) = applied(run, f"batch=x{factor}")["fixes"]
        batch = fix["batch"]
        assert batch and batch["from"] >= 1 and batch["factor"] == factor, fix
        assert batch["step_ms"]["low"] <= batch["step_ms"]["expected"] <= batch["step_ms"]["high"], batch
        assert batch["throughput_ratio"]["low"] <= batch["throughput_ratio"]["expected"] <= batch["throughput_ratio"]["high"], batch
        near("samples per second", batch["samples_per_s_after"], 1e3 * batch["to"] / batch["step_ms"]["expected"], 1e-6 * batch["samples_per_s_after"])
        step_ms = batch["step_ms"]["expected"]
        assert before is None or step_ms >= before * (1 - 1e-9), "more samples never take less time"
        # No kernel gets faster than what it does now by more than the best that good kernels reach.
        assert batch["throughput_ratio"]["expected"] <= max(1, factor) * (1 + 1e-9), batch
        before = step_ms
    (same,) = applied(run, "batch=x1")["fixes"]
    near("the recorded batch", same["step_after_ms"], run.ask("what-if")["step"]["ms"], 0.01 * same["step_after_ms"])


def test_measured_batch_sizes_lie_between_the_bounds():
    """Four models recorded at batch 8 and measured at 4, 16 and 32 on an H200. The one outside: prefill at 32; why it is slower than predicted is not known."""
    rows = batches.score(ROOT / "bench/advice/h200_batches")
    assert len(rows) == 12 and all(r["from_batch"] == r["recorded_batch"] == 8 for r in rows), rows
    assert sum(r["holds"] for r in rows) >= 11 and sum(r["near"] for r in rows) >= 11, rows
    of = {(r["name"], r["batch"]): r for r in rows}
    # Bound by the device: in proportion to the batch; bound by launches: no longer than before.
    assert of["llama_prefill", 32]["expected_ms"] > 3.3 * of["llama_prefill", 32]["step_ms"]
    assert of["resnet50_training", 32]["expected_ms"] < 1.05 * of["resnet50_training", 32]["step_ms"]
    # Bounds that hold everything would say nothing.
    assert all(r["high_ms"] < 1.6 * r["low_ms"] for r in rows if r["name"] == "llama_prefill"), rows


def test_a_batch_of_matrices_at_the_peak_gains_nothing(flawed):
    """Twice the rows take twice the time."""
    (fix,) = applied(flawed("gemm_at_peak"), "batch=x2")["fixes"]
    assert 0.9 < fix["batch"]["throughput_ratio"]["expected"] < 1.15, fix["batch"]


def test_a_batch_size_without_shapes_is_not_guessed(imported):
    (fix,) = applied(imported(RECORDINGS / "graph_replayed.json.gz"), "batch=64")["fixes"]
    assert fix["batch"] is None and fix["changes"] == 0 and "cannot be predicted" in fix["note"], fix
    near("step", fix["gain_ms"]["expected"], 0)


@pytest.mark.parametrize("bad", ["batch", "batch=0", "batch=-2", "batch=x", "batch=1.5", "batch=abc", "batch:4"])
def test_a_batch_size_that_is_none_is_refused(bad, flawed):
    run = flawed("gemm_at_peak")
    error = error_of(run.store.run("what-if", run.id, "--apply", bad, "--json"))
    assert error["code"] == "invalid_input" and "batch=N" in error["message"], error


def test_the_reply_keeps_its_schema(flawed, ajv):
    done = subprocess.run([BIN, "docs", "ops", "--json"], capture_output=True, check=True, timeout=LIMIT_S)
    (op,) = [op for op in json.loads(done.stdout)["ops"] if op["name"] == "what-if"]
    run = flawed("item_per_layer")
    cases = [{"name": name, "schema": op["reply"], "value": value} for name, value in (("alone", run.ask("what-if")), ("applied", applied(run, "all,pinned")))]
    done = subprocess.run(["node", "replies.mjs"], cwd=ajv, input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=LIMIT_S)
    for case in cases:
        assert outcome(done.stdout, case["name"]) is None, outcome(done.stdout, case["name"]) + done.stderr[-300:]
