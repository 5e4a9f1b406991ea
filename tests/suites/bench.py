# SPDX-License-Identifier: Apache-2.0
"""bench through the program: suites found and checked, pairs measured, and benchmarks that cheat rejected by name."""
import json
import subprocess
import sys

import pytest

from neurolens_cli import PYTHON, ROOT, Store

EXAMPLES = ROOT / "examples/bench"
# Sums of windows of the values; every hook can be replaced by a test.
HONEST = """
import random
import sys


class Benchmark:
    def setup(self):
        self.values = [random.randrange(1000) / 7 for _ in range(300)]
        self.result = None
        self.calls = 0
        {setup}

    def compute(self):
        return [self.values[i] + self.values[i + 1] for i in range(len(self.values) - 1)]

    def benchmark_fn(self):
        self.calls += 1
        {work}

    def get_verify_output(self):
        return {output}

    {inputs}

    def get_input_signature(self):
        return {signature}

    def get_workload_metadata(self):
        return {workload}
    {more}


{top}


def get_benchmark():
    return Benchmark()
"""
PLAIN = {"setup": "pass", "work": "self.result = self.compute()", "output": "self.result", "signature": "{'n': len(self.values)}", "workload": "{'n': 300}",
         "inputs": "def get_inputs(self):\n        return {'values': self.values}", "more": "", "top": "CACHE = {}"}
CHEATS = {
    "constant_output": {"work": "self.result = [1.0] * 299"},
    "aliasing": {"work": "self.result = self.compute(); self.values[:299] = self.result; self.result = self.values"},
    "cached_result": {"work": "self.result = self.result or self.compute()"},
    "precomputed": {"setup": "self.ready = self.compute()", "work": "self.result = self.ready"},
    "seed_unchanged": {"work": "random.seed(1); self.result = self.compute()"},
    "flags_unchanged": {"work": "sys.setswitchinterval(sys.getswitchinterval() * 2); self.result = self.compute()"},
    "input_signature": {"signature": "{'n': 1}"},
    "workload": {"workload": "{'n': 150}"},
    "work_in_timed_region": {"work": "self.result = self.compute() if self.calls < 4 else self.result"},
    "fresh_seed": {"setup": "random.seed(5); self.values = [random.randrange(1000) / 7 for _ in range(300)]"},
    # Lower precision: float32 has about seven digits.
    "outputs": {"work": "import struct; self.result = [struct.unpack('f', struct.pack('f', v))[0] for v in self.compute()]"},
}


def write(folder, name, **changes):
    (folder / f"{name}.py").write_text(HONEST.format(**{**PLAIN, **changes}))


