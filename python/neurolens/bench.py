# SPDX-License-Identifier: Apache-2.0
"""A Python file as a benchmark of `neurolens bench`: python3 -m neurolens.bench FILE.

FILE defines get_benchmark(), which returns an object with
    setup()                  makes the inputs, from `random` (seeded before) alone
    benchmark_fn()           the work that is timed
    get_verify_output()      result of the last call: a number, a list (of lists), or an array
    get_inputs()             {name: list or array} that benchmark_fn() reads
    get_input_signature()    what must be equal on both sides: shapes, dtypes, parameters
and optionally teardown(), get_output_tolerance() -> {"rtol": x, "atol": y, "reason": "..."},
get_workload_metadata() -> {name: number}, get_streams() -> the torch streams it uses beside the current one, and `cold = True` for
runs that find nothing in the GPU's cache. docs/bench.md describes the protocol.
"""
import gc
import importlib.util
import json
import math
import os
import random
import resource
import sys
import time

from neurolens import _labels, bench_device


def _flat(value, out):
    """Appends the numbers of nested lists and arrays to `out`."""
    if hasattr(value, "tolist") and not isinstance(value, (list, tuple)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        for item in value:
            _flat(item, out)
    elif isinstance(value, dict):
        for key in sorted(value):
            _flat(value[key], out)
    elif isinstance(value, (bool, int, float)):
        out.append(value)
    elif isinstance(value, str):
        out.extend(value.encode())
    else:
        raise TypeError(f"an output of type {type(value).__name__} cannot be compared")


def _dtype(value, flat):
    name = getattr(value, "dtype", None)
    if name is not None:
        return str(name).replace("torch.", "")
    return "int64" if all(isinstance(item, int) for item in flat) else "float64"


def _memory(value):
    """First and last address of the numbers, where they have one; objects are known by their identity."""
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        return interface["data"][0], interface["data"][0] + max(1, value.nbytes)
    if hasattr(value, "data_ptr"):
        return value.data_ptr(), value.data_ptr() + max(1, value.numel() * value.element_size())
    if hasattr(value, "buffer_info"):
        start, count = value.buffer_info()
        return start, start + max(1, count * value.itemsize)
    return (id(value), id(value) + 1) if isinstance(value, (list, dict, bytearray)) else None


def _overlap(a, b):
    return a is not None and b is not None and a[0] < b[1] and b[0] < a[1]


def _perturb(value):
    """Changes the first half of the numbers in place; False when there are none."""
    if hasattr(value, "data_ptr"):
        # By index, not by address: two sides may store the same tensor in another order.
        part = value[: max(1, value.shape[0] // 2)] if value.dim() > 0 else value
        part += 1
        return value.numel() > 0
    if isinstance(value, list) and value and isinstance(value[0], list):
        return _perturb(value[0])
    if isinstance(value, list) and value and isinstance(value[0], str):
        value[:] = [text + "1" for text in value]
        return True
    try:
        count = len(value)
        for i in range(max(1, count // 2)):
            value[i] = value[i] + 1
    except TypeError:
        return False
    return count > 0


class _Guard:
    """Counts calls that reseed a random generator: the inputs are the harness's."""

    def __init__(self):
        self.calls = 0
        for module, name in (("random", "seed"), ("numpy.random", "seed"), ("torch", "manual_seed")):
            target = sys.modules.get(module)
            original = getattr(target, name, None)
            if original is not None and not hasattr(original, "_neurolens"):
                setattr(target, name, self._counted(original))

    def _counted(self, original):
        def call(*arguments, **named):
            self.calls += 1
            return original(*arguments, **named)
        call._neurolens = original
        return call


def _flags():
    """Switches that change how fast or how exactly everything runs."""
    out = {"switch_interval": sys.getswitchinterval(), "recursion_limit": sys.getrecursionlimit(), "gc": gc.isenabled()}
    torch = sys.modules.get("torch")
    if torch is not None:
        out.update(threads=torch.get_num_threads(), grad=torch.is_grad_enabled(), default_dtype=str(torch.get_default_dtype()),
                   deterministic=torch.are_deterministic_algorithms_enabled(), tf32=torch.backends.cuda.matmul.allow_tf32,
                   cudnn_benchmark=torch.backends.cudnn.benchmark)
    return out


def _toolchain():
    """What turns the source into work, as far as it is loaded."""
    out = [f"python {sys.version.split()[0]}"]
    for name in ("numpy", "torch", "triton"):
        if name in sys.modules:
            out.append(f"{name} {getattr(sys.modules[name], '__version__', '?')}")
    return ", ".join(out)


class _Server:
    def __init__(self, path):
        spec = importlib.util.spec_from_file_location("neurolens_benchmark", path)
        self.module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        spec.loader.exec_module(self.module)
        if not hasattr(self.module, "get_benchmark"):
            raise AttributeError("the file defines no get_benchmark()")
        self.benchmark = None
        self.device = None
        self.guard = _Guard()

    def setup(self, request):
        self.teardown(request)
        seed = request["seed"]
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(seed)
        self.benchmark = self.module.get_benchmark()
        self.benchmark.setup()
        self.device = bench_device.find()
        return {"signature": self.benchmark.get_input_signature(), "workload": self._optional("get_workload_metadata", {}),
                "tolerance": self._optional("get_output_tolerance", None), "toolchain": _toolchain(),
                "device_name": self.device.name() if self.device else None}

    def _optional(self, name, default):
        method = getattr(self.benchmark, name, None)
        return default if method is None else method()

    def jitter(self, _):
        return {"changed": any(_perturb(value) for value in self.benchmark.get_inputs().values())}

    def run(self, request):
        work, clock, times = self.benchmark.benchmark_fn, time.perf_counter_ns, [0] * request["n"]
        if request.get("label"):  # for a recording: its times are not those of the measurement
            work = self._labelled(work, request["label"])
        calls = self.guard.calls
        was_on = gc.isenabled()
        gc.disable()
        before = _flags()
        device_ns, afters = [], []
        if self.device is None:
            for i in range(request["n"]):
                start = clock()
                work()
                times[i] = clock() - start
        else:
            streams, cold = self._optional("get_streams", []), getattr(self.benchmark, "cold", False)
            for i in range(request["n"]):
                times[i], on_device, after = self.device.timed(work, streams, cold)
                device_ns.append(on_device)
                afters.append(after)
        after = _flags()
        if was_on:
            gc.enable()
        return {"ns": times, "device_ns": device_ns, "busy_after_ns": bench_device.busy_after(times, afters), "reseeded": self.guard.calls - calls,
                "flags_changed": sorted(k for k in after if after[k] != before.get(k))}

    @staticmethod
    def _labelled(work, label):
        def call():
            with _labels.scope(label):
                work()
        return call

    def audit(self, request):
        """What runs on a device; {"device": false} where none is used."""
        if self.device is None:
            return {"device": False, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "flags": _flags()}
        seen = self.device.audit(self.benchmark.benchmark_fn, self._optional("get_streams", []), request["n"])
        return {**seen, "peak_bytes": self.device.peak_bytes(), "flags": _flags()}

    def verify(self, _):
        output = self.benchmark.get_verify_output()
        flat = []
        _flat(output, flat)
        inputs = self.benchmark.get_inputs()
        mine = _memory(output)
        return {"dtype": _dtype(output, flat), "data": [v if math.isfinite(v) else str(v) for v in flat], "aliases": sorted(k for k, v in inputs.items() if _overlap(_memory(v), mine))}

    def teardown(self, _):
        if self.benchmark is not None and hasattr(self.benchmark, "teardown"):
            self.benchmark.teardown()
        self.benchmark = None
        if self.device is not None:
            self.device.reset()
        return {}


def main(path):
    # What the benchmark prints goes to stderr: stdout is the protocol's.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            server = server or _Server(path)
            reply = {"ok": True, **getattr(server, request["do"])(request)}
        except Exception as error:  # noqa: BLE001 - whatever a benchmark raises is its answer
            reply = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        out.write(json.dumps(reply, allow_nan=False) + "\n")
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
