# SPDX-License-Identifier: Apache-2.0
"""The neurolens package: labels reach the capture, other tools and nobody; PyTorch is labelled without a change to the program."""
import os
import shutil
import subprocess

import pytest

from neurolens_cli import LIMIT_S, PYTHON, RECORD, ROOT, TESTS
from nlcap_reader import Recording

PUSH, POP, MARK = 1, 2, 5


def plain(code, folder, **variables):
    """Not recorded, with the package on the path."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NEUROLENS_", "NVTX_", "CUDA_INJECTION"))}
    env.update(PYTHONPATH=str(ROOT / "python"), **variables)
    return subprocess.run([PYTHON, "-c", code], env=env, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)


def recorded(code, folder, *options, env=None, name="x"):
    """(ranges with their paths, result) of a program under the recorder."""
    out = str(folder / f"{name}.nlcap")
    result = subprocess.run([*RECORD, "--out", out, *options, "--", PYTHON, "-c", code], cwd=folder, capture_output=True, text=True,
                            timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    assert result.returncode == 0, f"status {result.returncode}: {result.stderr[-500:]}"
    return Recording(out), result


def paths(capture):
    """Every range as the path of the ranges around it on its thread."""
    open_ranges, out = {}, []
    for event in sorted(capture.ranges, key=lambda e: e["time_ns"]):
        stack = open_ranges.setdefault(event["tid"], [])
        if event["what"] == PUSH:
            stack.append(event["name"])
            out.append("/".join(stack))
        elif event["what"] == POP:
            assert stack, "a range is closed that was not open"
            stack.pop()
    assert not any(open_ranges.values()), f"ranges are left open: {open_ranges}"
    return out


def test_labels_reach_the_capture(tmp_path):
    code = """
import neurolens, threading
assert neurolens.is_recording()
with neurolens.scope("outer", batch=8):
    with neurolens.scope("größe"): pass
@neurolens.scope("decorated")
def f(x): return x + 1
assert f(1) == 2 and f.__name__ == "f"
neurolens.mark_event("cache_miss", {"key": 1})
t = threading.Thread(target=f, args=(2,)); t.start(); t.join()
with neurolens.llm.request():
    with neurolens.llm.prefill(tokens=128): pass
    with neurolens.llm.decode_all():
        with neurolens.llm.decode_step(): pass
"""
    capture, _ = recorded(code, tmp_path)
    found = paths(capture)
    for wanted in ("outer", "outer/größe", "decorated", "LLM@request/LLM@prefill", "LLM@request/LLM@decode_all/LLM@decode_step"):
        assert wanted in found, f"{wanted} is missing: {found}"
    assert found.count("decorated") == 2 and len({e["tid"] for e in capture.ranges}) == 2, f"the thread's call is missing: {found}"
    assert any(e["what"] == MARK and e["name"] == "cache_miss" for e in capture.ranges), "the mark is missing"


def test_ranges_close_when_the_body_raises(tmp_path):
    code = """
import neurolens
try:
    with neurolens.scope("a"):
        with neurolens.scope("b"): raise ValueError
except ValueError: pass
@neurolens.scope("c")
def f(): raise KeyError
try: f()
except KeyError: pass
with neurolens.scope("d"): pass
"""
    capture, _ = recorded(code, tmp_path)
    assert paths(capture) == ["a", "a/b", "c", "d"], f"{paths(capture)}"


def test_stop_and_start_bound_what_is_recorded(tmp_path):
    code = """
import neurolens
with neurolens.scope("before"): pass
neurolens.stop()
assert not neurolens.is_recording()
with neurolens.scope("hidden"): pass
@neurolens.scope("late")
def f(): pass
f()
neurolens.start()
with neurolens.scope("after"): f()
"""
    capture, _ = recorded(code, tmp_path)
    assert paths(capture) == ["before", "after", "after/late"], f"{paths(capture)}"


def test_odd_labels_do_no_harm(tmp_path):
    code = """
import neurolens
class Bad:
    def __str__(self): raise RuntimeError
for name in ("", "a\\0b", "x" * 100000, 17, None, "\\ud800"):
    with neurolens.scope(name, bad=object()): pass
    neurolens.mark_event(name, {"k": {1, 2}})
