#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime and TensorRT profiles against a few lines of Python over the files themselves.

onnxrt.*     every profile (samples, and the real ones of NEUROLENS_SHARED): nodes, their time by type and by node, shapes,
             every argument, runs of the model, session events, to the microsecond the file has
tensorrt.*   every engine: layers, times, percentages, tactics; queries and their percentiles; parts found beside each other,
             given together, by folder, alone
compare.*    two engines, and an engine and an ONNX run, compared layer by layer
"""
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = os.environ.get("NEUROLENS_SHARED")
SAMPLES = ROOT / "tests/cases/samples"
ENGINE = ROOT / "tests/cases/tensorrt/engine"


class Failure(Exception):
    pass


class Skipped(Exception):
    pass


def call(arguments, expect_status=0):
    done = subprocess.run([BIN, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, timeout=300,
                          env={**os.environ, "NO_COLOR": "1", "COLUMNS": "80"})
    if done.returncode != expect_status:
        raise Failure(f"{' '.join(map(str, arguments[2:]))} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


class Store:
    def __init__(self, folder):
        self.flags = ["--store", str(folder)]

    def runs(self, *paths):
        return json.loads(call([*self.flags, "import", *paths, "--json"]))["runs"]

    def rows(self, run, sql):
        text = call([*self.flags, "query", run["run_id"], sql, "--format", "csv", "--max-rows", "100000"])
        return [tuple(r) for r in csv.reader(io.StringIO(text))][1:]

    def document(self, run):
        path = json.loads(call([*self.flags, "show", run["run_id"], "--json"]))["path"]
        return load(pathlib.Path(path) / "run.json")

    def reply(self, *arguments):
        return json.loads(call([*self.flags, *arguments, "--json"]))

    def text(self, *arguments):
        return call([*self.flags, *arguments])


def load(path):
    opener = gzip.open if path.name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def expect(what, expected, found):
    if expected == found:
        return
    if isinstance(expected, list) and isinstance(found, list):
        expected, found = [r for r in expected if r not in found][:2], [r for r in found if r not in expected][:2]
    raise Failure(f"{what}: the file has {str(expected)[:300]}, the run {str(found)[:300]}")


def real(*parts):
    if not SHARED:
        raise Skipped("NEUROLENS_SHARED is not set")
    path = pathlib.Path(SHARED).joinpath("data", *parts)
    if not path.exists():
        raise Skipped(f"{'/'.join(parts)} is not there")
    return path


# ---- ONNX Runtime ----

def node_name(event):
    return event["name"][:-len("_kernel_time")] or event["args"]["op_name"]


def check_profile(store, path):
    events = load(path)
    nodes = [e for e in events if e["cat"] == "Node" and e["name"].endswith("_kernel_time")]
    others = [e for e in events if e["cat"] == "Session" or (e["cat"] == "Node" and e not in nodes)]
    (run,) = store.runs(path)
    expect("adapter", "onnxrt", run["adapter"])
    by = collections.defaultdict(lambda: [0, 0])
    for e in nodes:
        entry = by[(node_name(e), e["args"]["op_name"])]
        entry[0] += 1
        entry[1] += e["dur"] * 1000
    truth = sorted((name, kind, str(n), str(ns)) for (name, kind), (n, ns) in by.items())
    expect("nodes", truth, sorted(store.rows(run, "SELECT o.name, trim(t.value, '\"'), count(*), sum(o.dur_ns) FROM op o JOIN args t ON t.owner = 'op' AND t.owner_id = o.id AND "
                                           "t.key = 'op_type' GROUP BY 1, 2")))
    truth = sorted((e["name"], str(e["ts"] * 1000), str(e["dur"] * 1000)) for e in others)
    expect("session events and fences", truth, sorted(store.rows(run, "SELECT name, start_ns, dur_ns FROM range")))
    truth = sorted((str(e["ts"] * 1000), str(e["dur"] * 1000)) for e in events if e["name"] == "model_run")
    expect("steps", truth, sorted(store.rows(run, "SELECT start_ns, dur_ns FROM step")))
    shapes = collections.Counter()
    for e in nodes:
        given = e["args"].get("input_type_shape")
        dims = "" if given is None else json.dumps([list(t.values())[0] for t in given], separators=(",", ":"))
        types = "" if given is None else json.dumps([list(t)[0] for t in given], separators=(",", ":"))
        shapes[(dims, types)] += 1
    expect("shapes", sorted((*k, str(n)) for k, n in shapes.items()),
           sorted(store.rows(run, "SELECT input_dims, input_types, count(*) FROM op GROUP BY 1, 2")))
    kept = collections.Counter({"op_name": "op_type"}.get(k, k) for e in nodes for k in e["args"] if k != "input_type_shape")
    expect("arguments", sorted((k, str(n)) for k, n in kept.items()),
           sorted(store.rows(run, "SELECT key, count(*) FROM args WHERE owner = 'op' GROUP BY 1")))
    sizes = [e["args"] for e in nodes if "output_size" in e["args"]]
    for key in ("parameter_size", "activation_size", "output_size"):
        expect(key, [(str(sum(int(a[key]) for a in sizes)),)],
               store.rows(run, f"SELECT CAST(coalesce(sum(CAST(trim(value, '\"') AS BIGINT)), 0) AS BIGINT) FROM args WHERE owner = 'op' AND key = '{key}'"))
    return run, nodes


def onnxrt(path):
    def check(store, _):
        run, nodes = check_profile(store, path())
        reply = store.reply("operators", run["run_id"], "--by-type", "--limit", "0")
        total_us = sum(e["dur"] for e in nodes)
        by_type = collections.Counter()
        for e in nodes:
            by_type[e["args"]["op_name"]] += e["dur"]
        expect("operators --by-type", {k: round(v / 1e3, 6) for k, v in by_type.items()},
               {r["name"]: round(r["total_ms"], 6) for r in reply["operators"]})
        on_host = [r for r in reply["operators"] if r["gpu_ms"] == 0]
        if len(on_host) == len(reply["operators"]) and abs(sum(r["share"] for r in on_host) - 1) > 1e-9:
            raise Failure("shares of host time do not sum to one")
        expect("document", sorted(set(by_type)), sorted({op["op_type"] for op in store.document(run)["timeline"]}))
        for command in ("summary", "operators"):
            text = store.text(command, run["run_id"])
            wide = [line for line in text.splitlines() if len(line) > 80]
            if wide or "nan" in text:
                raise Failure(f"{command} does not fit: {(wide or [text])[0][:200]}")
        if total_us == 0:
            raise Failure("the profile has no time")
    return check


# ---- TensorRT ----

def percentile(values, p):
    values = sorted(values)
    rank = (len(values) - 1) * p / 100
    low = int(rank)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (rank - low)


def ns(ms):
    return round(ms * 1e6)


def check_layers(store, run, profile, layers):
    timed = [e for e in load(profile) if "name" in e]
    expect("layers", [(e["name"], str(ns(e["averageMs"]))) for e in timed],
           store.rows(run, "SELECT name, dur_ns FROM op ORDER BY id"))
    shares = {r[0]: float(r[1]) for r in store.rows(run, "SELECT owner_id, value FROM args WHERE owner = 'op' AND key = 'percentage'")}
    expect("percentages", [e["percentage"] for e in timed], [shares[str(i)] for i in range(len(timed))])
    expect("kernels", [(str(sum(1 for e in timed if e["averageMs"] > 0)), str(sum(ns(e["averageMs"]) for e in timed)))],
           store.rows(run, "SELECT count(*), sum(dur_ns) FROM kernel"))
    expect("links", [("0",)], store.rows(run, "SELECT count(*) FROM kernel k LEFT JOIN op o ON o.id = k.op_id WHERE o.dur_ns IS DISTINCT FROM k.dur_ns"))
    if layers is None:
        return
    infos = {layer["Name"]: layer for layer in load(layers)["Layers"]}
    truth = sorted((infos[e["name"]].get("TacticName") or infos[e["name"]]["LayerType"]) for e in timed if e["averageMs"] > 0 and e["name"] in infos)
    expect("tactics", truth, sorted(r[0] for r in store.rows(run, "SELECT k.name FROM kernel k JOIN args t ON t.owner = 'op' AND t.owner_id = k.op_id AND t.key = 'op_type'")))
    truth = [json.dumps([t["Dimensions"] for t in infos[e["name"]]["Inputs"]], separators=(",", ":")) for e in timed if e["name"] in infos]
    expect("shapes", truth, [r[0] for r in store.rows(run, "SELECT o.input_dims FROM op o JOIN args t ON t.owner = 'op' AND t.owner_id = o.id AND t.key = 'op_type' ORDER BY o.id")])


def check_times(store, run, times, beside_layers):
    queries = load(times)
    latencies = [q["latencyMs"] for q in queries]
    metrics = store.document(run)["summary"]["metrics"]
    for name, value in (("p50_ms", percentile(latencies, 50)), ("p95_ms", percentile(latencies, 95)), ("p99_ms", percentile(latencies, 99)),
                        ("latency_ms", sum(latencies) / len(latencies))):
        if abs(metrics[name] - value) > 1e-6:
            raise Failure(f"{name}: the file has {value}, the run {metrics[name]}")
    if beside_layers:
        expect("samples", [(str(len(queries)), f"{sum(q['computeMs'] for q in queries):.3f}")],
               store.rows(run, "SELECT count(*), printf('%.3f', sum(value)) FROM counter_sample WHERE series = 'compute_ms'"))
        return
    expect("queries", [(str(len(queries)), str(sum(ns(q["latencyMs"]) for q in queries)))], store.rows(run, "SELECT count(*), sum(dur_ns) FROM step"))
    expect("execution", [(str(len(queries)), str(sum(ns(q["computeMs"]) for q in queries)))],
           store.rows(run, "SELECT count(*), sum(dur_ns) FROM kernel WHERE name = 'TensorRT engine'"))


def engine(find, name):
    """The parts of an engine: all found beside the profile, given together, and alone."""
    def check(store, folder):
        source = find()
        parts = {part: next((p for p in source.glob(f"{name}.{part}.json*")), None) for part in ("profile", "graph", "timing")}
        (run,) = store.runs(parts["profile"])
        check_layers(store, run, parts["profile"], parts["graph"])
        check_times(store, run, parts["timing"], True)
        expect("name", name, store.document(run)["model"]["name"])
        (again,) = store.runs(*reversed([p for p in parts.values()] + list(source.glob(f"{name}.build.metadata.json*"))))
        expect("given together", (True, run["run_id"]), (again["duplicate"], again["run_id"]))
        alone = folder / "alone"
        alone.mkdir()
        for part in ("profile", "timing"):  # names that tell nothing
            shutil.copy(parts[part], alone / (part[0] + "".join(parts[part].suffixes[-2:])))
        (run,) = store.runs(next(alone.glob("p.*")))
        check_layers(store, run, parts["profile"], None)
        (run,) = store.runs(next(alone.glob("t.*")))
        check_times(store, run, parts["timing"], False)
    return check


def folder_of_engines(store, _):
    source = real("public", "tensorrt")
    runs = store.runs(source)
    expect("engines of a folder", ["resnet_fp16_a100", "resnet_qat_a100"], sorted(store.document(r)["model"]["name"] for r in runs))


def refused(store, folder):
    """One clear error each."""
    shutil.copy(ENGINE / "tiny_fp16.graph.json", folder / "x.graph.json")
    other = folder / "x.profile.json"
    other.write_text('[ { "count" : 1 }, { "name" : "elsewhere", "timeMs" : 1, "averageMs" : 1, "medianMs" : 1, "percentage" : 100 } ]')
    for paths, words in (([folder / "x.graph.json", other], "share no layer"), ([ENGINE / "tiny_fp16.graph.json", "--format", "tensorrt"], "no times")):
        done = subprocess.run([BIN, *store.flags, "import", *map(str, paths)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=60)
        lines = [line for line in done.stderr.strip().splitlines() if not line.lstrip().startswith("hint:")]
        if done.returncode != 2 or len(lines) != 1 or words not in lines[0]:
            raise Failure(f"expected one line with '{words}', status 2: {done.returncode} {done.stderr.strip()[:300]}")


# ---- comparing ----

def compare_engines(store, _):
    source = real("public", "tensorrt")
    (fp16,) = store.runs(source / "resnet_fp16_a100.profile.json.gz")
    (qat,) = store.runs(source / "resnet_qat_a100.profile.json.gz")
    reply = store.reply("compare", fp16["run_id"], qat["run_id"])
    totals = [sum(ns(e.get("averageMs", 0)) for e in load(source / f"resnet_{k}_a100.profile.json.gz")) / 1e6 for k in ("fp16", "qat")]
    expect("walls", [round(t, 6) for t in totals], [round(reply["wall_a_ms"], 6), round(reply["wall_b_ms"], 6)])
    told = sum(c["delta_ms"] for c in reply["contributions"]) + reply["residual_ms"]
    if abs(told - (totals[1] - totals[0])) > 1e-6:
        raise Failure(f"the contributions sum to {told} ms, the walls differ by {totals[1] - totals[0]} ms")
    if reply["matched_share_a"] < 0.8 or reply["matched_share_b"] < 0.7:
        raise Failure(f"layers do not pair: {reply['matched_share_a']:.2f} and {reply['matched_share_b']:.2f} of the time")


def compare_with_onnx(store, _):
    source = real("public", "tensorrt")
    (engine_run,) = store.runs(source / "resnet_fp16_a100.profile.json.gz")
    (onnx,) = store.runs(real("h200", "onnxrt") / "resnet18_cpu.json.gz")
    reply = store.reply("compare", onnx["run_id"], engine_run["run_id"])
    names = {row["name"] for row in reply["by_op"]}
    if not {"Conv_0 + Relu_1", "MaxPool_2"} <= names or not any("Conv" in n and "/" in n for n in names):
        raise Failure(f"layers and nodes are not both there: {sorted(names)[:5]}")
    if reply["matched_share_b"] < 0.7:
        raise Failure(f"{reply['matched_share_b']:.2f} of the engine's time pairs with nodes")
    if reply["verdict"]["class"] != "undecided":
        raise Failure(f"host time against device time was judged: {reply['verdict']}")


CHECKS = {
    **{f"onnxrt.{p.stem}": onnxrt(lambda p=p: p) for p in sorted((SAMPLES / "onnxrt").glob("*.json"))},
    "onnxrt.real_resnet18_cpu": onnxrt(lambda: real("h200", "onnxrt", "resnet18_cpu.json.gz")),
    "onnxrt.real_bert_cpu": onnxrt(lambda: real("h200", "onnxrt", "bert_cpu.json.gz")),
    "onnxrt.real_densenet121_from_node": onnxrt(lambda: real("public", "onnxrt", "densenet121_cpu_node.json.gz")),
    "onnxrt.real_resnet50_from_node": onnxrt(lambda: real("public", "onnxrt", "resnet50_cpu_node.json.gz")),
    "onnxrt.real_mkldnn_of_2019": onnxrt(lambda: real("public", "onnxrt", "olive_mkldnn_2019.json.gz")),
    "tensorrt.sample_engine": engine(lambda: ENGINE, "tiny_fp16"),
    "tensorrt.real_fp16": engine(lambda: real("public", "tensorrt"), "resnet_fp16_a100"),
    "tensorrt.real_qat": engine(lambda: real("public", "tensorrt"), "resnet_qat_a100"),
    "tensorrt.real_folder": folder_of_engines,
    "tensorrt.refused": refused,
    "compare.real_engines": compare_engines,
    "compare.real_engine_with_onnx": compare_with_onnx,
}


def main():
    wanted = os.environ.get("NEUROLENS_TEST_FILTER", "")
    failed = 0
    for name, check in CHECKS.items():
        if wanted and wanted not in name and wanted not in "formats_onnx.py":
            continue
        with tempfile.TemporaryDirectory(prefix="nl-onnx-") as folder:
            try:
                check(Store(pathlib.Path(folder) / "store"), pathlib.Path(folder))
                print(f"PASS {name}", flush=True)
            except Skipped as why:
                print(f"SKIP {name}: {why}", flush=True)
            except (Failure, OSError, ValueError, KeyError, TypeError, StopIteration, subprocess.TimeoutExpired) as why:
                failed += 1
                print(f"FAIL {name}: {type(why).__name__ if not isinstance(why, Failure) else ''} {' '.join(str(why).split())}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
