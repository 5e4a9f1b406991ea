# SPDX-License-Identifier: Apache-2.0
"""A workload file: found, overridden, checked. `neurolens predict` reads the same files by the same rules
(src/analyze/cost_model/workload_config.h)."""
import difflib
import os

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "conf")

# Every key that may be set; below those that end in "." anything goes: they are handed on as they are.
KEYS = ("name", "description", "variant", "variants.", "model.task", "model.target", "model.args.", "model.hf.", "model.weights",
        "workload.batch", "workload.prompt_tokens", "workload.output_tokens", "workload.latent_size", "workload.logits",
        "dtype", "attention", "device", "warmup", "repeats", "seed", "engine.name", "engine.args.")
TASKS = ("causal_lm", "encoder", "image_classification", "speech_seq2seq")
DTYPES = {"bf16": "bfloat16", "bfloat16": "bfloat16", "fp16": "float16", "float16": "float16", "fp32": "float32", "float32": "float32"}
DEFAULTS = {"dtype": "bf16", "attention": "sdpa", "device": "cuda", "warmup": 2, "repeats": 5, "seed": 0,
            "workload": {"batch": 1, "logits": "last"}}
COUNTS = {"workload.batch": 1, "workload.prompt_tokens": 1, "workload.output_tokens": 1, "workload.latent_size": 1, "warmup": 0, "repeats": 1}


class ConfigError(Exception):
    """What is wrong with a workload file or an override, in words for its author."""


def _yaml():
    try:
        import yaml
    except ImportError:
        raise ConfigError("PyYAML is not installed, and workload files are YAML; install it with `pip install pyyaml`") from None
    return yaml


def shipped():
    """Names of the workload files that come with the package."""
    return sorted(name[:-5] for name in os.listdir(FOLDER) if name.endswith(".yaml"))


def find(text):
    """The path of a workload file: a path, or the name of one that comes with the package."""
    if os.path.isfile(text):
        return text
    name = os.path.basename(text)
    name = name if name.endswith(".yaml") else name + ".yaml"
    folder = os.path.dirname(text)
    path = os.path.join(FOLDER, name)
    if os.path.basename(folder) in ("", "conf") and os.path.isfile(path):
        return path
    near = difflib.get_close_matches(name[:-5], shipped(), 3, 0.4)
    raise ConfigError(f"{text}: no such file, and no workload of that name comes with NeuroLens" +
                      (f"; near it are {', '.join(near)}" if near else f"; known are {', '.join(shipped())}"))


def _known(path):
    return any(path == key or (key.endswith(".") and path.startswith(key)) or path + "." == key for key in KEYS)


def put(config, path, value, origin):
    """Sets one value by its path of names."""
    if not _known(path):
        names = [key.rstrip(".") for key in KEYS]
        near = difflib.get_close_matches(path, names, 1, 0.6)
        raise ConfigError(f"{origin}: '{path}' is not a setting of a workload" + (f"; did you mean '{near[0]}'?" if near else ""))
    at = config
    *folders, last = path.split(".")
    for name in folders:
        at = at.setdefault(name, {})
        if not isinstance(at, dict):
            raise ConfigError(f"{origin}: '{path}' is inside of a value that has no names in it")
    if not last:
        raise ConfigError(f"{origin}: '{path}' does not name a setting")
    at[last] = value


def _override(text):
    """("a.b", value) of "a.b=value"; the value as YAML writes it."""
    path, equals, value = text.partition("=")
    if not equals or not path:
        raise ConfigError(f"--set {text}: expected key.path=value")
    yaml = _yaml()
    try:
        return path, yaml.safe_load(value)
    except yaml.YAMLError:
        raise ConfigError(f"--set {text}: the value is not valid YAML") from None


def _leaves(value, path=""):
    for name, inner in value.items():
        at = f"{path}.{name}" if path else str(name)
        if isinstance(inner, dict) and at not in ("variants", "model.hf", "model.args", "engine.args"):
            yield from _leaves(inner, at)
        else:
            yield at, inner


def get(config, path, default=None):
    at = config
    for name in path.split("."):
        if not isinstance(at, dict) or name not in at:
            return default
        at = at[name]
    return at


def _defaults(config):
    for name, value in DEFAULTS.items():
        if isinstance(value, dict):
            inner = config.setdefault(name, {})
            if isinstance(inner, dict):
                for key, default in value.items():
                    inner.setdefault(key, default)
        else:
            config.setdefault(name, value)


def _check(config, origin):
    for path, least in COUNTS.items():
        value = get(config, path)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise ConfigError(f"{origin}: '{path}' must be a whole number of at least {least}, not {value!r}")
    if str(config["dtype"]) not in DTYPES:
        raise ConfigError(f"{origin}: dtype '{config['dtype']}' is not known; use bf16, fp16 or fp32")
    if get(config, "workload.logits") not in ("last", "all"):
        raise ConfigError(f"{origin}: 'workload.logits' must be last or all")
    engine, target, hf = get(config, "engine.name"), get(config, "model.target"), get(config, "model.hf")
    if engine not in (None, "vllm", "sglang"):
        raise ConfigError(f"{origin}: engine '{engine}' is not known; use vllm or sglang")
    if target is not None:
        if not isinstance(target, str) or target.count(":") != 1:
            raise ConfigError(f"{origin}: 'model.target' must be package.module:function")
        return
    if not isinstance(hf, dict) or not isinstance(hf.get("model_type"), str):
        raise ConfigError(f"{origin}: needs 'model.hf' with a 'model_type', or 'model.target'")
    if get(config, "model.task") not in TASKS:
        raise ConfigError(f"{origin}: 'model.task' must be one of {', '.join(TASKS)}")


def load(file, sets=()):
    """The resolved configuration of a workload file: the file, then its chosen variant, then overrides "key.path=value"."""
    yaml = _yaml()
    path = find(file)
    try:
        with open(path, encoding="utf-8") as opened:
            config = yaml.safe_load(opened)
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"{path}: cannot be read: {e}") from None
    except yaml.YAMLError as e:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(e).split())}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: expected names with values")
    for name, value in _leaves(config):
        put({}, name, value, path)
    overrides = [_override(text) for text in sets]
    for name, value in overrides:
        if name == "variant":
            config["variant"] = value
    variants, variant = config.pop("variants", None) or {}, config.get("variant")
    if variant is not None:
        if not isinstance(variants, dict) or not isinstance(variants.get(variant), dict):
            raise ConfigError(f"{path}: no variant '{variant}'; known are {', '.join(map(str, variants)) or 'none'}")
        for name, value in variants[variant].items():
            put(config, name, value, f"{path}: variant {variant}")
    for name, value in overrides:
        put(config, name, value, "--set")
    config.setdefault("name", os.path.splitext(os.path.basename(path))[0])
    _defaults(config)
    _check(config, path)
    return config


def text(config):
    """The configuration as a YAML file."""
    return _yaml().safe_dump(config, sort_keys=False, default_flow_style=False)


def flat(config):
    """Scalars by dotted names, as the run document holds settings; lists as their text."""
    out = {}

    def walk(value, path):
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(inner, f"{path}.{name}" if path else str(name))
        else:
            out[path] = value if value is None or isinstance(value, (str, int, float, bool)) else str(value)

    walk(config, "")
    return out
