# SPDX-License-Identifier: Apache-2.0
"""Reports: every form is there, agrees with the other commands, takes hostile names, and the page works in Chromium."""
import json
import pathlib
import re
import shutil

import pytest

from neurolens_cli import H200, HOSTILE_NAMES, ROOT, Page, Store, cases_of_script, fill_page, load, outcome, span, write_trace

pytestmark = [pytest.mark.xdist_group("report"), pytest.mark.slow_first(60)]
BASE = H200 / "base.json.gz"
MD = ["report.md", "operators.md", "kernels.md", "stakeholder_summary.md"]


class Reports:
    """A store with the reports of the base trace and of a hostile one."""

    def __init__(self, folder):
        self.folder, self.store = folder, Store(folder / "store")
        events = []
        for i, name in enumerate([*HOSTILE_NAMES, "k" * 100_000]):
            events += [span(name, "cpu_op", i * 100, 80, 1, 1, **{"External id": i + 1}),
                       span("cudaLaunchKernel", "cuda_runtime", i * 100 + 10, 5, 1, 1, correlation=i + 1, **{"External id": i + 1}),
                       span(name, "kernel", i * 100 + 20, 30 + i, 0, 7, device=0, stream=7, correlation=i + 1, **{"External id": i + 1})]
        self.of(write_trace(folder / "hostile.json", events), folder / "hostile")
        self.run_id = self.store.add(BASE).id
        self.said = self.store.text("report", self.run_id, "--out", folder / "base")
        self.base = load(folder / "base/report.json")

    def of(self, trace, folder, *words):
        """The model of the report of a trace."""
        self.store.text("report", self.store.add(trace).id, "--out", folder, *words)
        return load(folder / "report.json")


@pytest.fixture(scope="module")
def report(module_folder):
    reports = Reports(module_folder)
    if "skipped report.html" in reports.said:
        pytest.skip("this build has no page (no Node.js when it was built)")
    return reports


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


def test_the_forms_asked_for_are_written(report):
    written = sorted(p.name for p in (report.folder / "base").iterdir())
    assert written == sorted([*MD, "report.html", "report.json"]), written
    for form, names in {"md": MD, "html": ["report.html"], "json": ["report.json"]}.items():
        reply = report.store.json("report", report.run_id, "--out", report.folder / f"{form}", "--format", form)
        assert sorted(p.name for p in (report.folder / f"{form}").iterdir()) == sorted(names), form
        assert sorted(pathlib.Path(f["path"]).name for f in reply["files"]) == sorted(names), reply["files"]
        assert all(pathlib.Path(f["path"]).stat().st_size == f["bytes"] for f in reply["files"]), "sizes"


def test_the_report_agrees_with_summary(report):
    summary = report.store.json("summary", report.run_id, "--top", "1000")
    device, shown = summary["devices"][0], report.base["devices"][0]
    for key in ("busy_ms", "idle_ms", "compute_ms", "communication_ms", "memory_ms", "overlap_ms", "utilization"):
        assert abs(device[key] - shown[key]) < 1e-6, f"{key}: {device[key]} and {shown[key]}"
    assert abs(summary["wall_ms"] - report.base["wall_ms"]) < 1e-6, "wall"
    assert summary["kernels"] == report.base["kernels"], "kernels"
    assert summary["operators"] == report.base["operators"], "operators"


def test_the_breakdown_sums_to_the_wall(report):
    parts = report.base["breakdown"]
    assert abs(sum(p["ms"] for p in parts) - report.base["wall_ms"]) < 1e-6, "ms do not sum to the wall"
    assert abs(sum(p["share"] for p in parts) - 1) < 1e-9, "shares do not sum to 1"
    busy = sum(p["ms"] for p in parts if not p["idle"])
    assert abs(busy - report.base["devices"][0]["busy_ms"]) < 1e-6, "busy"
    assert re.search(r"\d ms of 183\.2 ms \(11\.8 %\)", report.base["verdict"]) and report.base["verdict"].count(".") >= 1, report.base["verdict"]


def test_the_timeline_has_every_span(report):
    line = report.base["timeline"]
    rows = report.store.json("query", report.run_id, "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM memcpy) + (SELECT count(*) FROM memset) AS n")["rows"]
    want = rows[0][0] if isinstance(rows[0], list) else rows[0]["n"]
    on_device = [lane for lane in line["lanes"] if lane["kind"] == "device"]
    assert sum(len(lane["start_us"]) for lane in on_device) == int(want), f"{want} device rows"
    for lane in line["lanes"]:
        assert len({len(lane[k]) for k in ("start_us", "dur_us", "name_id", "category", "depth")}) == 1, "columns of different length"
        assert all(0 <= n < len(line["names"]) for n in lane["name_id"]), "name_id"
        assert all(s >= 0 and s + d <= line["wall_us"] + 1e-3 for s, d in zip(lane["start_us"], lane["dur_us"])), "outside of the wall"
    assert line["merged_below_us"] is None and line["events_drawn"] == line["events_total"], "merged"


def test_markdown_tables_keep_their_columns_and_names_are_text(report):
    for folder in ("base", "hostile"):
        for name in MD:
            text = (report.folder / f"{folder}/{name}").read_text()
            assert text.startswith("# "), name
            for table in tables(text):
                assert len({len(row) for row in table}) == 1, f"{folder}/{name}: {[len(r) for r in table]} columns"
                assert len(table) > 2, f"{folder}/{name}: empty table"
            bare = re.sub(r"&lt;|&gt;", "", text)
            assert not re.search(r"<(script|img|b|!--)", bare), f"{folder}/{name}: markup got through"
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202e]", text), f"{folder}/{name}: control characters"
            assert max(map(len, text.split("\n"))) < 6000, f"{folder}/{name}: a line of {max(map(len, text.split(chr(10))))}"


