# SPDX-License-Identifier: Apache-2.0
"""Runs an ONNX model under ONNX Runtime's profiler. Started by `neurolens profile` with the path of a request (JSON):

  model, inputs [{name, type, shape}], max_int, iterations, warmup, device, out (folder)

Leaves in `out`: the profile as the runtime wrote it without the warm-up runs (profile.json), what was run (facts.json),
and how far it is (progress). Status 3: the framework is missing; facts.json says which, and how to get it.
"""
import json
import os
import sys


def leave(out, facts, status):
    with open(os.path.join(out, "facts.json"), "w", encoding="utf-8") as to:
        json.dump(facts, to)
    sys.exit(status)


def random_input(numpy, source, spec, max_int):
    low, shape, dtype = spec["name"].lower(), spec["shape"], numpy.dtype(spec["type"])
    if dtype.kind == "f":
        return source.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return source.integers(0, 2, shape).astype(dtype)
    if "mask" in low:
        return numpy.ones(shape, dtype)
    if "position" in low and shape:
        return numpy.broadcast_to(numpy.arange(shape[-1]), shape).astype(dtype)
    high = 2 if "type" in low or "segment" in low else min(max_int, numpy.iinfo(dtype).max)
    return source.integers(0, high, shape).astype(dtype)


def without_warmup(path, to, warmup):
    """Leaves the first runs of the model out; gives how many events that were."""
    with open(path, encoding="utf-8", errors="replace") as source:
        events = json.load(source)
    runs = sorted((e for e in events if e.get("cat") == "Session" and e.get("name") == "model_run"), key=lambda e: e["ts"])
    first, dropped = 0, 0
    if warmup and len(runs) > warmup:
        end = runs[warmup - 1]["ts"] + runs[warmup - 1]["dur"]
        begin = runs[0]["ts"]
        # Starts are whole microseconds: what starts with the first run that counts belongs to it.
        kept = [e for e in events if not (isinstance(e.get("ts"), (int, float)) and begin <= e["ts"] < min(end, runs[warmup]["ts"]))]
        dropped, first, events = len(events) - len(kept), warmup, kept
    with open(to, "w", encoding="utf-8") as out:
        json.dump(events, out)
    return first, dropped


def main():
    with open(sys.argv[1], encoding="utf-8") as source:
        request = json.load(source)
    out = request["out"]
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        leave(out, {"missing": "onnxruntime", "install": "pip install onnxruntime", "said": str(error)}, 3)
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(out, "ort")
    providers = onnxruntime.get_available_providers()
    if request["device"] == "cpu":
        providers = ["CPUExecutionProvider"]
    elif request["device"] == "cuda":
        if "CUDAExecutionProvider" not in providers:
            leave(out, {"missing": "a GPU build of onnxruntime", "install": "pip install onnxruntime-gpu", "said": f"providers: {providers}"}, 3)
        providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(request["model"], options, providers=providers)
    numbers = numpy.random.default_rng(0)
    feed = {spec["name"]: random_input(numpy, numbers, spec, request["max_int"]) for spec in request["inputs"]}
    total = request["warmup"] + request["iterations"]
    for i in range(total):
        with open(os.path.join(out, "progress"), "w", encoding="utf-8") as to:
            to.write(f"{i} {total}")
        session.run(None, feed)
    written = session.end_profiling()
    excluded, dropped = without_warmup(written, os.path.join(out, "profile.json"), request["warmup"])
    leave(out, {"framework": "onnxruntime", "version": onnxruntime.__version__, "runtime": "python " + sys.version.split()[0],
                "device": session.get_providers()[0], "files": ["profile.json"], "warmup_excluded": excluded, "warmup_events": dropped}, 0)


main()