neurolens.mark_event("m", {"bad": Bad()})
with neurolens.scope("last"): pass
"""
    capture, _ = recorded(code, tmp_path)
    assert "last" in paths(capture), f"{paths(capture)}"


def test_unrecorded_programs_load_nothing(tmp_path):
    code = """
import sys, threading, neurolens
assert not neurolens.is_recording()
with neurolens.scope("a", b=1): pass
try:
    with neurolens.scope("a"): raise ValueError
except ValueError: pass
else: raise SystemExit("the exception was swallowed")
@neurolens.scope("f")
def f(x): return x
assert f(3) == 3
neurolens.mark_event("x", {"y": 1}); neurolens.start(); neurolens.stop()
assert "ctypes" not in sys.modules and threading.active_count() == 1
"""
    result = plain(code, tmp_path)
    assert result.returncode == 0 and not result.stderr, f"{result.returncode} {result.stderr[-400:]}"


def test_a_missing_library_does_no_harm(tmp_path):
    result = plain("import neurolens\nwith neurolens.scope('a'): pass", tmp_path, NEUROLENS_CAPTURE_LIBRARY="/no/such.so",
                   NEUROLENS_CAPTURE_DIR=str(tmp_path), NVTX_INJECTION64_PATH="/no/such/tool.so")
    assert result.returncode == 0 and not result.stderr, f"{result.returncode} {result.stderr[-400:]}"


TOOL = r"""
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void (*Fn)(void);
typedef struct { size_t size; int (*module)(int, Fn*** table, unsigned* count); } Callbacks;
static FILE* out;
static int push(const char* m) { fprintf(out, "push %s\n", m); fflush(out); return 0; }
static int pop(void) { fprintf(out, "pop\n"); fflush(out); return 0; }
static void mark(const char* m) { fprintf(out, "mark %s\n", m); fflush(out); }
static Fn** table;
void fill(void) { *table[2] = (Fn)mark; *table[9] = (Fn)push; *table[11] = (Fn)pop; }
int InitializeInjectionNvtx2(const void* (*get)(uint32_t)) {
  const Callbacks* c = get(1); unsigned count = 0;
  out = fopen(getenv("TOOL_OUT"), "w");
  if (!c) return 0;
  if (getenv("TOOL_STRICT")) {  // as a program with NVTX's headers has them
    static const unsigned sizes[] = {16, 9, 15, 7, 16, 7};
    for (int module = 1; module <= 6; ++module) {
      Fn** other;
      if (!c->module(module, &other, &count) || count != sizes[module - 1] || other[0]) return 0;
      for (unsigned i = 1; i < count; ++i) if (!other[i] || *other[i]) return 0;
    }
    if (c->module(7, &table, &count)) return 0;
  }
  if (!c->module(1, &table, &count) || count < 12) return 0;
  if (!getenv("TOOL_LATE")) fill();
  return 1;
}
"""
# Data of a range is for our recorder: other tools compare whole names.
LABELS = "with neurolens.scope('a', size=3):\n    neurolens.mark_event('m')\nwith neurolens.llm.prefill(tokens=7): pass\n"


@pytest.fixture(scope="module")
def nvtx_tool(tmp_path_factory):
    """Folder of another tool: tool.so."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("tool")
    (folder / "tool.c").write_text(TOOL)
    subprocess.run(["cc", "-shared", "-fPIC", str(folder / "tool.c"), "-o", str(folder / "tool.so")], check=True, timeout=LIMIT_S)
    return folder


# ncu sets a bare name and the loader's path, not the path of a file.
@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("tool_is", ["TOOL_PLAIN", "TOOL_STRICT"])
def test_other_tools_get_the_same_labels_through_nvtx(tmp_path, nvtx_tool, tool_is, by_name):
    out = tmp_path / "said"
    path = {"NVTX_INJECTION64_PATH": "tool.so", "LD_LIBRARY_PATH": str(nvtx_tool)} if by_name else {"NVTX_INJECTION64_PATH": str(nvtx_tool / "tool.so")}
    result = plain("import neurolens\n" + LABELS, tmp_path, TOOL_OUT=str(out), **{tool_is: "1"}, **path)
    assert result.returncode == 0, result.stderr[-400:]
    assert out.read_text() == "push a\nmark m\npop\npush LLM@prefill\npop\n", f"the tool heard {out.read_text()!r}"


