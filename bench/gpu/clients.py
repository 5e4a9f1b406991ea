# SPDX-License-Identifier: Apache-2.0
"""What is switched on and off around a load, within one process. on(), off() and settle() are not timed. After settle() CUPTI has left the
process, where the client can make it: otherwise "off" would still pay for its presence. From processes with CUDA graphs it is not sent away."""
import ctypes
import glob
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# As in empty_client.cc.
KERNELS, RUNTIME, DRIVER, SYNC, MEMORY, EXTERNAL, OVERHEAD, RUNTIME_CALLBACKS, DRIVER_CALLBACKS = 1, 2, 4, 8, 16, 32, 64, 128, 256
LIKE_OURS = KERNELS | RUNTIME_CALLBACKS | DRIVER_CALLBACKS | MEMORY | OVERHEAD
RECORDS = KERNELS | RUNTIME | DRIVER | SYNC | MEMORY | EXTERNAL | OVERHEAD


class Nothing:
    """On is off: what the method itself shows for no difference at all."""

    def on(self):
        pass

    def off(self):
        pass

    def settle(self):
        pass


class Empty(Nothing):
    library = None
    there = False

    def __init__(self, parts, leaves=True):
        self._parts, self._leaves = parts, leaves
        if Empty.library is None:
            Empty.library = ctypes.CDLL(os.environ["NL_EMPTY_CLIENT"])
            Empty.library.nl_empty_kernels.restype = ctypes.c_uint64
            self._open()
            self.settle()

    def _open(self):
        if Empty.there:
            return
        code = Empty.library.nl_empty_open(_cupti().encode(), 1, 1)
        if code != 0:
            raise OSError(f"the empty client cannot subscribe to CUPTI: {code}")
        Empty.there = True

    def on(self):
        self._open()
        Empty.library.nl_empty_start(self._parts)

    def off(self):
        Empty.library.nl_empty_stop()

    def settle(self):
        import torch

        torch.cuda.synchronize()
        if self._leaves and Empty.there and Empty.library.nl_empty_leave() == 0:
            Empty.there = False

    def kernels(self):
        return int(Empty.library.nl_empty_kernels())


def _cupti():
    """The one that torch brings along."""
    for line in open("/proc/self/maps", encoding="utf-8"):
        if "libcupti.so" in line:
            return line.split()[-1]
    for folder in sys.path:
        for path in sorted(glob.glob(folder + "/nvidia/**/libcupti.so.*", recursive=True)):
            return path
    return "libcupti.so"


class Neurolens(Nothing):
    """This process runs under neurolens-capture --capture-range api. The launcher hears of a switch within 10 ms."""

    def __init__(self):
        import neurolens
        from neurolens import _emit

        self._package = neurolens
        self._cost_ns = getattr(_emit.current._library, "nl_cost_ns", None)
        if self._cost_ns is not None:
            self._cost_ns.restype = ctypes.c_int64

    def cost_ms(self):
        """What the recording says that it cost so far."""
        return self._cost_ns() / 1e6 if self._cost_ns is not None else None

    def on(self):
        self._package.start()
        time.sleep(0.03)

    def off(self):
        self._package.stop()
        time.sleep(0.03)

    def settle(self):
        """CUPTI leaves a little after a stop, at the end of a CUDA call."""
        import torch

        for _ in range(25):
            time.sleep(0.02)
            torch.cuda.synchronize()


class TorchProfiler(Nothing):
    """Sends CUPTI away itself, with TEARDOWN_CUPTI=1 at the end of a CUDA call."""

    def __init__(self, activities, shapes=False):
        import torch.profiler as p

        self._p, self._shapes = p, shapes
        self._activities = [getattr(p.ProfilerActivity, name) for name in activities]
        self._running = None

    def on(self):
        self._running = self._p.profile(activities=self._activities, record_shapes=self._shapes)
        self._running.start()

    def off(self):
        self._running.stop()
        self._running = None

    def settle(self):
        import torch

        for _ in range(10):
            time.sleep(0.02)
            torch.cuda.synchronize()


class Proton(Nothing):
    def __init__(self):
        import triton.profiler as proton

        self._proton = proton
        self._session = proton.start(os.path.join(os.environ["NL_BENCH_TMP"], "proton"))
        proton.deactivate(self._session)

    def on(self):
        self._proton.activate(self._session)

    def off(self):
        self._proton.deactivate(self._session)


class Ops(Nothing):
    """PyTorch's part in the price of operators: its NVTX profiler with nobody who takes NVTX."""

    ranges = None

    def __init__(self, shapes):
        import torch
        from neurolens import _torch

        self._detail = _torch.SHAPES if shapes else _torch.NAMES
        if Ops.ranges is None:
            Ops.ranges = _torch._NvtxProfiler(torch, None)

    def on(self):
        Ops.ranges.run(self._detail)

    def off(self):
        Ops.ranges.run(0)


class _Emitter:
    """Takes ranges and does nothing with them."""

    def on(self):
        return True

    def push(self, name, data):
        pass

    def push_bytes(self, name, data):
        pass

    def pop(self):
        pass


class Modules(Nothing):
    """The Python part of the price of module calls."""

    def __init__(self):
        import torch
        from neurolens import _torch

        self._ranges = _torch.ModuleRanges(torch, _Emitter())

    def on(self):
        self._ranges.set(True)

    def off(self):
        self._ranges.set(False)


MAKERS = {
    "nothing": Nothing,
    "ops_names_alone": lambda: Ops(False),
    "ops_shapes_alone": lambda: Ops(True),
    "modules_alone": Modules,
    "empty": lambda: Empty(LIKE_OURS),
    "empty_graph": lambda: Empty(LIKE_OURS, leaves=False),
    "empty_kernels": lambda: Empty(KERNELS),
    "empty_records": lambda: Empty(RECORDS),
    "torch_cuda": lambda: TorchProfiler(["CUDA"]),
    "torch_cpu_cuda": lambda: TorchProfiler(["CPU", "CUDA"]),
    "torch_shapes": lambda: TorchProfiler(["CPU", "CUDA"], True),
    "proton": Proton,
    "neurolens": Neurolens,
    "neurolens_graph": Neurolens,
    "neurolens_ops": Neurolens,
    "neurolens_modules": Neurolens,
    "neurolens_full": Neurolens,
    "neurolens_default": Neurolens,
    "neurolens_default_graph": Neurolens,
    "neurolens_cpu": Neurolens,
    "neurolens_cpu_native": Neurolens,
    "neurolens_cpu_python": Neurolens,
}
