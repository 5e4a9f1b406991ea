# SPDX-License-Identifier: Apache-2.0
"""Nsight Compute pages against Python's csv module: kernels, metrics, rules, summed durations, values by unit. Reports go through the
ncu on PATH, a stand-in here. Counters attached to a run are seen by query, roofline, findings and compare, and kept by bundles."""
import csv
import io
import json
from decimal import Decimal

import pytest

from neurolens_cli import H200, SAMPLES, Run, Store, ToolReport, content, equal, error_of, named, real_files

DETAILS, RAW = (H200 / f"llama_layer_{page}.csv.gz" for page in ("details", "raw"))
TENS = {"ns": 0, "us": 3, "ms": 6, "s": 9, "byte": 0, "Kbyte": 3, "Mbyte": 6, "Gbyte": 9, "Tbyte": 12, "hz": 0, "Khz": 3, "Mhz": 6, "Ghz": 9}


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
    lines = list(csv.reader(io.StringIO(content(path).decode(), newline="")))
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


PAGES = [*sorted((SAMPLES / "ncu").glob("*.csv")), DETAILS, RAW]


@pytest.mark.parametrize("path", named(PAGES) + named(real_files("public/ncu", "*.csv"), "no public pages here (NEUROLENS_SHARED)"))
def test_kernels_metrics_and_rules_agree_with_the_page(path, imported):
    kernels, metrics, rules = page(path)
    run = imported(path)
    equal("adapter", "ncu", run.adapter)
    rows = run.rows("SELECT name, '(' || grid_x || ', ' || grid_y || ', ' || grid_z || ')', '(' || block_x || ', ' || block_y || ', ' || block_z || ')', dur_ns "
                    "FROM kernel ORDER BY id")
    equal("kernels", [(name, grid, block, "" if ns is None else str(int(ns))) for name, grid, block, ns in kernels.values()], rows)
    times = [ns for *_, ns in kernels.values() if ns is not None]
    equal("kernels and total time", [(str(len(kernels)), str(int(sum(times))) if times else "")], run.rows("SELECT count(*), sum(dur_ns) FROM kernel"))
    equal("metrics", [(str(len(metrics)), str(sum(v is not None for *_, v in metrics)), str(len({name for _, name, _ in metrics})))],
          run.rows("SELECT count(*), count(value), count(DISTINCT name) FROM kernel_metric"))
    found = run.rows("SELECT name, value FROM kernel_metric ORDER BY id")
    wrong = [(a, b) for a, b in zip(metrics, found) if a[1] != b[0] or (None if b[1] == "" else float(b[1])) != (None if a[2] is None else float(a[2]))]
    equal("values that differ", [], wrong[:2])
    order = {key: str(i) for i, key in enumerate(kernels)}
    equal("rules", [(order[key], rule, "" if pct is None else float(pct), text) for key, rule, pct, text in rules],
          [(k, rule, "" if pct == "" else float(pct), text) for k, rule, pct, text in
           run.rows("SELECT kernel_id, rule, estimated_speedup_pct, message FROM tool_finding ORDER BY id")])


# What the stand-in for ncu must be called with; it prints the page it is asked for.
CALLED = """[ "$1 $3 $4" = "--import --csv --page" ] || { echo "bad arguments: $*" >&2; exit 9; }
case "$2" in *.ncu-rep) ;; *) echo "no report: $2" >&2; exit 8;; esac
"""


@pytest.fixture
def report(store, tmp_path):
    return ToolReport(store, tmp_path, "ncu", CALLED)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_report_is_printed_by_ncu_and_imported(report, packed):
    done = report.imported(f'gzip -dc "{H200}/llama_layer_$5.csv.gz"', packed)
    assert done.returncode == 0, done.stderr
    (made,) = json.loads(done.stdout)["runs"]
    # Exact values from the raw page, words of the rules from the details page, on the same kernels.
    equal("tables", {"kernel": 60, "kernel_counter": 60, "tool_finding": 459},
          {name: made["tables"][name] for name in ("kernel", "kernel_counter", "tool_finding")})
    equal("counters", [], [c for c in made["counters"] if c["severity"] != "info"])


