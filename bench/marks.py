#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures every speed, memory and size mark, each against its reference in the same run, and prints one table.

    bench/marks.py                     about two minutes; builds the traces into build/bench the first time
    bench/marks.py --full              also the 5 GB import
    bench/marks.py --only import,gz    some of: import python gz rss parquet summary query start analysis
                                       attribution nsys ncu rocprof xplane

Everything runs on two CPUs, with the files in the page cache, each import into a fresh store, best of --runs.
Exit status 1 when a mark is missed.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INPUTS = ["base", "compile", "resnet50_train_stack"]
KERNEL_INPUTS = ["base", "compile"]
GROUPS = ("import", "python", "gz", "rss", "parquet", "summary", "query", "start", "analysis", "attribution", "nsys", "ncu",
          "rocprof", "xplane")
KERNELS = 10_000_000
EXPORT_KERNELS = 1_000_000
REPORT_BYTES = 100_000_000
ROCPROF_MB = 200
SPACE_BYTES = 120_000_000
SUMMARY_EVENTS = 3_000_000
PYTHON_NEEDS_BYTES = 16 << 30
KERNEL_QUERY = "SELECT name, count(*), sum(dur_ns) FROM kernel GROUP BY name"
JSON_LOAD = ("import json, os, sys, time; t = time.perf_counter(); d = json.load(open(sys.argv[1], encoding='utf-8')); "
             "print(time.perf_counter() - t, len(d['traceEvents']), flush=True); os._exit(0)")


class Failure(Exception):
    """A measured program failed: the mark cannot be given."""


