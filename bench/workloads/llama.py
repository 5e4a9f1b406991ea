#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One request through a Llama-shaped model with random weights, in variants that differ in one thing each.

Every pair (base, variant) has a known cause, which is what `neurolens compare` is tested with.

  python3 llama.py --variant base --kineto base.json.gz      one request under torch.profiler
  python3 llama.py --variant item_sync --requests 20         wall times without a profiler
  python3 llama.py --all DIR [--only base,item_sync]         every variant under torch.profiler, one file each
  neurolens run --capture-range api -- python3 llama.py --window 1     one request in the recording, warm
"""
import argparse
import gzip
import json
import os
import shutil
import sys
import tempfile
import threading
import time

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama

VARIANTS = {
    "base": "nothing",
    "item_sync": "after every decode step, 8 x .item() on the token",
    "layer_sync": "torch.cuda.synchronize() after every layer",
    "h2d_pageable": "after every decode step, 48 MiB pageable host to device copy",
    "h2d_pinned": "after every decode step, 48 MiB pinned host to device copy",
    "d2h_logits": "after every decode step, the logits are copied to the host",
    "d2d_clone": "after every decode step, the KV cache of every layer is cloned",
    "eager_attn": "attention as two batched GEMMs and a softmax",
    "math_attn": "SDPA restricted to its math backend",
    "flash_attn": "SDPA restricted to its flash backend",
    "fp32_mlp": "the MLP computed in fp32, weights upcast on each call",
    "fp32_head": "the LM head computed in fp32, weight upcast on each call",
    "fp16": "the whole model in fp16 instead of bf16",
    "fp32_model": "the whole model in fp32",
    "fused_norm": "RMSNorm by one fused kernel instead of six",
    "unfused_silu": "SiLU spelled as x * (1 / (1 + exp(-x)))",
    "layout_copy": "the MLP's input goes through a transposed contiguous copy and back",
    "extra_kernels": "four elementwise kernels that change nothing after every layer",
    "python_work": "1 ms of Python in every layer",
    "python_step": "10 ms of Python after every decode step",
    "empty_cache": "torch.cuda.empty_cache() after every decode step",
    "side_stream": "large GEMMs on a second stream all the while (contention)",
    "wide_mlp": "d_ff 8192 instead of 5632",
    "more_layers": "10 layers instead of 8",
    "batch16": "batch 16 instead of 8",
    "longer_prompt": "prompt 1024 instead of 512",
    "more_steps": "16 decode steps instead of 12",
    "cublaslt": "cuBLASLt preferred instead of cuBLAS",
    "compile": "torch.compile(dynamic=True)",
    "graph": "decode steps replayed from CUDA graphs (torch.compile, reduce-overhead, static cache)",
    "low_clock": "SM clock locked at 1005 MHz",
}


def config_of(variant, attention):
    return LlamaConfig(
        hidden_size=2048, num_attention_heads=32, num_key_value_heads=8, vocab_size=32000,
        num_hidden_layers=10 if variant == "more_layers" else 8,
        intermediate_size=8192 if variant == "wide_mlp" else 5632,
        max_position_embeddings=4096, attn_implementation=attention)


def patch_mlp(model, forward):
    for layer in model.model.layers:
        layer.mlp.forward = forward.__get__(layer.mlp)


def mlp_fp32(self, x):
    x32 = x.float()
    linear = torch.nn.functional.linear
    gate = linear(x32, self.gate_proj.weight.float())
    up = linear(x32, self.up_proj.weight.float())
    return linear(torch.nn.functional.silu(gate) * up, self.down_proj.weight.float()).to(x.dtype)


def mlp_unfused_silu(self, x):
    gate = self.gate_proj(x)
    return self.down_proj(gate * (1 / (1 + torch.exp(-gate))) * self.up_proj(x))


def mlp_layout_copy(self, x):
    x = x.transpose(1, 2).contiguous().transpose(1, 2).contiguous()
    return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


def norm_fused(self, x):
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), self.weight, self.variance_epsilon)


def busy(seconds):
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        total += sum(range(50))
    return total


def after_layers(model, what):
    def hook(module, args, output):
        what()
        return output
    for layer in model.model.layers:
        layer.register_forward_hook(hook)


class SideLoad:
    """GEMMs on a stream of their own from a thread of their own, while it is entered."""

    def __enter__(self):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.loop)
        self.thread.start()

    def loop(self):
        stream = torch.cuda.Stream()
        a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
        with torch.cuda.stream(stream):
            while not self.stop.is_set():
                for _ in range(4):
                    a @ a
                stream.synchronize()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


class Nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


class Workload:
    def __init__(self, variant):
        torch.manual_seed(0)
        self.variant = variant
        attention = "eager" if variant == "eager_attn" else "sdpa"
        dtype = {"fp16": torch.float16, "fp32_model": torch.float32}.get(variant, torch.bfloat16)
        if variant == "cublaslt":
            torch.backends.cuda.preferred_blas_library("cublaslt")
        with torch.device("cuda"):
            self.model = LlamaForCausalLM(config_of(variant, attention)).to(dtype).eval()
        self.batch = 16 if variant == "batch16" else 8
        self.prompt = 1024 if variant == "longer_prompt" else 512
        self.steps = 16 if variant == "more_steps" else 12
        self.ids = torch.randint(0, 32000, (self.batch, self.prompt), device="cuda")
        self.host = torch.empty(48 << 20, dtype=torch.uint8, pin_memory=variant == "h2d_pinned")
        self.forward = self.model
        self.change()

    def change(self):
        v, model = self.variant, self.model
        mlps = {"fp32_mlp": mlp_fp32, "unfused_silu": mlp_unfused_silu, "layout_copy": mlp_layout_copy}
        if v in mlps:
            patch_mlp(model, mlps[v])
        if v == "fused_norm":
            modeling_llama.LlamaRMSNorm.forward = norm_fused
        if v == "fp32_head":
            head = model.lm_head
            head.forward = lambda x: torch.nn.functional.linear(x.float(), head.weight.float())
        if v == "layer_sync":
            after_layers(model, torch.cuda.synchronize)
        if v == "python_work":
            after_layers(model, lambda: busy(0.001))
        if v == "extra_kernels":
            def hook(module, args, output):
                for _ in range(4):
                    output = output * 1.0
                return output
            for layer in model.model.layers:
                layer.register_forward_hook(hook)
        if v == "compile":
            self.forward = torch.compile(model, dynamic=True)
        if v == "graph":
            self.forward = torch.compile(model, mode="reduce-overhead")

    def after_step(self, token, logits, cache):
        v = self.variant
        if v == "item_sync":
            for i in range(8):
                token[i].item()
        elif v in ("h2d_pageable", "h2d_pinned"):
            self.host.to("cuda")
        elif v == "d2h_logits":
            logits.cpu()
        elif v == "d2d_clone":
            for layer in cache.layers:
                layer.keys.clone()
                layer.values.clone()
        elif v == "python_step":
            busy(0.010)
        elif v == "empty_cache":
            torch.cuda.empty_cache()

    def call(self, ids, cache, position):
        if self.variant == "graph":
            torch.compiler.cudagraph_mark_step_begin()
            where = torch.arange(position, position + ids.shape[1], device="cuda")
            return self.forward(input_ids=ids, past_key_values=cache, cache_position=where, use_cache=True)
        return self.forward(input_ids=ids, past_key_values=cache, use_cache=True)

    @torch.no_grad()
    def request(self):
        from transformers import DynamicCache, StaticCache
        if self.variant == "graph":
            cache = StaticCache(config=self.model.config, max_cache_len=self.prompt + self.steps + 1)
        else:
            cache = DynamicCache()
        with record_function("LLM@request"):
            with record_function("LLM@prefill"):
                out = self.call(self.ids, cache, 0)
                token = out.logits[:, -1].argmax(-1, keepdim=True)
            with record_function("LLM@decode_all"):
                for step in range(self.steps):
                    with record_function("LLM@decode_step"):
                        out = self.call(token, cache, self.prompt + step)
                        token = out.logits[:, -1].argmax(-1, keepdim=True).clone()
                        self.after_step(token, out.logits, cache)
            torch.cuda.synchronize()

    def around(self):
        if self.variant == "side_stream":
            return SideLoad()
        backends = {"math_attn": torch.nn.attention.SDPBackend.MATH,
                    "flash_attn": torch.nn.attention.SDPBackend.FLASH_ATTENTION}
        if self.variant in backends:
            return torch.nn.attention.sdpa_kernel(backends[self.variant])
        return Nothing()


def record(variant, path):
    workload = Workload(variant)
    with workload.around():
        for _ in range(3):
            workload.request()
        walls = []
        for _ in range(5):
            began = time.perf_counter()
            workload.request()
            walls.append((time.perf_counter() - began) * 1e3)
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                     record_shapes=True, with_flops=True) as prof:
            began = time.perf_counter()
            workload.request()
            profiled = (time.perf_counter() - began) * 1e3
    plain = path.removesuffix(".gz")
    prof.export_chrome_trace(plain)
    with open(plain, "rb") as f, gzip.open(path, "wb", 9) as to:
        shutil.copyfileobj(f, to)
    os.remove(plain)
    walls.sort()
    print(json.dumps({"variant": variant, "profiled_ms": round(profiled, 2), "median_ms": round(walls[2], 2),
                      "min_ms": round(walls[0], 2), "bytes": os.path.getsize(path)}), flush=True)


def record_all(folder, only):
    os.makedirs(folder, exist_ok=True)
    for name in only or VARIANTS:
        variant = "base" if name.startswith("rerun") else name
        locked = variant == "low_clock" and os.system("nvidia-smi -lgc 1005,1005 >/dev/null") == 0
        # Each variant in a process of its own: no patch or autotuning of one reaches the next.
        os.system(f"{sys.executable} {__file__} --variant {variant} --kineto {folder}/{name}.json.gz "
                  f"2> {folder}/{name}.err || tail -3 {folder}/{name}.err")
        if locked:
            os.system("nvidia-smi -rgc >/dev/null")


def record_window(workload, requests):
    import neurolens  # found by itself under `neurolens run`
    with workload.around():
        for _ in range(3):
            workload.request()
        neurolens.start()
        for _ in range(requests):
            workload.request()
        neurolens.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", default="base", choices=VARIANTS)
    parser.add_argument("--kineto", help="write one profiled request to this .json.gz")
    parser.add_argument("--requests", type=int, default=10)
    parser.add_argument("--window", type=int, metavar="N", help="record N requests, after three that are not")
    parser.add_argument("--all", metavar="DIR")
    parser.add_argument("--only", type=lambda text: text.split(","))
    args = parser.parse_args()
    if args.all:
        return record_all(args.all, args.only)
    if args.kineto:
        return record(args.variant, args.kineto)
    workload = Workload(args.variant)
    if args.window:
        return record_window(workload, args.window)
    with workload.around():
        for i in range(args.requests + 2):
            began = time.perf_counter()
            workload.request()
            if i >= 2:
                print(f"{(time.perf_counter() - began) * 1e3:.2f} ms", flush=True)


if __name__ == "__main__":
    main()
