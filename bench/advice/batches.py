#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`what-if --apply batch=N` against measured batch sizes: models whose step is recorded at one batch size and measured, unrecorded, at others.

  batches.py list
  batches.py measure NAME --out FOLDER    needs torch and a GPU: appends to FOLDER/measured.jsonl, writes FOLDER/NAME.json.gz (torch.profiler, with shapes)
  batches.py score FOLDER [--json]        imports the recordings, predicts every measured size; needs the release build

A prediction holds when the measured step lies between its bounds, and is near when its expected step is within 25 % of the measured one.
"""
import argparse
import gzip
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RECORDED, OTHERS = 8, (4, 16, 32)
ROUNDS, NEAR = 5, 0.25
CASES = {}  # name: make(torch, device, small), which returns step_of(batch)


def case(make):
    CASES[make.__name__] = make
    return make


def convolution(torch, inputs, outputs, size, stride=1):
    return torch.nn.Sequential(torch.nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), torch.nn.BatchNorm2d(outputs))


def resnet50(torch, classes, small):
    class Bottleneck(torch.nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            self.a, self.b, self.c = (convolution(torch, inputs, width, 1), convolution(torch, width, width, 3, stride), convolution(torch, width, 4 * width, 1))
            self.skip = convolution(torch, inputs, 4 * width, 1, stride) if stride != 1 or inputs != 4 * width else torch.nn.Identity()

        def forward(self, x):
            y = torch.relu(self.b(torch.relu(self.a(x))))
            return torch.relu(self.c(y) + self.skip(x))

    parts, inputs = [convolution(torch, 3, 64, 7, 2), torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2, 1)], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(1 if small else count):
            parts.append(Bottleneck(inputs, width, stride if i == 0 else 1))
            inputs = 4 * width
    return torch.nn.Sequential(*parts, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(inputs, classes))


@case
def resnet50_training(torch, device, small):
    model = resnet50(torch, 1000, small).to(device, torch.bfloat16).to(memory_format=torch.channels_last)
    optimizer, size = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9), 64 if small else 224

    def step_of(batch):
        x = torch.randn(batch, 3, size, size, device=device, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        labels = torch.randint(0, 1000, (batch,), device=device)

        def step():
            loss = torch.nn.functional.cross_entropy(model(x).float(), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return step
    return step_of


def layers_of(torch, device, count, width, inner, heads, kv_heads):
    """Weights of decoder layers: products alone, norms have none."""
    def weight(outputs, inputs):
        return torch.randn(outputs, inputs, device=device, dtype=torch.bfloat16) / inputs ** 0.5
    head = width // heads
    return [{"q": weight(width, width), "k": weight(kv_heads * head, width), "v": weight(kv_heads * head, width), "o": weight(width, width),
             "gate": weight(inner, width), "up": weight(inner, width), "down": weight(width, inner)} for _ in range(count)]


def llama(torch, device, small):
    width, inner, heads, kv_heads, count, vocabulary = (64, 128, 4, 2, 2, 512) if small else (4096, 14336, 32, 8, 4, 128256)
    layers, head = layers_of(torch, device, count, width, inner, heads, kv_heads), width // heads
    table = torch.randn(vocabulary, width, device=device, dtype=torch.bfloat16)
    angles = torch.randn(4096, head, device=device, dtype=torch.bfloat16)

    def norm(x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype)

    def rotated(x, at):
        first, second = x.chunk(2, -1)
        turn = angles[at:at + x.shape[2]]
        return x * turn.cos() + torch.cat((-second, first), -1) * turn.sin()

    def forward(ids, caches, at):
        """Logits of the last token; the keys and values before `at` are in `caches`, which grow as those of transformers do."""
        linear, x = torch.nn.functional.linear, torch.nn.functional.embedding(ids, table)
        batch, length = ids.shape
        for number, w in enumerate(layers):
            y = norm(x)
            q, k, v = (linear(y, w[name]).view(batch, length, -1, head).transpose(1, 2) for name in "qkv")
            q, k = rotated(q, at), rotated(k, at)
            if caches[number] is not None:
                k, v = torch.cat((caches[number][0], k), 2), torch.cat((caches[number][1], v), 2)
            caches[number] = (k, v)
            k, v = (t.repeat_interleave(heads // kv_heads, 1, output_size=heads) for t in (k, v))
            attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            x = x + linear(attended.transpose(1, 2).reshape(batch, length, width), w["o"])
            y = norm(x)
            x = x + linear(torch.nn.functional.silu(linear(y, w["gate"])) * linear(y, w["up"]), w["down"])
        return linear(norm(x[:, -1:]), table)
    return forward, count, vocabulary, 16 if small else 512


@case
def llama_prefill(torch, device, small):
    forward, count, vocabulary, length = llama(torch, device, small)

    def step_of(batch):
        ids = torch.randint(0, vocabulary, (batch, length), device=device)

        def step():
            with torch.no_grad():
                return forward(ids, [None] * count, 0)
        return step
    return step_of


@case
def llama_decode(torch, device, small):
    forward, count, vocabulary, length = llama(torch, device, small)

    def step_of(batch):
        filled = [None] * count
        with torch.no_grad():
            forward(torch.randint(0, vocabulary, (batch, length), device=device), filled, 0)
        ids = torch.randint(0, vocabulary, (batch, 1), device=device)

        def step():
            with torch.no_grad():
                return forward(ids, list(filled), length)
        return step
    return step_of


@case
def vit_forward(torch, device, small):
    width, heads, count, size = (64, 4, 2, 32) if small else (768, 12, 12, 224)

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.after = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
            self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
            self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, _ = x.shape
            q, k, v = self.qkv(self.before(x)).view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
            attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(torch.nn.functional.gelu(self.up(self.after(x))))

    patches = torch.nn.Conv2d(3, width, 16, 16).to(device, torch.bfloat16)
    layers = torch.nn.Sequential(*(Layer() for _ in range(count))).to(device, torch.bfloat16)
    head = torch.nn.Linear(width, 1000).to(device, torch.bfloat16)

    def step_of(batch):
        images = torch.randn(batch, 3, size, size, device=device, dtype=torch.bfloat16)

        def step():
            with torch.no_grad():
                return head(layers(patches(images).flatten(2).transpose(1, 2)).mean(1))
        return step
    return step_of


def measure(name, out, device, small):
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    torch.manual_seed(0)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    step_of = CASES[name](torch, device, small)
    steps = {batch: step_of(batch) for batch in sorted((RECORDED, *OTHERS))}

    def timed(step, count):
        wait()
        start = time.perf_counter()
        for _ in range(count):
            step()
        wait()
        return (time.perf_counter() - start) / count * 1e3
    counts = {}
    for batch, step in steps.items():
        timed(step, 2 if small else 8)
        counts[batch] = max(2, min(100, int((20 if small else 250) / max(timed(step, 2), 0.05))))
    times = {batch: [] for batch in steps}
    for number in range(ROUNDS):
        for batch in list(steps)[::1 if number % 2 == 0 else -1]:
            timed(steps[batch], 1)
            times[batch].append(round(timed(steps[batch], counts[batch]), 5))
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
        with profile(activities=activities, record_shapes=True, schedule=schedule(wait=1, warmup=2, active=4)) as profiler:
            for _ in range(7):
                with record_function("step"):
                    steps[RECORDED]()
                profiler.step()
        profiler.export_chrome_trace(f"{folder}/trace.json")
        with open(f"{folder}/trace.json", "rb") as trace, gzip.open(out / f"{name}.json.gz", "wb", 9) as packed:
            shutil.copyfileobj(trace, packed)
    line = {"name": name, "device": torch.cuda.get_device_name() if device == "cuda" else "cpu", "torch": torch.__version__,
            "recorded_batch": RECORDED, "step_ms": {str(batch): values for batch, values in times.items()}}
    with open(out / "measured.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def call(store, *words):
    program = os.environ.get("NEUROLENS_BIN") or str(HERE.parents[1] / "build/release/neurolens")
    done = subprocess.run([program, *map(str, words), "--store", str(store), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def score(folder):
    """A row per model and batch size; what cannot be predicted has the reason."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="neurolens-batches-") as store:
        for line in (folder / "measured.jsonl").read_text().splitlines():
            measured = json.loads(line)
            run = call(store, "import", folder / f"{measured['name']}.json.gz")["runs"][0]["run_id"]
            recorded_ms = statistics.median(measured["step_ms"][str(measured["recorded_batch"])])
            for batch, times in measured["step_ms"].items():
                if int(batch) == measured["recorded_batch"]:
                    continue
                reply = call(store, "what-if", run, "--apply", f"batch={batch}")
                (fix,) = reply["fixes"]
                row = {"name": measured["name"], "recorded_batch": measured["recorded_batch"], "batch": int(batch), "recorded_ms": recorded_ms,
                       "step_ms": reply["step"]["ms"], "measured_ms": statistics.median(times), "note": fix["note"], "low_ms": None, "expected_ms": None, "high_ms": None,
                       "holds": False, "near": False}
                if fix["batch"]:
                    ms = fix["batch"]["step_ms"]
                    row.update(low_ms=ms["low"], expected_ms=ms["expected"], high_ms=ms["high"], holds=ms["low"] <= row["measured_ms"] <= ms["high"],
                               near=abs(ms["expected"] - row["measured_ms"]) <= NEAR * row["measured_ms"], from_batch=fix["batch"]["from"])
                rows.append(row)
    return rows


