# SPDX-License-Identifier: Apache-2.0
"""What start-up and warm-up consist of: parts sum to the phase, imports are named or unknown, and reports have the short form."""
import subprocess

import pytest

from neurolens_cli import H200, LIMIT_S, PYTHON, RECORD, ROOT, named

RECORDED = H200 / "compiled_training.nlc.gz"  # from the start of the program on
TRACES = [*sorted(H200.glob("*.nlc.gz")), *sorted(H200.glob("*.json.gz")), *sorted((ROOT / "bench/advice/h200").glob("*.json.gz"))]
WITHIN_MS = 1e-3

IMPORTS = """
import decimal, unittest, xml.dom.minidom, http.server, email.mime.text, sqlite3, asyncio
def work():
    return sum(i * i for i in range(20_000_000))
work()
"""


def children(parts, at):
    for part in parts[at + 1:]:
        if part["depth"] <= parts[at]["depth"]:
            return
        if part["depth"] == parts[at]["depth"] + 1:
            yield part


def sums(parts, whole_ms):
    if not parts:
        return
    total = sum(p["ms"] for p in parts if p["depth"] == 0)
    assert abs(total - whole_ms) < WITHIN_MS, f"{total} is not {whole_ms}"
    for i, part in enumerate(parts):
        inside = [p["ms"] for p in children(parts, i)]
        assert not inside or abs(sum(inside) - part["ms"]) < WITHIN_MS, f"{part['name']}: {sum(inside)} is not {part['ms']}"


def top(startup):
    return {p["kind"]: p for p in startup["parts"] if p["depth"] == 0}


@pytest.mark.parametrize("path", named(TRACES))
def test_parts_sum_to_their_phase(path, imported):
    reply = imported(path).ask("phases")
    startup, warmup = reply["startup"], reply["startup"]["warmup"]
    assert (startup["ms"] is None) == (startup["reason"] is not None), startup
    sums(startup["parts"], startup["ms"])
    sums(warmup["parts"], warmup["extra_ms"])
    assert all(p["ms"] > 0 for p in startup["parts"]), startup["parts"]
    phase = next((p["ms"] for p in reply["phases"]["spans"] if p["phase"] == "startup"), 0)
    if startup["explains"] == "startup" and startup["ms"] is not None:
        assert abs(startup["ms"] - startup["before_ms"] - phase) < WITHIN_MS, "before the first event, and the phase itself"
        assert 0 <= startup["before_ms"] <= startup["ms"] + WITHIN_MS
    assert abs(sum(p["ms"] for p in reply["phases"]["spans"]) - reply["wall_ms"]) < WITHIN_MS, "phases sum to the wall time"


def test_a_phase_that_one_range_fills_has_its_name(imported):
    """The part before the decode steps of a request is its prefill. LLM@request lies around everything and names nothing."""
    for path, wanted in ((H200 / "base.json.gz", "LLM@prefill"), (H200 / "resnet50_train_stack.json.gz", None)):
        run = imported(path)
        labels = {p["phase"]: p["label"] for p in run.ask("phases")["phases"]["spans"]}
        assert labels["startup"] == wanted and labels["steady"] is None, labels
        assert ("(LLM@prefill)" in run.store.text("explain", run.id)) == (wanted is not None)


@pytest.mark.parametrize("path", named(TRACES))
def test_answers_of_the_phases_sum_to_those_of_the_run(path, imported):
    """--phase: work that reaches over the edge of a phase is cut there, so nothing is lost or counted twice."""
    run = imported(path)
    spans = run.ask("phases")["phases"]["spans"]
    if len(spans) < 2:
        pytest.skip("one phase")
    whole, busy, idle = run.ask("idle", "--phase", "all"), run.ask("overlap", "--phase", "all"), 0.0
    kernels = sum(row["gpu_ms"] for row in run.ask("kernels", "--limit", 0)["kernels"])
    work = {d["index"]: 0.0 for d in busy["devices"]}
    for span in spans:
        part, compute = run.ask("idle", "--phase", span["phase"]), run.ask("overlap", "--phase", span["phase"])
        assert part["phase"]["phase"] == span["phase"] and abs(part["wall_ms"] - part["phase"]["ms"]) < WITHIN_MS, span
        idle += sum(d["idle_ms"] for d in part["devices"])
        for d in compute["devices"]:
            work[d["index"]] += d["busy_ms"]
        kernels -= sum(row["gpu_ms"] for row in run.ask("kernels", "--limit", 0, "--phase", span["phase"])["kernels"])
    for command in ("launch", "roofline", "critical-path", "operators"):
        assert run.ask(command, "--phase", spans[0]["phase"])["phase"] == spans[0], command
    assert abs(idle - sum(d["idle_ms"] for d in whole["devices"])) < WITHIN_MS * len(spans), (idle, whole["devices"])
    assert abs(kernels) < WITHIN_MS * len(spans), f"{kernels} ms of kernels in no phase, or in two"
    for d in busy["devices"]:
        assert abs(work[d["index"]] - d["busy_ms"]) < WITHIN_MS * len(spans), d


