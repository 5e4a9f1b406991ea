# SPDX-License-Identifier: Apache-2.0
"""`compare` on real pairs whose difference is known: the true cause is first, and the contributions sum to the difference of the walls."""
import pytest

from neurolens_cli import H200, Store, real

# (folder, variant, causes that are right, part of the module's or operator's name, stage, sign of its delta)
PAIRS = [
    ("", "item_sync", {"sync_added"}, "_local_scalar_dense", "decode_step", 1),
    ("", "h2d_pageable", {"copy_added"}, "copy_", "decode_step", 1),
    ("", "eager_attn", {"attention_impl_changed"}, "attention", "decode_step", 1),
    ("", "fp32_mlp", {"precision_upcast"}, "MLP", "decode_step", 1),
    ("", "longer_prompt", {"work_changed"}, "", "prefill", 1),
    ("", "compile", {"fusion_gained"}, "", "decode_step", -1),
    ("pairs", "layer_sync", {"sync_added"}, "", "decode_step", 1),
    ("pairs", "h2d_pinned", {"copy_added"}, "copy_", "decode_step", 1),
    ("pairs", "math_attn", {"attention_impl_changed"}, "attention", "decode_step", 1),
    ("pairs", "fused_norm", {"fusion_gained"}, "", "decode_step", -1),
    ("pairs", "unfused_silu", {"fusion_lost"}, "", "decode_step", 1),
    ("pairs", "extra_kernels", {"kernels_added"}, "mul", "decode_step", 1),
    ("pairs", "python_step", {"host_slower"}, "index_select", "decode_step", 1),
    ("pairs", "side_stream", {"contention"}, "", "decode_step", 1),
    ("pairs", "more_steps", {"work_changed"}, "", "decode_step", 1),
    ("pairs", "low_clock", {"clock_changed"}, "", "", 1),
    ("pairs", "d2d_clone", {"copy_added"}, "copy_", "decode_step", 1),
]
# The host is slower than the device in these runs: the wall does not show a slower device, and no verdict is given on it.
HIDDEN = {"low_clock"}
DETAIL = {"h2d_pageable": "HtoD pageable", "h2d_pinned": "HtoD pinned", "d2d_clone": "DtoD"}


def trace(folder, name):
    return next((H200 / folder).glob(f"{name}.json.*"))


@pytest.fixture(scope="session")
def compared(imported):
    """The store of all comparisons."""
    return Store(imported.folder / "compared")


@pytest.fixture(scope="session")
def compare(compared):
    """compare(words): the reply of a comparison of files or runs, whose parts sum up."""
    def of(*words):
        reply = compared.json("compare", *words, status=(0, 1))
        check_sums(reply)
        return reply
    return of


def check_sums(reply):
    """What every comparison promises, whatever the runs."""
    delta = reply["wall_b_ms"] - reply["wall_a_ms"]
    assert abs(delta - reply["delta_ms"]) < 1e-6, f"delta {reply['delta_ms']} of walls that differ by {delta}"
    assert abs(reply["residual_ms"]) <= max(1e-6, 1e-3 * abs(delta)), f"residual {reply['residual_ms']} ms of {delta} ms"
    parts = sum(c["delta_ms"] for c in reply["contributions"])
    assert abs(parts + reply["residual_ms"] - delta) < 1e-6, f"contributions sum to {parts} ms of {delta} ms"
    for c in reply["contributions"]:
        effects = c["count_effect_ms"] + c["speed_effect_ms"] + c["idle_effect_ms"]
        assert abs(effects - c["delta_ms"]) < 1e-6, f"{c['cause']}: effects sum to {effects} of {c['delta_ms']}"
        assert abs(c["b_ms"] - c["a_ms"] - c["delta_ms"]) < 1e-6, f"{c['cause']}: {c['a_ms']} to {c['b_ms']} is not {c['delta_ms']}"
        assert c["cause"] != "noise" or not c["significant"], "unchanged work is called a change"
        against = {"host_slower": c["delta_ms"] < 0, "host_faster": c["delta_ms"] > 0}
        assert not against.get(c["cause"], False), f"{c['cause']} of {c['delta_ms']} ms"
        assert " -> -" not in c["text"], c["text"]
    assert [c["rank"] for c in reply["contributions"]] == list(range(1, len(reply["contributions"]) + 1)), "ranks"


