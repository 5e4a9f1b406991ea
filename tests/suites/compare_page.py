#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The forms of a comparison agree, sum, take hostile names, fit 80 columns, and the page works in Chromium."""
import copy
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
A, B = str(ROOT / "data/h200/base.json.gz"), str(ROOT / "data/h200/eager_attn.json.gz")
HOSTILE = ["<script>window.hacked=1</script>", "</script><script>window.hacked=2</script>", "\"'onmouseover=window.hacked=3", "a|b|c `code` *x* [y](z)",
           "new\nline\r\ttab \x1b[31m", "\u2028 and \u2029 \u202e", "<img src=x onerror=window.hacked=5>", "k" * 20_000, "<!-- --> ]]> &lt;b&gt;", "# head", "</details>", "- item", "\\", "| |"]


def run(*words, check=True, columns=80):
    result = subprocess.run([BIN, "--store", STORE, *words], capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": str(columns)})
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


def columns_of(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def span(name, cat, start_us, dur_us, pid, tid, **args):
    return {"ph": "X", "name": name, "cat": cat, "ts": start_us, "dur": dur_us, "pid": pid, "tid": tid, "args": args}


def hostile_trace(path, slower):
    events = []
    for i, name in enumerate(HOSTILE):
        start = i * 200
        events += [span(name, "cpu_op", start, 150, 1, 1, **{"External id": i + 1, "Input Dims": [[4, 4]]}),
                   span("cudaLaunchKernel", "cuda_runtime", start + 10, 5, 1, 1, correlation=i + 1, **{"External id": i + 1}),
                   span(name, "kernel", start + 20, 30 + i + (slower * 5 if i % 2 else 0), 0, 7, device=0, stream=7, correlation=i + 1, **{"External id": i + 1})]
    Path(path).write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "<b>GPU</b>|"}], "traceEvents": events}))


def hostile_model():
    """The real model with 500 changes, and hostile names, nulls and every section in it."""
    model = copy.deepcopy(MODEL)
    one = model["contributions"][0]
    model["contributions"] = []
    for i in range(500):
        name = HOSTILE[i % len(HOSTILE)]
        delta = (500 - i) * (0.01 if i % 3 else -0.02)
        model["contributions"].append({**one, "rank": i + 1, "cause": "kernel_slower" if i % 3 else "sync_removed", "detail": name, "stage": name, "module": name, "op": name,
                                       "kernel_a": name, "kernel_b": name + "2", "shapes_a": None, "shapes_b": name, "a_ms": 20, "b_ms": 20 + delta, "delta_ms": delta, "share": None,
                                       "confidence": None if i % 5 == 0 else 0.7, "p_value": None, "significant": i % 2 == 0, "count_effect_ms": None, "text": name,
                                       "parts": [{**one["parts"][0], "op": name, "kernel_a": name, "change": name, "a_ms": None}],
                                       "evidence_a": [{"table": name, "row": 1, "what": name, "value": None, "unit": None}]})
    total = sum(c["delta_ms"] for c in model["contributions"])
    model.update(wall_b_ms=model["wall_a_ms"] + total, delta_ms=total, residual_ms=0, similarity=None, normalised_by=HOSTILE[0], normal_a_ms=1.5, normal_b_ms=None,
                 comparability=[{"what": HOSTILE[6], "a": None, "b": HOSTILE[1], "consequence": HOSTILE[3]}],
                 shifts=[{"stage": HOSTILE[2], "module": None, "from": HOSTILE[6], "to": HOSTILE[0], "ms": None}],
                 counters=[{"kernel": HOSTILE[1], "a": {"kernels": 1, "total_ms": 2, "source": "ncu", "achieved_occupancy": 0.5, "dram_read_gb": None}, "b": None}])
    model["verdict"].update(text=HOSTILE[6], confidence=None, more_runs_needed=4)
    for key in ("by_kernel", "by_op", "by_module", "by_stage"):
        model[key] = [{"name": n, "count_a": 1, "count_b": 2, "a_ms": 1, "b_ms": None, "delta_ms": None, "busy_a_ms": None, "busy_b_ms": 0} for n in HOSTILE]
    model["timeline"]["names"] = [HOSTILE[i % len(HOSTILE)] for i in range(len(model["timeline"]["names"]))]
    model["runs"]["a"][0]["name"] = HOSTILE[1]
    return model


