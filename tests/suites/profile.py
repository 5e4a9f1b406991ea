# SPDX-License-Identifier: Apache-2.0
"""`neurolens profile` with the frameworks that can be had here: onnxruntime-node from npm, Debian's python3-torch, a stand-in for
trtexec. Models are written on the fly by tests/make_models.py; every iteration is one run of the model."""
import json
import os
import shutil
import signal
import stat
import subprocess
import sys

import pytest

from neurolens_cli import LIMIT_S, TESTS, Store, default_signals, equal, error_of, python_with, wait_until

MODELS = TESTS / "make_models.py"


class Place(Store):
    """A folder with a store, a scratch folder of its own, and a PATH that begins there."""

    def __init__(self, folder):
        (folder / "bin").mkdir()
        (folder / "tmp").mkdir()
        super().__init__(folder / "store", cwd=folder, TMPDIR=str(folder / "tmp"), PATH=f"{folder / 'bin'}:{os.environ['PATH']}")

    def program(self, name, text):
        path = self.cwd / "bin" / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def profile(self, backend, model, *words, **options):
        """The reply of a profile that works."""
        return self.json("profile", "--backend", backend, "--model", model, *words, **options)

    def refuses(self, backend, model, *words):
        """The error of a profile that does not."""
        error = error_of(self.run("profile", "--backend", backend, "--model", model, *words, "--json"))
        self.is_clean()
        return error

    def is_clean(self):
        equal("files left behind", [], [p.name for p in (self.cwd / "tmp").iterdir() if p.name.startswith("neurolens-profile-")])
        if self.folder.exists():
            equal("runs", [], self.json("ls")["runs"])

    def rows(self, run, sql):
        return [tuple(row) for row in self.json("query", run, sql)["rows"]]


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def torch():
    """A Python that has PyTorch."""
    return python_with("torch")


@pytest.fixture
def adapter(place):
    """adapter(name): skips where this build cannot read what the framework writes."""
    names = {f["name"] for f in place.json("formats")["formats"]}

    def need(name):
        if name not in names:
            pytest.skip(f"this build has no adapter {name}")
    return need


