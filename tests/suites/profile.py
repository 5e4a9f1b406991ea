#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`neurolens profile` with the frameworks that can be had here: onnxruntime-node from npm, Debian's python3-torch, a stand-in for trtexec.

onnxrt.*    ONNX models written on the fly (tests/make_models.py): shapes from their signatures, warm-up left out, every iteration a run of the model
torch.*     a TorchScript file and MODULE:CALLABLE; calls of operators against iterations
tensorrt.*  the command line a stand-in for trtexec gets, and its files as a run
missing.*   no framework: exit status 2, the install line, no run
fails.*     a framework that fails, and Ctrl-C: the last words, no run, nothing left behind
"""
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
NODE_FOLDER = ROOT / "tests/onnxrt_node"
MODELS = ROOT / "tests/make_models.py"


class Wrong(Exception):
    pass


class Skip(Exception):
    pass


def equal(what, got, wanted):
    if got != wanted:
        raise Wrong(f"{what}: {got!r} instead of {wanted!r}")


class Place:
    """A folder with a store, a scratch folder of its own, and a PATH that can be put in front."""

    def __init__(self, work, name):
        self.folder = work / name
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "tmp").mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.folder / "tmp"), "NEUROLENS_STORE": str(self.folder / "store"),
                            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def program(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def call(self, *words, cwd=None):
        return subprocess.run([BIN, "--json", *map(str, words)], capture_output=True, text=True, check=False, timeout=600, env=self.environment,
                              cwd=cwd or self.folder)

    def reply(self, *words, cwd=None):
        done = self.call(*words, cwd=cwd)
        if done.returncode != 0:
            raise Wrong(f"{words[0]} ends with {done.returncode}: {(done.stdout + done.stderr).strip()[-600:]}")
        return json.loads(done.stdout)

    def error(self, *words, cwd=None, status=2):
        done = self.call(*words, cwd=cwd)
        equal("exit status", done.returncode, status)
        self.is_clean()
        return json.loads(done.stdout or done.stderr)["error"]

    def is_clean(self):
        equal("files left behind", [p.name for p in (self.folder / "tmp").iterdir() if p.name.startswith("neurolens-profile-")], [])
        if (self.folder / "store").exists():
            equal("runs", self.reply("ls")["runs"], [])

    def rows(self, run, sql):
        return [tuple(row) for row in self.reply("query", run, sql)["rows"]]


def adapters(place):
    return {f["name"] for f in place.reply("formats")["formats"]}


def onnxruntime_node():
    """The folder Node.js finds onnxruntime-node from."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise Skip("Node.js or npm is not installed")
    if not (NODE_FOLDER / "node_modules/onnxruntime-node").exists():
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=NODE_FOLDER, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skip(f"npm ci failed: {done.stderr.strip().splitlines()[-1:]}")
    return NODE_FOLDER


