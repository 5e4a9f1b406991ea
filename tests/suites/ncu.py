#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nsight Compute pages against Python's csv module: counts, total times and metrics of the imported run, and reports attached to runs.

agrees.*    every real page (data/h200, NEUROLENS_SHARED) and every sample: kernels, metrics, rules, summed durations, values by unit
report.*    .ncu-rep goes through the ncu on PATH (a stand-in here): its pages, its failure, its absence
attach.*    counters joined to the kernels of a run: matched and unmatched, seen by query, roofline, findings and compare, kept by bundles
"""
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
from decimal import Decimal

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = os.environ.get("NEUROLENS_SHARED")
DETAILS, RAW = (ROOT / f"data/h200/llama_layer_{page}.csv.gz" for page in ("details", "raw"))
TENS = {"ns": 0, "us": 3, "ms": 6, "s": 9, "byte": 0, "Kbyte": 3, "Mbyte": 6, "Gbyte": 9, "Tbyte": 12, "hz": 0, "Khz": 3, "Mhz": 6, "Ghz": 9}


class Failure(Exception):
    pass


def call(arguments, **more):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, check=False, text=True, timeout=300, stdin=subprocess.DEVNULL, **more)


def run(arguments):
    done = call(arguments)
    if done.returncode != 0:
        raise Failure(f"{arguments[2]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def expect(what, expected, found):
    if expected != found:
        raise Failure(f"{what}: expected {str(expected)[:400]}, found {str(found)[:400]}")


class Store:
    def __init__(self, folder):
        self.flags = ["--store", str(pathlib.Path(folder) / "store")]

    def add(self, path, *more):
        (made,) = json.loads(run([*self.flags, "import", str(path), "--json", *more]))["runs"]
        return made

    def json(self, *arguments):
        return json.loads(run([*self.flags, *arguments, "--json"]))

    def rows(self, run_id, sql):
        return [tuple(r) for r in csv.reader(io.StringIO(run([*self.flags, "query", run_id, sql, "--format", "csv", "--max-rows", "1000000"])))][1:]


def number(text):
    """As printed: thousands with commas; None for what is no number."""
    try:
        return Decimal(text.replace(",", ""))
    except ArithmeticError:
        return None


def scale(unit):
    top, _, below = unit.partition("/")
    return Decimal(10) ** (TENS.get(unit, TENS.get(top, 0) if below in ("s", "block", "cycle", "") else 0))


def page(path):
    """(kernels {id: [name, grid, block, duration ns]}, metrics [(id, name, number in a plain unit or None)], rules) by the csv module alone."""
    with (gzip.open(path, "rt", newline="") if path.suffix == ".gz" else open(path, newline="", encoding="utf-8")) as text:
        lines = list(csv.reader(text))
    header, body = lines[0], lines[1:]
    at = {name: i for i, name in enumerate(header)}
    kernels, metrics, rules = {}, [], []
    if "Metric Name" in at:
        for line in body:
            line += [""] * (len(header) - len(line))
            key = int(line[at["ID"]])
            kernels.setdefault(key, [line[at["Kernel Name"]], line[at["Grid Size"]], line[at["Block Size"]], None])
            name, unit, value = (line[at[column]] for column in ("Metric Name", "Metric Unit", "Metric Value"))
            if name:
                plain = number(value)
                metrics.append((key, name, None if plain is None else plain * scale(unit)))
                if name in ("Duration", "gpu__time_duration.sum") and kernels[key][3] is None:
                    kernels[key][3] = plain * scale(unit)
            if line[at["Rule Name"]]:
                rules.append((key, line[at["Rule Name"]], number(line[at["Estimated Speedup"]]), line[at["Rule Description"]]))
        return kernels, metrics, rules
    units, first = body[0], at["CC"] + 1
    for line in body[1:]:
        key = int(line[at["ID"]])
        time = at["gpu__time_duration.sum"]
        kernels[key] = [line[at["Kernel Name"]], line[at["Grid Size"]], line[at["Block Size"]], number(line[time]) * scale(units[time])]
        for i in range(first, len(header)):
            if line[i] and not header[i].startswith("device__attribute_"):
                plain = number(line[i])
                metrics.append((key, header[i], None if plain is None else plain * scale(units[i])))
    return kernels, metrics, rules


def agrees(path):
    kernels, metrics, rules = page(path)
    with tempfile.TemporaryDirectory(prefix="nl-ncu-") as folder:
        store = Store(folder)
        made = store.add(path)
        expect("adapter", "ncu", made["adapter"])
        rows = store.rows(made["run_id"], "SELECT name, '(' || grid_x || ', ' || grid_y || ', ' || grid_z || ')', '(' || block_x || ', ' || block_y || ', ' || "
                          "block_z || ')', dur_ns FROM kernel ORDER BY id")
        truth = [(name, grid, block, "" if ns is None else str(int(ns))) for name, grid, block, ns in kernels.values()]
        expect("kernels", truth, rows)
        times = [ns for *_, ns in kernels.values() if ns is not None]
        expect("kernels and total time", [(str(len(kernels)), str(int(sum(times))) if times else "")],
               store.rows(made["run_id"], "SELECT count(*), sum(dur_ns) FROM kernel"))
        expect("metrics", [(str(len(metrics)), str(sum(v is not None for *_, v in metrics)), str(len({name for _, name, _ in metrics})))],
               store.rows(made["run_id"], "SELECT count(*), count(value), count(DISTINCT name) FROM kernel_metric"))
        found = store.rows(made["run_id"], "SELECT name, value FROM kernel_metric ORDER BY id")
        wrong = [(a, b) for a, b in zip(metrics, found) if a[1] != b[0] or (None if b[1] == "" else float(b[1])) != (None if a[2] is None else float(a[2]))]
        expect("values that differ", [], wrong[:2])
        order = {key: str(i) for i, key in enumerate(kernels)}
        expect("rules", [(order[key], rule, "" if pct is None else float(pct), text) for key, rule, pct, text in rules],
               [(k, rule, "" if pct == "" else float(pct), text) for k, rule, pct, text in
                store.rows(made["run_id"], "SELECT kernel_id, rule, estimated_speedup_pct, message FROM tool_finding ORDER BY id")])


# Stands for ncu: prints the page it is asked for.
STAND_IN = """#!/bin/sh
[ "$1 $3 $4" = "--import --csv --page" ] || { echo "bad arguments: $*" >&2; exit 9; }
case "$2" in *.ncu-rep) ;; *) echo "no report: $2" >&2; exit 8;; esac
"""


def report(body, packed=False):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nl-ncu-"))
    (folder / "bin").mkdir()
    if body is not None:
        program = folder / "bin/ncu"
        program.write_text(STAND_IN + body)
        program.chmod(0o755)
    path = folder / ("r.ncu-rep.gz" if packed else "r.ncu-rep")
    data = b"NVR\0 of some profile"
    path.write_bytes(gzip.compress(data) if packed else data)
    environment = {**os.environ, "PATH": f"{folder}/bin:/usr/bin:/bin", "TMPDIR": str(folder)}
    return folder, ["--store", folder / "store", "import", path, "--json"], environment


def finish(folder, arguments, environment):
    done = call(arguments, env=environment)
    left = [p.name for p in folder.iterdir() if p.name.startswith("neurolens-")]
    if left:
        raise Failure(f"left behind: {left}")
    return done


def report_is_printed(_):
    for packed in (False, True):
        folder, arguments, environment = report(f'gzip -dc "{ROOT}/data/h200/llama_layer_$5.csv.gz"', packed)
        done = finish(folder, arguments, environment)
        if done.returncode != 0:
            raise Failure(done.stderr)
        (made,) = json.loads(done.stdout)["runs"]
        shutil.rmtree(folder)
        # Exact values from the raw page, words of the rules from the details page, on the same kernels.
        expect("tables", {"kernel": 60, "kernel_counter": 60, "tool_finding": 459},
               {name: made["tables"][name] for name in ("kernel", "kernel_counter", "tool_finding")})
        expect("counters", [], [c for c in made["counters"] if c["severity"] != "info"])


def report_failure_is_passed_on(_):
    folder, arguments, environment = report('echo "==ERROR== the report is newer" >&2; exit 5')
    done = finish(folder, arguments, environment)
    shutil.rmtree(folder)
    expect("message", "ncu --import ended with status 5: ==ERROR== the report is newer", json.loads(done.stdout or done.stderr)["error"]["message"])
    expect("exit status", 2, done.returncode)


def report_needs_ncu(_):
    folder, arguments, environment = report(None)
    done = finish(folder, arguments, {**environment, "PATH": str(folder / "bin")})
    shutil.rmtree(folder)
    error = json.loads(done.stdout or done.stderr)["error"]
    if "there is none on PATH" not in error["message"] or "ncu --import FILE.ncu-rep --csv" not in error.get("hint", "") or done.returncode != 2:
        raise Failure(f"{done.returncode}: {error}")


def trace_of(kernels, path, scale_ns=1):
    """A Kineto trace of these kernels, spelled as CUPTI does, one aten op each."""
    events, now = [], 0
    for i, (name, grid, block, ns) in enumerate(kernels):
        ns = int(ns) * scale_ns
        launch = {"correlation": i + 1, "External id": i + 1}
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::op", "pid": 1, "tid": 1, "ts": now / 1e3, "dur": (ns + 900) / 1e3, "args": {"External id": i + 1}})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": (now + 100) / 1e3, "dur": 0.2, "args": launch})
        events.append({"ph": "X", "cat": "kernel", "name": name.replace("(bool)", ""), "pid": 0, "tid": 7, "ts": (now + 400) / 1e3, "dur": ns / 1e3,
                       "args": {**launch, "device": 0, "context": 1, "stream": 7, "grid": json.loads(grid.translate(str.maketrans("()", "[]"))),
                                "block": json.loads(block.translate(str.maketrans("()", "[]")))}})
        now += ns + 1000
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}], "traceEvents": events}))


def attach_joins_counters(_):
    """A run with every kernel of the report but three, one launched otherwise, and some the report does not have."""
    kernels = [tuple(k) for k in page(RAW)[0].values()]
    last = next(k for k in kernels if k[0].startswith("nvjet_sm90_tst_192x192"))
    mine = [k for k in kernels if k != kernels[0] and k is not last]
    mine[4] = (mine[4][0], "(9, 9, 9)", *mine[4][2:])
    mine += [("void only_in_the_run(int)", "(1, 1, 1)", "(32, 1, 1)", 5000)] * 2
    with tempfile.TemporaryDirectory(prefix="nl-ncu-") as folder:
        folder = pathlib.Path(folder)
        store = Store(folder)
        trace_of(mine, folder / "run.json")
        run_id = store.add(folder / "run.json")["run_id"]
        document = (folder / "store/runs" / run_id / "run.json").read_bytes()
        attached = store.json("import", "--attach", run_id, str(RAW))["attached"]
        reasons = sorted((u["reason"], u["executions"]) for u in attached["unmatched"])
        expect("kernels, matched, run kernels", (60, 57, len(mine)), (attached["kernels"], attached["matched"], attached["run_kernels"]))
        expect("reasons", [("fewer_executions", 1), ("no_such_kernel", 1), ("other_launch", 1)], reasons)
        expect("run document is untouched", document, (folder / "store/runs" / run_id / "run.json").read_bytes())
        expect("counters, joined by, kernels", [("57", "launch_order", "57", "57")], store.rows(
            run_id, "SELECT count(*), any_value(joined_by), count(DISTINCT kernel_id), count(flops) FROM kernel_counter"))
        # Of the two equal GEMMs the run has the second only, which is its first.
        expect("pairs in order", [("56",)], store.rows(
            run_id, "SELECT count(*) FROM kernel_counter c JOIN kernel k ON k.id = c.kernel_id WHERE c.dur_ns = k.dur_ns"))
        # The details page on top: its rules, and its counters in front of the raw page's.
        again = store.json("import", "--attach", run_id, str(DETAILS))["attached"]
        expect("second attachment", (57, False), (again["matched"], again["duplicate"]))
        expect("the same file twice", True, store.json("import", "--attach", run_id, str(RAW))["attached"]["duplicate"])
        expect("ids are rows", [("114", "114", "0", "113")], store.rows(
            run_id, "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM kernel_counter"))
        trace_of(mine, folder / "slower.json", 2)
        slower = store.add(folder / "slower.json")["run_id"]
        expect("attached to the slower one", 57, store.json("import", "--attach", slower, str(RAW))["attached"]["matched"])
        seen_by_analyses(store, run_id, slower)
        bundled(store, folder, run_id)


def seen_by_analyses(store, run_id, slower):
    roofline = store.json("roofline", run_id)
    gemm = next(p for p in roofline["counted"] if p["raw_name"].startswith("nvjet_sm90_tst_192x192"))
    # 2 * 4096 * 5632 * 2048 on the tensor cores, padded to whole tiles, and some on the vector units.
    if not 99656663040 <= gemm["flops"] < 1.01 * 99656663040:
        raise Failure(f"FLOPs of the one GEMM left: {gemm['flops']}")
    expect("source, bound", ("counters", "compute"), (gemm["source"], gemm["bound"]))
    if not 0.85 < gemm["efficiency"] < 0.95:
        raise Failure(f"efficiency {gemm['efficiency']}")
    findings = store.json("findings", run_id, "--limit", "1000")
    if not findings["tool_findings"] or any(w["tool"] != "Nsight Compute" for w in findings["tool_findings"]):
        raise Failure("the tool's own findings are missing")
    lacking = {n["rule"] for n in findings["not_assessed"]}
    if {"memory_bound_kernel", "stall_memory", "low_occupancy"} & lacking:
        raise Failure(f"not assessed with counters: {sorted(lacking)}")
    if not any(f["rule"] == "compute_bound_kernel" and "nvjet" in f["kernel"] for f in findings["findings"]):
        raise Failure(f"no compute-bound kernel among {[f['rule'] for f in findings['findings']]}")
    counters = store.json("compare", run_id, slower)["counters"]
    one = next(c for c in counters if "192x192" in c["kernel"])
    for side in ("a", "b"):
        expect(f"source and executions of {side}", ("ncu", 1), (one[side]["source"], one[side]["kernels"]))
    if abs(one["a"]["l2_hit_rate"] - one["b"]["l2_hit_rate"]) > 1e-4 or one["a"]["l2_hit_rate"] <= 0:
        raise Failure(f"counters of both sides: {one}")


def bundled(store, folder, run_id):
    run([*store.flags, "export", run_id, "--format", "bundle", "--out", str(folder / "b.zip")])
    other = Store(folder / "other")
    (folder / "other").mkdir()
    made = json.loads(run([*other.flags, "import", str(folder / "b.zip"), "--json"]))["runs"][0]
    expect("restored", [("114",)], other.rows(made["run_id"], "SELECT count(*) FROM kernel_counter"))
    for name in ("store", "other/store"):
        checks = json.loads(run(["--store", str(folder / name), "doctor", "--json"]))
        expect("healthy", True, checks["healthy"])
    exported(store, folder, run_id)
    victim = next((folder / "store/runs" / run_id / "files/attached").rglob("kernel_counter.parquet"))
    victim.write_bytes(victim.read_bytes()[:100])
    if call([*store.flags, "doctor", "--json"]).returncode == 0:
        raise Failure("doctor does not see a damaged attachment")


def exported(store, folder, run_id):
    """The tables of attachments stand beside the run's own, with all their rows."""
    out = folder / "tables"
    run([*store.flags, "export", run_id, "--format", "parquet", "--out", str(out)])
    expect("attached tables", [f"kernel_counter.attached_{i}.parquet" for i in (1, 2)], sorted(p.name for p in out.glob("kernel_counter*")))
    attached = sorted((folder / "store/runs" / run_id / "files/attached").rglob("kernel_metric.parquet"))
    expect("their bytes", [p.read_bytes() for p in attached], [p.read_bytes() for p in sorted(out.glob("kernel_metric.attached_*"))])


