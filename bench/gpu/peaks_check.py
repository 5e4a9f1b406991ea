#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of `neurolens-peaks` held against kernels written independently: Triton kernels for DRAM, PyTorch's copies between host
and device, torch.matmul for matrix products; the best of several sizes and settings each.

  python3 bench/gpu/peaks_check.py OUT [--peaks PROGRAM]     in the repository's root

PROGRAM is build/capture-only/neurolens-peaks unless given; it must be built. OUT gets peaks.json, check.json and the table. Marks: DRAM
and pinned copies within 3 % of the independent figure (or above it), bf16 at least 0.98 of the best torch.matmul, the measurement under
60 s. Exit status 1: a mark is missed. Needs torch and triton; takes about two minutes."""
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def cublaslt():
    """The library that torch multiplies with, so that both sides have the same kernels."""
    import torch
    site = pathlib.Path(torch.__file__).resolve().parents[1]
    found = sorted(glob.glob(str(site / "nvidia" / "**" / "libcublasLt.so.*"), recursive=True))
    return found[-1] if found else None


def measure(program, out):
    command = [str(program)]
    library = cublaslt()
    if library:
        command += ["--cublaslt", library]
    begun = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    seconds = time.monotonic() - begun
    (out / "peaks.json").write_text(result.stdout)
    if result.returncode != 0:
        raise SystemExit(f"{program} ended with status {result.returncode}: {result.stderr[-500:]}")
    return json.loads(result.stdout), seconds, library


def median_s(work, seconds=0.3, least=15):
    """Median duration of `work` by events, each sample at least 1 ms, repeated for `seconds`."""
    import torch
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def sample(calls):
        begin.record()
        for _ in range(calls):
            work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / calls

    sample(1)
    calls = max(1, min(200, int(1e-3 / max(sample(1), 1e-7)) + 1))
    values, until = [], time.monotonic() + seconds
    while len(values) < least or time.monotonic() < until:
        values.append(sample(calls))
    return statistics.median(values)


def dram():
    """GB/s of read, write and copy by Triton kernels: best of block sizes, on 4 GiB."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def copy_kernel(to, source, count, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.store(to + at, tl.load(source + at, mask=at < count), mask=at < count)

    @triton.jit
    def write_kernel(to, count, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.store(to + at, tl.full((BLOCK,), 1.5, tl.float32), mask=at < count)

    @triton.jit
    def read_kernel(to, source, count, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        total = tl.sum(tl.load(source + at, mask=at < count), 0)
        tl.store(to + tl.program_id(0), total)

    globals().update(tl=tl)
    count = 1 << 30
    x, y = torch.rand(count, device="cuda"), torch.empty(count, device="cuda")
    size = count * 4
    best = {"dram_read": 0.0, "dram_write": 0.0, "dram_copy": 0.0}
    for block in (1024, 2048, 4096, 8192, 16384):
        for warps in (4, 8, 16):
            grid = (triton.cdiv(count, block),)
            works = {"dram_read": (1, lambda: read_kernel[grid](y, x, count, BLOCK=block, num_warps=warps)),
                     "dram_write": (1, lambda: write_kernel[grid](y, count, BLOCK=block, num_warps=warps)),
                     "dram_copy": (2, lambda: copy_kernel[grid](y, x, count, BLOCK=block, num_warps=warps))}
            for name, (sides, work) in works.items():
                best[name] = max(best[name], sides * size / median_s(work, 0.05) / 1e9)
    best["dram_copy"] = max(best["dram_copy"], 2 * size / median_s(lambda: y.copy_(x), 0.1) / 1e9)
    best["dram_read"] = max(best["dram_read"], size / median_s(lambda: torch.sum(x), 0.1) / 1e9)
    best["dram_write"] = max(best["dram_write"], size / median_s(lambda: y.fill_(1.5), 0.1) / 1e9)
    return best


def copies():
    """GB/s between host and device by tensor.copy_, best of sizes."""
    import torch
    best = {}
    for mib in (16, 64, 256, 512):
        device = torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
        for kind in ("pinned", "pageable"):
            host = torch.ones(mib << 20, dtype=torch.uint8, pin_memory=kind == "pinned")
            for name, work in ((f"h2d_{kind}", lambda: device.copy_(host, non_blocking=True)), (f"d2h_{kind}", lambda: host.copy_(device, non_blocking=True))):
                best[name] = max(best.get(name, 0), (mib << 20) / median_s(work, 0.1, 5) / 1e9)
    return best


def products():
    """TFLOP/s of torch.matmul, best of sizes, on random data."""
    import torch
    best = {}
    for name, dtype in (("tensor_bf16", torch.bfloat16), ("tensor_fp16", torch.float16), ("tensor_tf32", torch.float32)):
        torch.backends.cuda.matmul.allow_tf32 = True
        for m, n, k in ((4096, 4096, 4096), (6144, 6144, 6144), (8192, 8192, 8192), (8448, 8192, 8192), (8192, 8192, 16384), (16384, 8192, 8192),
                        (16384, 16384, 16384)):
            a = torch.randn(m, k, device="cuda", dtype=dtype)
            for transposed in (False, True):
                b = torch.randn(n, k, device="cuda", dtype=dtype).t() if transposed else torch.randn(k, n, device="cuda", dtype=dtype)
                rate = 2 * m * n * k / median_s(lambda: torch.matmul(a, b), 0.15) / 1e12
                if rate > best.get(name, (0, ""))[0]:
                    best[name] = (rate, f"{m} x {n} x {k}{' B transposed' if transposed else ''}")
    return best


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    program = pathlib.Path(sys.argv[sys.argv.index("--peaks") + 1]) if "--peaks" in sys.argv else ROOT / "build/capture-only/neurolens-peaks"
    document, seconds, library = measure(program, out)
    gpus = [d for d in document["devices"] if d["kind"] == "gpu"]
    if not gpus:
        raise SystemExit(f"no GPU was measured: {document['gpu_reason']}")
    figures = {f["name"]: f for f in gpus[0]["figures"]}
    other = {}
    for part in (dram, copies, products):
        try:
            other.update(part())
        except Exception as error:  # each part stands by itself: the table says which is missing
            print(f"{part.__name__} failed: {type(error).__name__}: {error}", flush=True)
    lines, missed = [f"{'figure':<16}{'unit':<9}{'ours':>10}{'spread':>8}{'other':>10}{'ratio':>8}  how"], []
    for name, f in figures.items():
        rival = other.get(name)
        rival = rival[0] if isinstance(rival, tuple) else rival
        value = f["value"]
        spread = f"{(f['high'] - f['low']) / value * 100:.1f}%" if value and f["low"] is not None else ""
        ratio = value / rival if value and rival else None
        lines.append(f"{name:<16}{f['unit']:<9}{value if value is not None else 'null':>10}{spread:>8}{f'{rival:.1f}' if rival else '':>10}"
                     f"{f'{ratio:.3f}' if ratio else '':>8}  {f['how'] or ''} {f['reason'] or ''}")
        least = 0.98 if name == "tensor_bf16" else 0.97
        if (name.startswith("dram_") or name.endswith("_pinned") or name == "tensor_bf16") and (ratio is None or ratio < least):
            missed.append(name)
    if seconds >= 60:
        missed.append("time")
    gpu = gpus[0]
    lines.append(f"{gpu['name']}, driver {gpu['driver_version']}, {gpu['library']} ({library}); measured in {seconds:.1f} s (GPU {gpu['seconds']:.1f} s)")
    lines.append(f"clocks idle {gpu['idle']}, loaded {gpu['loaded']}, max SM {gpu['max_sm_mhz']}")
    lines.append(f"torch's best sizes: { {k: v[1] for k, v in other.items() if isinstance(v, tuple)} }")
    for d in document["devices"]:
        if d["kind"] == "cpu":
            lines.append(f"CPU {d['name']}: " + ", ".join(f"{f['name']} {f['value']} {f['unit']} ({f['how'] or f['reason']})" for f in d["figures"]))
    lines.append("marks missed: " + (", ".join(missed) or "none"))
    print("\n".join(lines))
    (out / "table.txt").write_text("\n".join(lines) + "\n")
    (out / "check.json").write_text(json.dumps({"seconds": seconds, "other": other, "missed": missed, "driver": os.environ.get("CUDA_VERSION")}))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
