# SPDX-License-Identifier: Apache-2.0
"""Profilers of one thread: a second one is refused, one that is left at the end of the process is complained of."""
import os

log = []  # what happened, for tests
_active = None


class ProfilerState:
    NVTX, KINETO = "nvtx", "kineto"


class ProfilerConfig:
    def __init__(self, state, report_input_shapes, profile_memory, with_stack, with_flops, with_modules, experimental_config):
        self.state, self.shapes = state, report_input_shapes


class _ExperimentalConfig:
    pass


def _enable_profiler(config, activities):
    global _active
    if _active is not None:
        raise RuntimeError("Profiler is already enabled on this thread.")
    _active = config
    log.append((config.state, config.shapes))


def _disable_profiler():
    global _active
    if _active is None:
        raise RuntimeError("no profiler")
    _active = None
    log.append(None)


class profile:
    def __enter__(self):
        _enable_profiler(ProfilerConfig(ProfilerState.KINETO, False, False, False, False, False, _ExperimentalConfig()), set())

    def __exit__(self, *_):
        _disable_profiler()


class _AtEnd:
    def __init__(self, write=os.write):
        self._write = write

    def __del__(self):
        if _active is not None:
            self._write(2, b"Warning: Leaked callback handle\n")


_at_end = _AtEnd()