def test_a_failure_of_ncu_is_passed_on(report):
    error = error_of(report.imported('echo "==ERROR== the report is newer" >&2; exit 5'))
    equal("message", "ncu --import ended with status 5: ==ERROR== the report is newer", error["message"])


def test_a_report_without_ncu_is_refused_with_a_hint(report):
    error = error_of(report.imported())
    assert "there is none on PATH" in error["message"] and "ncu --import FILE.ncu-rep --csv" in error.get("hint", ""), error


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


def test_attached_counters_are_joined_to_the_kernels_of_a_run(store, tmp_path):
    """A run with every kernel of the report but three, one launched otherwise, and some the report does not have."""
    kernels = [tuple(k) for k in page(RAW)[0].values()]
    last = next(k for k in kernels if k[0].startswith("nvjet_sm90_tst_192x192"))
    mine = [k for k in kernels if k != kernels[0] and k is not last]
    mine[4] = (mine[4][0], "(9, 9, 9)", *mine[4][2:])
    mine += [("void only_in_the_run(int)", "(1, 1, 1)", "(32, 1, 1)", 5000)] * 2
    trace_of(mine, tmp_path / "run.json")
    run = store.add(tmp_path / "run.json")
    document = (tmp_path / "store/runs" / run.id / "run.json").read_bytes()
    attached = store.json("import", "--attach", run.id, RAW)["attached"]
    reasons = sorted((u["reason"], u["executions"]) for u in attached["unmatched"])
    equal("kernels, matched, run kernels", (60, 57, len(mine)), (attached["kernels"], attached["matched"], attached["run_kernels"]))
    equal("reasons", [("fewer_executions", 1), ("no_such_kernel", 1), ("other_launch", 1)], reasons)
    equal("run document is untouched", document, (tmp_path / "store/runs" / run.id / "run.json").read_bytes())
    equal("counters, joined by, kernels", [("57", "launch_order", "57", "57")], run.rows("SELECT count(*), any_value(joined_by), count(DISTINCT kernel_id), count(flops) FROM kernel_counter"))
    # Of the two equal GEMMs the run has the second only, which is its first.
    equal("pairs in order", [("56",)], run.rows("SELECT count(*) FROM kernel_counter c JOIN kernel k ON k.id = c.kernel_id WHERE c.dur_ns = k.dur_ns"))
    # The details page on top: its rules, and its counters in front of the raw page's.
    again = store.json("import", "--attach", run.id, DETAILS)["attached"]
    equal("second attachment", (57, False), (again["matched"], again["duplicate"]))
    equal("the same file twice", True, store.json("import", "--attach", run.id, RAW)["attached"]["duplicate"])
    equal("ids are rows", [("114", "114", "0", "113")], run.rows("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM kernel_counter"))
    trace_of(mine, tmp_path / "slower.json", 2)
    slower = store.add(tmp_path / "slower.json")
    equal("attached to the slower one", 57, store.json("import", "--attach", slower.id, RAW)["attached"]["matched"])
    seen_by_analyses(run, slower)
    bundled(run, tmp_path)


def seen_by_analyses(run, slower):
    roofline = run.ask("roofline")
    gemm = next(p for p in roofline["counted"] if p["raw_name"].startswith("nvjet_sm90_tst_192x192"))
    # 2 * 4096 * 5632 * 2048 on the tensor cores, padded to whole tiles, and some on the vector units.
    assert 99656663040 <= gemm["flops"] < 1.01 * 99656663040, f"FLOPs of the one GEMM left: {gemm['flops']}"
    equal("source, bound", ("counters", "compute"), (gemm["source"], gemm["bound"]))
    assert 0.85 < gemm["efficiency"] < 0.95, f"efficiency {gemm['efficiency']}"
    findings = run.ask("findings", "--limit", "1000")
    assert findings["tool_findings"] and not any(w["tool"] != "Nsight Compute" for w in findings["tool_findings"]), "the tool's own findings are missing"
    lacking = {n["rule"] for n in findings["not_assessed"]}
    assert not ({"memory_bound_kernel", "stall_memory", "low_occupancy"} & lacking), f"not assessed with counters: {sorted(lacking)}"
    assert any("nvjet" in k["kernel"] for k in findings["near_limit"]), findings["near_limit"]
    near = {k["kernel"] for k in findings["near_limit"]}
    assert not [f for f in findings["findings"] if f["rule"] in ("compute_bound_kernel", "memory_bound_kernel") and f["kernel"] in near], "near the limit, and a problem"
    counters = run.ask("compare", slower.id)["counters"]
    one = next(c for c in counters if "192x192" in c["kernel"])
    for side in ("a", "b"):
        equal(f"source and executions of {side}", ("ncu", 1), (one[side]["source"], one[side]["kernels"]))
    assert abs(one["a"]["l2_hit_rate"] - one["b"]["l2_hit_rate"]) <= 1e-4 and one["a"]["l2_hit_rate"] > 0, f"counters of both sides: {one}"


