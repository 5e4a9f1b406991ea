# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime and TensorRT profiles against a few lines of Python over the files themselves: nodes with time, shapes and arguments to
the microsecond the file has; layers, times, percentages, tactics and queries of engines; and comparisons layer by layer."""
import collections
import json
import shutil

import pytest

from neurolens_cli import SAMPLES, TESTS, Run, equal, load, named, narrow, near, real

ENGINE = TESTS / "cases/tensorrt/engine"


# ---- ONNX Runtime ----

def node_name(event):
    return event["name"][:-len("_kernel_time")] or event["args"]["op_name"]


def check_profile(run, path):
    events = load(path)
    nodes = [e for e in events if e["cat"] == "Node" and e["name"].endswith("_kernel_time")]
    others = [e for e in events if e["cat"] == "Session" or (e["cat"] == "Node" and e not in nodes)]
    equal("adapter", "onnxrt", run.adapter)
    by = collections.defaultdict(lambda: [0, 0])
    for e in nodes:
        entry = by[(node_name(e), e["args"]["op_name"])]
        entry[0] += 1
        entry[1] += e["dur"] * 1000
    truth = sorted((name, kind, str(n), str(ns)) for (name, kind), (n, ns) in by.items())
    equal("nodes", truth, sorted(run.rows("SELECT o.name, trim(t.value, '\"'), count(*), sum(o.dur_ns) FROM op o JOIN args t ON t.owner = 'op' AND t.owner_id = o.id AND "
                                           "t.key = 'op_type' GROUP BY 1, 2")))
    truth = sorted((e["name"], str(e["ts"] * 1000), str(e["dur"] * 1000)) for e in others)
    equal("session events and fences", truth, sorted(run.rows("SELECT name, start_ns, dur_ns FROM range")))
    truth = sorted((str(e["ts"] * 1000), str(e["dur"] * 1000)) for e in events if e["name"] == "model_run")
    equal("steps", truth, sorted(run.rows("SELECT start_ns, dur_ns FROM step")))
    shapes = collections.Counter()
    for e in nodes:
        given = e["args"].get("input_type_shape")
        dims = "" if given is None else json.dumps([list(t.values())[0] for t in given], separators=(",", ":"))
        types = "" if given is None else json.dumps([list(t)[0] for t in given], separators=(",", ":"))
        shapes[(dims, types)] += 1
    equal("shapes", sorted((*k, str(n)) for k, n in shapes.items()),
           sorted(run.rows("SELECT input_dims, input_types, count(*) FROM op GROUP BY 1, 2")))
    kept = collections.Counter({"op_name": "op_type"}.get(k, k) for e in nodes for k in e["args"] if k != "input_type_shape")
    equal("arguments", sorted((k, str(n)) for k, n in kept.items()),
           sorted(run.rows("SELECT key, count(*) FROM args WHERE owner = 'op' GROUP BY 1")))
    sizes = [e["args"] for e in nodes if "output_size" in e["args"]]
    for key in ("parameter_size", "activation_size", "output_size"):
        equal(key, [(str(sum(int(a[key]) for a in sizes)),)],
               run.rows(f"SELECT CAST(coalesce(sum(CAST(trim(value, '\"') AS BIGINT)), 0) AS BIGINT) FROM args WHERE owner = 'op' AND key = '{key}'"))
    return nodes


REAL = [("h200", "resnet18_cpu"), ("h200", "bert_cpu"), ("public", "densenet121_cpu_node"), ("public", "resnet50_cpu_node"), ("public", "olive_mkldnn_2019")]


def profiles():
    """Samples as paths, real profiles as (folder, name): those may be missing."""
    return named(sorted((SAMPLES / "onnxrt").glob("*.json"))) + [pytest.param(one, id=f"real_{one[1]}") for one in REAL]


@pytest.mark.parametrize("path", profiles())
def test_nodes_shapes_arguments_and_steps_agree_with_the_profile(path, imported):
    if isinstance(path, tuple):
        path = real(path[0], "onnxrt", f"{path[1]}.json.gz")
    run = imported(path)
    nodes = check_profile(run, path)
    assert sum(e["dur"] for e in nodes) > 0, "the profile has no time"
    by_type = collections.Counter()
    for e in nodes:
        by_type[e["args"]["op_name"]] += e["dur"]
    operators = run.ask("operators", "--by-type", "--limit", "0")["operators"]
    equal("operators --by-type", {k: round(v / 1e3, 6) for k, v in by_type.items()}, {r["name"]: round(r["total_ms"], 6) for r in operators})
    if all(r["gpu_ms"] == 0 for r in operators):
        near("sum of the shares of host time", sum(r["share"] for r in operators), 1, within=1e-9)
    equal("document", sorted(set(by_type)), sorted({op["op_type"] for op in run.document()["timeline"]}))
    for command in ("summary", "operators"):
        text = run.store.text(command, run.id)
        narrow(text)
        assert "nan" not in text, text


# ---- TensorRT ----

def percentile(values, p):
    values = sorted(values)
    rank = (len(values) - 1) * p / 100
    low = int(rank)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (rank - low)


def ns(ms):
    return round(ms * 1e6)


def check_layers(run, profile, layers):
    timed = [e for e in load(profile) if "name" in e]
    equal("layers", [(e["name"], str(ns(e["averageMs"]))) for e in timed],
           run.rows("SELECT name, dur_ns FROM op ORDER BY id"))
    shares = {r[0]: float(r[1]) for r in run.rows("SELECT owner_id, value FROM args WHERE owner = 'op' AND key = 'percentage'")}
    equal("percentages", [e["percentage"] for e in timed], [shares[str(i)] for i in range(len(timed))])
    equal("kernels", [(str(sum(1 for e in timed if e["averageMs"] > 0)), str(sum(ns(e["averageMs"]) for e in timed)))],
           run.rows("SELECT count(*), sum(dur_ns) FROM kernel"))
    equal("links", [("0",)], run.rows("SELECT count(*) FROM kernel k LEFT JOIN op o ON o.id = k.op_id WHERE o.dur_ns IS DISTINCT FROM k.dur_ns"))
    if layers is None:
        return
    infos = {layer["Name"]: layer for layer in load(layers)["Layers"]}
    truth = sorted((infos[e["name"]].get("TacticName") or infos[e["name"]]["LayerType"]) for e in timed if e["averageMs"] > 0 and e["name"] in infos)
    equal("tactics", truth, sorted(r[0] for r in run.rows("SELECT k.name FROM kernel k JOIN args t ON t.owner = 'op' AND t.owner_id = k.op_id AND t.key = 'op_type'")))
    truth = [json.dumps([t["Dimensions"] for t in infos[e["name"]]["Inputs"]], separators=(",", ":")) for e in timed if e["name"] in infos]
    equal("shapes", truth, [r[0] for r in run.rows("SELECT o.input_dims FROM op o JOIN args t ON t.owner = 'op' AND t.owner_id = o.id AND t.key = 'op_type' ORDER BY o.id")])


def check_times(run, times, beside_layers):
    queries = load(times)
    latencies = [q["latencyMs"] for q in queries]
    metrics = run.document()["summary"]["metrics"]
    for name, value in (("p50_ms", percentile(latencies, 50)), ("p95_ms", percentile(latencies, 95)), ("p99_ms", percentile(latencies, 99)),
                        ("latency_ms", sum(latencies) / len(latencies))):
        assert abs(metrics[name] - value) <= 1e-6, f"{name}: the file has {value}, the run {metrics[name]}"
    if beside_layers:
        equal("samples", [(str(len(queries)), f"{sum(q['computeMs'] for q in queries):.3f}")],
               run.rows("SELECT count(*), printf('%.3f', sum(value)) FROM counter_sample WHERE series = 'compute_ms'"))
        return
    equal("queries", [(str(len(queries)), str(sum(ns(q["latencyMs"]) for q in queries)))], run.rows("SELECT count(*), sum(dur_ns) FROM step"))
    equal("execution", [(str(len(queries)), str(sum(ns(q["computeMs"]) for q in queries)))],
           run.rows("SELECT count(*), sum(dur_ns) FROM kernel WHERE name = 'TensorRT engine'"))


@pytest.mark.parametrize("name", ["tiny_fp16", "resnet_fp16_a100", "resnet_qat_a100"])
def test_the_parts_of_an_engine_agree_found_beside_given_together_and_alone(name, store, tmp_path):
    source = ENGINE if name == "tiny_fp16" else real("public", "tensorrt")
    parts = {part: next((p for p in source.glob(f"{name}.{part}.json*")), None) for part in ("profile", "graph", "timing")}
    run = store.add(parts["profile"])
    check_layers(run, parts["profile"], parts["graph"])
    check_times(run, parts["timing"], True)
    equal("name", name, run.document()["model"]["name"])
    (again,) = store.imports(*reversed([p for p in parts.values()] + list(source.glob(f"{name}.build.metadata.json*"))))
    equal("given together", (True, run.id), (again["duplicate"], again["run_id"]))
    alone = tmp_path / "alone"
    alone.mkdir()
    for part in ("profile", "timing"):  # names that do not show what is in the file
        shutil.copy(parts[part], alone / (part[0] + "".join(parts[part].suffixes[-2:])))
    check_layers(store.add(next(alone.glob("p.*"))), parts["profile"], None)
    check_times(store.add(next(alone.glob("t.*"))), parts["timing"], False)


def test_a_folder_of_engines_is_one_run_each(store):
    runs = [Run(store, reply) for reply in store.imports(real("public", "tensorrt"))]
    equal("engines of a folder", ["resnet_fp16_a100", "resnet_qat_a100"], sorted(run.document()["model"]["name"] for run in runs))


@pytest.mark.parametrize("paths, words", [(["x.graph.json", "x.profile.json"], "share no layer"), ([ENGINE / "tiny_fp16.graph.json", "--format", "tensorrt"], "no times")],
                         ids=["other_layers", "no_times"])
def test_parts_that_do_not_make_an_engine_are_refused_with_one_clear_error(paths, words, store, tmp_path):
    shutil.copy(ENGINE / "tiny_fp16.graph.json", tmp_path / "x.graph.json")
    (tmp_path / "x.profile.json").write_text('[ { "count" : 1 }, { "name" : "elsewhere", "timeMs" : 1, "averageMs" : 1, "medianMs" : 1, "percentage" : 100 } ]')
    done = store.run("import", *paths)
    lines = [line for line in done.stderr.strip().splitlines() if not line.lstrip().startswith("hint:")]
    assert done.returncode == 2 and len(lines) == 1 and words in lines[0], f"{done.returncode} {done.stderr.strip()[:300]}"


# ---- comparing ----

def test_two_engines_are_compared_layer_by_layer(imported):
    source = real("public", "tensorrt")
    fp16, qat = (imported(source / f"resnet_{kind}_a100.profile.json.gz") for kind in ("fp16", "qat"))
    reply = fp16.ask("compare", qat.id)
    totals = [sum(ns(e.get("averageMs", 0)) for e in load(source / f"resnet_{k}_a100.profile.json.gz")) / 1e6 for k in ("fp16", "qat")]
    equal("walls", [round(t, 6) for t in totals], [round(reply["wall_a_ms"], 6), round(reply["wall_b_ms"], 6)])
    told = sum(c["delta_ms"] for c in reply["contributions"]) + reply["residual_ms"]
    assert abs(told - (totals[1] - totals[0])) <= 1e-6, f"the contributions sum to {told} ms, the walls differ by {totals[1] - totals[0]} ms"
    assert reply["matched_share_a"] >= 0.8 and reply["matched_share_b"] >= 0.7, (
        f"layers do not pair: {reply['matched_share_a']:.2f} and {reply['matched_share_b']:.2f} of the time")


def test_an_engine_is_compared_with_a_run_of_onnx_runtime(imported):
    engine = imported(real("public", "tensorrt") / "resnet_fp16_a100.profile.json.gz")
    onnx = imported(real("h200", "onnxrt") / "resnet18_cpu.json.gz")
    reply = onnx.ask("compare", engine.id)
    names = {row["name"] for row in reply["by_op"]}
    assert {"Conv_0 + Relu_1", "MaxPool_2"} <= names and any("Conv" in n and "/" in n for n in names), (
        f"layers and nodes are not both there: {sorted(names)[:5]}")
    assert reply["matched_share_b"] >= 0.7, f"{reply['matched_share_b']:.2f} of the engine's time pairs with nodes"
    assert reply["verdict"]["class"] == "undecided", f"host time against device time was judged: {reply['verdict']}"
