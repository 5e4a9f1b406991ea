# SPDX-License-Identifier: Apache-2.0
"""The recordings of `neurolens run` on an H200 (data/h200/llama*.nlc.gz) against an own reading of their records, and what is made of them."""
import pytest

from neurolens_cli import H200, equal, named
from nlcap_reader import Capture

PLAIN, SLOW = (H200 / f"{name}.nlc.gz" for name in ("llama", "llama_python_step"))


def value(run, sql):
    return run.values(sql)[0][0]


@pytest.mark.parametrize("path", named([PLAIN, SLOW]))
def test_kernels_launches_and_samples_agree_with_an_own_reading(path, imported):
    run, mine = imported(path), Capture(path)
    kernels = mine.of("kernel")
    assert len(kernels) == 4651 and not mine.of("loss"), (len(kernels), mine.of("loss"))
    count, total_ns, launched, in_ops = run.values("SELECT count(*), sum(dur_ns), count(api_call_id), count(op_id) FROM kernel")[0]
    equal("kernels and their time", (len(kernels), sum(k["end_ns"] - k["start_ns"] for k in kernels)), (count, total_ns))
    assert launched == len(kernels), "every kernel has its launch"
    assert in_ops > 0.95 * len(kernels), "nearly every kernel has its op"
    equal("calls", len(mine.of("api")), value(run, "SELECT count(*) FROM api_call"))
    dropped = sum(c["count"] for c in run.ask("show")["import_log"] if c["reason"] == "recorder_samples")
    equal("samples but for the recorder's own", len(mine.of("cpu_sample")), value(run, "SELECT count(*) FROM cpu_sample") + dropped)
    assert dropped > 0, "its writer thread was sampled in these recordings"


@pytest.mark.parametrize("path", named([PLAIN, SLOW]))
def test_stages_steps_and_the_device_are_named(path, imported):
    run = imported(path)
    assert "NVIDIA H200" in run.store.text("summary", run.id)
    stages = {s["name"]: s["count"] for s in run.ask("stages")["stages"]}
    assert stages.get("decode_step") == 12 and stages.get("prefill") == 1 and stages.get("request") == 1, stages
    equal("steps", 12, value(run, "SELECT count(*) FROM step"))


@pytest.mark.parametrize("path", named([PLAIN, SLOW]))
def test_tokens_are_those_of_all_forwards_though_some_have_no_shapes(path, imported):
    """7 of the 12 decode steps were recorded with shapes; each is one token of 8 sequences, the prompt has 512 of each."""
    stages = {s["name"]: s for s in imported(path).ask("stages")["stages"]}
    equal("tokens", {"request": 4192, "prefill": 4096, "decode_all": 96, "decode_step": 96}, {name: s["tokens"] for name, s in stages.items()})
    # 8 layers and the head: 2 FLOPs for each of 0.42 billion weights and token.
    assert 0.95 < stages["decode_all"]["flops"] / (stages["request"]["flops"] - stages["prefill"]["flops"]) < 1.05, stages
    assert stages["decode_all"]["flops"] > 1.5 * stages["decode_step"]["flops"], "of some steps only"


def test_what_the_host_did_while_the_device_was_idle_is_named(imported):
    first = imported(SLOW).ask("idle")["causes"][0]
    assert first["what"] == "cpu samples" and first["name"].startswith("busy (llama.py"), first
    assert first["ms"] > 80, first  # 12 x 10 ms of Python, as far as samples met it
    assert not any(c["name"] and "busy (llama.py" in c["name"] for c in imported(PLAIN).ask("idle")["causes"])