def test_a_program_recorded_from_its_start_is_explained_by_its_steady_phase(imported):
    run, chosen = imported(RECORDED), imported(H200 / "base.json.gz")
    for command in ("idle", "launch", "roofline", "critical-path", "overlap"):
        assert run.store.text(command, run.id).startswith("Steady phase: 23 steps, "), command
        assert not run.store.text(command, run.id, "--phase", "all").startswith("Steady phase"), command
        assert chosen.ask(command)["phase"] is None, "what someone chose to record is looked at whole"
    for command in ("operators", "kernels"):
        assert run.ask(command)["phase"] is None, "totals are of the run"
        assert run.store.text(command, run.id, "--phase", "steady").startswith("Steady phase: "), command


def test_findings_are_those_of_the_phase_that_is_asked_for(imported):
    run = imported(RECORDED)
    steady, asked, start, whole = (run.ask("findings", *phase) for phase in ((), ("--phase", "steady"), ("--phase", "startup"), ("--phase", "all")))
    assert asked == steady and steady["diagnosis"]["phase"] == "steady"
    assert start["diagnosis"]["phase"] == "startup" and whole["diagnosis"]["phase"] is None
    assert start["diagnosis"]["evidence"] != steady["diagnosis"]["evidence"] != whole["diagnosis"]["evidence"]
    assert "tart-up is " in run.store.text("findings", run.id, "--phase", "startup").splitlines()[1]


@pytest.mark.parametrize("phase", ["startup", "steady", "tail"])
def test_summary_and_report_are_of_the_phase_that_is_asked_for(phase, imported):
    run = imported(RECORDED)
    idle = run.ask("idle", "--phase", phase)
    span = idle["phase"]
    summary, report, short = (run.ask(command, "--phase", phase) for command in ("summary", "analyze", "explain"))
    for reply in (summary, report, short):
        assert abs(reply["wall_ms"] - span["ms"]) < WITHIN_MS
    assert summary["phase"]["phase"] == report["phase"]["phase"] == phase
    assert abs(sum(part["ms"] for part in report["breakdown"]) - span["ms"] * len(summary["devices"])) < WITHIN_MS
    assert abs(sum(one["idle_ms"] for one in summary["devices"]) - idle["idle_ms"]) < WITHIN_MS
    assert report["verdict"].startswith({"startup": "Start-up", "steady": "Steady phase", "tail": "Tail"}[phase] + " only. ")
    assert "whole run" not in report["verdict"]
    kernels = {row["name"]: row["calls"] for row in run.ask("kernels", "--limit", 0, "--phase", phase)["kernels"]}
    assert all(kernels[row["name"]] == row["calls"] for row in summary["kernels"])


@pytest.mark.parametrize("path", named(sorted(H200.glob("*.nlc.gz"))))
def test_start_up_is_one_figure_everywhere(path, imported):
    run = imported(path)
    reply = run.ask("phases")
    span = next((s for s in reply["phases"]["spans"] if s["phase"] == "startup"), None)
    if span is None:
        pytest.skip("no start-up")
    for command in ("summary", "idle", "operators", "kernels"):
        assert run.ask(command, "--phase", "startup")["phase"] == span, command
    for command in ("summary", "analyze", "explain", "idle"):
        assert abs(run.ask(command, "--phase", "startup")["wall_ms"] - span["ms"]) < WITHIN_MS, command
    assert next(s for s in run.ask("explain")["phases"]["spans"] if s["phase"] == "startup") == span
    assert span["start_ms"] == 0 and abs(reply["startup"]["ms"] - reply["startup"]["before_ms"] - span["ms"]) < WITHIN_MS


def test_all_judges_the_whole_run(imported):
    run = imported(RECORDED)
    usual, whole = run.ask("analyze"), run.ask("analyze", "--phase", "all")
    assert usual["phase"] is None and whole["phase"] is None and usual["breakdown"] == whole["breakdown"]
    assert usual["diagnosis"]["phase"] == "steady" and whole["diagnosis"]["phase"] is None
    assert [f["rule"] for f in whole["findings"]] == [f["rule"] for f in run.ask("findings", "--phase", "all", "--limit", 1000)["findings"]]