def test_a_tool_may_begin_to_listen_later(tmp_path, nvtx_tool):
    out = tmp_path / "said"
    code = f"import ctypes, neurolens\n{LABELS}ctypes.CDLL({str(nvtx_tool / 'tool.so')!r}).fill()\n{LABELS}"
    result = plain(code, tmp_path, NVTX_INJECTION64_PATH=str(nvtx_tool / "tool.so"), TOOL_OUT=str(out), TOOL_LATE="1")
    assert result.returncode == 0, result.stderr[-400:]
    assert out.read_text() == "push a\nmark m\npop\npush LLM@prefill\npop\n", f"the tool heard {out.read_text()!r}"


def test_the_users_sitecustomize_still_runs(tmp_path):
    place = tmp_path / "site"
    place.mkdir()
    (place / "sitecustomize.py").write_text("import builtins; builtins.from_the_user = 42\n")
    code = "import sys, sitecustomize\nassert from_the_user == 42\nassert 'site' in sitecustomize.__file__\nimport neurolens\nassert neurolens.is_recording()"
    recorded(code, tmp_path, env={"PYTHONPATH": str(place)})


def test_decorating_a_coroutine_is_refused(tmp_path):
    code = "import neurolens\ntry:\n    @neurolens.scope('x')\n    async def f(): pass\nexcept TypeError as e:\n    assert 'plain functions' in str(e)\nelse:\n    raise SystemExit('taken')"
    assert plain(code, tmp_path).returncode == 0, "it was taken"


MODEL = """
import torch, torch.nn as nn, sys
class Block(nn.Module):
    def __init__(self):
        super().__init__(); self.mlp = nn.Linear(8, 8); self.norm = nn.LayerNorm(8)
    def forward(self, x):
        return self.norm(self.mlp(x))
class TinyForCausalLM(nn.Module):
    def __init__(self):
        super().__init__(); self.embed = nn.Embedding(32, 8); self.layers = nn.ModuleList([Block(), Block()]); self.lm_head = nn.Linear(8, 32)
        self.fail = False
    def forward(self, input_ids=None):
        x = self.embed(input_ids)
        if self.fail: raise ValueError
        for layer in self.layers: x = layer(x)
        return self.lm_head(x)
model = TinyForCausalLM()
"""


def torch_path():
    """Environment with PyTorch, or with as much of it as we look at."""
    real = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False, timeout=LIMIT_S).returncode == 0
    return {} if real else {"PYTHONPATH": str(TESTS / "fake_torch")}


FAKE = {"PYTHONPATH": str(TESTS / "fake_torch")}


def test_torch_modules_and_stages_are_labelled_without_a_change(tmp_path):
    code = MODEL + """
model(torch.zeros(2, 5, dtype=torch.long))
model(input_ids=torch.zeros(2, 1, dtype=torch.long))
model.fail = True
try: model(torch.zeros(2, 1, dtype=torch.long))
except ValueError: pass
model.fail = False
nn.Linear(8, 8)(torch.zeros(1, 8))
"""
    capture, _ = recorded(code, tmp_path, "--no-cpu", "--no-ops", env=torch_path())
    found = paths(capture)
    top = "nn.Module: TinyForCausalLM"
    assert f"LLM@prefill/{top}/nn.Module: layers.1/nn.Module: layers.1.mlp" in found, f"{found}"
    assert f"LLM@decode_step/{top}/nn.Module: lm_head" in found, f"{found}"
    assert found[-1] == "nn.Module: Linear", f"what a raised exception left open was not closed: {found[-1]}"


def test_torch_is_not_imported_for_the_program(tmp_path):
    _, result = recorded("import sys; print('torch' in sys.modules, any('neurolens' in type(f).__module__ for f in sys.meta_path if not isinstance(f, type)))", tmp_path)
    assert result.stdout.split() == ["False", "True"], result.stdout


def test_modules_can_be_left_out(tmp_path):
    capture, _ = recorded(MODEL + "model(torch.zeros(1, 3, dtype=torch.long))", tmp_path, "--no-cpu", "--no-modules", "--no-ops", env=torch_path())
    assert not any("nn.Module" in e["name"] for e in capture.ranges), f"{capture.ranges[:5]}"