def empty_model():
    model = copy.deepcopy(MODEL)
    for key in ("wall_a_ms", "wall_b_ms", "delta_ms", "residual_ms", "similarity", "matched_share_a", "matched_share_b", "drift", "busy_a_ms", "busy_b_ms"):
        model[key] = None
    for key in ("contributions", "by_kernel", "by_op", "by_module", "by_stage", "shifts", "counters", "comparability"):
        model[key] = []
    model["verdict"] = {"class": "undecided", "confidence": None, "p_value": None, "more_runs_needed": None, "text": ""}
    none = {"items_total": 0, "merged_below_ms": None, "start_ms": [], "dur_ms": [], "name": [], "change": [], "partner": [], "count": []}
    model.update(timeline={"names": [], "cut": False, "a": none, "b": none}, flame={"device": None, "host": None}, normalised_by=None)
    model["fingerprint"]["divergent"] = []
    return model


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


def check_forms():
    reply = json.loads(run("--json", "compare", A, B, "--json", f"{WORK}/x/deep/m.json", "--md", f"{WORK}/x/m.md", "--html", f"{WORK}/x/m.html").stdout)
    expect([f["form"] for f in reply["files"]] == ["md", "html", "json"], reply["files"])
    expect(all(Path(f["path"]).stat().st_size == f["bytes"] for f in reply["files"]), "sizes")
    whole = load(f"{WORK}/x/deep/m.json")
    for key in set(reply) - {"files", "contributions"}:
        expect(reply[key] == whole[key], f"{key} differs between the reply and the file")
    expect("timeline" not in reply and "flame" not in reply and {"timeline", "flame"} <= set(whole), "the large sections are the files'")
    text = run("compare", A, B, "--json", f"{WORK}/x/m2.json").stdout
    expect(not text.startswith("{") and "m2.json" in text, "--json FILE must not change what is printed")
    expect(json.loads(run("compare", A, B, "--json").stdout)["run_a"] == reply["run_a"], "--json without a file prints the reply")


def check_top():
    for top in (1, 2):
        reply = json.loads(run("--json", "compare", A, B, "--top", str(top)).stdout)
        listed = reply["contributions"]
        expect(len(listed) <= top + 1, f"{len(listed)} contributions for --top {top}")
        expect(abs(sum(c["delta_ms"] for c in listed) + reply["residual_ms"] - reply["delta_ms"]) < 1e-6, "they do not sum")
        rest = [c for c in listed if c["merged"]]
        expect(len(rest) == 1 and rest[0]["cause"] == "noise" and re.fullmatch(r"\d+ smaller changes?", rest[0]["text"]), rest)


def check_timeline():
    line = MODEL["timeline"]
    ranks = {c["rank"] for c in MODEL["contributions"]}
    for side, other, wall in (("a", "b", "wall_a_ms"), ("b", "a", "wall_b_ms")):
        track = line[side]
        expect(len({len(track[k]) for k in ("start_ms", "dur_ms", "name", "change", "partner", "count")}) == 1, "columns of different length")
        expect(sum(track["count"]) == track["items_total"] > 1000, "items are lost")
        expect(all(s >= 0 and s + d <= MODEL[wall] + 1e-3 for s, d in zip(track["start_ms"], track["dur_ms"])), "outside of the wall")
        expect(all(0 <= n < len(line["names"]) for n in track["name"]), "names")
        expect(all(c is None or c in ranks for c in track["change"]), "a change that is not listed")
        for i, partner in enumerate(track["partner"]):
            expect(partner is None or line[other]["partner"][partner] == i, f"{side} {i} is not its partner's partner")
    changed = sum(c is not None for c in line["b"]["change"])
    return f"{changed} of {len(line['b']['change'])} in B belong to a change"