def bare_python(place):
    """A Python that finds no installed packages."""
    return place.program("bare-python", f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')


def make(kind, path, python=sys.executable):
    done = subprocess.run([python, str(MODELS), kind, str(path)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert not done.returncode, f"make_models.py {kind}: {done.stderr[-300:]}"
    return path


def test_an_onnx_model_is_profiled_without_its_warm_up(place, adapter, onnxruntime_node):
    adapter("onnxrt")
    model = make("onnx-mlp", place.cwd / "mlp.onnx")
    reply = place.profile("onnxrt", model, "--bs", 4, "--iters", 7, "--warmup", 3, "--tag", "who=test", cwd=onnxruntime_node)
    check_reply(place, reply)
    equal("inputs", [{"name": "x", "shape": [4, 64], "type": "float32"}], reply["inputs"])
    equal("dimensions", [{"name": "batch", "size": 4, "why": "batch size"}], reply["dims"])
    equal("warm-up left out", 3, reply["warmup_excluded"])
    run = reply["run_id"]
    # ONNX Runtime fuses the first three nodes; the last MatMul stays one call an iteration.
    equal("calls of MatMul", [(7,)], place.rows(run, "SELECT count(*) FROM op WHERE name LIKE '%MatMul_y%'"))
    equal("steps", [(7,)], place.rows(run, "SELECT count(*) FROM step"))
    shown = place.json("show", run)
    equal("model", "mlp", shown["document"]["model"]["name"])
    tags = place.json("ls")["runs"][0]["tags"]
    for key, value in {"profiled_with": "onnxrt", "batch_size": "4", "iterations": "7", "warmup": "3", "who": "test"}.items():
        equal(f"tag {key}", value, tags.get(key))


def test_inputs_of_an_onnx_model_get_shapes_from_its_signature(place, adapter, onnxruntime_node):
    adapter("onnxrt")
    model = make("onnx-tokens", place.cwd / "tokens.onnx")
    reply = place.profile("onnxrt", model, "--bs", 2, "--seq", 16, "--iters", 3, "--warmup", 0, cwd=onnxruntime_node)
    equal("inputs", [{"name": n, "shape": [2, 16], "type": "int64"} for n in ("input_ids", "attention_mask")], reply["inputs"])
    equal("dimensions", {"batch_size": 2, "sequence_length": 16}, {d["name"]: d["size"] for d in reply["dims"]})
    equal("warm-up left out", 0, reply["warmup_excluded"])
    equal("steps", [(3,)], place.rows(reply["run_id"], "SELECT count(*) FROM step"))
    # By name, against what the rest of the request says.
    again = place.profile("onnxrt", model, "--iters", 1, "--dim", "sequence_length=5", cwd=onnxruntime_node)
    equal("shape by --dim", [1, 5], again["inputs"][0]["shape"])
    # Token ids beyond the table: the framework's own words.
    problem = place.run("--json", "profile", "--backend", "onnxrt", "--model", model, "--max-int", 100000, "--seq", 64, cwd=onnxruntime_node)
    equal("exit status", 2, problem.returncode)
    assert "Gather" in problem.stdout + problem.stderr, f"the framework's words are missing: {problem.stdout + problem.stderr}"


def check_reply(place, reply):
    """Everything the reply schema promises, with the types it promises."""
    schema = next(op for op in place.json("docs", "ops")["ops"] if op["name"] == "profile")["reply"]
    types = {"string": str, "integer": int, "array": list, "object": dict, "null": type(None)}
    for key in schema["required"]:
        wanted = schema["properties"][key].get("type", "object")  # a record of its own is a reference
        allowed = tuple(types[w] for w in ([wanted] if isinstance(wanted, str) else wanted))
        assert isinstance(reply.get(key, ...), allowed), f"{key} is {reply.get(key, 'missing')!r}, not {wanted}"


def test_a_torchscript_file_is_profiled(place, torch):
    model = make("torchscript", place.cwd / "net.pt", torch)
    reply = place.profile("torch", model, "--python", torch, "--bs", 4, "--iters", 6, "--warmup", 2, "--device", "cpu")
    equal("inputs", [("float32", [4, 32])], [(i["type"], i["shape"]) for i in reply["inputs"]])
    assert "first layer with weights" in reply["dims"][0]["why"], f"it does not say where the shape is from: {reply['dims']}"
    check_reply(place, reply)
    run = reply["run_id"]
    equal("calls of aten::linear", [(12,)], place.rows(run, "SELECT count(*) FROM op WHERE name = 'aten::linear'"))
    equal("steps", [(6,)], place.rows(run, "SELECT count(*) FROM step"))
    equal("backend", "torch", place.json("show", run)["document"]["software"]["backend"])
    given = place.profile("torch", model, "--python", torch, "--input", "bs,32:float32", "--bs", 3, "--iters", 1)
    equal("shape by --input", [3, 32], given["inputs"][0]["shape"])


MODULE = """
import os
import time
import torch

def build():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), (torch.randn(5, 8),)

def broken():
    raise RuntimeError("no such checkpoint")

class Sleeper(torch.nn.Module):
    def forward(self):
        open(os.environ["TMPDIR"] + "/pid", "w").write(str(os.getpid()) + "\\n")
        time.sleep(600)

def sleepy():
    return Sleeper(), ()
"""


def test_a_callable_of_a_module_is_profiled(place, torch):
    (place.cwd / "mynet.py").write_text(MODULE)
    reply = place.profile("torch", "mynet:build", "--python", torch, "--iters", 4)
    equal("inputs", [5, 8], reply["inputs"][0]["shape"])
    equal("calls of aten::relu", [(4,)], place.rows(reply["run_id"], "SELECT count(*) FROM op WHERE name = 'aten::relu'"))


def test_a_framework_that_fails_is_quoted_and_leaves_nothing(place, torch):
    (place.cwd / "mynet.py").write_text(MODULE)
    error = place.refuses("torch", "mynet:broken", "--python", torch)
    assert "no such checkpoint" in error["message"] and "status 1" in error["message"], f"the last words are missing: {error['message']}"
    error = place.refuses("torch", "nothere.pt", "--python", torch)
    assert "the model does not exist" in error["message"], error["message"]


def test_ctrl_c_ends_the_framework_and_leaves_nothing(place, torch):
    (place.cwd / "mynet.py").write_text(MODULE)
    command = place.command("profile", "--backend", "torch", "--model", "mynet:sleepy", "--python", torch, "--device", "cpu")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **place.environment}, cwd=place.cwd,
                          preexec_fn=default_signals) as child:
        said = place.cwd / "tmp/pid"
        wait_until(lambda: said.exists() and said.read_text().endswith("\n"), "the model to run", child)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=LIMIT_S)
    equal("exit status", 130, child.returncode)
    with pytest.raises(ProcessLookupError):
        os.kill(int(said.read_text()), 0)
    place.is_clean()