def test_what_is_switched_off_is_gone_from_torch(tmp_path):
    code = MODEL + """
import time, neurolens
from torch.autograd import profiler
def mine(): return "neurolens" in nn.Module.__call__.__module__
assert mine() and profiler._active.state == "nvtx"
neurolens.stop()
time.sleep(0)
assert not mine() and profiler._active is None, (mine(), profiler._active)
neurolens.start()
time.sleep(0)
assert mine() and profiler._active.state == "nvtx"
model(torch.zeros(2, 1, dtype=torch.long))
"""
    capture, result = recorded(code, tmp_path, "--no-cpu", env=FAKE)
    assert "nn.Module: lm_head" in [e["name"] for e in capture.ranges], f"{capture.ranges[:5]}"
    assert "Leaked" not in result.stderr, result.stderr


def test_the_programs_own_profiler_comes_first(tmp_path):
    code = MODEL + """
from torch.autograd import profiler
for _ in range(2):
    with profiler.profile():
        assert profiler._active.state == "kineto"
        model(torch.zeros(2, 1, dtype=torch.long))
    assert profiler._active.state == "nvtx"
"""
    _, result = recorded(code, tmp_path, "--no-cpu", env=FAKE)
    assert "Leaked" not in result.stderr, f"an observer is left to torch: {result.stderr}"


TRAINING = """
import threading, torch, torch.nn as nn
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
x = torch.ones(4, 8)
with torch.profiler.record_function("my step"):
    loss = model(x).sum()
    loss.backward()
threading.Thread(target=lambda: torch.ones(5, 7).cumsum(0)).start()
"""


def real_torch():
    if torch_path():
        pytest.skip("no PyTorch here")


def ops_of(capture):
    """{name: [(sizes, sequence number, thread)]} of what the observer saw."""
    out = {}
    for event in capture.ranges:
        if event["what"] == PUSH and event["flags"] & 1:
            name, _, sizes = event["name"].partition(", sizes = ")
            out.setdefault(name, []).append((sizes, event["payload"] if event["payload_type"] else None, event["tid"]))
    return out


def test_operators_of_a_real_pytorch_have_names_shapes_and_their_backward(tmp_path):
    real_torch()
    capture, _ = recorded(TRAINING, tmp_path, "--no-cpu", "--no-modules", "--detail", "full")
    ops = ops_of(capture)
    assert [sizes for sizes, _, _ in ops["aten::addmm"]] == ["[[16], [4, 8], [8, 16], [], []]", "[[1], [4, 16], [16, 1], [], []]"], ops["aten::addmm"]
    forward, backward = ([sequence for _, sequence, _ in ops[name]] for name in ("aten::addmm", "AddmmBackward0"))
    assert sorted(forward) == sorted(backward) and len(set(forward)) == 2, f"forward {forward}, backward {backward}"
    assert ops["my step"] == [("", None, ops["aten::addmm"][0][2])], ops["my step"]
    assert ops["aten::cumsum"][0][0].startswith("[[5, 7]") and ops["aten::cumsum"][0][2] != ops["aten::addmm"][0][2], "another thread's"
    found = paths(capture)  # also: everything that began has ended
    assert "my step/aten::linear, sizes = [[4, 8], [16, 8], [16]]/aten::addmm, sizes = [[16], [4, 8], [8, 16], [], []]" in found, found


def test_functions_of_the_backward_pass_are_left_to_full_detail(tmp_path):
    """PyTorch makes a name for each of them anew: most of what recording a training step cost."""
    real_torch()
    capture, _ = recorded(TRAINING, tmp_path, "--no-cpu", "--no-modules")
    ops = ops_of(capture)
    assert "AddmmBackward0" not in ops and "autograd::engine::evaluate_function: AddmmBackward0" in ops, sorted(ops)


def test_operators_are_taken_beside_the_programs_own_profiler(tmp_path):
    real_torch()
    code = """
import torch
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
    torch.ones(3).cumsum(0)
assert any(e.key == "aten::cumsum" for e in theirs.key_averages())
"""
    capture, result = recorded(code, tmp_path, "--no-cpu")
    assert "aten::cumsum" in ops_of(capture), ops_of(capture)
    assert not result.stderr.count("Warning") and "Leaked" not in result.stderr, result.stderr