def test_markdown_numbers_are_those_of_the_model(report):
    header, _, *rows = tables((report.folder / "base/kernels.md").read_text())[0]
    assert [h.strip() for h in header] == ["Kernel", "Device", "Total ms", "Calls", "Mean ms"], header
    assert len(rows) == len(report.base["kernels"]), "rows"
    for row, kernel in zip(rows, report.base["kernels"]):
        total, calls, mean = float(row[2]), int(row[3].replace(",", "")), float(row[4])
        assert abs(total - kernel["total_ms"]) <= 1e-3 * kernel["total_ms"] + 1e-6 and calls == kernel["calls"], row
        assert abs(mean * calls - total) <= 2e-3 * total + 1e-6 * calls, f"mean is not total / calls: {row}"
    totals = [float(r[2]) for r in rows]
    assert totals == sorted(totals, reverse=True), "not sorted by total"
    header, *_ = tables((report.folder / "base/operators.md").read_text())[0]
    assert [h.strip() for h in header] == ["Operator", "Total ms", "Self ms", "GPU ms", "Calls", "Mean ms"], header
    story = (report.folder / "base/stakeholder_summary.md").read_text()
    for heading in ("Environment", "Aggregates", "Per-Stage Timings", "MFU", "Top Operators", "Top Kernels", "Recommendations"):
        assert f"\n## {heading}\n" in story, heading


def test_the_page_holds_the_model_and_nothing_foreign(report):
    for folder in ("base", "hostile"):
        text = (report.folder / f"{folder}/report.html").read_text()
        page = Page(text)
        assert sum(t == "script" for t, _ in page.tags) == 2, f"{folder}: scripts"
        assert json.loads(page.data) == load(report.folder / f"{folder}/report.json"), f"{folder}: the page's data differs from report.json"
        for tag, attrs in page.tags:
            assert not any(str(v).startswith(("http", "//")) for k, v in attrs.items() if k in ("src", "href")), f"{tag} loads {attrs}"
        assert len(text) - len(page.data) <= 2_000_000, "larger than 2 MB without its data"
        assert "\u2028" not in page.data and "<" not in page.data, "unsafe characters in the data"


def test_a_long_timeline_is_thinned_and_says_so(report):
    events = [span(f"op{i % 7}", "cpu_op", i * 2, 1, 1, 1) for i in range(90_000)] + [span("long", "cpu_op", 0, 180_000, 1, 1)]
    write_trace(report.folder / "many.json", events)
    line = report.of(report.folder / "many.json", report.folder / "many", "--format", "json")["timeline"]
    drawn = sum(len(lane["start_us"]) for lane in line["lanes"])
    assert line["events_total"] == 90_001 and drawn == line["events_drawn"] <= 60_000, f"{drawn} drawn"
    assert sum(sum(lane["count"]) for lane in line["lanes"]) == 90_001, "merged spans are not counted"
    assert line["merged_below_us"] == 9 and drawn > 15_000, f"{drawn} drawn, {line['merged_below_us']} us"


def test_a_run_without_a_device_is_explained(report):
    write_trace(report.folder / "host.json", [span("aten::add", "cpu_op", 0, 60, 1, 1), span("aten::mul", "cpu_op", 70, 30, 1, 1)])
    report = report.of(report.folder / "host.json", report.folder / "host")
    assert report["verdict"].startswith("Host only"), report["verdict"]
    assert abs(sum(p["ms"] for p in report["breakdown"]) - report["wall_ms"]) < 1e-9, report["breakdown"]
    assert abs(next(p["share"] for p in report["breakdown"] if p["what"] == "op") - 0.9) < 1e-9, report["breakdown"]


def test_analyze_takes_a_file_or_a_run(report):
    reply = json.loads(report.store.text("--json", "analyze", BASE, "--json", report.folder / "a/deep/x.json", "--md", report.folder / "a/x.md", "--html", report.folder / "a/x.html"))
    assert [f["form"] for f in reply["files"]] == ["md", "html", "json"], reply["files"]
    assert load(report.folder / "a/deep/x.json") == report.base, "analyze FILE and report RUN differ"
    assert reply["run_id"] == report.base["generated_from"] and reply["verdict"] == report.base["verdict"], "reply"
    text = report.store.text("analyze", reply["run_id"])
    assert report.base["verdict"][:40] in text and max(map(len, text.split("\n"))) <= 100, text
    assert report.store.text("analyze", reply["run_id"], "--json", report.folder / "a/y.json").startswith("run "), "--json FILE changes what is printed"
    assert report.store.json("analyze", reply["run_id"])["run_id"] == reply["run_id"], "--json without a file prints the reply"
    bad = report.store.run("analyze", "no-such-run")
    assert bad.returncode == 2, bad.stderr
    bad = report.store.run("analyze", reply["run_id"], "--peaks", "x")
    assert bad.returncode == 2 and "--peaks" in bad.stderr, bad.stderr
    full = report.store.run("report", reply["run_id"], "--out", "/proc/nowhere")
    assert full.returncode == 3 and "/proc/nowhere" in full.stderr, full.stderr


@pytest.fixture(scope="module")
def opened(report, open_pages):
    """What is printed about the pages, opened in Chromium."""
    pages = report.folder / "pages"
    pages.mkdir()
    shutil.copy(report.folder / "base/report.html", pages / "base.html")
    shutil.copy(report.folder / "hostile/report.html", pages / "hostile.html")
    fill_page(report.folder / "base/report.html", load(ROOT / "web/fixtures/full.json"), pages / "full.html")
    done = open_pages("report.mjs", pages)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("case", cases_of_script("report.mjs"))
def test_in_chromium(case, opened):
    why = outcome(opened, f"browser {case}")
    assert why is None, why
