# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems exports against SQL over the export itself: rows, summed durations, first start and last end per table, kernel time
per name and device, copies per direction, launches per call, to the nanosecond. Reports go through the nsys on PATH, a stand-in here."""
import collections
import contextlib
import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess

import pytest

from neurolens_cli import LIMIT_S, SAMPLES, Store, ToolReport, content, default_signals, equal, error_of, named, real_files, wait_until

NSYS = sorted((SAMPLES / "nsys").glob("*.sqlite"))
# Tables of the run: where their rows come from in an export.
SPANS = {
    "memcpy": [("CUPTI_ACTIVITY_KIND_MEMCPY", "1")],
    "memset": [("CUPTI_ACTIVITY_KIND_MEMSET", "1")],
    "sync": [("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "1")],
    "kernel": [("CUPTI_ACTIVITY_KIND_KERNEL", "1"), ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "1")],
    "api_call": [("CUPTI_ACTIVITY_KIND_RUNTIME", "1"), ("CUBLAS_EVENTS", "1"), ("OSRT_API", "1")],
}
IS_OP = "(text LIKE '%, seq = %' OR (text LIKE '%::%, op_id = %' AND text NOT LIKE '%(%') OR text LIKE 'record_param_comms, op_id%' " \
        "OR text LIKE 'detach_, op_id%')"
KERNEL_DEVICE = "coalesce((SELECT gpuId FROM TARGET_INFO_CUDA_DEVICE d WHERE d.pid = (k.globalPid >> 24 & 0xffffff) " \
                "AND d.cudaId = k.deviceId), k.deviceId)"


def texts(rows):
    return [tuple("" if v is None else str(v) for v in row) for row in rows]


def has(db, table):
    return db.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()[0] > 0


def check_spans(db, run):
    for table, sources in SPANS.items():
        parts = [f"SELECT start, end FROM {name} WHERE {where}" for name, where in sources if has(db, name)]
        if not parts:
            equal(f"rows of {table}", [("0",)], run.rows(f"SELECT count(*) FROM {table}"))
            continue
        truth = db.execute("SELECT count(*), sum(end - start), min(start), max(end) FROM (" + " UNION ALL ".join(parts) + ")").fetchall()
        equal(table, texts(truth), run.rows(f"SELECT count(*), sum(dur_ns), min(start_ns), max(start_ns + dur_ns) FROM {table}"))


def check_kernels(db, run):
    device = KERNEL_DEVICE if has(db, "TARGET_INFO_CUDA_DEVICE") else "k.deviceId"
    truth = db.execute(f"SELECT {device}, s.value, count(*), sum(k.end - k.start), sum(k.registersPerThread), sum(k.gridX * k.blockX), "
                       "sum(k.staticSharedMemory + k.dynamicSharedMemory) FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s ON "
                       "s.id = k.demangledName GROUP BY 1, 2 ORDER BY 1, 2").fetchall()
    equal("kernels by device and name", texts(truth), run.rows(
        "SELECT device, name, count(*), sum(dur_ns), sum(registers_per_thread), sum(grid_x::BIGINT * block_x), sum(shared_bytes) FROM kernel "
        "WHERE registers_per_thread IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2 COLLATE C"))
    busy = db.execute("SELECT sum(e - s) FROM (SELECT min(start) AS s, max(end) AS e FROM (SELECT start, end, sum(opens) OVER (ORDER BY start, "
                      "end) AS island FROM (SELECT start, end, start > coalesce(max(end) OVER (ORDER BY start, end ROWS BETWEEN UNBOUNDED "
                      "PRECEDING AND 1 PRECEDING), -1) AS opens FROM CUPTI_ACTIVITY_KIND_KERNEL)) GROUP BY island)").fetchone()[0]
    found = run.rows(
        "SELECT sum(e - s) FROM (SELECT min(a) AS s, max(b) AS e FROM (SELECT a, b, sum(opens) OVER (ORDER BY a, b ROWS UNBOUNDED PRECEDING) AS "
        "island FROM (SELECT start_ns AS a, start_ns + dur_ns AS b, CASE WHEN start_ns > coalesce(max(start_ns + dur_ns) OVER (ORDER BY start_ns, "
        "start_ns + dur_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1) THEN 1 ELSE 0 END AS opens FROM kernel WHERE "
        "registers_per_thread IS NOT NULL)) GROUP BY island)")
    equal("time with any kernel", str(busy), str(int(float(found[0][0]))))


def check_links(db, run):
    for name, table in (("CUPTI_ACTIVITY_KIND_KERNEL", "kernel"), ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy"), ("CUPTI_ACTIVITY_KIND_MEMSET", "memset")):
        if not has(db, name):
            continue
        truth = db.execute(f"SELECT s.value, count(*), sum(k.start - r.start) FROM {name} k LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON "
                           "r.correlationId = k.correlationId AND (r.globalTid >> 24) = (k.globalPid >> 24) LEFT JOIN StringIds s ON "
                           "s.id = r.nameId GROUP BY 1").fetchall()
        truth = sorted(("" if n is None else n.rsplit("_v", 1)[0] if n.rsplit("_v", 1)[-1].isdigit() and len(n.rsplit("_v", 1)[-1]) > 3 else n,
                        str(c), "" if t is None else str(t)) for n, c, t in truth)
        where = "WHERE k.registers_per_thread IS NOT NULL" if table == "kernel" else ""
        equal(f"launches of {table}", truth, sorted(run.rows(
            f"SELECT a.name, count(*), sum(k.start_ns - a.start_ns) FROM {table} k LEFT JOIN api_call a ON a.id = k.api_call_id {where} GROUP BY 1")))


def check_labels(db, run):
    if not has(db, "NVTX_EVENTS"):
        return
    ops = db.execute(f"SELECT count(*), coalesce(sum(end - start), 0) FROM NVTX_EVENTS WHERE eventType = 59 AND {IS_OP}").fetchall()
    equal("ops", texts(ops), run.rows("SELECT count(*), coalesce(sum(dur_ns), 0) FROM op"))
    ranges = db.execute(f"SELECT count(*), coalesce(sum(end - start), 0) FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND (text IS NULL OR NOT "
                        f"{IS_OP})").fetchall()
    equal("ranges", texts(ranges), run.rows(
        "SELECT count(*), coalesce(sum(dur_ns), 0) FROM \"range\" WHERE category LIKE 'nvtx%' AND kind IN ('span', 'async')"))
    # The op a kernel belongs to, by brute force: of those around its launch, the one that began last.
    truth = db.execute(f"""WITH o AS MATERIALIZED (SELECT rowid AS id, start, end, globalTid, text FROM NVTX_EVENTS WHERE eventType = 59 AND {IS_OP}),
        launch AS MATERIALIZED (SELECT k.end - k.start AS ns, r.start, r.end, r.globalTid FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN
        CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId AND (r.globalTid >> 24) = (k.globalPid >> 24)),
        owner AS (SELECT l.ns, (SELECT text FROM o WHERE o.globalTid = l.globalTid AND o.start <= l.start AND o.end >= l.end ORDER BY o.start DESC,
        o.end LIMIT 1) AS text FROM launch l) SELECT text, ns FROM owner WHERE text IS NOT NULL""").fetchall()
    sums = {}
    for text, ns in truth:
        name = text.split(", seq = ")[0].split(", op_id = ")[0]
        count, total = sums.get(name, (0, 0))
        sums[name] = (count + 1, total + ns)
    equal("kernels by op", sorted((n, str(c), str(t)) for n, (c, t) in sums.items()), sorted(run.rows(
        "SELECT o.name, count(*), sum(k.dur_ns) FROM kernel k JOIN op o ON o.id = k.op_id WHERE k.registers_per_thread IS NOT NULL GROUP BY 1")))


@pytest.mark.parametrize("path", named(NSYS) + named(real_files("public/nsys", "*.sqlite.gz"), "no real exports here (NEUROLENS_SHARED)"))
def test_spans_kernels_links_and_labels_agree_with_sql_over_the_export(path, imported, tmp_path):
    run = imported(path)
    equal("adapter", "nsys", run.adapter)
    plain = tmp_path / "plain.sqlite"
    plain.write_bytes(content(path))
    with contextlib.closing(sqlite3.connect(f"file:{plain}?mode=ro", uri=True)) as db:
        for check in (check_spans, check_kernels, check_links, check_labels):
            check(db, run)


@pytest.mark.parametrize("path", named(real_files("public/nsys", "*_kern_sum.csv"), "no table of nsys stats here (NEUROLENS_SHARED)"))
def test_calls_and_total_times_of_a_table_of_nsys_stats_agree(path, imported):
    truth = collections.defaultdict(lambda: [0, 0])
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            truth[row["Name"]][0] += int(row["Instances"])
            truth[row["Name"]][1] += int(row["Total Time (ns)"])
    found = imported(path).rows("SELECT name, count(*), sum(dur_ns) FROM kernel GROUP BY 1")
    equal("sums per kernel", sorted(texts((k, *v) for k, v in truth.items())), sorted(texts(found)))


@pytest.mark.parametrize("path", named(NSYS))
def test_packed_exports_give_the_same_rows_in_every_table(path, imported, packed, tmp_path):
    def tables(run):
        names = sorted(run.reply["tables"])
        return [(n, row[1:]) for n in names if n != "import_log" for row in run.rows(f'SELECT * FROM "{n}"')]  # without the run
    plain = tables(imported(path))
    equal("tables of .gz", plain, tables(packed(path)))
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", str(path), "-o", str(tmp_path / "a.sqlite.zst")], check=True)
        equal("tables of .zst", plain, tables(Store(tmp_path / "zst").add(tmp_path / "a.sqlite.zst")))


# What the stand-in for nsys must be called with.
CALLED = """[ "$1 $2 $3 $4 $5 $6" = "export --type sqlite --force-overwrite true --output" ] || { echo "bad arguments: $*" >&2; exit 9; }
case "$8" in *.nsys-rep) ;; *) echo "no report: $8" >&2; exit 8;; esac
"""


@pytest.fixture
def report(store, tmp_path):
    return ToolReport(store, tmp_path, "nsys", CALLED)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_report_is_exported_by_nsys_and_imported(report, packed):
    done = report.imported(f'cp "{SAMPLES}/nsys/serving_with_graphs.sqlite" "$7"', packed)
    assert done.returncode == 0, done.stderr
    (made,) = json.loads(done.stdout)["runs"]
    assert made["adapter"] == "nsys" and made["tables"]["kernel"] == 4, f"imported as {made}"


def test_a_failure_of_nsys_is_passed_on(report):
    error = error_of(report.imported('echo "Importer error: version 2026.2 is newer" >&2; exit 5'))
    equal("message", "nsys export ended with status 5: Importer error: version 2026.2 is newer", error["message"])


def test_a_report_without_nsys_is_refused(report):
    error = error_of(report.imported())
    assert "there is none on PATH" in error["message"], error


def test_an_export_can_be_interrupted(report, store, tmp_path):
    report.prepare('echo $$ > "$TMPDIR/pid.new"; mv "$TMPDIR/pid.new" "$TMPDIR/pid"; sleep 600')
    with subprocess.Popen(store.command("import", report.path, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, **store.environment}, preexec_fn=default_signals) as child:
        wait_until((tmp_path / "pid").exists, "the stand-in to start", child)
        exporter = int((tmp_path / "pid").read_text())
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=LIMIT_S)
    equal("exit status", 130, child.returncode)
    with pytest.raises(ProcessLookupError):
        os.kill(exporter, 0)
