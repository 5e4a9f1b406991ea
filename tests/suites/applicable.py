# SPDX-License-Identifier: Apache-2.0
"""Advice fits the program it is given for: over every profile there is, no suggestion is of a combination that makes no sense (a library of
another vendor, words of another framework, a type that the device or the kernel does not have, an operator that was not recorded)."""
import re

import pytest

from neurolens_cli import H200, ROOT, SHARED, named

ADVICE = ROOT / "bench/advice/h200"
PROFILES = sorted({p.name: p for folder in (H200, ADVICE, SHARED / "data") if folder.exists() for p in folder.rglob("*")
                   if p.is_file() and p.suffix not in (".md", ".jsonl")}.values())
SIXTEEN_BITS = re.compile(r"bf16|bfloat16|[hf]16|half|fp8|e4m3|e5m2|int8|[iu]8|mxfp4|fp4|s8", re.IGNORECASE)
NO_PRODUCT = re.compile(r"pool|elementwise|reduce|copy|softmax|norm|Memcpy|memset|index|scatter|gather|cat_", re.IGNORECASE)


@pytest.fixture(scope="module", params=named(PROFILES))
def run(request, imported):
    return imported(request.param)


@pytest.fixture(scope="module")
def reply(run):
    return run.ask("findings", "--limit", 1000)


@pytest.fixture(scope="module")
def about(run):
    document = run.document()
    return {"backend": document["software"].get("backend"), "vendor": document["hardware"].get("vendor"), "tool": document["source"].get("tool") or "",
            "ops": {row[0] for row in run.values("SELECT DISTINCT name FROM op WHERE name IS NOT NULL")}}


def texts(reply):
    for f in reply["findings"]:
        for text in (f["title"], f["message"], *f["suggestions"]):
            yield f, text


def none_says(reply, words, why):
    found = [(f["rule"], text) for f, text in texts(reply) if re.search(words, text)]
    assert not found, f"{why}: {found[:3]}"


def test_words_are_those_of_the_framework(reply, about):
    if about["backend"] in ("jax", "tensorrt", "onnxruntime") and not any(op.startswith("aten::") for op in about["ops"]):
        none_says(reply, r"torch|aten::|DataLoader|pin_memory|non_blocking|SDPA|channels_last", about["backend"])
    if "torch.profiler" not in about["tool"]:
        none_says(reply, r"with_stack|record_shapes|profile_memory", about["tool"])


def test_tools_are_those_of_the_vendor(reply, about):
    if about["vendor"] == "amd":
        none_says(reply, r"FlashAttention.?3|cuDNN|cuBLAS|nvidia-smi|Nsight|\bncu\b|\btf32\b|TF32|DALI|nvJPEG|(?<!or HIP )CUDA graphs? ", "AMD")
    if about["vendor"] == "nvidia":
        none_says(reply, r"rocprof|hipBLAS|MIOpen|rocm-smi", "NVIDIA")


def test_words_of_language_models_are_for_them(reply, about):
    """Serving and KV caches are of inference; norms of tokens and rotary embeddings of models with attention."""
    if any("backward" in op.lower() for op in about["ops"]):
        none_says(reply, r"\btokens\b|requests|KV cache|Quantize the weights", "training")
    if any(re.search("aten::conv|_convolution", op) for op in about["ops"]):
        none_says(reply, r"rotary|rms_norm|\btokens\b|KV cache", "convolutions")


def test_more_work_is_for_operators_that_compute(reply):
    for f, text in texts(reply):
        assert not re.search(r"(one call of|the kernels of|one computes \() ?(record_param_comms|c10d::|nccl)", text), (f["rule"], text)


def test_operators_that_are_named_were_recorded(reply, about):
    unknown = [(f["rule"], name) for f, text in texts(reply) for name in re.findall(r"aten::\w+", text) if name not in about["ops"]]
    assert not unknown, unknown[:5]


def test_types_are_smaller_than_those_the_kernels_have(reply):
    for f in reply["findings"]:
        if f["kernel"] and SIXTEEN_BITS.search(f["kernel"]):
            wide = [s for s in f["suggestions"] if re.search(r"to (bf16|bfloat16|fp16)|\(bf16, fp16\)|tf32|TF32|bfloat16\)", s.replace(f["kernel"], ""))]
            assert not wide, f"{f['kernel']}: {wide}"


def test_tensor_cores_are_for_products(reply):
    for f in reply["findings"]:
        if f["rule"] == "attention_unfused":
            assert not re.search(r"conv|pool|norm", f["op"] or ""), f["message"]
        if f["rule"] == "tensor_core_unused":
            assert not NO_PRODUCT.search(f["kernel"] or f["op"] or ""), f
        pointwise = re.search(r"pointwise operators such as ([\w:, ]+)", f["message"] + " ".join(f["suggestions"]))
        assert not (pointwise and re.search(r"mm|conv|linear|attention|matmul|Torch-Compiled", pointwise[1])), f["message"]


def test_what_a_compiler_made_is_not_compiled_again(reply):
    for f in reply["findings"]:
        if f["kernel"] and f["kernel"].startswith("triton_"):
            assert not any("torch.compile" in s for s in f["suggestions"]), f


def test_kernels_near_their_limit_are_not_findings(reply):
    near = {k["kernel"] for k in reply["near_limit"]}
    found = [f["kernel"] for f in reply["findings"] if f["kernel"] in near and f["rule"] == "hot_kernel"]
    assert not found, found