def check_flame():
    for side, run_id in (("a_ms", MODEL["run_a"]), ("b_ms", MODEL["run_b"])):
        rows = json.loads(run("--json", "query", run_id, "SELECT (SELECT sum(dur_ns) FROM kernel) + coalesce((SELECT sum(dur_ns) FROM memcpy), 0) + coalesce((SELECT sum(dur_ns) FROM memset), 0) AS n").stdout)["rows"]
        want = float(rows[0][0] if isinstance(rows[0], list) else rows[0]["n"]) / 1e6
        expect(abs(MODEL["flame"]["device"][side] - want) < 1e-6, f"{side}: {MODEL['flame']['device'][side]} of {want}")

    def walk(frame, least):
        for child in frame["children"]:
            expect(max(child["a_ms"], child["b_ms"]) >= least - 1e-9, f"{child['name']} is too small to be here")
            walk(child, least)
        for side in ("a_ms", "b_ms"):
            expect(sum(c[side] for c in frame["children"]) <= frame[side] + 1e-6, f"{frame['name']}: children exceed it in {side}")
    for tree in ("device", "host"):
        root = MODEL["flame"][tree]
        walk(root, 0.001 * max(root["a_ms"], root["b_ms"]))


def check_width():
    widest = 0
    for pair in ((A, B), (B, A), (A, A), (f"{WORK}/h1.json", f"{WORK}/h2.json")):
        for extra in ((), ("--by", "kernel"), ("--by", "module", "--time", "device"), ("--top", "1")):
            text = run("compare", *pair, *extra).stdout
            for line in text.split("\n"):
                expect(columns_of(line) <= 80, f"{columns_of(line)} columns: {line}")
                widest = max(widest, columns_of(line))
            expect(not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\u2028]", text), "a control character")
            expect("nan" not in text.lower().split(), "not a number")
    return f"widest line {widest}"


def check_colour():
    plain = run("compare", A, B).stdout
    painted = run("--color", "always", "compare", A, B).stdout
    expect("\x1b[" in painted and re.sub(r"\x1b\[\d*m", "", painted) == plain, "colour changes more than colour")


def markdown_python():
    """An interpreter that has markdown-it, an independent parser."""
    for python in (sys.executable, "/usr/bin/python3"):
        if Path(python).exists() and subprocess.run([python, "-c", "import markdown_it"], capture_output=True, check=False).returncode == 0:
            return python
    return None


PARSE = """
import json, sys
from markdown_it import MarkdownIt
text = open(sys.argv[1], encoding="utf-8").read()
tokens = MarkdownIt("commonmark").enable("table").parse(text)
tables, html, rows = [], [], None
for t in tokens:
    if t.type == "table_open": tables.append([])
    if t.type == "tr_open": tables[-1].append(0)
    if t.type in ("td_open", "th_open"): tables[-1][-1] += 1
    if t.type == "html_block": html.append(t.content)
    for c in t.children or []:
        if c.type in ("html_inline", "image", "link_open"): html.append(c.type + " " + c.content)
print(json.dumps({"tables": tables, "html": html}))
"""


def check_markdown():
    python = markdown_python()
    if not python:
        print("SKIP Markdown through an independent parser: python3-markdown-it is not installed")
        return "columns only"
    for name in ("pair", "hostile"):
        found = json.loads(subprocess.run([python, "-c", PARSE, f"{WORK}/{name}.md"], capture_output=True, text=True, check=True).stdout)
        expect(len(found["tables"]) >= 4, f"{name}: {len(found['tables'])} tables")
        expect(all(len(set(rows)) == 1 for rows in found["tables"]), f"{name}: a table lost its columns")
        pieces = [line for block in found["html"] for line in block.split("\n") if line]
        bad = [p for p in pieces if not re.fullmatch(r"</?details>|<summary>[\w ]+</summary>", p)]
        expect(not bad, f"{name}: {bad[:3]}")
        expect(pieces.count("<details>") == pieces.count("</details>") > 2, f"{name}: details")
    return None