def test_operators_stop_and_go_on_inside_one(tmp_path):
    real_torch()
    code = """
import time, torch, neurolens
def scope(name): return torch.profiler.record_function(name)
with scope("outer"):
    torch.ones(2).cumsum(0)
    neurolens.stop(); time.sleep(0)
    torch.ones(2).cumprod(0)
    neurolens.start(); time.sleep(0)
    torch.ones(2).cummax(0)
torch.ones(2).cummin(0)
"""
    capture, _ = recorded(code, tmp_path, "--no-cpu")
    ops = ops_of(capture)
    assert {"outer", "aten::cumsum", "aten::cummax", "aten::cummin"} <= set(ops) and "aten::cumprod" not in ops, sorted(ops)
    least = {}
    for event in capture.ranges:
        name = event["name"].split(",")[0]
        least[name] = min(event["depth"], least.get(name, 99))
    assert least["aten::cumsum"] == 1 and least["aten::cummin"] == 0, least


def test_operators_of_a_long_loop_are_observed_in_turns(tmp_path):
    real_torch()
    code = """
import time, torch
from neurolens import _emit
observed, x, give_up = _emit.current._library.nl_torch_observed, torch.zeros(4), time.monotonic() + 60
rested_until = 0
def step():
    global rested_until
    assert time.monotonic() < give_up
    x.neg_()
    now_ns = time.monotonic_ns()
    if observed() == 0: rested_until = now_ns
while not rested_until: step()
while observed() == 0: step()
while observed() != 0: x.neg_()
print("rested until", rested_until)
"""
    capture, result = recorded(code, tmp_path, "--no-cpu")
    seen = ops_of(capture)["aten::neg_"]
    assert all(sizes for sizes, _, _ in seen), "an observed operator has its shapes"
    switches = [(r["time_ns"], r["operators"]) for r in capture.observed]
    assert [on for _, on in switches][:3] == [1, 0, 1] and all(a[1] != b[1] for a, b in zip(switches, switches[1:])), switches
    rests = [(a[0], b[0]) for a, b in zip(switches, switches[1:]) if a[1] == 0]
    turns = [(a[0], b[0]) for a, b in zip(switches, switches[1:]) if a[1] == 1]
    # A rest is eight times as long as the turn before it, or until the writer thread looks again.
    assert all(rest[1] - rest[0] >= 8 * (turn[1] - turn[0]) for turn, rest in zip(turns, rests)), switches
    # The record of a beginning follows it: an operator in between is recorded, one before it is not.
    rested_until = int(result.stdout.split("rested until ")[1].split()[0])
    since = next(rest[0] for rest in rests if rest[0] < rested_until < rest[1])
    pushed = [r["time_ns"] for r in capture.ranges if r["what"] == PUSH and r["flags"] & 1]
    assert not [t for t in pushed if since < t < rested_until], "an operator is recorded where none was observed"


FORWARDS = """
import torch, torch.nn as nn
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
x = torch.ones(2, 4)
for _ in range(120):
    with torch.profiler.record_function("my step"):
        model(x).sum().backward()
"""


def test_operators_are_observed_in_some_forwards_and_what_follows_them(tmp_path):
    real_torch()
    capture, _ = recorded(FORWARDS, tmp_path, "--no-cpu")
    from_first = [p for p in paths(capture) if p.startswith("my step")]
    assert from_first.count("my step") == 120, "labels of the program are in every step"
    assert from_first.count("my step/nn.Module: Sequential") == 120, "and the model that is called"
    observed = 12 + 4  # the first ones, then a block
    assert from_first.count("my step/nn.Module: Sequential/nn.Module: 0") == observed
    ops = ops_of(capture)
    assert len(ops["aten::addmm"]) == observed and all(sizes for sizes, _, _ in ops["aten::addmm"]), len(ops["aten::addmm"])
    assert len(ops["autograd::engine::evaluate_function: AddmmBackward0"]) == observed, "the backward pass belongs to the forward before it"
    starts = [r["time_ns"] for r in sorted(capture.ranges, key=lambda r: r["time_ns"]) if r["what"] == PUSH and r["name"] == "nn.Module: Sequential"]
    switches = [(r["time_ns"], r["operators"]) for r in capture.observed]
    shown = [[on for when, on in switches if when < start][-1] for start in starts]
    assert shown == [1] * 12 + [0] * 57 + [1] * 4 + [0] * 47, shown


