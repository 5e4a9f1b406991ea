#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems exports against SQL over the export itself: counts, total times and links of the imported run.

agrees.*    every real export (NEUROLENS_SHARED) and every sample: rows, summed durations, first start and last end per table,
            kernel time per name and device, copies per direction, launches per call, to the nanosecond
packed.*    .gz and .zst give the same run as the plain file
report.*    .nsys-rep goes through the nsys on PATH (a stand-in here): its export, its failure, its absence, Ctrl-C
"""
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = os.environ.get("NEUROLENS_SHARED")
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


class Failure(Exception):
    pass


def run(arguments):
    done = subprocess.run([BIN, *arguments], capture_output=True, check=False, text=True, timeout=300)
    if done.returncode != 0:
        raise Failure(f"{arguments[2]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


class Imported:
    def __init__(self, path, folder):
        self.store = ["--store", str(folder)]
        (self.run,) = json.loads(run([*self.store, "import", str(path), "--json"]))["runs"]

    def rows(self, sql):
        return [tuple(r) for r in csv.reader(io.StringIO(run([*self.store, "query", self.run["run_id"], sql, "--format", "csv"])))][1:]


def texts(rows):
    return [tuple("" if v is None else str(v) for v in row) for row in rows]


def expect(what, expected, found):
    if expected != found:
        gone = [row for row in expected if row not in found][:2] if isinstance(expected, list) else expected
        more = [row for row in found if row not in expected][:2] if isinstance(found, list) else found
        raise Failure(f"{what}: the export has {str(gone)[:300]}, the run {str(more)[:300]}")


def has(db, table):
    return db.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()[0] > 0


def check_spans(db, imported):
    for table, sources in SPANS.items():
        parts = [f"SELECT start, end FROM {name} WHERE {where}" for name, where in sources if has(db, name)]
        if not parts:
            expect(f"rows of {table}", [("0",)], imported.rows(f"SELECT count(*) FROM {table}"))
            continue
        truth = db.execute("SELECT count(*), sum(end - start), min(start), max(end) FROM (" + " UNION ALL ".join(parts) + ")").fetchall()
        expect(table, texts(truth), imported.rows(f"SELECT count(*), sum(dur_ns), min(start_ns), max(start_ns + dur_ns) FROM {table}"))


def check_kernels(db, imported):
    device = KERNEL_DEVICE if has(db, "TARGET_INFO_CUDA_DEVICE") else "k.deviceId"
    truth = db.execute(f"SELECT {device}, s.value, count(*), sum(k.end - k.start), sum(k.registersPerThread), sum(k.gridX * k.blockX), "
                       "sum(k.staticSharedMemory + k.dynamicSharedMemory) FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s ON "
                       "s.id = k.demangledName GROUP BY 1, 2 ORDER BY 1, 2").fetchall()
    expect("kernels by device and name", texts(truth), imported.rows(
        "SELECT device, name, count(*), sum(dur_ns), sum(registers_per_thread), sum(grid_x::BIGINT * block_x), sum(shared_bytes) FROM kernel "
        "WHERE registers_per_thread IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2 COLLATE C"))
    busy = db.execute("SELECT sum(e - s) FROM (SELECT min(start) AS s, max(end) AS e FROM (SELECT start, end, sum(opens) OVER (ORDER BY start, "
                      "end) AS island FROM (SELECT start, end, start > coalesce(max(end) OVER (ORDER BY start, end ROWS BETWEEN UNBOUNDED "
                      "PRECEDING AND 1 PRECEDING), -1) AS opens FROM CUPTI_ACTIVITY_KIND_KERNEL)) GROUP BY island)").fetchone()[0]
    found = imported.rows(
        "SELECT sum(e - s) FROM (SELECT min(a) AS s, max(b) AS e FROM (SELECT a, b, sum(opens) OVER (ORDER BY a, b ROWS UNBOUNDED PRECEDING) AS "
        "island FROM (SELECT start_ns AS a, start_ns + dur_ns AS b, CASE WHEN start_ns > coalesce(max(start_ns + dur_ns) OVER (ORDER BY start_ns, "
        "start_ns + dur_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1) THEN 1 ELSE 0 END AS opens FROM kernel WHERE "
        "registers_per_thread IS NOT NULL)) GROUP BY island)")
    expect("time with any kernel", str(busy), str(int(float(found[0][0]))))


def check_links(db, imported):
    for name, table in (("CUPTI_ACTIVITY_KIND_KERNEL", "kernel"), ("CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy"), ("CUPTI_ACTIVITY_KIND_MEMSET", "memset")):
        if not has(db, name):
            continue
        truth = db.execute(f"SELECT s.value, count(*), sum(k.start - r.start) FROM {name} k LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON "
                           "r.correlationId = k.correlationId AND (r.globalTid >> 24) = (k.globalPid >> 24) LEFT JOIN StringIds s ON "
                           "s.id = r.nameId GROUP BY 1").fetchall()
        truth = sorted(("" if n is None else n.rsplit("_v", 1)[0] if n.rsplit("_v", 1)[-1].isdigit() and len(n.rsplit("_v", 1)[-1]) > 3 else n,
                        str(c), "" if t is None else str(t)) for n, c, t in truth)
        where = "WHERE k.registers_per_thread IS NOT NULL" if table == "kernel" else ""
        expect(f"launches of {table}", truth, sorted(imported.rows(
            f"SELECT a.name, count(*), sum(k.start_ns - a.start_ns) FROM {table} k LEFT JOIN api_call a ON a.id = k.api_call_id {where} GROUP BY 1")))


def check_labels(db, imported):
    if not has(db, "NVTX_EVENTS"):
        return
    ops = db.execute(f"SELECT count(*), coalesce(sum(end - start), 0) FROM NVTX_EVENTS WHERE eventType = 59 AND {IS_OP}").fetchall()
    expect("ops", texts(ops), imported.rows("SELECT count(*), coalesce(sum(dur_ns), 0) FROM op"))
    ranges = db.execute(f"SELECT count(*), coalesce(sum(end - start), 0) FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND (text IS NULL OR NOT "
                        f"{IS_OP})").fetchall()
    expect("ranges", texts(ranges), imported.rows(
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
    expect("kernels by op", sorted((n, str(c), str(t)) for n, (c, t) in sums.items()), sorted(imported.rows(
        "SELECT o.name, count(*), sum(k.dur_ns) FROM kernel k JOIN op o ON o.id = k.op_id WHERE k.registers_per_thread IS NOT NULL GROUP BY 1")))


def agrees(path):
    with tempfile.TemporaryDirectory(prefix="nl-nsys-") as folder:
        plain = pathlib.Path(folder) / "plain.sqlite"
        if path.suffix == ".gz":
            with gzip.open(path) as packed, open(plain, "wb") as out:
                shutil.copyfileobj(packed, out)
        else:
            shutil.copy(path, plain)
        imported = Imported(path, pathlib.Path(folder) / "store")
        if imported.run["adapter"] != "nsys":
            raise Failure(f"read as {imported.run['adapter']}")
        with sqlite3.connect(f"file:{plain}?mode=ro", uri=True) as db:
            for check in (check_spans, check_kernels, check_links, check_labels):
                check(db, imported)


def sums_agree(path):
    """A table that nsys stats printed, against Python's csv: calls and total time of every kernel."""
    with open(path, encoding="utf-8") as file:
        truth = collections.defaultdict(lambda: [0, 0])
        for row in csv.DictReader(file):
            truth[row["Name"]][0] += int(row["Instances"])
            truth[row["Name"]][1] += int(row["Total Time (ns)"])
    with tempfile.TemporaryDirectory(prefix="nl-nsys-") as folder:
        imported = Imported(path, folder)
        found = imported.rows("SELECT name, count(*), sum(dur_ns) FROM kernel GROUP BY 1")
        expect("sums per kernel", sorted(texts((k, *v) for k, v in truth.items())), sorted(texts(found)))