def test_a_phase_that_a_run_does_not_have_is_refused(imported):
    run = imported(H200 / "base.json.gz")
    names = {span["phase"] for span in run.ask("phases")["phases"]["spans"]}
    missing = next(name for name in ("tail", "warmup", "startup", "steady") if name not in names)
    for command in ("idle", "findings"):
        error = run.store.run(command, run.id, "--phase", missing).stderr
        assert "phase" in error and "neurolens phases" in error, error


def test_without_samples_imports_are_unknown_and_not_zero(imported):
    run = imported(H200 / "base.json.gz")
    startup = run.ask("phases")["startup"]
    assert startup["imports_ms"] is None and "CPU samples" in startup["imports_reason"], startup
    assert startup["before_ms"] == 0 and "import" not in top(startup), startup
    assert "Imports are not known" in run.store.text("phases", run.id)


def test_a_recorded_program_names_its_imports_and_its_context(imported):
    run = imported(RECORDED)
    reply = run.ask("phases")
    startup, kinds = reply["startup"], top(reply["startup"])
    assert startup["explains"] == "startup" and startup["share"] > 0.5 and startup["before_ms"] > 1000, startup
    assert startup["imports_ms"] == kinds["import"]["ms"] > 1000, startup["imports_ms"]
    names = {p["name"] for p in startup["parts"] if p["kind"] == "import" and p["depth"] == 1}
    assert {"torch"} <= names, names
    for kind in ("library_loading", "cuda_context", "module_loading", "compile", "interpreter"):
        assert kinds.get(kind, {"ms": 0})["ms"] > 0, f"{kind} is not among {sorted(kinds)}"
    flat = run.ask("phases", "--depth", "0")["startup"]["parts"]
    assert flat == [p for p in startup["parts"] if p["depth"] == 0], flat


def test_a_warm_up_step_is_explained_by_the_kernels_it_loads(imported):
    warmup = imported(RECORDED).ask("phases")["startup"]["warmup"]
    assert warmup["steps"] == 1 and warmup["extra_ms"] > 100 and warmup["reason"] is None, warmup
    first = warmup["parts"][0]
    assert first["kind"] == "module_loading" and first["share"] > 0.5, first
    assert any(p["name"] == "cuLibraryLoadData" for p in warmup["parts"]), warmup["parts"]


def test_the_text_fits_and_begins_with_the_phases(imported):
    run = imported(RECORDED)
    lines = run.store.text("phases", run.id).splitlines()
    assert lines[0].startswith("Before the first event ") and " steady steps of " in " ".join(lines[:2]), lines[:2]
    assert max(map(len, lines)) <= 80, [line for line in lines if len(line) > 80]
    few = run.store.text("phases", run.id, "--limit", "2", "--depth", "0").splitlines()
    assert len(few) < len(lines) and any(line.startswith("others") for line in few), few


def test_reports_explain_start_up_only_where_it_is_long(imported, tmp_path):
    run, short = imported(RECORDED), imported(H200 / "base.json.gz")
    said = run.store.text("analyze", run.id, "--md", tmp_path / "long.md")
    assert "Start-up takes" in said and "Python imports" in said, said
    page = (tmp_path / "long.md").read_text()
    assert "## Start-up" in page and "Python imports" in page
    assert run.ask("analyze")["startup"]["imports_ms"] > 1000
    said = short.store.text("analyze", short.id, "--md", tmp_path / "short.md")
    assert "Start-up takes" not in said and "## Start-up" not in (tmp_path / "short.md").read_text()
    assert short.ask("analyze")["startup"] is None


def test_a_program_without_a_device_is_explained_as_a_whole(store, tmp_path):
    (tmp_path / "prog.py").write_text(IMPORTS)
    done = subprocess.run([*RECORD, "--out", str(tmp_path / "x.nlcap"), "--", PYTHON, "prog.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    run = store.add(tmp_path / "x.nlcap")
    if not run.rows("SELECT 1 FROM cpu_sample WHERE stack LIKE '%prog.py%' LIMIT 1"):
        pytest.skip("Python stacks cannot be sampled here")
    reply = run.ask("phases")
    startup, kinds = reply["startup"], top(reply["startup"])
    assert startup["explains"] == "whole" and startup["reason"] is None and reply["phases"]["reason"], reply
    sums(startup["parts"], startup["ms"])
    assert kinds["python"]["ms"] > 0, kinds
    assert any("work" in p["name"] for p in startup["parts"] if p["kind"] == "python"), startup["parts"]
    assert startup["warmup"]["reason"] and not startup["warmup"]["parts"], startup["warmup"]
    assert "One phase of" in store.text("phases", run.id)