def attach_refuses_what_does_not_fit(_):
    with tempfile.TemporaryDirectory(prefix="nl-ncu-") as folder:
        folder = pathlib.Path(folder)
        store = Store(folder)
        trace_of([("other(int)", "(1, 1, 1)", "(1, 1, 1)", 100)], folder / "run.json")
        run_id = store.add(folder / "run.json")["run_id"]
        for path, words in ((RAW, "none of its 60 kernels is in run"), (folder / "run.json", "no kernel counters")):
            done = call([*store.flags, "import", "--attach", run_id, path, "--json"])
            if done.returncode != 2 or words not in done.stdout + done.stderr:
                raise Failure(f"{done.returncode}: {done.stdout}{done.stderr}")
        if (folder / "store/runs" / run_id / "files").exists() or list((folder / "store/staging").iterdir()):
            raise Failure("something was left behind")


def main():
    real = [DETAILS, RAW] + (sorted((pathlib.Path(SHARED) / "data/public/ncu").glob("*.csv")) if SHARED else [])
    tests = [(f"agrees.{p.name.split('.csv')[0]}", agrees, p) for p in sorted((ROOT / "tests/cases/samples/ncu").glob("*.csv")) + real]
    tests += [(f"report.{f.__name__.removeprefix('report_')}", f, None) for f in (report_is_printed, report_failure_is_passed_on, report_needs_ncu)]
    tests += [(f"attach.{f.__name__.removeprefix('attach_')}", f, None) for f in (attach_joins_counters, attach_refuses_what_does_not_fit)]
    wanted, failed = os.environ.get("NEUROLENS_TEST_FILTER", ""), 0
    for name, function, path in tests:
        if wanted and wanted not in name and wanted not in "ncu.py":
            continue
        try:
            function(path)
            print(f"PASS {name}", flush=True)
        except (Failure, OSError, ValueError, KeyError, StopIteration, subprocess.SubprocessError) as failure:
            failed += 1
            print(f"FAIL {name}: {type(failure).__name__} {' '.join(str(failure).split())}", flush=True)
    if not SHARED:
        print("SKIP agrees.public: no public pages here (NEUROLENS_SHARED)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