def python_with(module):
    for python in ("python3", "/usr/bin/python3"):
        found = shutil.which(python)
        if found and subprocess.run([found, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0:
            return found
    raise Skip(f"no Python here has {module}")


def bare_python(place):
    """A Python that finds no installed packages."""
    return place.program("bare-python", f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')


def make(kind, path, python=sys.executable):
    done = subprocess.run([python, str(MODELS), kind, str(path)], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise Wrong(f"make_models.py {kind}: {done.stderr[-300:]}")
    return path


def onnxrt_mlp(work):
    place = Place(work, "mlp")
    if "onnxrt" not in adapters(place):
        raise Skip("this build has no adapter onnxrt")
    model = make("onnx-mlp", place.folder / "mlp.onnx")
    reply = place.reply("profile", "--backend", "onnxrt", "--model", model, "--bs", 4, "--iters", 7, "--warmup", 3, "--tag", "who=test",
                        cwd=onnxruntime_node())
    check_reply(place, reply)
    equal("inputs", reply["inputs"], [{"name": "x", "shape": [4, 64], "type": "float32"}])
    equal("dimensions", reply["dims"], [{"name": "batch", "size": 4, "why": "batch size"}])
    equal("warm-up left out", reply["warmup_excluded"], 3)
    run = reply["run_id"]
    # ONNX Runtime fuses the first three nodes; the last MatMul stays one call an iteration.
    equal("calls of MatMul", place.rows(run, "SELECT count(*) FROM op WHERE name LIKE '%MatMul_y%'"), [(7,)])
    equal("steps", place.rows(run, "SELECT count(*) FROM step"), [(7,)])
    shown = place.reply("show", run)
    equal("model", shown["document"]["model"]["name"], "mlp")
    tags = place.reply("ls")["runs"][0]["tags"]
    for key, value in {"profiled_with": "onnxrt", "batch_size": "4", "iterations": "7", "warmup": "3", "who": "test"}.items():
        equal(f"tag {key}", tags.get(key), value)


def onnxrt_tokens(work):
    place = Place(work, "tokens")
    if "onnxrt" not in adapters(place):
        raise Skip("this build has no adapter onnxrt")
    model = make("onnx-tokens", place.folder / "tokens.onnx")
    reply = place.reply("profile", "--backend", "onnxrt", "--model", model, "--bs", 2, "--seq", 16, "--iters", 3, "--warmup", 0,
                        cwd=onnxruntime_node())
    equal("inputs", reply["inputs"], [{"name": n, "shape": [2, 16], "type": "int64"} for n in ("input_ids", "attention_mask")])
    equal("dimensions", {d["name"]: d["size"] for d in reply["dims"]}, {"batch_size": 2, "sequence_length": 16})
    equal("warm-up left out", reply["warmup_excluded"], 0)
    equal("steps", place.rows(reply["run_id"], "SELECT count(*) FROM step"), [(3,)])
    # By name, against what the rest of the request says.
    again = place.reply("profile", "--backend", "onnxrt", "--model", model, "--iters", 1, "--dim", "sequence_length=5", cwd=onnxruntime_node())
    equal("shape by --dim", again["inputs"][0]["shape"], [1, 5])
    # Token ids beyond the table: the framework's own words.
    problem = place.call("profile", "--backend", "onnxrt", "--model", model, "--max-int", 100000, "--seq", 64, cwd=onnxruntime_node())
    equal("exit status", problem.returncode, 2)
    if "Gather" not in problem.stdout + problem.stderr:
        raise Wrong(f"the framework's words are missing: {problem.stdout + problem.stderr}")


def check_reply(place, reply):
    """Everything the reply schema promises, with the types it promises."""
    schema = next(op for op in place.reply("docs", "ops")["ops"] if op["name"] == "profile")["reply"]
    types = {"string": str, "integer": int, "array": list, "object": dict, "null": type(None)}
    for key in schema["required"]:
        wanted = schema["properties"][key].get("type", "string")
        allowed = tuple(types[w] for w in ([wanted] if isinstance(wanted, str) else wanted))
        if not isinstance(reply.get(key, ...), allowed):
            raise Wrong(f"{key} is {reply.get(key, 'missing')!r}, not {wanted}")


def torch_file(work):
    python, place = python_with("torch"), Place(work, "torchscript")
    model = make("torchscript", place.folder / "net.pt", python)
    reply = place.reply("profile", "--backend", "torch", "--model", model, "--python", python, "--bs", 4, "--iters", 6, "--warmup", 2, "--device", "cpu")
    equal("inputs", [(i["type"], i["shape"]) for i in reply["inputs"]], [("float32", [4, 32])])
    if "first layer with weights" not in reply["dims"][0]["why"]:
        raise Wrong(f"it does not say where the shape is from: {reply['dims']}")
    check_reply(place, reply)
    run = reply["run_id"]
    equal("calls of aten::linear", place.rows(run, "SELECT count(*) FROM op WHERE name = 'aten::linear'"), [(12,)])
    equal("steps", place.rows(run, "SELECT count(*) FROM step"), [(6,)])
    equal("backend", place.reply("show", run)["document"]["software"]["backend"], "torch")
    given = place.reply("profile", "--backend", "torch", "--model", model, "--python", python, "--input", "bs,32:float32", "--bs", 3, "--iters", 1)
    equal("shape by --input", given["inputs"][0]["shape"], [3, 32])


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


def torch_callable(work):
    python, place = python_with("torch"), Place(work, "callable")
    (place.folder / "mynet.py").write_text(MODULE)
    reply = place.reply("profile", "--backend", "torch", "--model", "mynet:build", "--python", python, "--iters", 4)
    equal("inputs", reply["inputs"][0]["shape"], [5, 8])
    equal("calls of aten::relu", place.rows(reply["run_id"], "SELECT count(*) FROM op WHERE name = 'aten::relu'"), [(4,)])


def fails_with_last_words(work):
    python, place = python_with("torch"), Place(work, "broken")
    (place.folder / "mynet.py").write_text(MODULE)
    error = place.error("profile", "--backend", "torch", "--model", "mynet:broken", "--python", python)
    if "no such checkpoint" not in error["message"] or "status 1" not in error["message"]:
        raise Wrong(f"the last words are missing: {error['message']}")
    error = place.error("profile", "--backend", "torch", "--model", "nothere.pt", "--python", python)
    if "the model does not exist" not in error["message"]:
        raise Wrong(error["message"])


def fails_interrupted(work):
    python, place = python_with("torch"), Place(work, "interrupted")
    (place.folder / "mynet.py").write_text(MODULE)
    command = [BIN, "profile", "--backend", "torch", "--model", "mynet:sleepy", "--python", python, "--device", "cpu"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment, cwd=place.folder,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as child:
        said, deadline = place.folder / "tmp/pid", time.monotonic() + 300
        while not said.exists() or not said.read_text().endswith("\n"):
            if time.monotonic() > deadline or child.poll() is not None:
                raise Wrong(f"the model was never run: {child.communicate()[1]}")
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=120)
    equal("exit status", child.returncode, 130)
    try:
        os.kill(int(said.read_text()), 0)
        raise Wrong("the model runs on")
    except ProcessLookupError:
        pass
    place.is_clean()


def missing_torch(work):
    place = Place(work, "no_torch")
    (place.folder / "net.pt").write_bytes(b"x")
    error = place.error("profile", "--backend", "torch", "--model", place.folder / "net.pt", "--python", bare_python(place))
    if "torch is not installed" not in error["message"] or "pip install torch" not in error.get("hint", ""):
        raise Wrong(f"{error}")


def missing_onnxruntime(work):
    place = Place(work, "no_onnxrt")
    if "onnxrt" not in adapters(place):
        raise Skip("this build has no adapter onnxrt")
    model = make("onnx-mlp", place.folder / "mlp.onnx")
    error = place.error("profile", "--backend", "onnxrt", "--model", model, "--python", bare_python(place))
    if "ONNX Runtime is not installed" not in error["message"] or "pip install onnxruntime" not in error.get("hint", ""):
        raise Wrong(f"{error}")
    (place.folder / "text.onnx").write_text("no model at all")
    error = place.error("profile", "--backend", "onnxrt", "--model", place.folder / "text.onnx")
    if "not an ONNX model" not in error["message"]:
        raise Wrong(f"{error}")


def missing_trtexec(work):
    place = Place(work, "no_trtexec")
    if "tensorrt" not in adapters(place):
        raise Skip("this build has no adapter tensorrt")
    if shutil.which("trtexec"):
        raise Skip("trtexec is installed here")
    model = make("onnx-mlp", place.folder / "mlp.onnx")
    error = place.error("profile", "--backend", "tensorrt", "--model", model)
    if "trtexec is not on PATH" not in error["message"] or "install" not in error.get("hint", ""):
        raise Wrong(f"{error}")


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


def tensorrt_standin(work):
    place = Place(work, "trtexec")
    if "tensorrt" not in adapters(place):
        raise Skip("this build has no adapter tensorrt")
    place.program("trtexec", TRTEXEC)
    model = make("onnx-mlp", place.folder / "mlp.onnx")
    reply = place.reply("profile", "--backend", "tensorrt", "--model", model, "--bs", 16, "--precision", "fp16", "--iters", 9)
    flags = json.loads((place.folder / "tmp/flags").read_text())
    for flag in (f"--onnx={model}", "--shapes=x:16x64", "--fp16", "--iterations=9", "--separateProfileRun"):
        if flag not in flags:
            raise Wrong(f"{flag} is missing in {flags}")
    equal("version", reply["version"], "8.6.1")
    names = {row[0] for row in place.rows(reply["run_id"], "SELECT DISTINCT name FROM op UNION SELECT DISTINCT name FROM kernel")}
    if "MatMul_y" not in names:
        raise Wrong(f"the layers are missing: {names}")
    failing = make("onnx-mlp", place.folder / "fail.onnx")
    done = place.call("profile", "--backend", "tensorrt", "--model", failing)
    equal("exit status", done.returncode, 2)
    if "status 7" not in done.stdout + done.stderr or "static dimensions" not in done.stdout + done.stderr:
        raise Wrong(f"the last words are missing: {done.stdout}{done.stderr}")


CHECKS = {"onnxrt.mlp": onnxrt_mlp, "onnxrt.tokens": onnxrt_tokens, "torch.torchscript_file": torch_file, "torch.module_callable": torch_callable,
          "tensorrt.standin": tensorrt_standin, "missing.torch": missing_torch, "missing.onnxruntime": missing_onnxruntime,
          "missing.trtexec": missing_trtexec, "fails.last_words": fails_with_last_words, "fails.interrupted": fails_interrupted}


def main():
    with tempfile.TemporaryDirectory() as name:
        for title, check in CHECKS.items():
            try:
                check(pathlib.Path(name))
                print(f"PASS {title}", flush=True)
            except Skip as reason:
                print(f"SKIP {title}: {reason}", flush=True)
            except (Wrong, KeyError, IndexError, TypeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
                print(f"FAIL {title}: {type(error).__name__} {str(error)[:900]}", flush=True)


main()
