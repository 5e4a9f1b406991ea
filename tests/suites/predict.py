# SPDX-License-Identifier: Apache-2.0
"""predict and the models by configuration: sizes agree with torch's own count, times with recordings of an H200, the program and the
Python package read workload files alike, and labels and metadata of the runner reach the run."""
import json
import os
import subprocess

import pytest

from neurolens_cli import BIN, LIMIT_S, PYTHON, RECORD, ROOT, near

MEASURED = ROOT / "bench/models/h200"
COUNTS = json.loads((MEASURED / "counts.json").read_text())
# As bench/models/measure.py ran them.
FEWER = {"llama_8b": ["model.hf.num_hidden_layers=4", "workload.output_tokens=4"], "opt_6_7b": ["model.hf.num_hidden_layers=4", "workload.output_tokens=4"],
         "bert_base": [], "vit_base": []}


def predict(*arguments, status=0):
    result = subprocess.run([BIN, "predict", *arguments, "--json"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert result.returncode == status, f"status {result.returncode}: {result.stderr}"
    return json.loads(result.stdout) if status == 0 else result.stderr


def sets(values):
    return [word for value in values for word in ("--set", value)]


def models(*arguments, code=None, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NEUROLENS_", "NVTX_", "CUDA_INJECTION"))}
    env.update(PYTHONPATH=str(ROOT / "python"), **variables)
    command = [PYTHON, "-c", code] if code else [PYTHON, "-m", "neurolens.models", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_parameters_are_those_that_torch_counts(name):
    reply = predict("--config", name)
    assert reply["parameters"] == COUNTS[name]
    assert sum(part["parameters"] for part in reply["parts"]) == COUNTS[name]
    assert reply["weight_bytes"] == 2 * COUNTS[name]


@pytest.mark.parametrize("name", sorted(FEWER))
def test_prediction_is_near_what_an_h200_measured(name, imported):
    """Steady prefill (or the forward): half of the modules within 20 %, the sum of the stage within 20 %."""
    run = imported(MEASURED / f"{name}.json.gz")
    reply = run.store.json("predict", "--config", name, "--run", run.id, *sets(FEWER[name]))
    stage = next(s for s in reply["stages"] if s["name"] in ("prefill", "forward"))
    agreement = next(a for a in reply["agreement"] if a["stage"] == stage["name"])
    assert reply["device"] == "H200 SXM" and agreement["modules"] >= 5
    assert agreement["median_error"] <= 0.2, agreement
    assert 0.8 <= stage["ratio"] <= 1.25, stage["ratio"]
    matched = sum(m["measured_ms"] or 0 for m in stage["modules"])
    near("measured sums to the stage", matched + stage["unmatched_ms"], stage["measured_ms"], 0.02 * stage["measured_ms"])
    near("predicted sums to the stage", sum(m["device_ms"] for m in stage["modules"]), stage["device_ms"], 1e-9)
    assert stage["unmatched_ms"] <= 0.02 * stage["measured_ms"], "modules of the recording are missing from the plan"


def test_devices_by_short_names_and_peaks_by_hand():
    h200, h100, other = (predict("--config", "llama_8b", "--device", d) for d in ("h200", "h100", "mi300x"))
    assert (h200["device"], h100["device"], other["device"]) == ("H200 SXM", "H100 SXM", "MI300X")
    heads = [m["memory_ms"] for r in (h200, h100) for s in r["stages"] if s["name"] == "decode_step" for m in s["modules"] if m["name"] == "lm_head"]
    near("1.05 GB of weights at 4.8 and 3.35 TB/s", heads[1] / heads[0], 4800 / 3350, 0.02)
    assert all("assumed" not in a["source"] for a in h200["assumptions"] if a["name"] != "launch_us")
    assert all("assumed" in a["source"] for a in h100["assumptions"]), "the shares were not measured on an H100"
    assert {a["name"] for a in h200["assumptions"] if "measured" not in a["source"]} == {"convolution_share", "cached_share", "cache_bytes"}, "what was not measured says so"
    assert "known are" in predict("--config", "llama_8b", "--device", "abacus", status=2)
    text = subprocess.run([BIN, "predict", "--config", "gpt2"], capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
    assert "124,439,808 parameters" in text and "lm_head" in text


@pytest.mark.parametrize("arguments", [("--config", "lama_8b"), ("--config", "llama_8b", "--set", "workload.batsh=1"),
                                       ("--config", "llama_8b", "--set", "workload.batch=0"), ("--config", "llama_8b", "--set", "variant=huge"),
                                       ("--config", "llama_8b", "--set", "dtype=int3")])
def test_the_program_and_the_package_refuse_the_same(arguments):
    told = subprocess.run([BIN, "predict", *arguments], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    package = models("show", *arguments, "--resolved")
    assert told.returncode == 2 and package.returncode == 2, (told.stderr, package.stderr)
    word = arguments[-1].split("=")[0]
    assert word in told.stderr and word in package.stderr
    assert "Traceback" not in package.stderr


def test_the_program_and_the_package_resolve_alike(tmp_path):
    """What the package resolves is read by the program as a file of its own, and predicts the same."""
    for name in COUNTS:
        changed = ["variant=tiny", "workload.batch=3"]
        shown = models("show", "--config", name, "--resolved", *sets(changed))
        assert shown.returncode == 0, shown.stderr
        file = tmp_path / f"{name}.yaml"
        # The variant is applied already, and its definition is gone.
        file.write_text("".join(line for line in shown.stdout.splitlines(True) if not line.startswith("variant:")))
        theirs, ours = predict("--config", str(file)), predict("--config", name, *sets(changed))
        assert theirs["stages"] == ours["stages"] and theirs["parameters"] == ours["parameters"], name


def test_package_lists_shows_and_fails_clearly_without_torch():
    listed = json.loads(models("list", "--json").stdout)
    assert {m["name"] for m in listed} >= set(COUNTS) | {"vllm_llama_8b", "sglang_llama_8b"}
    # A torch that cannot be imported, also where one is installed.
    missing = models(code="import sys; sys.modules['torch'] = None\nfrom neurolens.models.__main__ import main\nsys.exit(main(['run', '--config', 'gpt2']))")
    assert missing.returncode == 2 and "needs torch" in missing.stderr and "Traceback" not in missing.stderr
    for engine in ("vllm", "sglang"):
        missing = models(code=f"import sys; sys.modules['{engine}'] = None\nfrom neurolens.models.__main__ import main\n"
                              f"sys.exit(main(['run', '--config', '{engine}_llama_8b']))")
        assert missing.returncode == 2 and f"{engine} is not installed" in missing.stderr, missing.stderr
    lazy = models(code="import sys, neurolens.models; assert not {'torch', 'transformers', 'yaml'} & set(sys.modules)")
    assert lazy.returncode == 0, lazy.stderr


FAKE_VLLM = """
class SamplingParams:
    def __init__(self, max_tokens, **_): self.max_tokens = max_tokens
class _Text:
    def __init__(self): self.token_ids = []
class _Output:
    def __init__(self, name): self.request_id, self.outputs, self.finished = name, [_Text()], False
class _Engine:
    def __init__(self): self.open, self.most = {}, 0
    def add_request(self, name, prompt, sampling): self.open[name], self.most = _Output(name), sampling.max_tokens
    def has_unfinished_requests(self): return bool(self.open)
    def step(self):
        for output in self.open.values():
            output.outputs[0].token_ids.append(1)
            output.finished = len(output.outputs[0].token_ids) == self.most
        made = list(self.open.values())
        self.open = {n: o for n, o in self.open.items() if not o.finished}
        return made
class LLM:
    def __init__(self, model, **_):
        import json, os
        assert json.load(open(os.path.join(model, "config.json")))["model_type"] == "llama"
        self.llm_engine = _Engine()
"""


def test_engine_steps_and_the_model_reach_the_run(store, tmp_path):
    (tmp_path / "vllm.py").write_text(FAKE_VLLM)
    out = tmp_path / "x.nlcap"
    result = subprocess.run([*RECORD, "--out", str(out), "--", PYTHON, "-m", "neurolens.models", "run", "--config", "vllm_llama_8b", "--json",
                             *sets(["variant=tiny", "workload.output_tokens=5", "repeats=2"])], cwd=tmp_path, capture_output=True, text=True,
                            timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'python'}"})
    assert result.returncode == 0, result.stderr
    stages = json.loads(result.stdout.splitlines()[-1])["stages"]
    # Two repeats: one step makes the first tokens, four more the others.
    assert {label: s["count"] for label, s in stages.items()} == {"LLM@prefill": 2, "LLM@decode_step": 8}
    (run,) = store.json("import", str(out))["runs"]
    document = store.json("show", run["run_id"])["document"]
    assert document["model"]["name"] == "vllm_llama_8b" and document["model"]["batch_size"] == 2
    assert document["model"]["dims"]["layers"] == 2 and document["model"]["dims"]["kv_heads"] == 2
    assert document["config"]["workload.output_tokens"] == 5 and document["config"]["engine.name"] == "vllm"


# The scheduler of SGLang is a process of its own, which labels its steps.
FAKE_SGLANG = r"""
import json, os, subprocess, sys
SCHEDULER = '''
import json, sys, neurolens
for line in sys.stdin:
    work = json.loads(line)
    with neurolens.scope(f"step[EXTEND bs={work['batch']} toks={work['tokens']}]"):
        pass
    for _ in range(work["steps"] - 1):
        with neurolens.scope(f"step[DECODE bs={work['batch']}]"):
            pass
    print("done", flush=True)
'''
class Engine:
    def __init__(self, model_path, load_format, skip_tokenizer_init, dtype, random_seed, **_):
        assert load_format == "dummy" and skip_tokenizer_init and dtype == "bfloat16" and random_seed == 0
        assert json.load(open(os.path.join(model_path, "config.json")))["model_type"] == "llama"
        self.scheduler = subprocess.Popen([sys.executable, "-c", SCHEDULER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    def generate(self, input_ids, sampling_params):
        assert sampling_params["ignore_eos"] and sampling_params["temperature"] == 0
        work = {"batch": len(input_ids), "tokens": sum(map(len, input_ids)), "steps": sampling_params["max_new_tokens"]}
        self.scheduler.stdin.write(json.dumps(work) + "\n")
        self.scheduler.stdin.flush()
        assert self.scheduler.stdout.readline() == "done\n"
    def shutdown(self):
        self.scheduler.stdin.close()
        assert self.scheduler.wait(60) == 0
"""


def test_steps_of_an_engine_in_its_own_process_reach_the_run(store, tmp_path):
    (tmp_path / "sglang.py").write_text(FAKE_SGLANG)
    out = tmp_path / "x.nlcap"
    result = subprocess.run([*RECORD, "--out", str(out), "--", PYTHON, "-m", "neurolens.models", "run", "--config", "sglang_llama_8b", "--json",
                             *sets(["variant=tiny", "workload.output_tokens=3", "warmup=1", "repeats=2"])], cwd=tmp_path, capture_output=True, text=True,
                            timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'python'}"})
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1])["stages"]["LLM@request"]["count"] == 2
    (run,) = store.json("import", str(out))["runs"]
    labels = dict(store.json("query", run["run_id"], "SELECT name, count(*) FROM range GROUP BY name")["rows"])
    assert labels["step[EXTEND bs=2 toks=32]"] == 3 and labels["step[DECODE bs=2]"] == 6, labels
    assert labels["LLM@request"] == 2 and labels["warmup:request"] == 1
    ((processes,),) = store.json("query", run["run_id"], "SELECT count(DISTINCT thread.process_id) FROM range JOIN thread ON range.thread_id = thread.id")["rows"]
    assert processes == 2