def test_full_detail_observes_every_forward(tmp_path):
    real_torch()
    capture, _ = recorded(FORWARDS, tmp_path, "--no-cpu", "--detail", "full")
    assert len(ops_of(capture)["aten::addmm"]) == 120
    assert [r["operators"] for r in capture.observed][:-1] == [1], "never off before the end"


def test_without_forwards_for_long_operators_are_observed_in_turns(tmp_path):
    """A program that compiles its model is heard of no more: the observer goes back to turns at once."""
    code = """
from neurolens._torch import OpRanges, ForwardTurns, PAUSED, SHAPES, TURNS, OFF
asked = []
class Source:
    wanted = False
    def must_wait(self): return False
    def run(self, detail): asked.append(detail)
ops = OpRanges.__new__(OpRanges)
ops._source, ops._thrifty, ops._full, ops._forwards, ops.turns = Source(), False, False, 0, ForwardTurns()
ops.set(True)
for _ in range(14): ops.forward(ops.turns.choose("model"))
ops.rest()
assert asked == [TURNS] + [SHAPES] * 12 + [PAUSED] * 2 + [TURNS], asked
ops.set(False); ops.rest(); ops.forward(True)
assert asked[-1] == OFF, asked
"""
    result = plain(code, tmp_path)
    assert result.returncode == 0, result.stderr


def test_forwards_are_chosen_by_kind_and_in_blocks(tmp_path):
    code = """
from neurolens._torch import ForwardTurns as T
turns = T()
chosen = [turns.choose("decode") for _ in range(10_000)]
assert all(chosen[:T.FIRST]) and 0.9 * T.BLOCK / T.EVERY < sum(chosen) / len(chosen) < 1.2 * T.BLOCK / T.EVERY, sum(chosen)
blocks, length = [], 0
for one in chosen[T.FIRST:] + [False]:
    if one: length += 1
    elif length: blocks.append(length); length = 0
assert set(blocks) == {T.BLOCK}, blocks
# A rare kind is met at its first, and each step of micro-batches at every place in time.
assert turns.choose("prefill") and not turns.choose("decode")
turns, met = T(), set()
for i in range(4_000):
    if turns.choose("micro"): met.add(i % 8)
assert met == set(range(8)), met
# A model of layers that are called one by one is seen in whole steps.
turns, steps = T(), []
for step in range(200):
    steps.append([turns.choose(layer) for layer in range(30)])
whole = [s for s in steps if all(s)]
assert 12 < len(whole) < 0.2 * len(steps), len(whole)
# Programs that make models without end are of a bounded cost.
turns = T()
chosen = [turns.choose(i) for i in range(20_000)]
assert sum(chosen[5_000:]) < 0.2 * 15_000, sum(chosen)
# Recording that goes on begins with an observed forward.
turns = T()
[turns.choose("model") for _ in range(30)]
assert not turns.choose("model")
turns.begin()
assert turns.choose("model")
"""
    result = plain(code, tmp_path)
    assert result.returncode == 0, result.stderr


def test_operators_of_forked_children_are_theirs(tmp_path):
    real_torch()
    code = """
import os, torch
torch.ones(2).cumsum(0)
child = os.fork()
if child == 0:
    torch.ones(2).cumprod(0)
    raise SystemExit
assert os.waitpid(child, 0)[1] == 0
"""
    capture, _ = recorded(code, tmp_path, "--no-cpu")
    ops = ops_of(capture)
    assert ops["aten::cumsum"][0][2] != ops["aten::cumprod"][0][2], ops


def test_shapes_are_taken_of_some_forwards(tmp_path):
    code = MODEL + """
from torch.autograd import profiler
taken = []
for _ in range(40):
    model(torch.zeros(2, 1, dtype=torch.long))
    taken.append(profiler._active.shapes)
assert all(taken[:8]) and sum(taken[8:]) == 4, taken
"""
    recorded(code, tmp_path, "--no-cpu", env=FAKE)