def check_markdown_sums():
    rows = [line.split("|")[1:-1] for line in Path(f"{WORK}/pair.md").read_text().split("\n\n", 5)[3].split("\n") if line.startswith("|")][2:]
    deltas = [float(row[5]) for row in rows]
    expect(abs(sum(deltas[:-1]) - deltas[-1]) < 0.011 * len(deltas), deltas)
    expect(abs(deltas[-1] - MODEL["delta_ms"]) < 0.01, f"{deltas[-1]} of {MODEL['delta_ms']}")


def check_html():
    for name in ("pair", "hostile"):
        text = Path(f"{WORK}/{name}.html").read_text()
        page = Page()
        page.feed(text)
        scripts = [attrs for tag, attrs in page.tags if tag == "script"]
        expect(len(scripts) == 2 and not any("src" in s for s in scripts), f"{name}: scripts {scripts}")
        expect(not any(tag in ("img", "iframe", "link") and "data:," not in str(attrs) for tag, attrs in page.tags), f"{name}: foreign elements")
        expect(any("Content-Security-Policy" in str(attrs) for _, attrs in page.tags), "no content policy")
        expect(json.loads(page.data) == load(f"{WORK}/{name}.json"), f"{name}: the page does not hold the model")
    return f"{Path(f'{WORK}/pair.html').stat().st_size // 1024} KiB"


def check_errors():
    bad = run("compare", A, check=False)
    expect(bad.returncode == 2 and "B is missing" in bad.stderr, bad.stderr)
    bad = run("compare", A, B, A, check=False)
    expect(bad.returncode == 2 and "--" in bad.stderr, bad.stderr)
    bad = run("compare", A, "no-such-run", check=False)
    expect(bad.returncode == 2 and "no-such-run" in bad.stderr, bad.stderr)
    bad = run("compare", A, B, "--html", "/proc/nowhere/x.html", check=False)
    expect(bad.returncode == 3, bad.stderr)


def fill(model, to):
    data = json.dumps(model).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    text = Path(f"{WORK}/pair.html").read_text()
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
    shutil.copy(f"{WORK}/pair.html", pages / "pair.html")
    fill(hostile_model(), pages / "hostile.html")
    fill(empty_model(), pages / "empty.html")
    result = subprocess.run(["node", str(web / "test/compare.mjs"), chromium, str(pages)], capture_output=True, text=True, check=False, timeout=300)
    print(result.stdout, end="")
    if result.returncode or not result.stdout:
        print(f"FAIL browser: {result.stderr[-400:]}".replace("\n", " "))


with tempfile.TemporaryDirectory() as WORK:
    STORE = f"{WORK}/store"
    hostile_trace(f"{WORK}/h1.json", 0)
    hostile_trace(f"{WORK}/h2.json", 30)
    first = run("compare", A, B, "--html", f"{WORK}/pair.html", "--md", f"{WORK}/pair.md", "--json", f"{WORK}/pair.json", check=False)
    if "has no pages" in first.stderr:
        print("SKIP compare_page: this build has no page (no Node.js when it was built)")
    else:
        expect(first.returncode == 0, first.stderr)
        MODEL = load(f"{WORK}/pair.json")
        test("compare writes the forms asked for", check_forms)
        test("what is beyond --top is one row that sums", check_top)
        test("a hostile pair is compared", lambda: run("compare", f"{WORK}/h1.json", f"{WORK}/h2.json", "--html", f"{WORK}/hostile.html", "--md", f"{WORK}/hostile.md", "--json", f"{WORK}/hostile.json") and None)
        test("both timelines have partners and changes", check_timeline)
        test("the flame graph of the difference has all device time", check_flame)
        test("the waterfall fits 80 columns", check_width)
        test("colour changes nothing but colour", check_colour)
        test("Markdown stays Markdown", check_markdown)
        test("the Markdown waterfall sums", check_markdown_sums)
        test("the comparison page holds the model and nothing foreign", check_html)
        test("compare refuses what it cannot compare", check_errors)
        check_browser()
