# SPDX-License-Identifier: Apache-2.0
"""The forms of a comparison agree, sum, take hostile names, fit 80 columns, and the page works in Chromium."""
import copy
import json
import pathlib
import re
import shutil
import subprocess
import unicodedata

import pytest

from neurolens_cli import (H200, HOSTILE_NAMES, LIMIT_S, Page, Store, cases_of_script, fill_page, load, outcome, python_with, span,
                           write_trace)

pytestmark = [pytest.mark.xdist_group("compare_page"), pytest.mark.slow_first(60)]
HOSTILE = [*HOSTILE_NAMES, "</details>", "k" * 20_000]
A, B = H200 / "base.json.gz", H200 / "eager_attn.json.gz"


class Pair:
    """A store with the comparisons of a real pair and of a hostile one, in every form."""

    def __init__(self, folder):
        self.folder, self.store = folder, Store(folder / "store")
        self.hostile = [self.hostile_trace(folder / "h1.json", 0), self.hostile_trace(folder / "h2.json", 30)]

    @staticmethod
    def hostile_trace(path, slower):
        events = []
        for i, name in enumerate(HOSTILE):
            start = i * 200
            events += [span(name, "cpu_op", start, 150, 1, 1, **{"External id": i + 1, "Input Dims": [[4, 4]]}),
                       span("cudaLaunchKernel", "cuda_runtime", start + 10, 5, 1, 1, correlation=i + 1, **{"External id": i + 1}),
                       span(name, "kernel", start + 20, 30 + i + (slower * 5 if i % 2 else 0), 0, 7, device=0, stream=7, correlation=i + 1, **{"External id": i + 1})]
        return write_trace(path, events)

    def write(self, name, a, b):
        return self.store.run("compare", a, b, *(word for form in ("html", "md", "json") for word in (f"--{form}", self.folder / f"{name}.{form}")))


@pytest.fixture(scope="module")
def pair(module_folder):
    made = Pair(module_folder)
    done = made.write("pair", A, B)
    if "has no pages" in done.stderr:
        pytest.skip("this build has no page (no Node.js when it was built)")
    assert done.returncode == 0, done.stderr
    made.model = load(module_folder / "pair.json")
    hostile = made.write("hostile", *made.hostile)
    assert hostile.returncode == 0, hostile.stderr
    return made