@pytest.mark.parametrize("folder, name, causes, place, stage, sign", [pytest.param(*pair, id=pair[1]) for pair in PAIRS])
def test_the_true_cause_is_first_at_the_right_place(folder, name, causes, place, stage, sign, compare):
    reply = compare(trace(folder, "base"), trace(folder, name))
    first = reply["contributions"][0]
    assert first["cause"] in causes, f"first is {first['cause']} ({first['text']})"
    where = " ".join(str(first[k]) for k in ("module", "op", "kernel_a", "kernel_b"))
    assert place in where, f"place {where!r} has no {place!r}"
    assert stage in (first["stage"] or ""), f"stage {first['stage']!r}"
    assert first["delta_ms"] * sign > 0, f"delta {first['delta_ms']}"
    if name in DETAIL:
        assert DETAIL[name] in first["text"], f"{first['text']!r} does not say {DETAIL[name]}"
    assert first["evidence_b"] or first["evidence_a"], "no evidence"
    # What only the input changed is no verdict about the program.
    wanted = {"undecided"} if first["cause"] == "work_changed" else {"regressed" if sign > 0 else "improved"}
    if name in HIDDEN:
        wanted = {"undecided", "same"}
        assert "hidden" in first["text"], f"{first['text']!r} does not say that it is hidden"
    assert reply["verdict"]["class"] in wanted, f"verdict {reply['verdict']}"


def test_the_same_program_twice_has_no_verdict_and_its_drift_is_noise(compare):
    reply = compare(trace("", "base"), trace("", "rerun"))
    assert reply["verdict"]["class"] in ("same", "undecided"), f"verdict {reply['verdict']}"
    assert not any(c["significant"] for c in reply["contributions"]), "something significant between two runs of the same thing"
    assert reply["contributions"][0]["cause"] == "noise", "the drift is not called noise"
    assert reply["similarity"] > 0.95, f"similarity {reply['similarity']}"


def test_a_run_is_the_same_as_itself(compare):
    reply = compare(trace("", "base"), trace("", "base"))
    assert reply["delta_ms"] == 0 and reply["verdict"]["class"] == "same", f"{reply['delta_ms']} {reply['verdict']}"
    assert reply["similarity"] > 0.999, f"similarity {reply['similarity']}"


@pytest.mark.parametrize("name", ["eager_attn", "item_sync", "compile"])
def test_exchanging_a_and_b_turns_every_sign(name, compare):
    there = compare(trace("", "base"), trace("", name))
    back = compare(trace("", name), trace("", "base"))
    assert abs(there["delta_ms"] + back["delta_ms"]) < 1e-6, "the difference is not the same both ways"
    a, b = there["contributions"][0]["delta_ms"], back["contributions"][0]["delta_ms"]
    # Each is told at the host speed of its own second run.
    assert abs(a + b) <= (0.15 + abs(there["drift"] - 1)) * abs(a), f"the first change is {a:.2f} ms one way and {b:.2f} ms the other"


def test_device_time_stages_and_steps_can_be_compared_alone(compare, compared):
    base, other = trace("", "base"), trace("", "fp32_mlp")
    device = compare(base, other, "--time", "device")
    assert abs(device["delta_ms"] - (89.23 - 21.57)) < 0.3, f"device time differs by {device['delta_ms']} ms"
    assert device["contributions"][0]["cause"] == "precision_upcast", "device time: another cause"
    stage = compare(base, other, "--stage", "decode_step")
    assert stage["wall_a_ms"] < compare(base, other)["wall_a_ms"], "a stage is as long as the run"
    step = compared.json("compare", base, other, "--stage", "LLM@decode_step", "--step", "3", status=(0, 1))
    assert 0 < step["wall_a_ms"] < 0.2 * stage["wall_a_ms"], f"one step of twelve is {step['wall_a_ms']} ms of {stage['wall_a_ms']} ms"
    none = compared.run("compare", base, other, "--stage", "nonsense")
    assert none.returncode != 0 and "decode_step" in none.stderr, f"an unknown stage: {none.stderr!r}"


def test_several_runs_a_side_can_be_compared(compare, compared):
    a = [trace("", "base"), trace("", "rerun")]
    reply = compare(*a, "--", trace("", "eager_attn"), trace("", "fp32_mlp"))
    assert len(reply["walls_a_ms"]) == 2 and len(reply["walls_b_ms"]) == 2, "walls of every run"
    again = compared.json("compare", *a, "--", *a, status=(0, 1))
    assert again["verdict"]["class"] in ("same", "undecided"), f"the same two runs on both sides: {again['verdict']}"


