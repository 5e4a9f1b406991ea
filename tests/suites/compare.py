#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`compare` on real pairs whose difference is known.

truth.*     the true cause is first, at the right place, and the contributions sum to the difference of the walls
same.*      the same program twice: no verdict of a change, the host's drift is told as noise
foreign.*   public pairs: sums agree, the top changes are those an eye finds in the traces
reverse.*   exchanging A and B turns every sign
files.*     files instead of runs, stages, steps, device time, several runs a side
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = pathlib.Path(os.environ.get("NEUROLENS_SHARED", ROOT.parent / "shared"))
H200 = ROOT / "data/h200"

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


class Wrong(Exception):
    pass


def must(condition, why):
    if not condition:
        raise Wrong(why)


def trace(folder, name):
    return next((p for p in (H200 / folder).glob(f"{name}.json.*")), None)


class Program:
    def __init__(self, store):
        self.store = store

    def run(self, *arguments):
        return subprocess.run([BIN, "--store", self.store, *map(str, arguments)], capture_output=True, text=True, check=False,
                              cwd=self.store, env={**os.environ, "COLUMNS": "80"})

    def json(self, *arguments):
        done = self.run(*arguments, "--json")
        must(done.returncode in (0, 1), f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return json.loads(done.stdout)


def check_sums(reply):
    """What every comparison promises, whatever the runs."""
    delta = reply["wall_b_ms"] - reply["wall_a_ms"]
    must(abs(delta - reply["delta_ms"]) < 1e-6, f"delta {reply['delta_ms']} of walls that differ by {delta}")
    must(abs(reply["residual_ms"]) <= max(1e-6, 1e-3 * abs(delta)), f"residual {reply['residual_ms']} ms of {delta} ms")
    parts = sum(c["delta_ms"] for c in reply["contributions"])
    must(abs(parts + reply["residual_ms"] - delta) < 1e-6, f"contributions sum to {parts} ms of {delta} ms")
    for c in reply["contributions"]:
        effects = c["count_effect_ms"] + c["speed_effect_ms"] + c["idle_effect_ms"]
        must(abs(effects - c["delta_ms"]) < 1e-6, f"{c['cause']}: effects sum to {effects} of {c['delta_ms']}")
        must(abs(c["b_ms"] - c["a_ms"] - c["delta_ms"]) < 1e-6, f"{c['cause']}: {c['a_ms']} to {c['b_ms']} is not {c['delta_ms']}")
        must(c["cause"] != "noise" or not c["significant"], "unchanged work is called a change")
        against = {"host_slower": c["delta_ms"] < 0, "host_faster": c["delta_ms"] > 0}
        must(not against.get(c["cause"], False), f"{c['cause']} of {c['delta_ms']} ms")
        must(" -> -" not in c["text"], c["text"])
    must([c["rank"] for c in reply["contributions"]] == list(range(1, len(reply["contributions"]) + 1)), "ranks")


def truth(program, folder, name, causes, place, stage, sign):
    reply = program.json("compare", trace(folder, "base"), trace(folder, name))
    check_sums(reply)
    first = reply["contributions"][0]
    must(first["cause"] in causes, f"first is {first['cause']} ({first['text']})")
    where = " ".join(str(first[k]) for k in ("module", "op", "kernel_a", "kernel_b"))
    must(place in where, f"place {where!r} has no {place!r}")
    must(stage in (first["stage"] or ""), f"stage {first['stage']!r}")
    must(first["delta_ms"] * sign > 0, f"delta {first['delta_ms']}")
    if name in DETAIL:
        must(DETAIL[name] in first["text"], f"{first['text']!r} does not say {DETAIL[name]}")
    must(first["evidence_b"] or first["evidence_a"], "no evidence")
    # What only the input changed is no verdict about the program.
    wanted = {"undecided"} if first["cause"] == "work_changed" else {"regressed" if sign > 0 else "improved"}
    if name in HIDDEN:
        wanted = {"undecided", "same"}
        must("hidden" in first["text"], f"{first['text']!r} does not say that it is hidden")
    must(reply["verdict"]["class"] in wanted, f"verdict {reply['verdict']}")


def same(program):
    reply = program.json("compare", trace("", "base"), trace("", "rerun"))
    check_sums(reply)
    must(reply["verdict"]["class"] in ("same", "undecided"), f"verdict {reply['verdict']}")
    must(not any(c["significant"] for c in reply["contributions"]), "something significant between two runs of the same thing")
    must(reply["contributions"][0]["cause"] == "noise", "the drift is not called noise")
    must(reply["similarity"] > 0.95, f"similarity {reply['similarity']}")


def identical(program):
    reply = program.json("compare", trace("", "base"), trace("", "base"))
    check_sums(reply)
    must(reply["delta_ms"] == 0 and reply["verdict"]["class"] == "same", f"{reply['delta_ms']} {reply['verdict']}")
    must(reply["similarity"] > 0.999, f"similarity {reply['similarity']}")


def reverse(program, name):
    there = program.json("compare", trace("", "base"), trace("", name))
    back = program.json("compare", trace("", name), trace("", "base"))
    check_sums(back)
    must(abs(there["delta_ms"] + back["delta_ms"]) < 1e-6, "the difference is not the same both ways")
    a, b = there["contributions"][0]["delta_ms"], back["contributions"][0]["delta_ms"]
    # Each is told at the host speed of its own second run.
    must(abs(a + b) <= (0.15 + abs(there["drift"] - 1)) * abs(a), f"the first change is {a:.2f} ms one way and {b:.2f} ms the other")


def options(program):
    base, other = trace("", "base"), trace("", "fp32_mlp")
    device = program.json("compare", base, other, "--time", "device")
    check_sums(device)
    must(abs(device["delta_ms"] - (89.23 - 21.57)) < 0.3, f"device time differs by {device['delta_ms']} ms")
    must(device["contributions"][0]["cause"] == "precision_upcast", "device time: another cause")
    stage = program.json("compare", base, other, "--stage", "decode_step")
    check_sums(stage)
    must(stage["wall_a_ms"] < program.json("compare", base, other)["wall_a_ms"], "a stage is as long as the run")
    step = program.json("compare", base, other, "--stage", "LLM@decode_step", "--step", "3")
    must(0 < step["wall_a_ms"] < 0.2 * stage["wall_a_ms"], f"one step of twelve is {step['wall_a_ms']} ms of {stage['wall_a_ms']} ms")
    none = program.run("compare", base, other, "--stage", "nonsense")
    must(none.returncode != 0 and "decode_step" in none.stderr, f"an unknown stage: {none.stderr!r}")


def sets(program):
    a = [trace("", "base"), trace("", "rerun")]
    reply = program.json("compare", *a, "--", trace("", "eager_attn"), trace("", "fp32_mlp"))
    check_sums(reply)
    must(len(reply["walls_a_ms"]) == 2 and len(reply["walls_b_ms"]) == 2, "walls of every run")
    again = program.json("compare", *a, "--", *a)
    must(again["verdict"]["class"] in ("same", "undecided"), f"the same two runs on both sides: {again['verdict']}")


def foreign(program, folder, a, b):
    """The comparison of a public pair, and its contributions' causes; None where the data is not here."""
    a, b = SHARED / "data/public" / folder / a, SHARED / "data/public" / folder / b
    if not a.exists():
        return None, []
    reply = program.json("compare", a, b)
    check_sums(reply)
    return reply, [c["cause"] for c in reply["contributions"]]


def hta(program):
    """HTA's pair is the same model on two device types: CompiledFunctionBackward and the Volta GEMMs carry the difference."""
    reply, _ = foreign(program, "kineto", "hta_trace_diff_control.json.gz", "hta_trace_diff_test.json.gz")
    if reply is None:
        return "kineto is not here"
    must(reply["verdict"]["class"] == "undecided", "a verdict across device types")
    must(any(c["what"] == "device" for c in reply["comparability"]), "the other device is not told")
    must(reply["contributions"][0]["delta_ms"] > 0.5 * reply["delta_ms"], "the largest change is not first")
    return None


def nsys(program):
    """nsys-ai's pair of two-GPU training runs, before and after a change of the input pipeline."""
    reply, causes = foreign(program, "nsys", "mfu_2gpu_before.sqlite.gz", "mfu_2gpu_after.sqlite.gz")
    if reply is None:
        return "nsys is not here"
    # Both record 300 ms, and B gets through 30 of its sharded blocks where A got through 34: less work, and no other attention
    # than the flash_fwd of both (what the window cuts at its edges has lost its operator).
    must(causes[0] == "work_changed", causes[0])
    for c in reply["contributions"]:
        must(c["cause"] not in ("attention_impl_changed", "kernel_replaced") or c["kernel_a"] != c["kernel_b"], c["text"])
    return None


def vendors(program):
    """One program on two vendors' devices: the same call under another name (cudaDeviceSynchronize, hipDeviceSynchronize) is no change."""
    reply, causes = foreign(program, "kineto", "tracelens_h100_qwen.json.gz", "tracelens_mi300_qwen.json.gz")
    if reply is None:
        return "kineto is not here"
    must(reply["verdict"]["class"] == "undecided", "a verdict across vendors")
    must(not {"sync_added", "sync_removed"} & set(causes), str(causes))
    return None


def tools(program):
    """One model recorded by torch.profiler and by NeuroLens: the same calls, however a tool writes shapes and nests labels."""
    a, b = ROOT / "data/h200/base.json.gz", ROOT / "data/h200/llama.nlc.gz"
    reply = program.json("compare", a, b)
    check_sums(reply)
    must(min(reply["matched_share_a"], reply["matched_share_b"]) > 0.99, f"matched {reply['matched_share_a']} and {reply['matched_share_b']}")
    causes = {c["cause"] for c in reply["contributions"]}
    must(not causes & {"work_changed", "shape_changed", "kernel_replaced", "kernels_added", "kernels_removed"}, str(causes))


def main():
    failed = False

    def report(name, function, *arguments):
        nonlocal failed
        try:
            reason = function(*arguments)
            print(f"SKIP {name}: {reason}" if reason else f"PASS {name}", flush=True)
        except Wrong as wrong:
            failed = True
            print(f"FAIL {name}: {wrong}", flush=True)

    with tempfile.TemporaryDirectory() as store:
        program = Program(store)
        for folder, name, *rest in PAIRS:
            report(f"truth.{name}", truth, program, folder, name, *rest)
        report("same.rerun", same, program)
        report("same.identical", identical, program)
        for name in ("eager_attn", "item_sync", "compile"):
            report(f"reverse.{name}", reverse, program, name)
        report("files.options", options, program)
        report("files.sets", sets, program)
        report("foreign.hta", hta, program)
        report("foreign.nsys", nsys, program)
        report("foreign.vendors", vendors, program)
        report("foreign.tools", tools, program)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
