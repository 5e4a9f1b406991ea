# SPDX-License-Identifier: Apache-2.0
"""Ranges for PyTorch without a change to the program: module calls, LLM stages, operators.

torch is never imported here. A finder notices that the program imports it, lets the import happen, and then asks the
fresh module for its own hooks. Nothing in here may break a program: every step is guarded, and given up when it fails."""
import os
import sys
import threading
import weakref

from . import _emit

MODULES, OPS = "modules", "ops"


def wanted():
    """Which of ops and modules to record; NEUROLENS_CAPTURE as the launcher sets it, else both."""
    text = os.environ.get("NEUROLENS_CAPTURE", "")
    if not text:
        return {MODULES, OPS}
    names = {n.strip() for n in text.split(",")}
    if text[0] in "+-":
        return {n for n in (MODULES, OPS) if "-" + n not in names}
    return {MODULES, OPS} & names


class _Finder:
    """Stands first in sys.meta_path until torch is imported; finds nothing itself."""

    def __init__(self, then):
        self._then = then
        self._busy = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self._busy:
            return None
        self._busy = True
        try:
            import importlib.util

            spec = importlib.util.find_spec(name)
        finally:
            self._busy = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        run, then = spec.loader.exec_module, self._then

        def exec_module(module):
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            try:
                then(module)
            except Exception:  # another torch than those we know: its program runs unlabelled
                pass

        try:
            spec.loader.exec_module = exec_module
        except AttributeError:
            pass
        return spec


class ModuleRanges:
    """One range per nn.Module call, named by its path in the model that was called."""

    def __init__(self, torch):
        self._torch = torch
        self._local = threading.local()
        self._paths = weakref.WeakKeyDictionary()
        self._handles = []
        hooks = torch.nn.modules.module
        self._handles.append(hooks.register_module_forward_pre_hook(self._before))
        try:
            self._handles.append(hooks.register_module_forward_hook(self._after, always_call=True))
        except TypeError:  # before torch 2.1: a module that raises is closed by the one around it
            self._handles.append(hooks.register_module_forward_hook(self._after))

    def remove(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _names(self, root):
        known = self._paths.get(root)
        if known is None:
            known = {id(module): name for name, module in root.named_modules()}
            self._paths[root] = known
        return known

    def _before(self, module, args):
        emitter = _emit.current
        if emitter is None or not emitter.on():
            return
        try:
            stack = self._local.__dict__.setdefault("stack", [])
            # What a raised exception left open: the frames that held it are gone.
            depth = _depth()
            while stack and stack[-1][1] >= depth:
                self._close(emitter, stack)
            root = stack[0][2] if stack else module
            path = self._names(root).get(id(module))
            ranges = 0
            if not stack:
                stage = _llm_stage(module, args, _call_kwargs())
                if stage is not None:
                    emitter.push(*stage)
                    ranges += 1
            kind = type(module).__name__
            emitter.push(f"nn.Module: {path or kind}", None if not path else f'{{"class": "{kind}"}}')
            stack.append((id(module), depth, root, ranges + 1))
        except Exception:
            pass

    def _after(self, module, *_):
        stack = self._local.__dict__.get("stack")
        if not stack:
            return
        emitter = _emit.current
        while stack:
            innermost = stack[-1][0] == id(module)
            if not innermost and not any(entry[0] == id(module) for entry in stack):
                return
            self._close(emitter, stack)
            if innermost:
                return

    @staticmethod
    def _close(emitter, stack):
        for _ in range(stack.pop()[3]):
            emitter.pop()


def _depth():
    """How many Python frames lie below the module call."""
    frame, count = sys._getframe(2), 0
    while frame is not None:
        frame = frame.f_back
        count += 1
    return count


def _call_kwargs():
    """Keyword arguments of the module call: hooks of all modules are not given them, the frame that calls hooks has them."""
    frame = sys._getframe(2)
    kwargs = frame.f_locals.get("kwargs")
    return kwargs if isinstance(kwargs, dict) else {}


def _llm_stage(module, args, kwargs):
    """("LLM@prefill", data) or ("LLM@decode_step", data) when this is a forward of a language model; else None."""
    looks_like = type(module).__name__.endswith(("ForCausalLM", "LMHeadModel")) or hasattr(module, "lm_head")
    if not looks_like:
        return None
    for value in (kwargs.get("input_ids"), *args[:1]):
        shape = getattr(value, "shape", None)
        if shape is None or len(shape) != 2 or getattr(value, "is_floating_point", lambda: True)():
            continue
        batch, tokens = int(shape[0]), int(shape[1])
        stage = "LLM@decode_step" if tokens == 1 else "LLM@prefill"
        return stage, f'{{"batch": {batch}, "tokens": {tokens}}}'
    return None


def _emit_ops(torch):
    """Operators with shapes, by PyTorch's own NVTX profiler; only a build with CUDA has it."""
    if not torch.backends.cuda.is_built():
        return None
    context = torch.autograd.profiler.emit_nvtx(record_shapes=True)
    context.__enter__()
    return context


def _hide_from_compile(torch, ranges):
    """A compiled model is not looked into: hooks of all modules are gone before the first compilation."""
    original = getattr(torch, "compile", None)
    if original is None:
        return
    import functools

    @functools.wraps(original)
    def compile(*args, **kwargs):
        ranges.remove()
        torch.compile = original
        return original(*args, **kwargs)

    torch.compile = compile


_installed = {}


def on_torch(torch):
    """torch was imported just now."""
    names = wanted()
    if MODULES in names:
        ranges = ModuleRanges(torch)
        _installed[MODULES] = ranges
        _hide_from_compile(torch, ranges)
    if OPS in names:
        _installed[OPS] = _emit_ops(torch)


def install():
    """Called by sitecustomize under `neurolens run`."""
    if _emit.current is None or "torch" in sys.modules or not wanted():
        return
    sys.meta_path.insert(0, _Finder(on_torch))
