# SPDX-License-Identifier: Apache-2.0


class Module:
    def __init__(self):
        object.__setattr__(self, "_modules", {})

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self._modules[name] = value
        object.__setattr__(self, name, value)

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, module in self._modules.items():
            yield from module.named_modules(f"{prefix}.{name}" if prefix else name)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    __call__ = _wrapped_call_impl


class ModuleList(Module):
    def __init__(self, modules):
        super().__init__()
        for number, module in enumerate(modules):
            setattr(self, str(number), module)

    def __iter__(self):
        return iter(self._modules.values())


class _Plain(Module):
    def __init__(self, *_):
        super().__init__()

    def forward(self, x):
        return x


class Linear(_Plain):
    pass


class LayerNorm(_Plain):
    pass


class Embedding(_Plain):
    pass