def test_missing_pytorch_is_named_with_the_install_line(place):
    (place.cwd / "net.pt").write_bytes(b"x")
    error = place.refuses("torch", place.cwd / "net.pt", "--python", bare_python(place))
    assert "torch is not installed" in error["message"] and "pip install torch" in error.get("hint", ""), f"{error}"


def test_missing_onnx_runtime_is_named_with_the_install_line(place, adapter):
    adapter("onnxrt")
    model = make("onnx-mlp", place.cwd / "mlp.onnx")
    error = place.refuses("onnxrt", model, "--python", bare_python(place))
    assert "ONNX Runtime is not installed" in error["message"] and "pip install onnxruntime" in error.get("hint", ""), f"{error}"
    (place.cwd / "text.onnx").write_text("no model at all")
    error = place.refuses("onnxrt", place.cwd / "text.onnx")
    assert "not an ONNX model" in error["message"], f"{error}"


def test_missing_trtexec_is_named(place, adapter):
    adapter("tensorrt")
    if shutil.which("trtexec"):
        pytest.skip("trtexec is installed here")
    model = make("onnx-mlp", place.cwd / "mlp.onnx")
    error = place.refuses("tensorrt", model)
    assert "trtexec is not on PATH" in error["message"] and "install" in error.get("hint", ""), f"{error}"


# A stand-in, not TensorRT: takes the flags of trtexec and writes files in its layout.
TRTEXEC = f"""#!{sys.executable}
import json, os, sys
flags = dict(word[2:].partition("=")[::2] for word in sys.argv[1:])
json.dump(sys.argv[1:], open(os.environ["TMPDIR"] + "/flags", "w"))
if "fail" in flags.get("onnx", ""):
    print("[E] Error[4]: input: kMIN dimensions in profile 0 are 1 but input has static dimensions 2")
    sys.exit(7)
print("&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec")
n = int(flags["iterations"])
layers = [("MatMul_a + Relu_c", 0.021), ("MatMul_y", 0.012)]
total = sum(ms for _, ms in layers)
json.dump([{{"count": n}}] + [{{"name": name, "timeMs": ms * n, "averageMs": ms, "medianMs": ms, "percentage": 100 * ms / total}} for name, ms in layers],
          open(flags["exportProfile"], "w"))
json.dump({{"Layers": [{{"Name": name, "LayerType": "gemm", "Inputs": [], "Outputs": [], "TacticName": "standin"}} for name, _ in layers], "Bindings": ["x", "y"]}},
          open(flags["exportLayerInfo"], "w"))
json.dump([{{"startH2dMs": i, "endH2dMs": i + 0.01, "startComputeMs": i + 0.01, "endComputeMs": i + 0.05, "startD2hMs": i + 0.05, "endD2hMs": i + 0.06,
            "startEnqMs": i, "endEnqMs": i + 0.02, "h2dMs": 0.01, "computeMs": 0.04, "d2hMs": 0.01, "latencyMs": 0.06, "inEnqMs": 0.02, "enqMs": 0.02}}
           for i in range(n)], open(flags["exportTimes"], "w"))
"""


def test_trtexec_gets_its_flags_and_its_files_become_a_run(place, adapter):
    adapter("tensorrt")
    place.program("trtexec", TRTEXEC)
    model = make("onnx-mlp", place.cwd / "mlp.onnx")
    reply = place.profile("tensorrt", model, "--bs", 16, "--precision", "fp16", "--iters", 9)
    flags = json.loads((place.cwd / "tmp/flags").read_text())
    for flag in (f"--onnx={model}", "--shapes=x:16x64", "--fp16", "--iterations=9", "--separateProfileRun"):
        assert flag in flags, f"{flag} is missing in {flags}"
    equal("version", "8.6.1", reply["version"])
    names = {row[0] for row in place.rows(reply["run_id"], "SELECT DISTINCT name FROM op UNION SELECT DISTINCT name FROM kernel")}
    assert "MatMul_y" in names, f"the layers are missing: {names}"
    failing = make("onnx-mlp", place.cwd / "fail.onnx")
    done = place.run("--json", "profile", "--backend", "tensorrt", "--model", failing)
    equal("exit status", 2, done.returncode)
    assert "status 7" in done.stdout + done.stderr and "static dimensions" in done.stdout + done.stderr, (
        f"the last words are missing: {done.stdout}{done.stderr}")
