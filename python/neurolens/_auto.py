# SPDX-License-Identifier: Apache-2.0
"""Ranges for PyTorch without a change to the program: module calls, LLM stages, operators.

torch is never imported here. A finder notices that the program imports it, lets the import happen, and then asks the
fresh module for its own hooks. Nothing in here may break a program: every step is guarded, and given up when it fails."""
import os
import sys

from . import _emit

MODULES, OPS, ALL_SHAPES = "modules", "ops", "all-shapes"


def wanted():
    """Which of ops and modules to record, and of which operators the shapes; NEUROLENS_CAPTURE as the launcher sets it, else both."""
    text = os.environ.get("NEUROLENS_CAPTURE", "")
    if not text:
        return {MODULES, OPS}
    names = {n.strip() for n in text.split(",")}
    if text[0] in "+-":
        return set() if "-ranges" in names else {n for n in (MODULES, OPS) if "-" + n not in names}
    return {MODULES, OPS, ALL_SHAPES} & names if "ranges" in names else set()


class _Finder:
    """Stands first in sys.meta_path and finds nothing itself; `around[name]` runs the import of that module."""

    def __init__(self, around):
        self._around = around
        self._busy = False

    def find_spec(self, name, path=None, target=None):
        if name not in self._around or self._busy:
            return None
        self._busy = True
        try:
            import importlib.util

            spec = importlib.util.find_spec(name)
        finally:
            self._busy = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        run, around = spec.loader.exec_module, self._around.pop(name)
        if not self._around and self in sys.meta_path:
            sys.meta_path.remove(self)
        try:
            spec.loader.exec_module = lambda module: around(run, module)
        except AttributeError:
            pass
        return spec


class Ranges:
    """What is installed in this process, and its switch."""

    def __init__(self):
        self.modules = self.ops = None

    def around_torch(self, run, module):
        run(module)
        try:
            self.install(module)
        except Exception:  # another torch than those we know: its program runs unlabelled
            pass

    def around_dynamo(self, run, module):
        """It remembers nn.Module.__call__ as it finds it: that must be torch's own."""
        self.switch(False)
        try:
            run(module)
        finally:
            self.switch()

    def install(self, torch):
        import atexit

        from . import _torch

        names = wanted()
        # Half of it is left for the rest: GPU work, ranges.
        share = _emit.current.budget() / 2
        spender = _torch.Spender(share, _emit.current.add_cost) if share > 0 else None
        if OPS in names:
            try:
                self.ops = _torch.OpRanges(torch, _emit.current, thrifty=spender is not None, full=ALL_SHAPES in names)
            except Exception:  # neither way in this torch
                pass
        if MODULES in names or (self.ops and spender):
            self.modules = _torch.ModuleRanges(torch, _emit.current, self.ops, MODULES in names, spender)
            _hide_from_compile(torch, self.modules)
        self.switch()
        _emit.current.on_switch(self.switch)
        # Before torch's own end, which complains of observers that are left.
        atexit.register(self.end)

    def switch(self, on=None):
        """Recording was switched on or off; what is off costs nothing. A range that begins a recording may be a module's."""
        for part, now in ((self.ops, _emit.current.recording()), (self.modules, _emit.current.on())):
            if part is not None:
                try:
                    part.set(now if on is None else on)
                except Exception:
                    pass

    def end(self):
        _emit.current.on_switch(None)
        self.switch(False)
        if self.ops is not None:
            self.ops.end()


def _hide_from_compile(torch, modules):
    """A compiled model is not looked into: module calls are torch's own before the first compilation."""
    original = getattr(torch, "compile", None)
    if original is None:
        return
    import functools

    @functools.wraps(original)
    def compile(*args, **kwargs):
        modules.remove()
        torch.compile = original
        return original(*args, **kwargs)

    torch.compile = compile


def install():
    """Called by sitecustomize under `neurolens run`."""
    if _emit.current is None or "torch" in sys.modules or not wanted():
        return
    ranges = Ranges()
    sys.meta_path.insert(0, _Finder({"torch": ranges.around_torch, "torch._dynamo": ranges.around_dynamo}))