def bundled(run, folder):
    run.store.text("export", run.id, "--format", "bundle", "--out", folder / "b.zip")
    other = Store(folder / "other")
    equal("restored", [("114",)], Run(other, other.imports(folder / "b.zip")[0]).rows("SELECT count(*) FROM kernel_counter"))
    for one in (run.store, other):
        equal("healthy", True, one.json("doctor")["healthy"])
    exported(run, folder)
    victim = next((run.store.folder / "runs" / run.id / "files/attached").rglob("kernel_counter.parquet"))
    victim.write_bytes(victim.read_bytes()[:100])
    assert run.store.run("doctor", "--json").returncode != 0, "doctor does not see a damaged attachment"


def exported(run, folder):
    """The tables of attachments stand beside the run's own, with all their rows."""
    out = folder / "tables"
    run.store.text("export", run.id, "--format", "parquet", "--out", out)
    equal("attached tables", [f"kernel_counter.attached_{i}.parquet" for i in (1, 2)], sorted(p.name for p in out.glob("kernel_counter*")))
    attached = sorted((run.store.folder / "runs" / run.id / "files/attached").rglob("kernel_metric.parquet"))
    equal("their bytes", [p.read_bytes() for p in attached], [p.read_bytes() for p in sorted(out.glob("kernel_metric.attached_*"))])


@pytest.mark.parametrize("path, words", [(RAW, "no kernel of its 60 is in run"), ("run.json", "no kernel counters")], ids=["other_kernels", "no_counters"])
def test_what_does_not_fit_a_run_is_not_attached(path, words, store, tmp_path):
    trace_of([("other(int)", "(1, 1, 1)", "(1, 1, 1)", 100)], tmp_path / "run.json")
    run = store.add(tmp_path / "run.json")
    done = store.run("import", "--attach", run.id, path, "--json")
    assert done.returncode == 2 and words in done.stdout + done.stderr, f"{done.returncode}: {done.stdout}{done.stderr}"
    assert not (store.folder / "runs" / run.id / "files").exists() and not list((store.folder / "staging").iterdir()), "something was left behind"


def test_quotes_that_ncu_leaves_in_a_label_do_not_lose_the_kernel(tmp_path):
    """As ncu 2025.3.1 printed it on an H200: a label {"batch": 8} inside a quoted field, its own quotes not doubled."""
    head = '"ID","Process ID","thread Domain:Push/Pop_Range:PL_Type","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpu__time_duration.sum"'
    label = '5333  ""<default domain>:LLM@request:none""  ""<default domain>:LLM@prefill {"batch": 8, "tokens": 1024}:none"" '
    rows = ['"","","","","","","","","","","us"', f'"0","5333","{label}","gemm<2, 4>(int)","1","7","(384, 1, 1)","(2, 66, 1)","0","9.0","56.128"',
            '"1","5333","","copy","1","7","(128, 1, 1)","(8, 1, 1)","0","9.0","1.5"', '"2","5333","x","y" "z","1"']
    page = tmp_path / "raw.csv"
    page.write_text("\n".join([head, *rows]) + "\n")
    store = Store(tmp_path / "store")
    (run,) = store.json("import", page)["runs"]
    found = store.json("query", run["run_id"], "SELECT name, grid_y, block_x, dur_ns FROM kernel ORDER BY start_ns")["rows"]
    assert found == [["gemm<2, 4>(int)", 66, 384, 56128], ["copy", 1, 128, 1500]], found
    lost = store.json("query", run["run_id"], "SELECT count(*) FROM import_log WHERE reason = 'bad_record'")["rows"]
    assert lost == [[1]], "a line that is no record stays one"