def packed(path):
    """The rows of every table, whatever the file was packed with."""
    def tables(imported):
        names = sorted(imported.run["tables"])
        return [(n, row[1:]) for n in names if n != "import_log" for row in imported.rows(f'SELECT * FROM "{n}"')]  # without the run
    with tempfile.TemporaryDirectory(prefix="nl-nsys-") as folder:
        folder = pathlib.Path(folder)
        (folder / "a.sqlite.gz").write_bytes(gzip.compress(path.read_bytes()))
        plain, zipped = Imported(path, folder / "one"), Imported(folder / "a.sqlite.gz", folder / "two")
        expect("tables", tables(plain), tables(zipped))
        if not shutil.which("zstd"):
            return
        subprocess.run(["zstd", "-q", str(path), "-o", str(folder / "a.sqlite.zst")], check=True)
        expect("tables", tables(plain), tables(Imported(folder / "a.sqlite.zst", folder / "three")))


# Stands for nsys: knows the command line it must be called with, then does what its name says.
STAND_IN = """#!/bin/sh
[ "$1 $2 $3 $4 $5 $6" = "export --type sqlite --force-overwrite true --output" ] || { echo "bad arguments: $*" >&2; exit 9; }
case "$8" in *.nsys-rep) ;; *) echo "no report: $8" >&2; exit 8;; esac
"""
SAMPLE = ROOT / "tests/cases/samples/nsys/serving_with_graphs.sqlite"


