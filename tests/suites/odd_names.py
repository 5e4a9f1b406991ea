# SPDX-License-Identifier: Apache-2.0
"""Names and files that a stranger chose: folders with pattern characters, control characters in file names, cells that a spreadsheet
would run, project files that move the store, rule files that are links."""
import csv
import io
import json
import os
import shutil

import pytest

from neurolens_cli import BIN, SAMPLES, Store

TRACE = SAMPLES / "kineto/h200_inference.json"


@pytest.mark.parametrize("name", [b"a*b", b"what?", b"[x]", b"[", b"key=value", b"\xff\xfe\xe9"], ids=repr)
def test_a_store_may_have_any_name(tmp_path, name):
    plain = Store(tmp_path / "plain")
    wanted = plain.add(TRACE).rows("SELECT name, dur_ns FROM kernel ORDER BY id")
    folder = os.path.join(os.fsencode(tmp_path), name, b"store")
    store = Store(os.fsdecode(folder), cwd=tmp_path)
    done = store.run("import", TRACE)
    assert done.returncode == 0, done.stderr
    rows = [tuple(row) for row in csv.reader(io.StringIO(store.text("query", "SELECT name, dur_ns FROM kernel ORDER BY id", "--format", "csv"), newline=""))]
    assert rows[1:] == wanted and wanted
    assert not json.loads(store.text("show", "@latest", "--json"))["warnings"]
    for words in (("summary",), ("findings",), ("doctor",), ("report",)):
        done = store.run(*words)
        assert done.returncode == 0, f"{words}: {done.stderr}"


def test_control_characters_in_a_file_name_stay_on_their_line(store, tmp_path):
    odd = tmp_path / "two\nlines\x1b[31m.json"
    shutil.copy(TRACE, odd)
    usual = Store(tmp_path / "other").text("import", TRACE)
    for _ in range(2):
        text = store.text("import", odd)
        assert "\x1b" not in text and "two" in text.splitlines()[0] and "lines" in text.splitlines()[0], text
    assert len(Store(tmp_path / "third").text("import", odd).splitlines()) == len(usual.splitlines())
    broken = tmp_path / "bro\nken.json"
    broken.write_text("neither json nor anything else")
    done = store.run("import", broken)
    assert done.returncode == 2 and "bro" in done.stderr.splitlines()[0] and "ken.json" in done.stderr.splitlines()[0], done.stderr


def test_a_device_with_nul_in_its_name_is_like_any_other(store, tmp_path):
    """A statement of the store that names it used to end there."""
    trace = json.loads(TRACE.read_text())
    trace["deviceProperties"][0]["name"] = "it's\0a\0\0device"
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps(trace))
    run = store.add(odd)
    assert run.values("SELECT device FROM runs") == [["it's\0a\0\0device"]]
    for words in (("analyze", "@latest"), ("report", "@latest"), ("ls",), ("compare", "@latest", TRACE)):
        done = store.run(*words)
        assert done.returncode in (0, 1), f"{words}: {done.stderr}"


def test_csv_text_is_not_a_formula_and_numbers_are_numbers(store):
    store.add(TRACE)
    sql = "SELECT '=HYPERLINK(1)' AS a, '@x' AS b, -5 AS c, -0.5 AS d, '-1' AS e, 'plain' AS f, '+1+cmd' AS \"=g\""
    out = store.text("query", sql, "--format", "csv")
    assert list(csv.reader(io.StringIO(out, newline=""))) == [["a", "b", "c", "d", "e", "f", "'=g"],
                                                              ["'=HYPERLINK(1)", "'@x", "-5", "-0.5", "-1", "plain", "'+1+cmd"]]
    assert json.loads(store.text("query", sql, "--format", "json"))[0]["a"] == "=HYPERLINK(1)"


def test_a_project_file_that_moves_the_store_is_said(tmp_path, store):
    store.add(TRACE)
    project = tmp_path / "project"
    project.mkdir()
    (project / ".neurolens.yaml").write_text(f"store: {store.folder}\n")
    here = Store("unused", cwd=project)
    here.command = lambda *words: [BIN, *map(str, words)]
    done = here.run("ls")
    assert done.returncode == 0 and f".neurolens.yaml sets the store to {store.folder}" in done.stderr, done.stderr
    assert "sets the store" not in here.run("ls", "--quiet").stderr
    assert "sets the store" not in here.run("ls", "--store", store.folder).stderr
    assert "sets the store" not in here.run("ls", env={"NEUROLENS_STORE": str(store.folder)}).stderr


def test_an_error_does_not_show_what_a_linked_rule_file_holds(tmp_path, store):
    run = store.add(TRACE)
    secret = tmp_path / "elsewhere/secret.yaml"
    secret.parent.mkdir()
    secret.write_text("password_is_hunter2: yes\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / ".neurolens_rules.yaml").symlink_to(secret)
    store.cwd = project
    for words in (("findings", run.id), ("findings", run.id, "--rules", project / ".neurolens_rules.yaml"), ("rules", "list")):
        done = store.run(*words)
        assert done.returncode == 2 and "hunter2" not in done.stdout + done.stderr, (words, done.stdout, done.stderr)
        assert "links to a file in another folder" in done.stderr
    assert "hunter2" in store.run("findings", run.id, "--rules", secret, cwd=tmp_path).stderr, "a file that is named itself is quoted"


@pytest.mark.parametrize("program", [["true"], ["false"], ["/nonexistent/program"], ["sh", "-c", "kill -9 $$"]], ids=lambda words: words[-1].split("/")[-1])
def test_run_leaves_nothing_in_the_temporary_folder(tmp_path, store, program):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    for _ in range(3):
        store.run("run", "--", *program, env={"TMPDIR": str(scratch)})
        assert not list(scratch.iterdir()), f"{program}: {list(scratch.iterdir())}"
