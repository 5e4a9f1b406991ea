# SPDX-License-Identifier: Apache-2.0
"""Runs a TorchScript file or MODULE:CALLABLE under torch.profiler. Started by `neurolens profile` with the path of a request (JSON):

  model, batch, sequence, inputs ["8,3,224,224:float32"], max_int, precision, iterations, warmup, device, out (folder)

Leaves in `out`: the trace (profile.pt.trace.json), what was run (facts.json), and how far it is (progress).
Status 3: the framework is missing; facts.json says which, and how to get it.
"""
import importlib
import json
import os
import sys


def leave(out, facts, status):
    with open(os.path.join(out, "facts.json"), "w", encoding="utf-8") as to:
        json.dump(facts, to)
    sys.exit(status)


def load(torch, model):
    """The module, and the inputs it brings along (or None)."""
    if os.path.exists(model) or ":" not in model:
        return torch.jit.load(model, map_location="cpu"), None
    name, _, attribute = model.partition(":")
    sys.path.insert(0, os.getcwd())
    made = importlib.import_module(name)
    for part in attribute.split("."):
        made = getattr(made, part)
    if isinstance(made, type) or not isinstance(made, torch.nn.Module):
        made = made()
    inputs = None
    if isinstance(made, tuple):
        made, inputs = made[0], made[1]
        inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if not callable(made):
        sys.exit(f"{model} gives a {type(made).__name__}: wanted a module, a function, or (module, inputs)")
    return made, inputs


def asked_inputs(torch, request, chosen):
    tensors = []
    for text in request["inputs"]:
        shape, _, kind = text.partition(":")
        dtype = getattr(torch, kind or "float32", None)
        if not isinstance(dtype, torch.dtype):
            sys.exit(f"--input {text}: torch has no type '{kind}'")
        sizes = []
        for word in filter(None, shape.replace("x", ",").split(",")):
            if word in ("bs", "batch", "seq", "sequence"):
                key = "batch" if word[0] == "b" else "sequence"
                sizes.append(request[key])
                chosen[word] = {"size": request[key], "why": "batch size" if key == "batch" else "sequence length"}
            elif word.isdigit():
                sizes.append(int(word))
            else:
                sys.exit(f"--input {text}: a size is a number, bs or seq, not '{word}'")
        tensors.append(fill(torch, sizes, dtype, request["max_int"]))
    return tuple(tensors)


def fill(torch, sizes, dtype, high):
    if dtype.is_floating_point:
        return torch.randn(sizes).to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, sizes).bool()
    return torch.randint(0, max(1, min(high, torch.iinfo(dtype).max)), sizes).to(dtype)


def from_first_layer(torch, model, request, chosen):
    """Saved modules do not keep the shapes of their inputs; the first layer with weights tells what it takes."""
    for name, layer in getattr(model, "named_modules", lambda: [])():
        kind = getattr(layer, "original_name", type(layer).__name__)
        weight = getattr(layer, "weight", None)
        if weight is None or not hasattr(weight, "shape"):
            continue
        sizes, dtype, high = None, torch.float32, request["max_int"]
        if kind.startswith("Conv") and weight.dim() >= 3:
            side = {3: [request["sequence"]], 4: [224, 224], 5: [16, 112, 112]}.get(weight.dim())
            groups = getattr(layer, "groups", 1)
            sizes = side and [request["batch"], weight.shape[1] * groups, *side]
        elif kind in ("Linear", "NonDynamicallyQuantizableLinear"):
            sizes = [request["batch"], weight.shape[1]]
        elif kind == "Embedding":
            sizes, dtype, high = [request["batch"], request["sequence"]], torch.int64, min(high, weight.shape[0])
        elif kind == "LayerNorm":
            sizes = [request["batch"], request["sequence"], *weight.shape]
        if sizes:
            chosen["shape of the input"] = {"size": sizes[0], "why": f"{sizes} from the first layer with weights, {name or 'the model itself'} ({kind})"}
            return (fill(torch, sizes, dtype, high),)
    sys.exit("the model does not tell the shape of its input: give it, for example --input bs,3,224,224:float32")


def write_events(recorded, path):
    """A build without Kineto (Debian's, for one) has the events, but not the trace writer: the same layout from them."""
    events = []
    for event in recorded.events():
        name = getattr(event, "trace_name", None) or event.name  # the other one says "ProfilerStep*"
        arguments = {"External id": event.id}
        if event.input_shapes:
            arguments["Input Dims"] = event.input_shapes
        events.append({"ph": "X", "cat": "user_annotation" if name.startswith("ProfilerStep#") else "cpu_op", "name": name, "pid": os.getpid(), "tid": event.thread,
                       "ts": event.time_range.start, "dur": event.time_range.elapsed_us(), "args": arguments})
    with open(path, "w", encoding="utf-8") as to:
        json.dump({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}, to)


def main():
    with open(sys.argv[1], encoding="utf-8") as source:
        request = json.load(source)
    out = request["out"]
    try:
        import torch
        from torch.profiler import ProfilerActivity, profile, record_function
    except ImportError as error:
        leave(out, {"missing": "torch", "install": "pip install torch", "said": str(error)}, 3)
    device = request["device"]
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    elif device == "cuda" and not torch.cuda.is_available():
        leave(out, {"missing": "a GPU that torch can use", "install": "pip install torch (a CUDA build), or --device cpu", "said": f"torch {torch.__version__}"}, 3)
    torch.manual_seed(0)
    chosen = {}
    model, inputs = load(torch, request["model"])
    if request["inputs"]:
        inputs = asked_inputs(torch, request, chosen)
    elif inputs is None:
        inputs = from_first_layer(torch, model, request, chosen)
    dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp64": torch.float64}.get(request["precision"])
    if hasattr(model, "eval"):
        model.eval()
    if hasattr(model, "to"):
        model = model.to(device)
        model = model.to(dtype) if dtype else model

    def place(value):
        if not isinstance(value, torch.Tensor):
            return value
        return value.to(device, dtype) if dtype and value.is_floating_point() else value.to(device)

    inputs = tuple(place(value) for value in inputs)
    total = request["warmup"] + request["iterations"]

    def once(i):
        with open(os.path.join(out, "progress"), "w", encoding="utf-8") as to:
            to.write(f"{i} {total}")
        model(*inputs)
        if device == "cuda":
            torch.cuda.synchronize()

    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with torch.no_grad():
        for i in range(request["warmup"]):
            once(i)
        with profile(activities=activities, record_shapes=True) as recorded:
            for i in range(request["iterations"]):
                # What a schedule would label; every iteration is a step of the run.
                with record_function(f"ProfilerStep#{i}"):
                    once(request["warmup"] + i)
    path = os.path.join(out, "profile.pt.trace.json")
    kineto = torch.autograd.kineto_available()
    if kineto:
        recorded.export_chrome_trace(path)
    else:
        write_events(recorded, path)
    described = [{"name": f"input {i}", "type": str(v.dtype).replace("torch.", ""), "shape": list(v.shape)} for i, v in enumerate(inputs)
                 if isinstance(v, torch.Tensor)]
    leave(out, {"framework": "torch", "version": torch.__version__, "runtime": "python " + sys.version.split()[0], "device": device,
                "inputs": described, "dims": chosen, "files": ["profile.pt.trace.json"], "warmup_excluded": request["warmup"], "warmup_events": None,
                "note": None if kineto else "this build of torch has no Kineto: its events in whole microseconds"}, 0)


main()