def show(rows):
    print(f"{'model':18} {'batch':>9} {'recorded':>9} {'step':>8} {'low':>8} {'expected':>8} {'high':>8} {'measured':>8} {'ratio':>6}  holds near")
    for r in rows:
        figures = " ".join("       -" if r[key] is None else f"{r[key]:8.3f}" for key in ("low_ms", "expected_ms", "high_ms"))
        ratio = "     -" if r["expected_ms"] is None else f"{r['expected_ms'] / r['measured_ms']:6.2f}"
        print(f"{r['name']:18} {r['recorded_batch']:>3} -> {r['batch']:>2} {r['recorded_ms']:9.3f} {r['step_ms']:8.3f} {figures} {r['measured_ms']:8.3f} {ratio}  "
              f"{'yes' if r['holds'] else 'no':5} {'yes' if r['near'] else 'no':4} {r['note'] or ''}")
    print(f"measured between the bounds: {sum(r['holds'] for r in rows)} of {len(rows)}; expected within {NEAR:.0%}: {sum(r['near'] for r in rows)} of {len(rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("list")
    measured = commands.add_parser("measure")
    measured.add_argument("name", choices=[*CASES])
    measured.add_argument("--out", type=pathlib.Path, required=True)
    measured.add_argument("--device", default="cuda")
    measured.add_argument("--small", action="store_true", help="small models: to try this program on a CPU")
    scored = commands.add_parser("score")
    scored.add_argument("folder", type=pathlib.Path)
    scored.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "list":
        print("\n".join(CASES))
    elif arguments.what == "measure":
        measure(arguments.name, arguments.out, arguments.device, arguments.small)
    else:
        rows = score(arguments.folder)
        print(json.dumps(rows, indent=1)) if arguments.json else show(rows)


if __name__ == "__main__":
    main()