def test_programs_that_replay_graphs_are_not_told_to(run, reply):
    kernels, in_graphs = run.values("SELECT count(*), count(graph_id) FROM kernel")[0]
    if kernels and in_graphs > 0.5 * kernels:
        assert not [f["rule"] for f in reply["findings"] if f["rule"] in ("graph_candidate", "host_bound_launch")]


def test_gains_are_of_the_step(reply):
    step_ms = reply["step"] and reply["step"]["ms"]
    for f in reply["findings"]:
        if f["gain_ms"] is not None:
            assert f["phase"] == ("steady" if reply["step"]["steady_steps"] else "whole"), f["rule"]
            gain = f["gain_ms"]
            assert 0 <= gain["low"] <= gain["expected"] <= gain["high"] <= step_ms * (1 + 1e-9), (f["rule"], gain, step_ms)
            assert f["first_fix"] == f["suggestions"][0], f["rule"]


def test_sentences_are_whole(reply):
    none_says(reply, r"\{|\}|\bnan\b|\binf\b|None|  | \(\)|\bin \.|\bas \.| ,|\bof \.|^\W|\s$", "a gap in a sentence")


def test_shares_are_parts_of_a_whole(reply):
    for where in (reply["diagnosis"], *reply["findings"]):
        over = [(e["what"], e["value"]) for e in where["evidence"] if e["unit"] == "ratio" and e["what"].endswith(("_share", "/ wall")) and not 0 <= e["value"] <= 1 + 1e-9]
        assert not over, over


def test_what_recording_cost_comes_last(reply):
    rules = [f["rule"] for f in reply["findings"]]
    assert "profiler_overhead" not in rules[:-1], rules


def test_steps_are_those_of_the_phase(run, reply):
    """Evidence of a part counts the steps in it, not those of the run."""
    counted = [e["value"] for f in reply["findings"] if not f["of_recording"] for e in f["evidence"] if e["what"] == "run.steps"]
    if reply["diagnosis"]["phase"] and counted:
        steady = next(s for s in run.ask("phases")["phases"]["spans"] if s["phase"] == "steady")
        assert all(value <= steady["steps"] for value in counted), (counted, steady)


def test_what_overlapping_collectives_gains_is_not_predicted(reply):
    for f in reply["findings"]:
        if f["rule"] == "no_overlap":
            exposed = {e["what"]: e["value"] for e in f["evidence"]}
            assert f["gain_ms"] is None or exposed["run.copies_exposed_ms"] >= exposed["run.communication_exposed_ms"], f


def test_only_what_computes_is_moved_to_the_device(reply):
    """A data loader, a view and what a framework records about itself cannot run there."""
    for f in reply["findings"]:
        if f["rule"] == "operator_on_cpu":
            name = re.match(r"(.+?) computes on the CPU", f["message"])[1]
            assert re.match(r"(?!autograd)\w+::", name) and not re.search(r"flatten|view|reshape|split|DataLoader|Dynamo", name), name


def test_streams_in_turn_are_several_and_do_not_overlap(run, reply):
    if any(f["rule"] == "serial_streams" for f in reply["findings"]):
        spans = run.values("SELECT start_ns, start_ns + dur_ns, stream FROM kernel ORDER BY start_ns")
        beside = sum(after[0] < before[1] for before, after in zip(spans, spans[1:]))
        assert len({s[2] for s in spans}) > 1 and beside < 0.1 * len(spans), (len(spans), beside)


def test_servers_of_models_are_addressed_by_their_own_flags(run, reply, about):
    names = [row[0] for row in run.values("SELECT DISTINCT name FROM python_call WHERE name LIKE '%vllm/%' OR name LIKE '%sglang/%' LIMIT 20")]
    server = "SGLang" if any("sglang/" in n for n in names) else "vLLM" if names or any(op.startswith("vllm::") for op in about["ops"]) else None
    for f in reply["findings"]:
        if server and f["rule"] in ("graph_candidate", "host_bound_launch"):
            assert server in f["suggestions"][0] and "--" in f["suggestions"][0], f["suggestions"]


def test_the_first_suggestion_names_something(reply):
    """A bare "reduce the number of calls" is what anyone knows."""
    bare = [(f["rule"], f["suggestions"][:1]) for f in reply["findings"] if not f["suggestions"] or len(f["suggestions"][0]) < 40]
    assert not bare, bare


def test_shapes_that_were_recorded_are_not_to_be_checked(reply):
    for f in reply["findings"]:
        if f["rule"] == "hot_kernel":
            sizes = [s for s in f["suggestions"] if re.search(r"\d+ x \d+ x \d+", s)]
            assert not (sizes and any(s.startswith("Check the shape") for s in f["suggestions"])), f["suggestions"]


def test_models_on_the_cpu_have_a_finding(reply, about):
    if about["backend"] == "onnxrt":
        assert reply["findings"] and reply["findings"][0]["rule"] == "model_on_cpu", reply["findings"][:1]


def test_a_file_of_copies_says_nothing_of_utilization(run, reply):
    if run.values("SELECT count(*) FROM kernel")[0][0] == 0:
        assert "gpu_idle" not in [f["rule"] for f in reply["findings"]]


def test_fixes_that_gain_nothing_do_not_lead(reply):
    """What only clears the way for another fix comes after it."""
    if reply["step"] and reply["step"]["steady_steps"]:
        placed = [f for f in reply["findings"] if f["step_after_ms"] is not None]
        if placed and max(f["gain_share"] or 0 for f in placed) > 0.1:
            assert (placed[0]["gain_share"] or 0) >= 0.01, [(f["rule"], f["gain_share"]) for f in placed]
