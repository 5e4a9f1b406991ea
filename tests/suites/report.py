#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports: every form is there, agrees with the other commands, takes hostile names, and the page works in Chromium."""
import html.parser
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
BASE = str(ROOT / "data/h200/base.json.gz")
MD = ["report.md", "operators.md", "kernels.md", "stakeholder_summary.md"]
HOSTILE = ["<script>window.hacked=1</script>", "</script><script>window.hacked=2</script>", "\"'onmouseover=window.hacked=3", "a|b|c `code` *x* [y](z)",
           "new\nline\r\ttab \x1b[31m", "\u2028 and \u2029 \u202e", "<img src=x onerror=window.hacked=5>", "k" * 100_000, "<!-- --> ]]> &lt;b&gt;", "# head", "- item", "\\", "| |"]


def run(*words, check=True):
    result = subprocess.run([BIN, "--store", STORE, *words], capture_output=True, text=True, check=False)
    if check and result.returncode:
        raise AssertionError(f"{' '.join(words)[:200]}: exit status {result.returncode}: {result.stderr[-300:]}")
    return result


def load(path):
    return json.loads(Path(path).read_text())


def test(name, body):
    try:
        said = body()
        print(f"PASS {name}{f' ({said})' if said else ''}")
    except Exception as error:  # whatever it is, it is this test's failure
        print(f"FAIL {name}: {str(error) or repr(error)}"[:600].replace("\n", " "))


def expect(condition, why):
    if not condition:
        raise AssertionError(why)


def cells(line):
    """The cells of a table line; an escaped pipe is text."""
    return re.split(r"(?<!\\)\|", line.replace("\\\\", "\0"))[1:-1]


def tables(text):
    """Every table of a Markdown page, as lists of rows."""
    found, now = [], []
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            now.append(cells(line))
        elif now:
            found.append(now)
            now = []
    return found


class Page(html.parser.HTMLParser):
    """The tags of a page, and the text of its data element."""
    def __init__(self):
        super().__init__()
        self.tags, self.data, self.inside = [], "", False

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id") == "report-data"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.data += data


def span(name, cat, start_us, dur_us, pid, tid, **args):
    return {"ph": "X", "name": name, "cat": cat, "ts": start_us, "dur": dur_us, "pid": pid, "tid": tid, "args": args}


def write_trace(path, events):
    Path(path).write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "<b>GPU</b>|"}], "traceEvents": events}))


def hostile_trace(path):
    events = []
    for i, name in enumerate(HOSTILE):
        events += [span(name, "cpu_op", i * 100, 80, 1, 1, **{"External id": i + 1}),
                   span("cudaLaunchKernel", "cuda_runtime", i * 100 + 10, 5, 1, 1, correlation=i + 1, **{"External id": i + 1}),
                   span(name, "kernel", i * 100 + 20, 30 + i, 0, 7, device=0, stream=7, correlation=i + 1, **{"External id": i + 1})]
    write_trace(path, events)


def report_of(trace, folder, *words):
    run_id = json.loads(run("--json", "import", str(trace)).stdout)["runs"][0]["run_id"]
    run("report", run_id, "--out", str(folder), *words)
    return load(Path(folder) / "report.json")


def check_files():
    written = sorted(p.name for p in Path(f"{WORK}/base").iterdir())
    expect(written == sorted([*MD, "report.html", "report.json"]), written)
    for form, names in {"md": MD, "html": ["report.html"], "json": ["report.json"]}.items():
        reply = json.loads(run("--json", "report", "@latest", "--out", f"{WORK}/{form}", "--format", form).stdout)
        expect(sorted(p.name for p in Path(f"{WORK}/{form}").iterdir()) == sorted(names), form)
        expect(sorted(Path(f["path"]).name for f in reply["files"]) == sorted(names), reply["files"])
        expect(all(Path(f["path"]).stat().st_size == f["bytes"] for f in reply["files"]), "sizes")


def check_agreement():
    summary = json.loads(run("--json", "summary", "--top", "1000").stdout)
    device, shown = summary["devices"][0], BASE_REPORT["devices"][0]
    for key in ("busy_ms", "idle_ms", "compute_ms", "communication_ms", "memory_ms", "overlap_ms", "utilization"):
        expect(abs(device[key] - shown[key]) < 1e-6, f"{key}: {device[key]} and {shown[key]}")
    expect(abs(summary["wall_ms"] - BASE_REPORT["wall_ms"]) < 1e-6, "wall")
    expect(summary["kernels"] == BASE_REPORT["kernels"], "kernels")
    expect(summary["operators"] == BASE_REPORT["operators"], "operators")