def test_one_model_on_two_device_types_is_compared_without_a_verdict(compare):
    """HTA's pair: CompiledFunctionBackward and the Volta GEMMs carry the difference."""
    reply = compare(*(real("public", "kineto", f"hta_trace_diff_{side}.json.gz") for side in ("control", "test")))
    assert reply["verdict"]["class"] == "undecided", "a verdict across device types"
    assert any(c["what"] == "device" for c in reply["comparability"]), "the other device is not told"
    assert reply["contributions"][0]["delta_ms"] > 0.5 * reply["delta_ms"], "the largest change is not first"


def test_less_work_in_the_same_time_is_work_changed(compare):
    """nsys-ai's pair of two-GPU training runs, before and after a change of the input pipeline. Both record 300 ms, and B gets through
    30 of its sharded blocks where A got through 34: less work, and no other attention than the flash_fwd of both (what the window cuts
    at its edges has lost its operator)."""
    reply = compare(*(real("public", "nsys", f"mfu_2gpu_{side}.sqlite.gz") for side in ("before", "after")))
    assert reply["contributions"][0]["cause"] == "work_changed", reply["contributions"][0]["cause"]
    for c in reply["contributions"]:
        assert c["cause"] not in ("attention_impl_changed", "kernel_replaced") or c["kernel_a"] != c["kernel_b"], c["text"]


def test_the_same_call_under_another_vendors_name_is_not_a_change(compare):
    """cudaDeviceSynchronize and hipDeviceSynchronize."""
    reply = compare(*(real("public", "kineto", f"tracelens_{device}_qwen.json.gz") for device in ("h100", "mi300")))
    assert reply["verdict"]["class"] == "undecided", "a verdict across vendors"
    causes = [c["cause"] for c in reply["contributions"]]
    assert not {"sync_added", "sync_removed"} & set(causes), str(causes)


def test_one_model_recorded_by_two_tools_has_the_same_calls(compare):
    """torch.profiler and NeuroLens write shapes and nest labels differently."""
    reply = compare(H200 / "base.json.gz", H200 / "llama.nlc.gz")
    assert min(reply["matched_share_a"], reply["matched_share_b"]) > 0.99, f"matched {reply['matched_share_a']} and {reply['matched_share_b']}"
    causes = {c["cause"] for c in reply["contributions"]}
    assert not causes & {"work_changed", "shape_changed", "kernel_replaced", "kernels_added", "kernels_removed"}, str(causes)


def pair(compare, folder, a, b, *words):
    return compare(real("public", folder, a), real("public", folder, b), *words)


def test_idle_time_around_the_work_is_recording_and_not_a_change(compare):
    """jax_conv legacy and 0.8: the same convolution, recorded for 8 s and for 0.16 s. The kernels take the same time."""
    reply = pair(compare, "xplane", "jax_conv_legacy.xplane.pb", "jax_conv_08.xplane.pb")
    assert reply["verdict"]["class"] == "undecided", reply["verdict"]
    recording = next(c for c in reply["contributions"] if c["cause"] == "recording")
    assert recording["delta_ms"] < 0.95 * reply["delta_ms"] < 0, f"{recording['delta_ms']} of {reply['delta_ms']} ms"
    assert not any(c["significant"] and abs(c["delta_ms"]) > 200 for c in reply["contributions"]), [c["text"] for c in reply["contributions"]]
    conv = next(r for r in reply["across"]["operators"] if r["name"].startswith("cudnn-conv"))
    assert 0.9 < conv["ratio"] < 1.1, conv


@pytest.mark.parametrize("folder, a, b", [
    ("xplane", "jax_conv_legacy.xplane.pb", "jax_conv_08.xplane.pb"),
    ("kineto", "tracelens_h100_vit.json.gz", "tracelens_mi300_vit.json.gz"),
    ("kineto", "tracelens_h100_qwen.json.gz", "tracelens_mi300_qwen.json.gz"),
    ("kineto", "tb_resnet50_workers0.json.gz", "tb_resnet50_workers4.json.gz"),
    ("kineto", "hta_alexnet.json.gz", "hta_triton.json.gz"),
    ("onnxrt", "densenet121_cpu_node.json.gz", "resnet50_cpu_node.json.gz"),
])
def test_no_sentence_contradicts_itself(compare, folder, a, b):
    reply = pair(compare, folder, a, b)
    for c in reply["contributions"]:
        assert c["cause"] != "kernel_replaced" or not c["kernel_a"] or c["kernel_a"] != c["kernel_b"], c["text"]
        assert "device work instead of device work" not in c["text"] and "0 ns -> 0 ns" not in c["text"], c["text"]
        assert c["cause"] == "noise" or c["delta_ms"] != 0, c["text"]
    device = pair(compare, folder, a, b, "--time", "device")
    assert not any("--time device" in step["command"] for step in device["next"]), device["next"]


