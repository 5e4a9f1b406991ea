# SPDX-License-Identifier: Apache-2.0
"""Runs a workload: warm-up, then the repeats, with labels for the recorder that is there."""
import contextlib
import importlib
import json
import sys
import time

from .. import _labels, mark_event
from . import config as configs
from . import workload as workloads

# The importer of captures and of Kineto traces looks for this name (src/import/document_builder.cc).
METADATA = "neurolens.model"
DIMS = {"layers": ("num_hidden_layers", "n_layer", "decoder_layers"), "d_model": ("hidden_size", "n_embd", "d_model"),
        "d_ff": ("moe_intermediate_size", "intermediate_size", "ffn_dim", "n_inner", "decoder_ffn_dim"),
        "heads": ("num_attention_heads", "n_head", "decoder_attention_heads"), "kv_heads": ("num_key_value_heads",), "head_dim": ("head_dim",),
        "vocab": ("vocab_size",), "experts": ("num_local_experts", "n_routed_experts"), "active_experts": ("num_experts_per_tok",)}


def need(module, purpose):
    """Imports `module`; a ConfigError says what is missing and how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        missing = getattr(e, "name", None) or module
        raise configs.ConfigError(f"{purpose} needs {module}, which cannot be imported here ({e}); install it with `pip install {missing.split('.')[0]}`") from None


def target(name):
    """The function that "package.module:function" names."""
    module, _, function = name.partition(":")
    found = getattr(need(module, f"model.target {name}"), function, None)
    if not callable(found):
        raise configs.ConfigError(f"model.target {name}: {module} has no function '{function}'")
    return found


def dims(config):
    """Dimensions as the run document names them, as far as the configuration has them."""
    sizes = configs.get(config, "model.hf") or configs.get(config, "model.args") or {}
    out = {}
    for name, keys in DIMS.items():
        value = next((sizes[key] for key in keys if isinstance(sizes.get(key), int)), None)
        if value is not None:
            out[name] = value
    return out


def metadata(config, parameters=None):
    """What the run document says of the model."""
    out = {"name": config["name"], "batch_size": config["workload"]["batch"], "sequence_length": config["workload"].get("prompt_tokens"),
           "dims": dims(config), "config": configs.flat(config)}
    if parameters is not None:
        out["parameters_millions"] = parameters / 1e6
    return out


class Labels:
    """Labels of `neurolens run`, or of torch.profiler where that records (--kineto)."""

    def __init__(self, torch=None):
        self._torch = torch

    @contextlib.contextmanager
    def scope(self, label, data=None):
        if not label:
            yield
            return
        inner = _labels.scope(label, **(data or {})) if self._torch is None else self._torch.profiler.record_function(label)
        with inner:
            yield


class _KinetoEmitter:
    """What ModuleRanges pushes, as ranges of torch.profiler."""

    def __init__(self, torch):
        self._begin = torch.profiler.record_function
        self._open = []

    def on(self):
        return True

    def push(self, name, data):
        opened = self._begin(name)
        opened.__enter__()
        self._open.append(opened)

    def push_bytes(self, name, data):
        self.push(name.decode("utf-8", "replace"), None)

    def pop(self):
        self._open.pop().__exit__(None, None, None)


def request(work, labels):
    """One request, all stages; a list of (label, seconds of the host)."""
    state, times = {"scope": labels.scope}, []
    with labels.scope(work.request):
        for stage in work.stages:
            with labels.scope(stage.around):
                for _ in range(stage.repeat):
                    begun = time.perf_counter()
                    with labels.scope(stage.label, stage.data):
                        stage.run(state)
                        _synchronize()
                    times.append((stage.label, time.perf_counter() - begun))
    return times


def _synchronize():
    """A stage ends when its work on the device has ended."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()


def build(config):
    torch = need("torch", "running a model")
    if config["device"].startswith("cuda") and not torch.cuda.is_available():
        raise configs.ConfigError("device is cuda, but torch finds no GPU here; use --set device=cpu (and --set variant=tiny), or a machine with a GPU")
    torch.manual_seed(config["seed"])
    name = configs.get(config, "model.target")
    if name is not None:
        return workloads.of(target(name)(config))
    need("transformers", "a Hugging Face model")
    from . import hugging_face

    return hugging_face.build(config)


def summary(times):
    """Median seconds and count by label, in order of first appearance."""
    by_label = {}
    for label, seconds in times:
        by_label.setdefault(label, []).append(seconds)
    return {label: {"count": len(found), "median_ms": 1e3 * sorted(found)[len(found) // 2]} for label, found in by_label.items()}


def run(config, kineto=None):
    """Builds and runs the workload; a dict with what was measured on the host's clock."""
    if configs.get(config, "engine.name") is not None:
        from . import engines

        return engines.run(config)
    work = build(config)
    import torch

    if hasattr(work.model, "modules"):
        work.model.neurolens_labels_stages = True  # read by neurolens._torch
    parameters = sum(p.numel() for p in work.model.parameters()) if hasattr(work.model, "parameters") else None
    about = metadata(config, parameters)
    mark_event(METADATA, about)
    with torch.inference_mode():
        for _ in range(config["warmup"]):
            with Labels().scope("warmup:request"):
                request(work, _Unlabelled())
        if kineto:
            times = _under_kineto(torch, work, config, about, kineto)
        else:
            times = [entry for _ in range(config["repeats"]) for entry in request(work, Labels())]
    return {"name": config["name"], "parameters": parameters, "stages": summary(times), **work.inputs}


class _Unlabelled:
    """Warm-up: its forwards are not stages."""

    @contextlib.contextmanager
    def scope(self, label, data=None):
        yield


def _under_kineto(torch, work, config, about, path):
    from .. import _torch

    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    modules, times = _torch.ModuleRanges(torch, _KinetoEmitter(torch)), []
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        profiler.add_metadata_json(METADATA, json.dumps(about))
        modules.set(True)
        try:
            for _ in range(config["repeats"]):
                times += request(work, Labels(torch))
        finally:
            modules.set(False)
    profiler.export_chrome_trace(path)
    return times