def check_breakdown():
    parts = BASE_REPORT["breakdown"]
    expect(abs(sum(p["ms"] for p in parts) - BASE_REPORT["wall_ms"]) < 1e-6, "ms do not sum to the wall")
    expect(abs(sum(p["share"] for p in parts) - 1) < 1e-9, "shares do not sum to 1")
    busy = sum(p["ms"] for p in parts if not p["idle"])
    expect(abs(busy - BASE_REPORT["devices"][0]["busy_ms"]) < 1e-6, "busy")
    expect(re.search(r"\d ms of 183\.2 ms \(11\.8 %\)", BASE_REPORT["verdict"]) and BASE_REPORT["verdict"].count(".") >= 1, BASE_REPORT["verdict"])


def check_timeline():
    line = BASE_REPORT["timeline"]
    rows = json.loads(run("--json", "query", "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM memcpy) + (SELECT count(*) FROM memset) AS n").stdout)["rows"]
    want = rows[0][0] if isinstance(rows[0], list) else rows[0]["n"]
    on_device = [lane for lane in line["lanes"] if lane["kind"] == "device"]
    expect(sum(len(lane["start_us"]) for lane in on_device) == int(want), f"{want} device rows")
    for lane in line["lanes"]:
        expect(len({len(lane[k]) for k in ("start_us", "dur_us", "name_id", "category", "depth")}) == 1, "columns of different length")
        expect(all(0 <= n < len(line["names"]) for n in lane["name_id"]), "name_id")
        expect(all(s >= 0 and s + d <= line["wall_us"] + 1e-3 for s, d in zip(lane["start_us"], lane["dur_us"])), "outside of the wall")
    expect(line["merged_below_us"] is None and line["events_drawn"] == line["events_total"], "merged")


def check_markdown():
    for folder in ("base", "hostile"):
        for name in MD:
            text = Path(f"{WORK}/{folder}/{name}").read_text()
            expect(text.startswith("# "), name)
            for table in tables(text):
                expect(len({len(row) for row in table}) == 1, f"{folder}/{name}: {[len(r) for r in table]} columns")
                expect(len(table) > 2, f"{folder}/{name}: empty table")
            bare = re.sub(r"&lt;|&gt;", "", text)
            expect(not re.search(r"<(script|img|b|!--)", bare), f"{folder}/{name}: markup got through")
            expect(not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202e]", text), f"{folder}/{name}: control characters")
            expect(max(map(len, text.split("\n"))) < 6000, f"{folder}/{name}: a line of {max(map(len, text.split(chr(10))))}")


def check_markdown_numbers():
    header, _, *rows = tables(Path(f"{WORK}/base/kernels.md").read_text())[0]
    expect([h.strip() for h in header] == ["Kernel", "Device", "Total ms", "Calls", "Mean ms"], header)
    expect(len(rows) == len(BASE_REPORT["kernels"]), "rows")
    for row, kernel in zip(rows, BASE_REPORT["kernels"]):
        total, calls, mean = float(row[2]), int(row[3].replace(",", "")), float(row[4])
        expect(abs(total - kernel["total_ms"]) <= 1e-3 * kernel["total_ms"] + 1e-6 and calls == kernel["calls"], row)
        expect(abs(mean * calls - total) <= 2e-3 * total + 1e-6 * calls, f"mean is not total / calls: {row}")
    totals = [float(r[2]) for r in rows]
    expect(totals == sorted(totals, reverse=True), "not sorted by total")
    header, *_ = tables(Path(f"{WORK}/base/operators.md").read_text())[0]
    expect([h.strip() for h in header] == ["Operator", "Total ms", "Self ms", "GPU ms", "Calls", "Mean ms"], header)
    story = Path(f"{WORK}/base/stakeholder_summary.md").read_text()
    for heading in ("Environment", "Aggregates", "Per-Stage Timings", "MFU", "Top Operators", "Top Kernels", "Recommendations"):
        expect(f"\n## {heading}\n" in story, heading)


def check_html():
    for folder in ("base", "hostile"):
        text = Path(f"{WORK}/{folder}/report.html").read_text()
        page = Page()
        page.feed(text)
        expect(sum(t == "script" for t, _ in page.tags) == 2, f"{folder}: scripts")
        expect(json.loads(page.data) == load(f"{WORK}/{folder}/report.json"), f"{folder}: the page's data differs from report.json")
        for tag, attrs in page.tags:
            expect(not any(str(v).startswith(("http", "//")) for k, v in attrs.items() if k in ("src", "href")), f"{tag} loads {attrs}")
        expect(len(text) - len(page.data) <= 2_000_000, "larger than 2 MB without its data")
        expect("\u2028" not in page.data and "<" not in page.data, "unsafe characters in the data")


def check_many():
    events = [span(f"op{i % 7}", "cpu_op", i * 2, 1, 1, 1) for i in range(90_000)] + [span("long", "cpu_op", 0, 180_000, 1, 1)]
    write_trace(f"{WORK}/many.json", events)
    line = report_of(f"{WORK}/many.json", f"{WORK}/many", "--format", "json")["timeline"]
    drawn = sum(len(lane["start_us"]) for lane in line["lanes"])
    expect(line["events_total"] == 90_001 and drawn == line["events_drawn"] <= 60_000, f"{drawn} drawn")
    expect(sum(sum(lane["count"]) for lane in line["lanes"]) == 90_001, "merged spans are not counted")
    expect(line["merged_below_us"] == 9 and drawn > 15_000, f"{drawn} drawn, {line['merged_below_us']} us")
    return f"{drawn} drawn for 90,001"