def say(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def measure(command):
    """Runs a program. Returns (seconds, peak RSS in bytes, stdout)."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text = out.read().decode("utf-8", "replace")
        if child.returncode != 0:
            tail = err.read().decode("utf-8", "replace").strip()[-300:]
            raise Failure(f"exit {child.returncode} of {pathlib.Path(command[0]).name} {command[1]}...: {tail}")
        return seconds, usage.ru_maxrss * 1024, text


class Bench:
    def __init__(self, options):
        self.options = options
        self.neurolens = pathlib.Path(options.neurolens).resolve()
        self.tools = pathlib.Path(options.tools).resolve() if options.tools else self.neurolens.parent / "bench"
        self.cache = pathlib.Path(options.cache).resolve()
        self.cache.mkdir(parents=True, exist_ok=True)
        self.rows = []
        self.memory = {}

    def trace(self, name, goal, inputs=INPUTS, gz=False):
        """A cached trace, rebuilt when make_trace.cc is newer. Made under another name first: never half a file."""
        path = self.cache / name
        source = ROOT / "bench" / "make_trace.cc"
        if path.exists() and path.stat().st_mtime >= source.stat().st_mtime:
            return path
        say(f"building {name}")
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            made = pathlib.Path(folder) / name
            measure([self.tools / "make_trace", *goal, "--out", made, *(["--gz"] if gz else []),
                     *[ROOT / "data" / "h200" / f"{stem}.json.gz" for stem in inputs]])
            made.replace(path)
        return path

    def main_trace(self):
        return self.trace(f"trace_{self.options.bytes}.json", ["--bytes", self.options.bytes])

    def main_gz(self):
        return self.trace(f"trace_{self.options.bytes}.json.gz", ["--bytes", self.options.bytes], gz=True)

    def import_once(self, trace, store):
        seconds, rss, text = measure([self.neurolens, "--store", store, "import", trace, "--json"])
        try:
            return seconds, rss, json.loads(text)["runs"][0]["run_id"]
        except (ValueError, KeyError, IndexError, TypeError):
            raise Failure(f"import printed no run id: {text[:200]}") from None

    def imports(self, trace, runs, after=None):
        """Best seconds and highest peak over fresh stores; after(store, run_id) runs before each store goes."""
        times, peak = [], 0
        for _ in range(runs):
            with tempfile.TemporaryDirectory(dir=self.cache, prefix="store-") as store:
                seconds, rss, run_id = self.import_once(trace, store)
                times.append(seconds)
                peak = max(peak, rss)
                if after is not None:
                    after(store, run_id)
        return min(times), peak

    def remember(self, key, make):
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    def main_import(self):
        """The imports of the plain trace serve several marks: time, peak, size on disk, first summary."""
        def make():
            trace = self.main_trace()
            say(f"importing {trace.name}")
            facts = {"bytes": trace.stat().st_size, "summary_s": [], "analysis": []}

            def after(store, run_id):
                folder = pathlib.Path(store) / "runs" / run_id
                files = [path for path in folder.rglob("*") if path.is_file()]
                facts["parquet_bytes"] = sum(p.stat().st_size for p in files if p.suffix == ".parquet")
                facts["run_bytes"] = sum(p.stat().st_size for p in files)
                facts["summary_s"].append(measure([self.neurolens, "--store", store, "summary", run_id])[0])
                facts["analysis"].append(json.loads(measure([self.tools / "analysis_bench", store, run_id])[2]))

            facts["seconds"], facts["peak"] = self.imports(trace, self.options.runs, after)
            return facts
        return self.remember("import", make)

    def walk(self):
        def make():
            say("json_walk")
            return json.loads(measure([self.tools / "json_walk", "--threads", 2, "--runs", self.options.runs,
                                       self.main_trace()])[2])
        return self.remember("walk", make)

    def add(self, mark, value, reference, ratio, goal, passed, note=""):
        self.rows.append({"mark": mark, "value": value, "reference": reference, "ratio": ratio, "goal": goal,
                          "pass": passed, "note": note})

    def mark_import(self):
        mine, walk = self.main_import(), self.walk()
        rate = mine["bytes"] / mine["seconds"] / 1e6
        ratio = rate / walk["mb_per_s"]
        self.add("import against simdjson walk, 2 threads", f"{rate:.0f} MB/s ({mine['seconds']:.2f} s)",
                 f"{walk['mb_per_s']:.0f} MB/s", ratio, ">= 0.5x", ratio >= 0.5)

    def mark_python(self):
        mine = self.main_import()
        trace, note = self.main_trace(), ""
        with open("/proc/meminfo", encoding="ascii") as meminfo:
            available = next(int(line.split()[1]) << 10 for line in meminfo if line.startswith("MemAvailable"))
        if available < PYTHON_NEEDS_BYTES and trace.stat().st_size > 300_000_000:
            trace = self.trace("trace_256000000.json", ["--bytes", 256_000_000])
            note = f"json.load measured on {trace.stat().st_size / 1e6:.0f} MB: {available >> 30} GiB of memory free"
        say(f"python json.load of {trace.name}")
        seconds = float(measure([sys.executable, "-c", JSON_LOAD, trace])[2].split()[0])
        reference = trace.stat().st_size / seconds / 1e6
        ratio = mine["bytes"] / mine["seconds"] / 1e6 / reference
        self.add("import against Python json.load", f"{mine['bytes'] / mine['seconds'] / 1e6:.0f} MB/s",
                 f"{reference:.0f} MB/s", ratio, ">= 14x", ratio >= 14, note)

    def mark_gz(self):
        trace = self.main_gz()
        say(f"inflating and importing {trace.name}")
        inflate = json.loads(measure([self.tools / "json_walk", "--inflate", "--runs", self.options.runs, trace])[2])
        seconds, peak = self.imports(trace, self.options.runs)
        rate = inflate["bytes"] / seconds / 1e6
        ratio = rate / inflate["mb_per_s"]
        self.add(".json.gz import against ISA-L inflate alone", f"{rate:.0f} MB/s ({seconds:.2f} s)",
                 f"{inflate['mb_per_s']:.0f} MB/s", ratio, ">= 0.6x", ratio >= 0.6, f"peak {peak / 1e6:.0f} MB")

    def mark_rss(self):
        mine = self.main_import()
        peak = mine["peak"]
        self.add(f"peak RSS at {mine['bytes'] / 1e9:.1f} GB", f"{peak / 1e6:.0f} MB", "700 MB", peak / 700e6,
                 "<= 700 MB", peak <= 700e6)
        if not self.options.full:
            return
        trace = self.trace("trace_5000000000.json", ["--bytes", 5_000_000_000])
        say(f"importing {trace.name}")
        seconds, large = self.imports(trace, 1)
        self.add("peak RSS at 5 GB", f"{large / 1e6:.0f} MB", f"{peak / 1e6:.0f} MB", large / peak, "<= 1.2x",
                 large <= 1.2 * peak, f"{trace.stat().st_size / seconds / 1e6:.0f} MB/s")

    def mark_parquet(self):
        mine, gz_bytes = self.main_import(), self.main_gz().stat().st_size
        ratio = mine["parquet_bytes"] / gz_bytes
        self.add("Parquet of the run against .json.gz", f"{mine['parquet_bytes'] / 1e6:.1f} MB",
                 f"{gz_bytes / 1e6:.1f} MB", ratio, "<= 1x", ratio <= 1,
                 f"whole run folder {mine['run_bytes'] / 1e6:.1f} MB")

    def mark_summary(self):
        """The first summary after an import, in a fresh process: nothing can have been prepared by an earlier one."""
        if self.walk()["events"] >= SUMMARY_EVENTS:
            times, events = self.main_import()["summary_s"], self.walk()["events"]
        else:
            trace = self.trace(f"trace_{SUMMARY_EVENTS}_events.json", ["--events", SUMMARY_EVENTS])
            say(f"importing {trace.name}")
            times, events = [], SUMMARY_EVENTS
            self.imports(trace, self.options.runs, lambda store, run_id: times.append(
                measure([self.neurolens, "--store", store, "summary", run_id])[0]))
        seconds = statistics.median(times)
        self.add(f"first summary of {events / 1e6:.1f} M events", f"{seconds:.3f} s", "0.5 s", seconds / 0.5,
                 "<= 0.5 s", seconds <= 0.5)

    def mark_query(self):
        name = f"kernels_{KERNELS}.json"
        free = shutil.disk_usage(self.cache).free
        if not (self.cache / name).exists() and free < 12e9:
            raise Failure(f"needs 12 GB of disk under {self.cache}, {free / 1e9:.0f} are free")
        trace = self.trace(name, ["--kernels", KERNELS], KERNEL_INPUTS)
        say(f"importing {trace.name} ({trace.stat().st_size / 1e9:.1f} GB)")
        times, counted = [], []

        def after(store, run_id):
            base = [self.neurolens, "--store", store, "query", run_id]
            counted.append("".join(c for c in measure(base + ["SELECT count(*) AS n FROM kernel", "--format", "csv"])[2]
                                   if c.isdigit()))
            say("querying")
            times.extend(measure(base + [KERNEL_QUERY])[0] for _ in range(3))

        import_s, _ = self.imports(trace, 1, after)
        rate = trace.stat().st_size / import_s / 1e6
        if not self.options.keep:
            trace.unlink()
        if counted != [str(KERNELS)]:
            raise Failure(f"the run holds {counted[0]} kernels, not {KERNELS}")
        seconds = statistics.median(times)
        self.add("GROUP BY name over 10 M kernels", f"{seconds:.3f} s", "0.5 s", seconds / 0.5, "<= 0.5 s",
                 seconds <= 0.5, f"imported at {rate:.0f} MB/s")

    def mark_start(self):
        times = [measure([self.neurolens, "version"])[0] for _ in range(20)]
        seconds = statistics.median(times)
        self.add("start-up of `neurolens version`", f"{seconds * 1e3:.1f} ms", "30 ms", seconds / 0.03, "<= 30 ms",
                 seconds <= 0.03, "median of 20")

    def mark_analysis(self):
        best = min(self.main_import()["analysis"], key=lambda a: a["analysis_s"])
        slowest = sorted(best["passes_s"].items(), key=lambda item: -item[1])[:3]
        self.add("every analysis pass, 3 M events, after load", f"{best['analysis_s']:.2f} s", "1 s", best["analysis_s"],
                 "<= 1 s", best["analysis_s"] <= 1, ", ".join(f"{name} {seconds:.2f}" for name, seconds in slowest))
        ratio = best["added_mb"] / best["columns_mb"]
        self.add("memory the analysis adds", f"{best['added_mb']} MB", f"{best['columns_mb']} MB of columns", ratio, "<= 3x",
                 ratio <= 3)

    def mark_attribution(self):
        say("attribution of 10 M ranges and 1 M kernels")
        text = measure([self.tools / "attribution_bench"])[2]
        seconds = json.loads(text.strip().splitlines()[-1])["join_s"]
        self.add("attribution, 10 M ranges x 1 M kernels", f"{seconds:.2f} s", "1.5 s", seconds / 1.5, "<= 1.5 s", seconds <= 1.5)

    def made(self, name, scripts, *options):
        """A cached input, written by the first of `scripts`, rebuilt when one of them is newer."""
        path, scripts = self.cache / name, [ROOT / script for script in scripts]
        if path.exists() and path.stat().st_mtime >= max(script.stat().st_mtime for script in scripts):
            return path
        say(f"building {path.name}")
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            made = pathlib.Path(folder) / path.name
            measure([sys.executable, scripts[0], made, *options])
            made.replace(path)
        return path

    def import_rate(self, what, path, goal):
        """A whole import of one file, in megabytes of it a second."""
        say(f"importing {path.name}")
        seconds, peak = self.imports(path, self.options.runs)
        megabytes = path.stat().st_size / 1e6
        rate = megabytes / seconds
        self.add(f"{what} of {megabytes:.0f} MB", f"{rate:.0f} MB/s ({seconds:.2f} s)", f"{goal} MB/s", rate / goal,
                 f">= {goal} MB/s", rate >= goal, f"peak {peak / 1e6:.0f} MB")

    def mark_nsys(self):
        """A whole import against reading the same rows with the sqlite3 C library and doing nothing with them."""
        export = self.made(f"export_{EXPORT_KERNELS}.sqlite", ["bench/make_export.py", "tests/make_nsys_samples.py"],
                           "--kernels", EXPORT_KERNELS)
        say(f"reading and importing {export.name}")
        walk = json.loads(measure([self.tools / "sqlite_walk", "--runs", self.options.runs, export])[2])
        seconds, peak = self.imports(export, self.options.runs)
        ratio = walk["seconds"] / seconds
        self.add(f"nsys export of {EXPORT_KERNELS / 1e6:.0f} M kernels against SELECT *", f"{walk['rows'] / seconds / 1e6:.2f} M rows/s ({seconds:.2f} s)",
                 f"{walk['rows'] / walk['seconds'] / 1e6:.2f} M rows/s", ratio, ">= 0.5x", ratio >= 0.5, f"peak {peak / 1e6:.0f} MB")

    def mark_ncu(self):
        for page in ("details", "raw"):
            report = self.made(f"report_{page}_{REPORT_BYTES}.csv", ["bench/make_report.py"], "--page", page, "--bytes", REPORT_BYTES)
            self.import_rate(f"ncu {page} page", report, 200)

    def mark_rocprof(self):
        results = self.made(f"rocprof_{ROCPROF_MB}_results.json", ["bench/make_rocprof.py"], "--megabytes", ROCPROF_MB)
        self.import_rate("rocprofv3 JSON", results, 150)

    def mark_xplane(self):
        space = self.made(f"space_{SPACE_BYTES}.xplane.pb", ["bench/make_xspace.py", "tests/xspace.py"], "--bytes", SPACE_BYTES)
        self.import_rate("xplane", space, 150)

    def run(self):
        for group in self.options.only:
            try:
                getattr(self, f"mark_{group}")()
            except (Failure, OSError, ValueError, KeyError) as failure:
                self.add(group, "not measured", "", None, "", False, str(failure))

    def table(self):
        header = ("mark", "value", "reference", "ratio", "goal", "", "")
        lines = [header] + [
            (row["mark"], row["value"], row["reference"], "" if row["ratio"] is None else f"{row['ratio']:.2f}x",
             row["goal"], "pass" if row["pass"] else "FAIL", row["note"]) for row in self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neurolens", default=str(ROOT / "build" / "release" / "neurolens"), metavar="PATH")
    parser.add_argument("--tools", metavar="DIR",
                        help="where make_trace and json_walk are (default: bench beside neurolens)")
    parser.add_argument("--cache", default=str(ROOT / "build" / "bench"), metavar="DIR")
    parser.add_argument("--bytes", type=lambda text: int(float(text)), default=1_000_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--full", action="store_true", help="also import 5 GB")
    parser.add_argument("--keep", action="store_true", help="keep the file of 10 M kernels (several GB)")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(GROUPS), metavar="MARKS")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    options = parser.parse_args()
    unknown = [group for group in options.only if group not in GROUPS]
    if unknown:
        parser.error(f"no such mark: {', '.join(unknown)} (there are: {' '.join(GROUPS)})")
    return options


def main():
    options = parse_options()
    # All programs inherit this, so that both sides of every ratio have the same two CPUs.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    bench = Bench(options)
    bench.run()
    print(bench.table())
    if options.json:
        text = json.dumps({"bytes": options.bytes, "marks": bench.rows}, indent=2)
        pathlib.Path(options.json).write_text(text + "\n", encoding="utf-8")
    return 0 if all(row["pass"] for row in bench.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