@pytest.fixture
def suite(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    write(folder, "baseline_x")
    return Store(tmp_path / "store", cwd=tmp_path), folder


def run(suite, *words, status=(0, 1)):
    store, folder = suite
    return store.json("bench", "run", *words, "--suite", folder, "--python", PYTHON, "--iterations", 20, status=status)


def failed(target):
    return [check["name"] for check in target["checks"] if check["result"] == "failed" and check["text"] != "did not run"]


def test_an_honest_pair_is_measured(suite):
    write(suite[1], "optimized_x", work="v = self.values; self.result = [a + b for a, b in zip(v, v[1:])]")
    (target,) = run(suite)["targets"]
    assert target["outcome"] == "measured", target["reason"]
    assert target["iterations"] == 20 == target["baseline_time"]["runs"]
    assert failed(target) == [] and len(target["checks"]) == 12, target["checks"]


@pytest.mark.parametrize("check", CHEATS)
def test_cheating_is_rejected_by_name(suite, check):
    write(suite[1], "optimized_x", **CHEATS[check])
    (target,) = run(suite, status=1)["targets"]
    assert target["outcome"] == "rejected", target
    assert check in failed(target), target["checks"]
    assert target["speedup"] is None and target["optimized_time"] is None, "a time that cannot be trusted is reported"


@pytest.mark.parametrize("changes", [{"inputs": ""}, {"work": "raise ValueError('broken')"}, {"output": "object()"}, {"top": "raise ImportError('broken')"}])
def test_a_check_that_cannot_run_is_a_failure(suite, changes):
    write(suite[1], "optimized_x", **changes)
    (target,) = run(suite, status=1)["targets"]
    assert target["outcome"] == "rejected" and "cannot run" in target["reason"], target


def test_a_looser_tolerance_needs_a_reason(suite):
    lower = CHEATS["outputs"]
    more = "\n    def get_output_tolerance(self):\n        return {}\n"
    write(suite[1], "optimized_x", **lower, more=more.format("{'rtol': 1e-6, 'atol': 0}"))
    (target,) = run(suite, status=1)["targets"]
    assert "needs a reason" in target["reason"], target
    write(suite[1], "optimized_x", **lower, more=more.format("{'rtol': 1e-6, 'atol': 0, 'reason': 'single precision is enough'}"))
    (target,) = run(suite)["targets"]
    assert target["outcome"] == "measured", target["reason"]


def test_a_worker_that_dies_is_explained(suite):
    write(suite[1], "optimized_x", work="import os; os._exit(3)")
    (target,) = run(suite, status=1)["targets"]
    assert "ended" in target["reason"], target


def test_suites_are_checked(suite):
    store, folder = suite
    assert [p["kind"] for p in store.json("bench", "check", "--suite", folder, status=1)["problems"]] == ["orphan"]
    write(folder, "optimized_x")
    write(folder, "optimized_x_fast")
    write(folder, "optimized_y")
    (folder / "baseline_z.py").write_text("print(1)\n")
    for ignored in ("build", ".git", "llm_patches"):
        (folder / ignored).mkdir()
        write(folder / ignored, "baseline_q")
    reply = store.json("bench", "check", "--suite", folder, status=1)
    assert sorted((p["kind"], p["file"].rsplit("/", 1)[1]) for p in reply["problems"]) == [("no_benchmark", "baseline_z.py"), ("orphan", "optimized_y.py")]
    assert [t["target"] for t in reply["targets"]] == [".:x", ".:x_fast"]
    assert [t["target"] for t in store.json("bench", "ls", ".:x_f*", "--suite", folder)["targets"]] == [".:x_fast"]
    missing = store.run("bench", "ls", "nothing:here", "--suite", folder)
    assert missing.returncode == 3 and "no target matches" in missing.stderr, missing.stderr
    assert store.run("bench", "ls", "--suite", folder / "none").returncode == 3


def test_commands_of_a_yaml_file(suite):
    store, folder = suite
    (folder / "sub").mkdir()
    (folder / "baseline_x.py").unlink()
    (folder / "sub/bench.yaml").write_text("pairs:\n- name: echo\n  baseline: sleep 0.02\n  optimized: {quick: 'true', wrong: echo 1}\n- name: broken\n")
    reply = store.json("bench", "ls", "--suite", folder)
    assert [t["target"] for t in reply["targets"]] == ["sub:echo_quick", "sub:echo_wrong"]
    assert [p["kind"] for p in reply["problems"]] == ["bad_file"], reply["problems"]
    quick, wrong = run(suite, status=1)["targets"]
    assert quick["verdict"] == "faster" and quick["meets_goal"] is True, quick
    assert wrong["outcome"] == "rejected" and failed(wrong) == ["outputs"], wrong


def test_every_example_is_honest(tmp_path):
    store = Store(tmp_path / "store", cwd=tmp_path)
    assert store.json("bench", "check", "--suite", EXAMPLES)["problems"] == []
    reply = store.json("bench", "run", "--suite", EXAMPLES, "--python", PYTHON, "--iterations", 12, status=(0, 1))
    assert len(reply["targets"]) == 8
    assert [(t["target"], t["reason"]) for t in reply["targets"] if t["outcome"] != "measured"] == []


def test_a_cpp_benchmark_that_aliases_is_rejected(suite):
    store, folder = suite
    (folder / "baseline_x.py").unlink()
    source = (EXAMPLES / "cpp/baseline_columns.cc").read_text()
    (folder / "baseline_c.cc").write_text(source)
    (folder / "optimized_c.cc").write_text(source.replace("{sums_.data(), sums_.size() * sizeof(double)}", "{matrix_.data(), 8}"))
    (folder / "optimized_c_broken.cc").write_text(source.replace("sums_.assign", "sums_.no_such"))
    alias, broken = run(suite, status=1)["targets"]
    assert alias["outcome"] == "rejected" and failed(alias) == ["aliasing"], alias
    assert broken["outcome"] == "failed" and "does not compile" in broken["reason"], broken
    assert store.run("bench", "run", ".:c", "--suite", folder, env={"CXX": "no-such-compiler"}).returncode == 1


def test_the_python_helper_keeps_what_a_benchmark_prints_out_of_the_protocol(suite):
    write(suite[1], "optimized_x", work="print('noise'); self.result = self.compute()")
    requests = [{"do": "setup", "seed": 1}, {"do": "run", "n": 2}, {"do": "verify"}, {"do": "none"}]
    done = subprocess.run([sys.executable, "-m", "neurolens.bench", suite[1] / "optimized_x.py"], input="".join(json.dumps(r) + "\n" for r in requests), text=True,
                          capture_output=True, check=True, env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"})
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["ok"] for r in replies] == [True, True, True, False], done.stdout
    assert len(replies[1]["ns"]) == 2 and done.stderr.count("noise") == 2