def check_host_only():
    write_trace(f"{WORK}/host.json", [span("aten::add", "cpu_op", 0, 60, 1, 1), span("aten::mul", "cpu_op", 70, 30, 1, 1)])
    report = report_of(f"{WORK}/host.json", f"{WORK}/host")
    expect(report["verdict"].startswith("Host only"), report["verdict"])
    expect(abs(sum(p["ms"] for p in report["breakdown"]) - report["wall_ms"]) < 1e-9, report["breakdown"])
    expect(abs(next(p["share"] for p in report["breakdown"] if p["what"] == "op") - 0.9) < 1e-9, report["breakdown"])


def check_analyze():
    reply = json.loads(run("--json", "analyze", BASE, "--json", f"{WORK}/a/deep/x.json", "--md", f"{WORK}/a/x.md", "--html", f"{WORK}/a/x.html").stdout)
    expect([f["form"] for f in reply["files"]] == ["md", "html", "json"], reply["files"])
    expect(load(f"{WORK}/a/deep/x.json") == BASE_REPORT, "analyze FILE and report RUN differ")
    expect(reply["run_id"] == BASE_REPORT["generated_from"] and reply["verdict"] == BASE_REPORT["verdict"], "reply")
    text = run("analyze", reply["run_id"]).stdout
    expect(BASE_REPORT["verdict"][:40] in text and max(map(len, text.split("\n"))) <= 100, text)
    expect(run("analyze", reply["run_id"], "--json", f"{WORK}/a/y.json").stdout.startswith("run "), "--json FILE changes what is printed")
    expect(json.loads(run("analyze", reply["run_id"], "--json").stdout)["run_id"] == reply["run_id"], "--json without a file prints the reply")
    bad = run("analyze", "no-such-run", check=False)
    expect(bad.returncode == 2, bad.stderr)
    bad = run("analyze", reply["run_id"], "--peaks", "x", check=False)
    expect(bad.returncode == 2 and "--peaks" in bad.stderr, bad.stderr)
    full = run("report", reply["run_id"], "--out", "/proc/nowhere", check=False)
    expect(full.returncode == 3 and "/proc/nowhere" in full.stderr, full.stderr)


def fixture_page(to):
    """The full model (web/fixtures/full.json) in the built page."""
    data = json.dumps(load(ROOT / "web/fixtures/full.json")).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    text = Path(f"{WORK}/base/report.html").read_text()
    pattern = r'(<script type="application/json" id="report-data">).*?(</script>)'
    Path(to).write_text(re.sub(pattern, lambda m: m.group(1) + data + m.group(2), text, count=1, flags=re.S))


def check_browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        print("SKIP browser: chromium is not installed")
        return
    web = ROOT / "web"
    if not (web / "node_modules/playwright-core").exists() and subprocess.run(["npm", "install", "--no-save", "--no-audit", "--no-fund"], cwd=web, capture_output=True, check=False).returncode:
        print("SKIP browser: npm install failed")
        return
    pages = Path(f"{WORK}/pages")
    pages.mkdir()
    shutil.copy(f"{WORK}/base/report.html", pages / "base.html")
    shutil.copy(f"{WORK}/hostile/report.html", pages / "hostile.html")
    fixture_page(pages / "full.html")
    result = subprocess.run(["node", str(web / "test/report.mjs"), chromium, str(pages)], capture_output=True, text=True, check=False, timeout=300)
    print(result.stdout, end="")
    if result.returncode or not result.stdout:
        print(f"FAIL browser: {result.stderr[-400:]}".replace("\n", " "))


with tempfile.TemporaryDirectory() as WORK:
    STORE = f"{WORK}/store"
    run("import", BASE)
    first = run("report", "@latest", "--out", f"{WORK}/base")
    BASE_REPORT = load(f"{WORK}/base/report.json")
    if "skipped report.html" in first.stdout:
        print("SKIP report: this build has no page (no Node.js when it was built)")
    else:
        test("report writes the forms asked for", check_files)
        test("report agrees with summary", check_agreement)
        test("breakdown sums to the wall", check_breakdown)
        test("timeline has every span", check_timeline)
        hostile_trace(f"{WORK}/hostile.json")
        test("a hostile trace is reported", lambda: report_of(f"{WORK}/hostile.json", f"{WORK}/hostile") and None)
        test("Markdown tables keep their columns, names are text", check_markdown)
        test("Markdown numbers are the model's", check_markdown_numbers)
        test("the page holds the model and nothing foreign", check_html)
        test("a long timeline is thinned and says so", check_many)
        test("a run without a device is explained", check_host_only)
        test("analyze takes a file or a run", check_analyze)
        check_browser()
