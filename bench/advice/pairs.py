#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pairs of small PyTorch programs: one with a flaw, the same with the right fix. The truth that advice is measured against.

  pairs.py list
  pairs.py measure NAME --out FILE   both sides unrecorded and interleaved; prints JSON with the times of a step; in the middle
                                     the flawed side is recorded by torch.profiler
  pairs.py loop NAME                 the flawed side for --steps labelled steps, to be recorded from outside (record.sh)

Each pair is a function of `fixed` that returns what runs one step. A step of both sides does the same work for its user: it leaves the
same result, only sooner. What is not the pair's business (sizes, types) is the same on both sides.
"""
import argparse
import json
import os
import statistics
import sys
import threading
import queue
import time

PAIRS = {}  # name: (make, what fixes it)
RECORDED = {}  # name: what its trace is recorded with, where that is not what most have


def pair(fix, **recorded):
    def add(make):
        PAIRS[make.__name__] = (make, fix)
        RECORDED[make.__name__] = {"shapes": True, "labelled": True, "stack": False, **recorded}
        return make
    return add


def blocks(torch, count, width, dtype, heads=8):
    """A stack of transformer blocks without dropout, eager."""
    layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True, device="cuda", dtype=dtype)
    return torch.nn.TransformerEncoder(layer, count, enable_nested_tensor=False).eval()


def mlp(torch, width, layers, dtype=None):
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width, device="cuda", dtype=dtype), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts)


def graphed(torch, run):
    """run() captured as a CUDA graph; what replays it."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


