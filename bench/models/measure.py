#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures on a GPU what `neurolens predict` is held against.

  python3 bench/models/measure.py counts OUT.json          parameters of every shipped workload, counted by torch
  python3 bench/models/measure.py micro OUT.json           products, copies, attention and convolutions alone
  python3 bench/models/measure.py traces DIR [NAME...] [KEY=VALUE...]
                                                           a Kineto trace with module ranges of every workload, with few layers
  python3 bench/models/measure.py plain OUT.json NAME...   wall time of stages without a profiler, with few layers
"""
import gc
import json
import os
import sys
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))

from neurolens.models import config as configs  # noqa: E402

# A few layers: every layer of a model is the same.
FEWER = {"llama_8b": 4, "qwen_7b": 4, "mistral_7b": 4, "mixtral_8x7b": 2, "gemma_7b": 4, "opt_6_7b": 4}


def names():
    return [name for name in configs.shipped() if configs.get(configs.load(name), "engine.name") is None]


def overrides(name):
    out = ["repeats=3"]
    if configs.get(configs.load(name), "workload.output_tokens"):
        out.append("workload.output_tokens=4")
    if name in FEWER:
        out.append(f"model.hf.num_hidden_layers={FEWER[name]}")
    return out


def counts(path):
    from neurolens.models import __main__ as command

    found = {}
    for name in names():
        try:
            found[name] = command.count(configs.load(name))
        except Exception as e:  # the others are still counted
            found[name] = f"{type(e).__name__}: {e}"
        print(f"{name:16} {found[name]}", flush=True)
    with open(path, "w", encoding="utf-8") as out:
        json.dump(found, out)


def plain(path, wanted):
    from neurolens.models import run

    found = {}
    for name in wanted:
        result = run.run(configs.load(name, [*overrides(name), "repeats=5", "workload.output_tokens=16"]))
        found[name] = result["stages"]
        print(name, result["stages"], flush=True)
    with open(path, "w", encoding="utf-8") as out:
        json.dump(found, out)


def traces(folder, arguments):
    sets = [a for a in arguments if "=" in a]
    wanted = [a for a in arguments if "=" not in a]
    import torch
    from neurolens.models import run

    os.makedirs(folder, exist_ok=True)
    for name in wanted or names():
        begun = time.perf_counter()
        try:
            result = run.run(configs.load(name, overrides(name) + sets), os.path.join(folder, f"{name}.json.gz"))
            stages = "  ".join(f"{label} {stage['median_ms']:.3f} ms x {stage['count']}" for label, stage in result["stages"].items())
            print(f"{name:16} {result['parameters']:>14,} {stages}  ({time.perf_counter() - begun:.1f} s, head_tokens {result.get('head_tokens')})", flush=True)
        except Exception:
            print(f"{name}: FAILED {traceback.format_exc()[-1500:]}", flush=True)
        gc.collect()
        torch.cuda.empty_cache()


def _cases(torch):
    functional = torch.nn.functional
    make = {"device": "cuda", "dtype": torch.bfloat16}

    def linear(m, n, k):
        x, w = torch.randn(m, k, **make), torch.randn(n, k, **make)
        return lambda: functional.linear(x, w)

    def attention(b, h, g, s, d, causal):
        q, k, v = torch.randn(b, h, s, d, **make), torch.randn(b, g, s, d, **make), torch.randn(b, g, s, d, **make)
        return lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=h != g)

    def elementwise(kind, n):
        x, y = torch.randn(n, **make), torch.randn(n, **make)
        return {"copy": lambda: x.clone(), "add": lambda: x + y, "silu": lambda: functional.silu(x), "float": lambda: x.float(),
                "gelu": lambda: functional.gelu(x)}[kind]

    def norm(kind, rows, width):
        x, w = torch.randn(rows, width, **make), torch.randn(width, **make)
        if kind == "layer":
            return lambda: functional.layer_norm(x, (width,), w, w)
        return lambda: functional.rms_norm(x, (width,), w, 1e-5)

    def conv(b, c, o, s, k):
        x, w = torch.randn(b, c, s, s, **make), torch.randn(o, c, k, k, **make)
        return lambda: functional.conv2d(x, w, padding=k // 2)

    def group_norm(b, c, s):
        x, w = torch.randn(b, c, s, s, **make), torch.randn(c, **make)
        return lambda: functional.group_norm(x, 32, w, w)

    for m in (1, 8, 64, 256, 512, 1024, 2048, 4096, 8192, 16384):
        for n, k in ((768, 768), (3072, 768), (768, 3072), (1024, 4096), (4096, 4096), (14336, 4096), (4096, 14336), (1280, 1280), (1792, 1280), (24576, 3072)):
            yield ["linear", m, n, k], linear, (m, n, k)
    for n in (32000, 128256, 256000):
        yield ["linear", 8, n, 4096], linear, (8, n, 4096)
    for power in range(12, 30, 2):
        for kind in ("copy", "add", "silu", "gelu", "float"):
            yield [kind, 1 << power], elementwise, (kind, 1 << power)
    for rows, width in ((128, 768), (1024, 768), (8192, 768), (16384, 768), (1024, 4096), (8192, 4096), (16384, 3072)):
        for kind in ("layer", "rms"):
            yield [kind, rows, width], norm, (kind, rows, width)
    for b, h, g, s, d in ((8, 32, 8, 1024, 128), (4, 32, 8, 2048, 128), (8, 32, 32, 1024, 128), (8, 16, 16, 1024, 256), (16, 12, 12, 512, 64),
                          (32, 12, 12, 512, 64), (64, 12, 12, 197, 64), (8, 12, 12, 1500, 64), (4, 8, 8, 4096, 40), (4, 8, 8, 1024, 80),
                          (4, 8, 8, 256, 160), (4, 12, 12, 4096, 64), (100, 12, 12, 196, 64), (4, 16, 16, 257, 64), (4, 10, 10, 288, 128)):
        for causal in (False, True):
            yield ["attention", b, h, g, s, d, causal], attention, (b, h, g, s, d, causal)
    for b, c, o, s, k in ((4, 320, 320, 64, 3), (4, 640, 640, 32, 3), (4, 1280, 1280, 16, 3), (4, 1280, 1280, 8, 3), (4, 2560, 1280, 16, 3), (4, 960, 320, 64, 3),
                          (4, 640, 320, 64, 1), (4, 320, 320, 64, 1), (4, 1280, 1280, 8, 1), (4, 256, 256, 64, 3)):
        yield ["conv", b, c, o, s, k], conv, (b, c, o, s, k)
    for b, c, s in ((4, 320, 64), (4, 640, 32), (4, 1280, 16), (4, 1280, 8)):
        yield ["group_norm", b, c, s], group_norm, (b, c, s)


def micro(path):
    import torch
    from triton.testing import do_bench

    rows = []
    with torch.inference_mode():
        for case, maker, arguments in _cases(torch):
            try:
                rows.append({"case": case, "us": 1e3 * do_bench(maker(*arguments), warmup=5, rep=20, return_mode="median")})
            except Exception as e:
                rows.append({"case": case, "error": f"{type(e).__name__}: {e}"[:200]})
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}, out)
    print(f"{len(rows)} cases, {sum('error' in row for row in rows)} failed", flush=True)


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("counts", "micro", "traces", "plain"):
        print(__doc__, file=sys.stderr)
        return 2
    if arguments[0] in ("traces", "plain"):
        {"traces": traces, "plain": plain}[arguments[0]](arguments[1], arguments[2:])
    else:
        {"counts": counts, "micro": micro}[arguments[0]](arguments[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