def columns_of(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def hostile_model(real):
    """The real model with 500 changes, and hostile names, nulls and every section in it."""
    model = copy.deepcopy(real)
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


def empty_model(real):
    model = copy.deepcopy(real)
    for key in ("wall_a_ms", "wall_b_ms", "delta_ms", "residual_ms", "similarity", "matched_share_a", "matched_share_b", "drift", "busy_a_ms", "busy_b_ms"):
        model[key] = None
    for key in ("contributions", "by_kernel", "by_op", "by_module", "by_stage", "shifts", "counters", "comparability"):
        model[key] = []
    model["verdict"] = {"class": "undecided", "confidence": None, "p_value": None, "more_runs_needed": None, "text": ""}
    none = {"items_total": 0, "merged_below_ms": None, "start_ms": [], "dur_ms": [], "name": [], "change": [], "partner": [], "count": []}
    model.update(timeline={"names": [], "cut": False, "a": none, "b": none}, flame={"device": None, "host": None}, normalised_by=None)
    model["fingerprint"]["divergent"] = []
    return model


def test_the_forms_asked_for_are_written(pair):
    reply = json.loads(pair.store.text("--json", "compare", A, B, "--json", pair.folder / "x/deep/m.json", "--md", pair.folder / "x/m.md", "--html", pair.folder / "x/m.html"))
    assert [f["form"] for f in reply["files"]] == ["md", "html", "json"], reply["files"]
    assert all(pathlib.Path(f["path"]).stat().st_size == f["bytes"] for f in reply["files"]), "sizes"
    whole = load(pair.folder / "x/deep/m.json")
    for key in set(reply) - {"files", "contributions"}:
        assert reply[key] == whole[key], f"{key} differs between the reply and the file"
    assert "timeline" not in reply and "flame" not in reply and {"timeline", "flame"} <= set(whole), "the large sections are the files'"
    text = pair.store.text("compare", A, B, "--json", pair.folder / "x/m2.json")
    assert not text.startswith("{") and "m2.json" in text, "--json FILE must not change what is printed"
    assert pair.store.json("compare", A, B)["run_a"] == reply["run_a"], "--json without a file prints the reply"


def test_what_is_beyond_top_is_one_row_that_sums(pair):
    for top in (1, 2):
        reply = pair.store.json("compare", A, B, "--top", str(top))
        listed = reply["contributions"]
        assert len(listed) <= top + 1, f"{len(listed)} contributions for --top {top}"
        assert abs(sum(c["delta_ms"] for c in listed) + reply["residual_ms"] - reply["delta_ms"]) < 1e-6, "they do not sum"
        rest = [c for c in listed if c["merged"]]
        assert len(rest) == 1 and rest[0]["cause"] == "noise" and re.fullmatch(r"\d+ smaller changes?", rest[0]["text"]), rest


def test_both_timelines_have_partners_and_changes(pair):
    line = pair.model["timeline"]
    ranks = {c["rank"] for c in pair.model["contributions"]}
    for side, other, wall in (("a", "b", "wall_a_ms"), ("b", "a", "wall_b_ms")):
        track = line[side]
        assert len({len(track[k]) for k in ("start_ms", "dur_ms", "name", "change", "partner", "count")}) == 1, "columns of different length"
        assert sum(track["count"]) == track["items_total"] > 1000, "items are lost"
        assert all(s >= 0 and s + d <= pair.model[wall] + 1e-3 for s, d in zip(track["start_ms"], track["dur_ms"])), "outside of the wall"
        assert all(0 <= n < len(line["names"]) for n in track["name"]), "names"
        assert all(c is None or c in ranks for c in track["change"]), "a change that is not listed"
        for i, partner in enumerate(track["partner"]):
            assert partner is None or line[other]["partner"][partner] == i, f"{side} {i} is not its partner's partner"


def test_the_flame_graph_of_the_difference_has_all_device_time(pair):
    for side, run_id in (("a_ms", pair.model["run_a"]), ("b_ms", pair.model["run_b"])):
        rows = pair.store.json("query", run_id, "SELECT (SELECT sum(dur_ns) FROM kernel) + coalesce((SELECT sum(dur_ns) FROM memcpy), 0) + coalesce((SELECT sum(dur_ns) FROM memset), 0) AS n")["rows"]
        want = float(rows[0][0] if isinstance(rows[0], list) else rows[0]["n"]) / 1e6
        assert abs(pair.model["flame"]["device"][side] - want) < 1e-6, f"{side}: {pair.model['flame']['device'][side]} of {want}"

    def walk(frame, least):
        for child in frame["children"]:
            assert max(child["a_ms"], child["b_ms"]) >= least - 1e-9, f"{child['name']} is too small to be here"
            walk(child, least)
        for side in ("a_ms", "b_ms"):
            assert sum(c[side] for c in frame["children"]) <= frame[side] + 1e-6, f"{frame['name']}: children exceed it in {side}"
    for tree in ("device", "host"):
        root = pair.model["flame"][tree]
        walk(root, 0.001 * max(root["a_ms"], root["b_ms"]))


@pytest.mark.parametrize("extra", [(), ("--by", "kernel"), ("--by", "module", "--time", "device"), ("--top", "1")], ids=["plain", "by_kernel", "by_module", "top_1"])
def test_the_waterfall_fits_80_columns(extra, pair):
    for sides in ((A, B), (B, A), (A, A), pair.hostile):
        text = pair.store.text("compare", *sides, *extra)
        for line in text.split("\n"):
            assert columns_of(line) <= 80, f"{columns_of(line)} columns: {line}"
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\u2028]", text), "a control character"
        assert "nan" not in text.lower().split(), "not a number"