def report(body, packed=False):
    """(folder, command, environment) to import a report with this stand-in; body None: there is no nsys."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nl-nsys-"))
    (folder / "bin").mkdir()
    if body is not None:
        program = folder / "bin/nsys"
        program.write_text(STAND_IN + body)
        program.chmod(0o755)
    path = folder / ("r.nsys-rep.gz" if packed else "r.nsys-rep")
    data = b"report\0 of some recording"
    path.write_bytes(gzip.compress(data) if packed else data)
    environment = {**os.environ, "PATH": f"{folder}/bin:/usr/bin:/bin", "TMPDIR": str(folder)}
    return folder, [BIN, "--store", str(folder / "store"), "import", str(path), "--json"], environment


def finish(folder, command, environment):
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=120, env=environment)
    left = [p.name for p in folder.iterdir() if p.name.startswith("neurolens-")]
    shutil.rmtree(folder)
    if left:
        raise Failure(f"left behind: {left}")
    return done


def report_is_exported(path):
    for packed in (False, True):
        done = finish(*report(f'cp "{SAMPLE}" "$7"', packed))
        if done.returncode != 0:
            raise Failure(done.stderr)
        (imported,) = json.loads(done.stdout)["runs"]
        if imported["adapter"] != "nsys" or imported["tables"]["kernel"] != 4:
            raise Failure(f"imported as {imported}")


def report_failure_is_passed_on(path):
    done = finish(*report('echo "Importer error: version 2026.2 is newer" >&2; exit 5'))
    message = json.loads(done.stdout or done.stderr)["error"]["message"]
    expect("message", "nsys export ended with status 5: Importer error: version 2026.2 is newer", message)
    expect("exit status", 2, done.returncode)


def report_needs_nsys(path):
    folder, command, environment = report(None)
    done = finish(folder, command, {**environment, "PATH": str(folder / "bin")})
    message = json.loads(done.stdout or done.stderr)["error"]["message"]
    if "there is none on PATH" not in message or done.returncode != 2:
        raise Failure(f"{done.returncode}: {message}")


def report_can_be_interrupted(path):
    folder, command, environment = report('echo $$ > "$TMPDIR/pid"; sleep 60')
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as child:
        deadline = time.monotonic() + 60
        while not (folder / "pid").exists() or not (folder / "pid").read_text().strip():
            if time.monotonic() > deadline or child.poll() is not None:
                raise Failure("the stand-in was never started")
            time.sleep(0.05)
        exporter = int((folder / "pid").read_text())
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    if child.returncode != 130:
        raise Failure(f"exit status {child.returncode}")
    try:
        os.kill(exporter, 0)
        raise Failure("the exporter runs on")
    except ProcessLookupError:
        pass
    shutil.rmtree(folder)


def main():
    samples = sorted((ROOT / "tests/cases/samples/nsys").glob("*.sqlite"))
    tests = [(f"agrees.{p.stem}", agrees, p) for p in samples] + [(f"packed.{p.stem}", packed, p) for p in samples]
    real = sorted((pathlib.Path(SHARED) / "data/public/nsys").glob("*.sqlite.gz")) if SHARED else []
    tests += [(f"agrees.{p.name.split('.')[0]}", agrees, p) for p in real]
    sums = sorted((pathlib.Path(SHARED) / "data/public/nsys").glob("*_kern_sum.csv")) if SHARED else []
    tests += [(f"sums.{p.stem}", sums_agree, p) for p in sums]
    tests += [(f"report.{f.__name__.removeprefix('report_')}", f, None)
              for f in (report_is_exported, report_failure_is_passed_on, report_needs_nsys, report_can_be_interrupted)]
    wanted, failed = os.environ.get("NEUROLENS_TEST_FILTER", ""), 0
    for name, function, path in tests:
        if wanted and wanted not in name and wanted not in "nsys.py":
            continue
        try:
            function(path)
            print(f"PASS {name}", flush=True)
        except (Failure, OSError, ValueError, KeyError, subprocess.SubprocessError, sqlite3.Error) as failure:
            failed += 1
            print(f"FAIL {name}: {' '.join(str(failure).split())}", flush=True)
    if not real:
        print("SKIP agrees.real: no real exports here (NEUROLENS_SHARED)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