def test_full_detail_takes_shapes_of_every_forward(tmp_path):
    code = MODEL + """
from torch.autograd import profiler
for _ in range(40):
    model(torch.zeros(2, 1, dtype=torch.long))
    assert profiler._active.shapes
"""
    recorded(code, tmp_path, "--no-cpu", "--detail", "full", env=FAKE)


def test_operators_do_not_stop_inside_a_range_of_torch(tmp_path):
    code = MODEL + """
import time
import neurolens
from neurolens import _emit
from torch.autograd import profiler
open_now = [2]
_emit.current.open_ranges = lambda: open_now[0]
neurolens.stop()
time.sleep(0.05)
assert profiler._active is not None, "stopped inside a range"
open_now[0] = 0
until = time.monotonic() + 60
while profiler._active is not None and time.monotonic() < until:
    time.sleep(0.01)
assert profiler._active is None, "not asked again"
"""
    recorded(code, tmp_path, "--no-cpu", env=FAKE)


def test_a_budget_thins_operators_by_what_they_cost(tmp_path):
    code = """
from neurolens._torch import Spender
def made(share, bare_ns, price_ns, forwards=2000):
    spent = []
    spender, detailed, total = Spender(share, spent.append), 0, 0
    for _ in range(forwards):
        looked_into = spender.choose("decode")
        spender.took("decode", looked_into, bare_ns + price_ns * looked_into)
        detailed += looked_into
        total += bare_ns
    return detailed, sum(spent) / total, detailed * price_ns / total
for share, price in ((0.01, 0.58), (0.05, 0.58), (0.01, 0.02)):
    detailed, told, spent = made(share, 1_000_000, int(1_000_000 * price))
    assert 0.5 * share < spent < 1.3 * share, (share, price, spent)
    assert abs(told - spent) < 0.1 * spent + 3 * price / 2000, (told, spent)
assert made(0.01, 1_000_000, 0)[0] > 1800  # what costs nothing is recorded, but for some that are measured
"""
    assert (result := plain(code, tmp_path)).returncode == 0, result.stderr[-500:]


def test_stages_stay_whole_within_a_budget(tmp_path):
    code = MODEL + """
from torch.autograd import profiler
for _ in range(300):
    model(torch.zeros(2, 1, dtype=torch.long))
    assert profiler._active is None
"""
    capture, _ = recorded(code, tmp_path, "--no-cpu", "--budget", "1%", env=FAKE)
    names = [e["name"] for e in capture.ranges if e["what"] == PUSH]
    assert names.count("LLM@decode_step") == 300, f"{names.count('LLM@decode_step')} stages"
    assert 3 <= names.count("nn.Module: lm_head") < 150, f"{names.count('nn.Module: lm_head')} forwards were looked into"


def test_compiled_models_are_torchs_own(tmp_path):
    code = MODEL + """
import torch._dynamo
compiled = torch.compile(model)
assert "neurolens" not in nn.Module.__call__.__module__
compiled(torch.zeros(2, 1, dtype=torch.long))
"""
    capture, _ = recorded(code, tmp_path, "--no-cpu", env=FAKE)
    assert not any("nn.Module" in e["name"] for e in capture.ranges), f"{capture.ranges[:5]}"


def test_windows_begin_with_a_label_or_a_call(tmp_path):
    code = """
import neurolens
assert not neurolens.is_recording()
with neurolens.scope("before"): pass
with neurolens.scope("wanted"):
    assert neurolens.is_recording()
    with neurolens.scope("inside"): pass
with neurolens.scope("after"): pass
neurolens.start()
with neurolens.scope("called"): pass
neurolens.stop()
"""
    capture, _ = recorded(code.replace("neurolens.start()", "pass"), tmp_path, "--capture-range", "nvtx:wanted")
    assert paths(capture) == ["wanted", "wanted/inside"], f"by label: {paths(capture)}"
    capture, _ = recorded(code.replace("    assert", "    assert not"), tmp_path, "--capture-range", "api", name="y")
    assert paths(capture) == ["called"], f"by call: {paths(capture)}"