def test_colour_changes_nothing_but_colour(pair):
    plain = pair.store.text("compare", A, B)
    painted = pair.store.text("--color", "always", "compare", A, B)
    assert "\x1b[" in painted and re.sub(r"\x1b\[\d*m", "", painted) == plain, "colour changes more than colour"


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


def test_markdown_stays_markdown(pair):
    python = python_with("markdown_it")
    for name in ("pair", "hostile"):
        found = json.loads(subprocess.run([python, "-c", PARSE, pair.folder / f"{name}.md"], capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout)
        assert len(found["tables"]) >= 4, f"{name}: {len(found['tables'])} tables"
        assert all(len(set(rows)) == 1 for rows in found["tables"]), f"{name}: a table lost its columns"
        pieces = [line for block in found["html"] for line in block.split("\n") if line]
        bad = [p for p in pieces if not re.fullmatch(r"</?details>|<summary>[\w ]+</summary>", p)]
        assert not bad, f"{name}: {bad[:3]}"
        assert pieces.count("<details>") == pieces.count("</details>") > 2, f"{name}: details"


def test_the_markdown_waterfall_sums(pair):
    rows = [line.split("|")[1:-1] for line in (pair.folder / "pair.md").read_text().split("\n\n", 5)[3].split("\n") if line.startswith("|")][2:]
    deltas = [float(row[5]) for row in rows]
    assert abs(sum(deltas[:-1]) - deltas[-1]) < 0.011 * len(deltas), deltas
    assert abs(deltas[-1] - pair.model["delta_ms"]) < 0.01, f"{deltas[-1]} of {pair.model['delta_ms']}"


def test_the_page_holds_the_model_and_nothing_foreign(pair):
    for name in ("pair", "hostile"):
        text = (pair.folder / f"{name}.html").read_text()
        page = Page(text)
        scripts = [attrs for tag, attrs in page.tags if tag == "script"]
        assert len(scripts) == 2 and not any("src" in s for s in scripts), f"{name}: scripts {scripts}"
        assert not any(tag in ("img", "iframe", "link") and "data:," not in str(attrs) for tag, attrs in page.tags), f"{name}: foreign elements"
        assert any("Content-Security-Policy" in str(attrs) for _, attrs in page.tags), "no content policy"
        assert json.loads(page.data) == load(pair.folder / f"{name}.json"), f"{name}: the page does not hold the model"


def test_what_cannot_be_compared_is_refused(pair):
    bad = pair.store.run("compare", A)
    assert bad.returncode == 2 and "B is missing" in bad.stderr, bad.stderr
    bad = pair.store.run("compare", A, B, A)
    assert bad.returncode == 2 and "--" in bad.stderr, bad.stderr
    bad = pair.store.run("compare", A, "no-such-run")
    assert bad.returncode == 2 and "no-such-run" in bad.stderr, bad.stderr
    bad = pair.store.run("compare", A, B, "--html", "/proc/nowhere/x.html")
    assert bad.returncode == 3, bad.stderr


@pytest.fixture(scope="module")
def opened(pair, open_pages):
    """What is printed about the pages, opened in Chromium."""
    pages = pair.folder / "pages"
    pages.mkdir()
    shutil.copy(pair.folder / "pair.html", pages / "pair.html")
    fill_page(pair.folder / "pair.html", hostile_model(pair.model), pages / "hostile.html")
    fill_page(pair.folder / "pair.html", empty_model(pair.model), pages / "empty.html")
    done = open_pages("compare.mjs", pages)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("case", cases_of_script("compare.mjs"))
def test_in_chromium(case, opened):
    why = outcome(opened, f"browser {case}")
    assert why is None, why