@pytest.mark.parametrize("name", ["vit", "qwen"])
def test_two_devices_are_compared_by_operator_and_family(compare, compared, name):
    files = [real("public", "kineto", f"tracelens_{device}_{name}.json.gz") for device in ("h100", "mi300")]
    reply = compare(*files)
    across = reply["across"]
    assert "H100" in across["setup_a"] and "MI300X" in across["setup_b"]
    assert reply["verdict"]["text"].startswith(f"{across['setup_a']} -> {across['setup_b']}: "), reply["verdict"]["text"]
    assert "in device time" in reply["verdict"]["text"]
    for side, run in (("a", reply["run_a"]), ("b", reply["run_b"])):
        listed = {o["name"]: o["gpu_ms"] for o in compared.json("operators", run, "--limit", "0")["operators"]}
        for row in across["operators"]:
            operator = row["name_b"] or row["name"] if side == "b" else row["name"]
            if row[f"{side}_ms"] is not None:
                assert abs(row[f"{side}_ms"] - listed[operator]) < 1e-6, f"{operator}: {row} but {listed[operator]}"
    known = [r for r in across["operators"] if r["efficiency_a"] is not None and r["efficiency_b"] is not None]
    assert known, "no operator has an efficiency on both sides"
    for row in across["operators"] + across["families"]:
        both = row["efficiency_a"] is not None and row["efficiency_b"] is not None
        assert (row["nearer"] is not None) == both, row
        if row["a_ms"] is not None and row["b_ms"] is not None:
            assert abs(row["ratio"] - row["b_ms"] / row["a_ms"]) < 1e-9 and (both or row["reason"]), row
    text = compared.run("compare", *files).stdout
    assert "KERNEL FAMILY" in text and "NEARER" in text, text


@pytest.mark.parametrize("folder, a, b", [
    ("onnxrt", "densenet121_cpu_node.json.gz", "resnet50_cpu_node.json.gz"),
    ("onnxrt", "olive_mkldnn_2019.json.gz", "resnet50_cpu_node.json.gz"),
    ("kineto", "hta_alexnet.json.gz", "hta_triton.json.gz"),
    ("kineto", "tracelens_vllm_decode.json.gz", "tracelens_sglang_decode.json.gz"),
])
def test_different_programs_get_no_verdict(compare, folder, a, b):
    reply = pair(compare, folder, a, b)
    assert reply["verdict"]["class"] == "undecided", reply["verdict"]
    assert any(c["what"] == "program" for c in reply["comparability"]), reply["comparability"]


RECORDED = (H200 / "llama.nlc.gz", H200 / "llama_python_step.nlc.gz")  # with a warm-up of several steps


def test_recordings_with_a_long_start_are_compared_by_the_same_steady_steps(compare, compared):
    reply = compare(*RECORDED)
    phase, first = reply["phase"], reply["contributions"][0]
    assert (phase["phase"], phase["steps"]) == ("steady", 6), phase
    assert first["cause"] == "host_slower" and "index_select" in first["op"], first
    assert not [c for c in reply["contributions"] if c["cause"] == "shape_changed"], "step n of one run against step n of the other"
    whole = compare(*RECORDED, "--phase", "all")
    assert whole["phase"] is None
    for side in "ab":
        assert abs(whole[f"wall_{side}_ms"] - reply[f"wall_{side}_ms"] - phase[f"other_{side}_ms"]) < 1e-6, "the rest of the run"
    assert compare(*RECORDED, "--phase", "warmup")["phase"]["phase"] == "warmup"
    assert compare(*RECORDED, "--stage", "decode_step")["phase"] is None, "a stage is chosen wherever it is"
    text = compared.run("compare", *RECORDED).stdout
    assert "Steady phase, 6 steps of each run." in text and "--phase" in text, text


def test_a_phase_that_a_run_lacks_is_refused(compared):
    out = compared.run("compare", RECORDED[0], H200 / "jax_gelu_norm.trace.json.gz", "--phase", "steady")
    assert out.returncode != 0 and "this run has no phases" in out.stderr, out.stderr