@pair("graphs")
def eager_decode(torch, fixed):
    model, x = blocks(torch, 12, 512, torch.bfloat16), torch.randn(1, 1, 512, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            return model(x)
    return graphed(torch, run) if fixed else run


@pair("graphs")
def eager_small_mlp(torch, fixed):
    model, x = mlp(torch, 256, 30), torch.randn(8, 256, device="cuda")

    def run():
        with torch.no_grad():
            return model(x)
    return graphed(torch, run) if fixed else run


@pair("sync")
def item_per_layer(torch, fixed):
    layers = [torch.nn.Linear(2048, 2048, device="cuda", dtype=torch.bfloat16) for _ in range(16)]
    x = torch.randn(512, 2048, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            y, seen = x, 0.0
            for layer in layers:
                y = layer(y)
                if not fixed:
                    seen += y.abs().max().item()
                else:
                    y.abs().max()
            return seen
    return run


@pair("sync")
def synchronize_after_each(torch, fixed):
    layers = [torch.nn.Linear(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(24)]
    x = torch.randn(256, 1024, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            y = x
            for layer in layers:
                y = torch.relu(layer(y))
                if not fixed:
                    torch.cuda.synchronize()
    return run


@pair("sync")
def mask_indexing(torch, fixed):
    x = torch.randn(4_000_000, device="cuda")

    def run():
        y = x
        for _ in range(10):
            if fixed:
                y = torch.where(y > 2, torch.full_like(y, 2.0), y)
            else:
                y = y.clone()
                y[(y > 2).nonzero()] = 2.0
        return y
    return run


@pair("pinned")
def pageable_copies(torch, fixed):
    model = mlp(torch, 2048, 8, torch.bfloat16)
    host = [torch.randn(8192, 2048).to(torch.bfloat16) for _ in range(4)]
    if fixed:
        host = [h.pin_memory() for h in host]
    copies, state = torch.cuda.Stream(), {"next": None, "at": 0}

    def fetch():
        with torch.cuda.stream(copies):
            state["next"] = host[state["at"] % 4].to("cuda", non_blocking=True)
        state["at"] += 1
    if fixed:
        fetch()

    def run():
        with torch.no_grad():
            if not fixed:
                x = host[state["at"] % 4].to("cuda")
                state["at"] += 1
                return model(x)
            torch.cuda.current_stream().wait_stream(copies)
            x = state["next"]
            x.record_stream(torch.cuda.current_stream())
            fetch()
            return model(x)
    return run


@pair("hoist")
def constant_copied_each_step(torch, fixed):
    model, x = mlp(torch, 1024, 6, torch.bfloat16), torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16)
    table = torch.randn(1024, 8192).to(torch.bfloat16)
    on_device = table.to("cuda")

    def run():
        with torch.no_grad():
            mask = on_device if fixed else table.to("cuda")
            return model(x) @ mask
    return run


@pair("sync")
def result_copied_each_step(torch, fixed):
    model, x = mlp(torch, 2048, 8, torch.bfloat16), torch.randn(4096, 2048, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            y = model(x)
            return y.sum() if fixed else y.cpu()
    return run


@pair("bf16")
def fp32_training(torch, fixed):
    torch.backends.cuda.matmul.allow_tf32 = False
    model, x = mlp(torch, 4096, 6), torch.randn(4096, 4096, device="cuda")

    def run():
        with torch.autocast("cuda", torch.bfloat16, enabled=fixed):
            loss = model(x).float().square().mean()
        loss.backward()
        model.zero_grad(set_to_none=True)
    return run


@pair("tf32")
def fp32_gemm_without_tf32(torch, fixed):
    a, b = torch.randn(4096, 4096, device="cuda"), torch.randn(4096, 4096, device="cuda")

    def run():
        torch.backends.cuda.matmul.allow_tf32 = fixed
        y = a
        for _ in range(4):
            y = y @ b
        return y
    return run


@pair("fp32")
def fp64_by_accident(torch, fixed):
    dtype = torch.float32 if fixed else torch.float64
    a = torch.randn(4096, 4096, device="cuda", dtype=dtype)

    def run():
        return (a * 0.5 + 1.0).cumsum(0).sum()
    return run


@pair("sdpa")
def attention_written_out(torch, fixed):
    shape = (8, 16, 2048, 64)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def run():
        with torch.no_grad():
            for _ in range(4):
                if fixed:
                    y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
                else:
                    y = torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v
            return y
    return run


@pair("channels_last")
def convolutions_nchw(torch, fixed):
    layers = []
    for _ in range(6):
        layers += [torch.nn.Conv2d(256, 256, 3, padding=1, device="cuda", dtype=torch.float16), torch.nn.ReLU()]
    model, x = torch.nn.Sequential(*layers).eval(), torch.randn(32, 256, 56, 56, device="cuda", dtype=torch.float16)
    if fixed:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)

    def run():
        with torch.no_grad():
            return model(x)
    return run


@pair("host")
def python_between_steps(torch, fixed):
    model, x = mlp(torch, 2048, 8, torch.bfloat16), torch.randn(4096, 2048, device="cuda", dtype=torch.bfloat16)

    def write_log():
        return sum(i * i for i in range(120_000))

    def run():
        with torch.no_grad():
            y = model(x).sum().item()
        if not fixed:
            write_log()
        return y
    return run


@pair("host")
def preprocessing_in_the_step(torch, fixed):
    import numpy
    model = mlp(torch, 2048, 8, torch.bfloat16)
    raw = numpy.random.default_rng(0).standard_normal((2048, 2048), dtype=numpy.float32)
    ready = queue.Queue(2)

    def preprocess():
        image = (raw - raw.mean(axis=0)) / (raw.std(axis=0) + 1e-5)
        return torch.from_numpy(numpy.clip(image, -3, 3)).pin_memory()

    def feed():
        while True:
            ready.put(preprocess())
    if fixed:
        for _ in range(3):
            threading.Thread(target=feed, daemon=True).start()

    def run():
        with torch.no_grad():
            x = ready.get() if fixed else preprocess()
            return model(x.to("cuda", torch.bfloat16, non_blocking=True)).sum().item()
    return run


class Slow:
    """A data set whose items take 2 ms of CPU each."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        import torch
        total, until = 0, time.perf_counter() + 0.002
        while time.perf_counter() < until:
            total += index
        return torch.full((1024,), float(index % 7))


@pair("workers")
def loader_without_workers(torch, fixed):
    from torch.utils.data import DataLoader
    torch.set_num_threads(1)
    loader = DataLoader(Slow(), batch_size=8, num_workers=8 if fixed else 0, pin_memory=False, prefetch_factor=8 if fixed else None)
    model, items = mlp(torch, 1024, 8), iter(loader)

    def run():
        with torch.no_grad():
            return model(next(items).to("cuda")).sum().item()
    return run


@pair("allocator")
def empty_cache_each_step(torch, fixed):
    model = blocks(torch, 6, 1024, torch.bfloat16, 16)
    x = torch.randn(8, 512, 1024, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            y = model(x)
            if not fixed:
                torch.cuda.empty_cache()
            return y
    return run


@pair("batch")
def one_sample_at_a_time(torch, fixed):
    model, x = mlp(torch, 4096, 8, torch.bfloat16), torch.randn(32, 4096, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            return model(x) if fixed else [model(row[None]) for row in x]
    return run


@pair("fuse")
def norm_written_out(torch, fixed):
    x = torch.randn(16384, 4096, device="cuda", dtype=torch.bfloat16)
    weight, bias = torch.ones(4096, device="cuda", dtype=torch.bfloat16), torch.zeros(4096, device="cuda", dtype=torch.bfloat16)

    def run():
        y = x
        for _ in range(6):
            if fixed:
                y = torch.nn.functional.layer_norm(y, (4096,), weight, bias)
            else:
                mean = y.mean(-1, keepdim=True)
                var = (y - mean).pow(2).mean(-1, keepdim=True)
                y = (y - mean) / torch.sqrt(var + 1e-5) * weight + bias
        return y
    return run


@pair("fuse")
def pointwise_chain(torch, fixed):
    x = torch.randn(8192, 8192, device="cuda")

    def chain(y):
        for _ in range(3):
            y = torch.sigmoid(y) * y + 0.5
            y = torch.tanh(y) - y * 0.1
        return y
    return (lambda call=torch.compile(chain): call(x)) if fixed else lambda: chain(x)


@pair("optimizer")
def optimizer_in_a_loop(torch, fixed):
    model = mlp(torch, 512, 60)
    x = torch.randn(64, 512, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True) if fixed else torch.optim.AdamW(model.parameters(), foreach=False)

    def run():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return run


@pair("concat")
def cache_grown_by_cat(torch, fixed):
    layers, room = 16, 4096
    caches = [torch.randn(1, 16, room, 128, device="cuda", dtype=torch.bfloat16) for _ in range(layers)]
    new = torch.randn(1, 16, 1, 128, device="cuda", dtype=torch.bfloat16)
    q = torch.randn(1, 16, 1, 128, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            for cache in caches:
                if fixed:
                    cache[:, :, room - 1:] = new
                    keys = cache
                else:
                    keys = torch.cat([cache[:, :, :room - 1], new], 2)
                y = torch.nn.functional.scaled_dot_product_attention(q, keys, keys)
            return y
    return run


@pair("hoist")
def tensors_made_from_lists(torch, fixed):
    model, x = mlp(torch, 1024, 8, torch.bfloat16), torch.randn(256, 1024, device="cuda", dtype=torch.bfloat16)
    numbers = list(range(20_000))
    ready = torch.tensor(numbers, device="cuda")

    def run():
        with torch.no_grad():
            index = ready if fixed else torch.tensor(numbers, device="cuda")
            return model(x) + index.sum()
    return run


@pair("layout")
def transposed_copies(torch, fixed):
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(8192, 512, device="cuda", dtype=torch.bfloat16)

    def run():
        for _ in range(6):
            y = (x.t() @ w) if fixed else (x.t().contiguous() @ w)
        return y
    return run


@pair("sample")
def sampling_on_the_cpu(torch, fixed):
    import numpy
    model = blocks(torch, 6, 1024, torch.bfloat16, 16)
    head, x = torch.nn.Linear(1024, 64_000, device="cuda", dtype=torch.bfloat16), torch.randn(4, 1, 1024, device="cuda", dtype=torch.bfloat16)
    random = numpy.random.default_rng(0)

    def sample_tokens(logits):
        scaled = logits - logits.max(axis=-1, keepdims=True)
        share = numpy.exp(scaled) / numpy.exp(scaled).sum(axis=-1, keepdims=True)
        return [int(numpy.searchsorted(numpy.cumsum(row), random.random())) for row in share]

    def run():
        with torch.no_grad():
            logits = head(model(x))[:, -1]
            if fixed:
                return torch.multinomial(torch.softmax(logits.float(), -1), 1)
            return sample_tokens(logits.float().cpu().numpy())
    return run


@pair("batch")
def heads_in_a_loop(torch, fixed):
    q, k, v = (torch.randn(4, 32, 512, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    attend = torch.nn.functional.scaled_dot_product_attention

    def run():
        with torch.no_grad():
            for _ in range(4):
                if fixed:
                    y = attend(q, k, v)
                else:
                    y = torch.stack([attend(q[:, h], k[:, h], v[:, h]) for h in range(32)], 1)
            return y
    return run


@pair("sdpa")
def attention_with_weights(torch, fixed):
    layers = [torch.nn.MultiheadAttention(1024, 16, batch_first=True, device="cuda", dtype=torch.bfloat16) for _ in range(6)]
    x = torch.randn(8, 1024, 1024, device="cuda", dtype=torch.bfloat16)

    def run():
        y = x
        for layer in layers:
            y = layer(y, y, y, need_weights=not fixed)[0]
        return y
    return run


@pair("host")
def file_written_each_step(torch, fixed):
    import tempfile
    model, x = mlp(torch, 2048, 8, torch.bfloat16), torch.randn(4096, 2048, device="cuda", dtype=torch.bfloat16)
    log = tempfile.NamedTemporaryFile("w")

    def keep_metrics(step_loss):
        rows = [{"parameter": i, "loss": step_loss, "norm": i * 0.5} for i in range(2_000)]
        log.write(json.dumps(rows))
        log.flush()
        os.fsync(log.fileno())

    def run():
        with torch.no_grad():
            loss = model(x).float().square().mean().item()
        if not fixed:
            keep_metrics(loss)
        return loss
    return run


@pair("bf16")
def upcast_in_every_layer(torch, fixed):
    torch.backends.cuda.matmul.allow_tf32 = False
    weights = [torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) * 0.01 for _ in range(6)]
    x = torch.randn(2048, 4096, device="cuda", dtype=torch.bfloat16)

    def run():
        y = x
        for w in weights:
            y = y @ w if fixed else (y.float() @ w.float()).to(torch.bfloat16)
        return y
    return run


@pair("graphs")
def small_convolutions(torch, fixed):
    layers = []
    for _ in range(24):
        layers += [torch.nn.Conv2d(64, 64, 3, padding=1, bias=False, device="cuda", dtype=torch.float16),
                   torch.nn.BatchNorm2d(64, device="cuda", dtype=torch.float16), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).eval().to(memory_format=torch.channels_last)
    x = torch.randn(1, 64, 28, 28, device="cuda", dtype=torch.float16).to(memory_format=torch.channels_last)

    def run():
        with torch.no_grad():
            return model(x)
    return graphed(torch, run) if fixed else run


@pair("pinned")
def pinned_copies_in_turn(torch, fixed):
    model = mlp(torch, 4096, 8, torch.bfloat16)
    host = [torch.randn(8192, 4096).to(torch.bfloat16).pin_memory() for _ in range(4)]
    copies, state = torch.cuda.Stream(), {"next": None, "at": 0}

    def fetch():
        with torch.cuda.stream(copies):
            state["next"] = host[state["at"] % 4].to("cuda", non_blocking=True)
        state["at"] += 1
    if fixed:
        fetch()

    def run():
        with torch.no_grad():
            if not fixed:
                state["at"] += 1
                return model(host[state["at"] % 4].to("cuda", non_blocking=True))
            torch.cuda.current_stream().wait_stream(copies)
            x = state["next"]
            x.record_stream(torch.cuda.current_stream())
            fetch()
            return model(x)
    return run


@pair("hoist")
def embedding_on_the_cpu(torch, fixed):
    table = torch.nn.Embedding(50_000, 2048, device="cuda" if fixed else "cpu", dtype=torch.bfloat16)
    model = mlp(torch, 2048, 6, torch.bfloat16)
    tokens = torch.randint(0, 50_000, (8192,), device="cuda" if fixed else "cpu")

    def run():
        with torch.no_grad():
            return model(table(tokens).to("cuda"))
    return run


@pair("sync")
def norms_read_one_by_one(torch, fixed):
    model, x = mlp(torch, 512, 40, torch.bfloat16), torch.randn(512, 512, device="cuda", dtype=torch.bfloat16)
    model(x).float().square().mean().backward()
    grads = [p.grad for p in model.parameters()]

    def run():
        with torch.no_grad():
            if fixed:
                return torch.stack([g.norm() for g in grads]).norm().item()
            return sum(g.norm().item() ** 2 for g in grads) ** 0.5
    return run


@pair("pack")
def small_tensors_copied_one_by_one(torch, fixed):
    model = mlp(torch, 1024, 6, torch.bfloat16)
    rows = [torch.randn(1024).to(torch.bfloat16) for _ in range(128)]

    def run():
        with torch.no_grad():
            x = torch.stack(rows).to("cuda") if fixed else torch.stack([row.to("cuda") for row in rows])
            return model(x).sum().item()
    return run


@pair("graphs")
def recurrent_cells_in_a_loop(torch, fixed):
    cell = torch.nn.GRUCell(512, 512, device="cuda", dtype=torch.float16)
    x, start = torch.randn(48, 32, 512, device="cuda", dtype=torch.float16), torch.zeros(32, 512, device="cuda", dtype=torch.float16)

    def run():
        with torch.no_grad():
            state = start
            for at in range(48):
                state = cell(x[at], state)
            return state
    return graphed(torch, run) if fixed else run


@pair("fuse")
def gelu_written_out(torch, fixed):
    layers = [torch.nn.Linear(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
    x = torch.randn(16384, 4096, device="cuda", dtype=torch.bfloat16)

    def gelu(y):
        return 0.5 * y * (1.0 + torch.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))

    def run():
        with torch.no_grad():
            y = x
            for layer in layers:
                y = layer(y)
                y = torch.nn.functional.gelu(y, approximate="tanh") if fixed else gelu(y)
            return y
    return run


@pair("checkpoint")
def checkpoint_each_step(torch, fixed):
    import tempfile
    model, x = mlp(torch, 2048, 6, torch.bfloat16), torch.randn(4096, 2048, device="cuda", dtype=torch.bfloat16)
    path = os.path.join(tempfile.mkdtemp(), "model.pt")

    def run():
        with torch.no_grad():
            loss = model(x).float().square().mean().item()
        if not fixed:
            torch.save(model.state_dict(), path)
        return loss
    return run


@pair("layout")
def cache_reordered_each_step(torch, fixed):
    caches = [torch.randn(8, 16, 2048, 128, device="cuda", dtype=torch.bfloat16) for _ in range(8)]
    order, q = torch.randperm(8, device="cuda"), torch.randn(8, 16, 1, 128, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            for cache in caches:
                keys = cache if fixed else cache.index_select(0, order)
                y = torch.nn.functional.scaled_dot_product_attention(q, keys, keys)
            return y
    return run


@pair("cpu_op")
def noise_made_on_the_cpu(torch, fixed):
    model, x = mlp(torch, 2048, 6, torch.bfloat16), torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            noise = torch.randn(2048, 2048, device="cuda") if fixed else torch.randn(2048, 2048).to("cuda")
            return model(x + noise.to(torch.bfloat16))
    return run


@pair("sync")
def checked_for_nan_after_each_layer(torch, fixed):
    layers = [torch.nn.Linear(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(20)]
    x = torch.randn(128, 1024, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            y, bad = x, torch.zeros((), device="cuda", dtype=torch.bool)
            for layer in layers:
                y = layer(y)
                if fixed:
                    bad |= torch.isnan(y).any()
                elif torch.isnan(y).any():
                    raise ValueError
            if fixed and bad:
                raise ValueError
            return y
    return run


@pair("tf32")
def convolutions_without_tf32(torch, fixed):
    layers = []
    for _ in range(4):
        layers += [torch.nn.Conv2d(128, 128, 3, padding=1, device="cuda"), torch.nn.ReLU()]
    model, x = torch.nn.Sequential(*layers).eval(), torch.randn(32, 128, 56, 56, device="cuda")

    def run():
        torch.backends.cudnn.allow_tf32 = fixed
        with torch.no_grad():
            return model(x)
    return run


@pair("sample")
def by_way_of_numpy(torch, fixed):
    import numpy
    first, second = mlp(torch, 2048, 4), mlp(torch, 2048, 4)
    x = torch.randn(1024, 2048, device="cuda")

    def scaled(y):
        return numpy.log1p(numpy.maximum(y, 0))

    def run():
        with torch.no_grad():
            y = first(x)
            y = torch.log1p(y.clamp_min(0)) if fixed else torch.from_numpy(scaled(y.cpu().numpy())).to("cuda")
            return second(y).sum().item()
    return run


@pair("host")
def tokens_made_between_steps(torch, fixed):
    import re
    model = mlp(torch, 1024, 8, torch.bfloat16)
    text, words = "the quick brown fox jumps over the lazy dog " * 400, re.compile(r"\w+|\s")

    def tokenize():
        ids = {}
        return [ids.setdefault(word, len(ids)) for word in words.findall(text)]
    ready = tokenize()

    def run():
        tokens = ready if fixed else tokenize()
        with torch.no_grad():
            x = torch.tensor(tokens[:1024], device="cuda").to(torch.bfloat16)
            return model(x[None].expand(1024, -1)).sum().item()
    return run


@pair("none")
def gemm_at_peak(torch, fixed):
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def run():
        for _ in range(4):
            y = a @ b
        return y
    return run


@pair("none")
def graph_replayed(torch, fixed):
    model, x = blocks(torch, 12, 1024, torch.bfloat16, 16), torch.randn(4, 128, 1024, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            return model(x)
    return graphed(torch, run)


@pair("none")
def compiled_training(torch, fixed):
    model = torch.compile(mlp(torch, 4096, 6, torch.bfloat16))
    x = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)

    def run():
        model(x).float().square().mean().backward()
        model.zero_grad(set_to_none=True)
    return run


def branches(torch, count=4):
    """Independent chains of kernels, each too small to fill the device: scans of a few columns."""
    inputs = [torch.randn(24_000, 128, device="cuda") for _ in range(count)]

    def run(x):
        for _ in range(3):
            x = (x.cumsum(0) * 0.01).relu()
        return x
    return [(lambda x=x: run(x)) for x in inputs]


@pair("streams")
def streams_waited_for_in_turn(torch, fixed):
    parts, streams = branches(torch), [torch.cuda.Stream() for _ in range(4)]

    def run():
        for part, stream in zip(parts, streams):
            with torch.cuda.stream(stream):
                part()
            if not fixed:
                stream.synchronize()
        for stream in streams:
            stream.synchronize()
    return run


@pair("streams")
def streams_chained_by_events(torch, fixed):
    parts, streams = branches(torch), [torch.cuda.Stream() for _ in range(4)]

    def run():
        before = torch.cuda.current_stream()
        for part, stream in zip(parts, streams):
            stream.wait_stream(torch.cuda.current_stream() if fixed else before)
            with torch.cuda.stream(stream):
                part()
            before = stream
        for stream in streams:
            torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
    return run


@pair("fill")
def branches_on_one_stream(torch, fixed):
    parts, streams = branches(torch), [torch.cuda.Stream() for _ in range(4)]

    def run():
        for part, stream in zip(parts, streams if fixed else [torch.cuda.current_stream()] * 4):
            with torch.cuda.stream(stream):
                part()
        torch.cuda.synchronize()
    return run


@pair("cpu_op")
def accuracy_on_the_cpu(torch, fixed):
    model, x = mlp(torch, 2048, 8, torch.bfloat16), torch.randn(4096, 2048, device="cuda", dtype=torch.bfloat16)
    labels = torch.randint(0, 2048, (4096,), device="cuda")
    labels_cpu = labels.cpu()

    def run():
        with torch.no_grad():
            y = model(x).float()
            if fixed:
                return (y.topk(5).indices == labels[:, None]).any(1).float().mean().item()
            return (y.cpu().topk(5).indices == labels_cpu[:, None]).any(1).float().mean().item()
    return run


@pair("host")
def images_normalised_in_numpy(torch, fixed):
    import numpy
    images = numpy.random.default_rng(0).integers(0, 256, (32, 3, 224, 224), dtype=numpy.uint8)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 7, 2, 3), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3, 2, 1)).cuda()

    def run():
        with torch.no_grad():
            if fixed:
                x = torch.from_numpy(images).cuda().float().mul_(1 / 127.5).sub_(1)
            else:
                x = torch.from_numpy(images.astype(numpy.float32) / 127.5 - 1).cuda()
            return model(x).sum().item()
    return run


@pair("sync")
def gradients_clipped_by_hand(torch, fixed):
    model, x = mlp(torch, 512, 40), torch.randn(64, 512, device="cuda")
    parameters = list(model.parameters())

    def run():
        model.zero_grad()
        model(x).square().mean().backward()
        if fixed:
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            return
        total = sum(p.grad.norm().item() ** 2 for p in parameters) ** 0.5
        if total > 1:
            for p in parameters:
                p.grad.mul_(1 / total)
    return run


@pair("hoist")
def mask_made_each_step(torch, fixed):
    q, k, v = (torch.randn(4, 16, 2048, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def made():
        return torch.ones(2048, 2048).tril().log().to(torch.bfloat16).to("cuda")
    ready = made()

    def run():
        mask = ready if fixed else made()
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return run


@pair("fuse")
def layer_norm_by_casts(torch, fixed):
    x = torch.randn(16384, 4096, device="cuda", dtype=torch.bfloat16)
    weight, bias = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")

    def run():
        y = x
        for _ in range(4):
            if fixed:
                y = torch.nn.functional.layer_norm(y, (4096,), weight.to(y.dtype), bias.to(y.dtype))
            else:
                f = y.float()
                f = (f - f.mean(-1, keepdim=True)) * torch.rsqrt(f.var(-1, unbiased=False, keepdim=True) + 1e-5)
                y = (f * weight + bias).to(torch.bfloat16)
        return y
    return run


@pair("pinned")
def weights_brought_each_step(torch, fixed):
    layers = [torch.randn(4096, 4096).to(torch.bfloat16) for _ in range(4)]
    resident = [layer.cuda() for layer in layers]
    x = torch.randn(2048, 4096, device="cuda", dtype=torch.bfloat16)

    def run():
        y = x
        for number in range(4):
            y = y @ (resident[number] if fixed else layers[number].to("cuda"))
        return y
    return run


@pair("sync")
def rows_repeated_by_counts(torch, fixed):
    layers = [torch.nn.Linear(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(12)]
    x = torch.randn(512, 1024, device="cuda", dtype=torch.bfloat16)
    counts = torch.randint(1, 4, (512,), device="cuda")
    total = int(counts.sum())

    def run():
        with torch.no_grad():
            y = x
            for layer in layers:
                wide = torch.repeat_interleave(layer(y), counts, dim=0, output_size=total if fixed else None)
                y = wide[:512] * 0.5
            return y
    return run


@pair("fuse")
def dropout_written_out(torch, fixed):
    x = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)

    def run():
        y = x
        for _ in range(6):
            if fixed:
                y = torch.nn.functional.dropout(y, 0.1, training=True)
            else:
                keep = (torch.rand_like(y) > 0.1).to(y.dtype)
                y = y * keep / 0.9
        return y
    return run


@pair("pad")
def vocabulary_not_padded(torch, fixed):
    head = torch.randn(50304 if fixed else 50257, 2048, device="cuda", dtype=torch.bfloat16)
    x = torch.randn(4096, 2048, device="cuda", dtype=torch.bfloat16)

    def run():
        return (x @ head.t())[:, :50257]
    return run


@pair("sync")
def timed_by_events_in_every_layer(torch, fixed):
    layers = [torch.nn.Linear(1024, 1024, device="cuda", dtype=torch.bfloat16) for _ in range(20)]
    x = torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            y = x
            for layer in layers:
                if fixed:
                    y = layer(y)
                    continue
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                y = layer(y)
                end.record()
                end.synchronize()
                begin.elapsed_time(end)
            return y
    return run


@pair("fuse")
def rotary_written_out(torch, fixed):
    q, k = (torch.randn(8, 32, 2048, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    cos, sin = (torch.randn(2048, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def half(x):
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)

    def rotate(q, k):
        return q * cos + half(q) * sin, k * cos + half(k) * sin
    return (lambda turned=torch.compile(rotate): turned(q, k)) if fixed else (lambda: rotate(q, k))


@pair("fuse")
def loss_in_full_precision(torch, fixed):
    logits = torch.randn(4096, 32000, device="cuda", dtype=torch.bfloat16)
    labels = torch.randint(0, 32000, (4096,), device="cuda")

    def loss(logits, labels):
        wide = logits.float()
        chosen = wide.exp() / wide.exp().sum(-1, keepdim=True)
        return -(chosen.gather(1, labels[:, None]) + 1e-9).log().mean()
    return (lambda fused=torch.compile(loss): fused(logits, labels)) if fixed else (lambda: loss(logits, labels))


@pair("host")
def waits_for_a_lock(torch, fixed):
    import threading
    model, x = mlp(torch, 2048, 12, torch.bfloat16), torch.randn(1024, 2048, device="cuda", dtype=torch.bfloat16)
    lock = threading.Lock()

    def logger():
        while True:
            with lock:
                time.sleep(0.002)
            time.sleep(0.0005)
    if not fixed:
        threading.Thread(target=logger, daemon=True).start()

    def run():
        with torch.no_grad():
            out = model(x)
        if not fixed:
            with lock:
                pass
        return out
    return run


@pair("sync")
def loss_read_each_step(torch, fixed):
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Conv2d(64, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU()) for _ in range(8)],
                                torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10)).cuda()
    x, labels = torch.randn(32, 64, 32, 32, device="cuda"), torch.randint(0, 10, (32,), device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    seen = {"loss": 0.0, "right": 0}

    def run():
        optimizer.zero_grad(set_to_none=True)
        out = model(x)
        loss = torch.nn.functional.cross_entropy(out, labels)
        right = (out.argmax(1) == labels).sum()
        if not fixed:
            seen["loss"] += loss.item()
            seen["right"] += right.item()
        loss.backward()
        optimizer.step()
    return run


@pair("sync", shapes=False)
def leaves_early_when_sure(torch, fixed):
    model = list(blocks(torch, 10, 1024, torch.bfloat16, 16).layers)
    x = torch.randn(16, 256, 1024, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            y = x
            for layer in model:
                y = layer(y)
                sure = y[:, -1].float().abs().mean() > 1e6
                if not fixed and sure:
                    break
            return y
    return run


@pair("sdpa", labelled=False)
def attention_with_bias_written_out(torch, fixed):
    q, k, v = (torch.randn(4, 16, 1024, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    bias = torch.randn(1, 16, 1024, 1024, device="cuda", dtype=torch.float16)
    out = torch.nn.Linear(1024, 1024, device="cuda", dtype=torch.float16)

    def attend():
        if fixed:
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        scores = torch.matmul(q, k.transpose(-1, -2)) / 8.0 + bias
        return torch.matmul(torch.nn.functional.softmax(scores.float(), dim=-1).to(q.dtype), v)

    def run():
        with torch.no_grad():
            for _ in range(6):
                y = out(attend().transpose(1, 2).reshape(4, 1024, 1024))
            return y
    return run


@pair("bf16", stack=True)
def inference_in_fp32(torch, fixed):
    dtype = torch.bfloat16 if fixed else torch.float32
    model = blocks(torch, 6, 1024, dtype, 16)
    x = torch.randn(16, 512, 1024, device="cuda", dtype=dtype)

    def run():
        with torch.no_grad():
            return model(x)
    return run


class Lines:
    """Lines of text that are made into tokens one after the other."""

    def __iter__(self):
        import torch
        number = 0
        while True:
            words = [f"word{(number * 31 + n) % 997}" for n in range(600)]
            yield torch.tensor([sum(ord(c) * (place + 1) for place, c in enumerate(word)) % 32000 for word in words])
            number += 1


@pair("workers", labelled=False)
def text_loaded_in_the_loop(torch, fixed):
    from torch.utils.data import DataLoader, IterableDataset

    class Data(Lines, IterableDataset):
        pass
    torch.set_num_threads(1)
    loader = DataLoader(Data(), batch_size=16, num_workers=8 if fixed else 0, pin_memory=True, prefetch_factor=4 if fixed else None)
    table, model = torch.nn.Embedding(32000, 512, device="cuda"), blocks(torch, 4, 512, torch.float32)
    items = iter(loader)

    def run():
        with torch.no_grad():
            return model(table(next(items).to("cuda", non_blocking=True))).mean().item()
    return run


@pair("batch", shapes=False)
def bags_in_a_loop(torch, fixed):
    table = torch.randn(100_000, 256, device="cuda")
    ids = torch.randint(0, 100_000, (128, 40), device="cuda")
    head = mlp(torch, 256, 4)

    def run():
        with torch.no_grad():
            if fixed:
                bags = torch.nn.functional.embedding_bag(ids, table, mode="mean")
            else:
                bags = torch.stack([table[row].mean(0) for row in ids])
            return head(bags)
    return run


@pair("fuse", labelled=False)
def gate_and_residual_written_out(torch, fixed):
    shape = (16, 2048, 4096)
    gate, up, skip = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    scale = torch.randn(4096, device="cuda", dtype=torch.bfloat16)

    def mixed(gate, up, skip):
        return torch.nn.functional.silu(gate) * up * scale + skip * 0.5
    fused = torch.compile(mixed) if fixed else mixed

    def run():
        with torch.no_grad():
            return fused(gate, up, skip)
    return run


@pair("optimizer", shapes=False, labelled=False)
def adam_by_hand(torch, fixed):
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(768, 768), torch.nn.LayerNorm(768), torch.nn.GELU()) for _ in range(24)]).cuda()
    x = torch.randn(128, 768, device="cuda")
    parameters = [*model.parameters()]
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
    optimizer = torch.optim.Adam(parameters, lr=1e-4, fused=True) if fixed else None

    def update():
        with torch.no_grad():
            for p, (mean, square) in zip(parameters, moments):
                mean.mul_(0.9).add_(p.grad, alpha=0.1)
                square.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p.sub_(1e-4 * mean / (square.sqrt() + 1e-8))

    def run():
        model.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        if fixed:
            optimizer.step()
        else:
            update()
    return run


@pair("sample", stack=True)
def matches_counted_in_python(torch, fixed):
    torch.backends.cuda.matmul.allow_tf32 = True
    model, x = mlp(torch, 1024, 6), torch.randn(4096, 1024, device="cuda")
    labels = torch.randint(0, 1024, (4096,))
    wanted, on_device = labels.tolist(), labels.cuda()

    def run():
        with torch.no_grad():
            found = model(x).argmax(1)
            if fixed:
                return (found == on_device).sum()
            return sum(int(a == b) for a, b in zip(found.tolist(), wanted))
    return run


@pair("cast")
def weights_cast_each_step(torch, fixed):
    torch.backends.mha.set_fastpath_enabled(False)  # which autocast switches off: both sides run the same operators
    model = blocks(torch, 8, 1024, torch.float32, 16)
    x = torch.randn(2, 128, 1024, device="cuda")
    if fixed:
        model, x = model.to(torch.bfloat16), x.to(torch.bfloat16)

    def run():
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=not fixed, cache_enabled=True):
            return model(x)
    return run


@pair("pinned", shapes=False, labelled=False)
def pictures_from_pageable_memory(torch, fixed):
    pictures = [torch.randint(0, 256, (256, 3, 224, 224), dtype=torch.uint8) for _ in range(2)]
    if fixed:
        pictures = [p.pin_memory() for p in pictures]
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3, 2, 1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1)).cuda()
    turn = [0]

    def run():
        with torch.no_grad():
            turn[0] += 1
            x = pictures[turn[0] % 2].to("cuda", non_blocking=fixed)
            return model(x.float().div_(255))
    return run


@pair("none", shapes=False, labelled=False)
def prefill_well_tuned(torch, fixed):
    model = blocks(torch, 6, 4096, torch.bfloat16, 32)
    x = torch.randn(4, 2048, 4096, device="cuda", dtype=torch.bfloat16)

    def run():
        with torch.no_grad():
            return model(x)
    return run


def timed(torch, run, steps):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps * 1e3


def measure(torch, name, rounds, out, steps_traced):
    """Half of the rounds before the trace and half after it: the speed of a shared host changes within minutes."""
    make, fix = PAIRS[name]
    flawed = make(torch, False)
    for _ in range(5):
        flawed()
    steps = max(3, min(200, int(60 / max(timed(torch, flawed, 3), 0.05))))
    fixed = make(torch, True)
    for _ in range(5):
        fixed()
    sides = {"flawed": [], "fixed": []}
    for number in range(rounds):
        if number == rounds // 2 and out:
            trace(torch, flawed, out, steps_traced, **RECORDED[name])
        order = [("flawed", flawed), ("fixed", fixed)]
        for side, run in order if number % 2 == 0 else order[::-1]:
            run()  # what the other side left behind (caches) is not this side's
            sides[side].append(timed(torch, run, steps))
    print(json.dumps({"name": name, "fix": fix, "steps": steps, "flawed_ms": [round(v, 5) for v in sides["flawed"]],
                      "fixed_ms": [round(v, 5) for v in sides["fixed"]],
                      "gain_ms": round(statistics.median(sides["flawed"]) - statistics.median(sides["fixed"]), 5)}), flush=True)


def trace(torch, run, out, steps, shapes, stack, labelled):
    """Without labelled steps: what a program has that only puts its loop inside of a profile() block."""
    from torch.profiler import ProfilerActivity, profile, schedule
    options = {"activities": [ProfilerActivity.CPU, ProfilerActivity.CUDA], "record_shapes": shapes, "with_stack": stack}
    with profile(**options, schedule=schedule(wait=1, warmup=2, active=steps) if labelled else None) as profiler:
        for _ in range(steps + 3 if labelled else steps):
            run()
            if labelled:
                profiler.step()
        if not labelled:
            torch.cuda.synchronize()
    profiler.export_chrome_trace(out)


def loop(torch, name, steps):
    """The flawed program with labelled steps, as a user of `neurolens run` has it."""
    import neurolens
    run = PAIRS[name][0](torch, False)
    for _ in range(5):
        run()
    for _ in range(steps):
        with neurolens.scope("step"):
            run()
    torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["list", "measure", "loop"])
    parser.add_argument("name", nargs="?", choices=[*PAIRS])
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if arguments.what == "list":
        print("\n".join(PAIRS))
        return
    import torch
    torch.manual_seed(0)
    if arguments.what == "loop":
        loop(torch, arguments.name, arguments.steps)
        return
    measure(torch, arguments.name, arguments.rounds, arguments.out, arguments.steps)
    sys.stdout.flush()
    os._exit(0)  # threads and workers of a fixed side have no end of their own


if __name__ == "__main__":
    main()
