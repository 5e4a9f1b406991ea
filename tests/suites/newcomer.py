# SPDX-License-Identifier: Apache-2.0
"""What a newcomer types: runs by model name, reports to one file, folders with everything in them, cut files, output on a terminal."""
import json
import os
import pty
import re
import shutil
import subprocess

import pytest

import nlcap_writer
from neurolens_cli import H200, LIMIT_S, ROOT, equal, narrow


@pytest.fixture
def base(store):
    return store.add(H200 / "base.json.gz")


def test_a_run_is_named_by_its_model_when_that_is_unique(base, store):
    model = store.json("show", base.id)["run"]["model"]
    equal("run of the model", base.id, store.json("summary", model)["run_id"])
    said = store.run("summary", model[:-1])
    assert said.returncode == 2 and model in said.stderr, said.stderr
    other = store.add(H200 / "item_sync.json.gz", "--model", model)
    said = store.run("summary", model)
    assert said.returncode == 2 and base.id in said.stderr and other.id in said.stderr, said.stderr


def test_a_profile_stands_where_a_run_is_read(store, tmp_path):
    profile = tmp_path / "my trace.json.gz"
    shutil.copy(H200 / "base.json.gz", profile)
    said = store.run("idle", profile, "--json")
    assert said.returncode == 0, said.stderr
    run_id = json.loads(said.stdout)["run_id"]
    equal("note", f"neurolens: note: {profile} is run {run_id}\n", said.stderr)
    equal("the same bytes are the same run", run_id, store.json("summary", profile)["run_id"])
    equal("several", 1, store.json("query", profile, "SELECT count(DISTINCT run) AS runs FROM kernel")["rows"][0][0])
    equal("runs", 1, len(store.json("ls")["runs"]))
    assert store.run("idle", profile, "--quiet").stderr == ""
    for changes in (["tag", profile, "kind=x"], ["rm", profile, "--yes"]):
        assert store.run(*changes).returncode == 2, changes
    said = store.run("idle", __file__)
    assert said.returncode == 2 and "newcomer.py" in said.stderr, said.stderr


def test_a_run_wins_over_a_file_of_its_name(base, store, tmp_path):
    (tmp_path / "base").write_text("not a profile")
    said = store.run("summary", "base", "--json", cwd=tmp_path)
    assert said.returncode == 0 and json.loads(said.stdout)["run_id"] == base.id, said.stderr


def test_report_writes_the_one_file_it_is_asked_for(base, store, tmp_path):
    files = store.json("report", base.id, "--html", tmp_path / "a/r.html", "--md", tmp_path / "r.md")["files"]
    equal("files", sorted([str(tmp_path / "a/r.html"), str(tmp_path / "r.md")]), sorted(f["path"] for f in files))
    assert (tmp_path / "a/r.html").read_text().startswith("<!doctype html>"[:9]) or "<html" in (tmp_path / "a/r.html").read_text()[:200].lower()
    assert store.run("report", base.id, "--html", tmp_path / "x.html", "--out", tmp_path / "y").returncode == 2
    store.text("report", base.id, "--out", tmp_path / "folder", "--format", "md")
    assert (tmp_path / "folder/report.md").exists()


def on_a_terminal(store, *words):
    """(status, what is printed) of a call whose standard output is a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(store.command(*words), stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, env={**os.environ, "COLUMNS": "80"}) as process:
        os.close(slave)
        seen = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        errors = process.stderr.read()
        process.wait(LIMIT_S)
    os.close(master)
    return process.returncode, seen.decode("utf-8", "replace"), errors.decode()


def test_an_export_does_not_fill_a_terminal(base, store):
    status, seen, errors = on_a_terminal(store, "export", base.id)
    assert status == 2 and not seen and "--out" in errors, (status, seen[:200], errors)
    status, seen, errors = on_a_terminal(store, "export", base.id, "--format", "bundle", "--out", "-")
    assert status == 2 and not seen and "--out" in errors, (status, seen[:200], errors)
    status, seen, _ = on_a_terminal(store, "export", base.id, "--out", "-")
    assert status == 0 and base.id in seen


def test_a_table_is_named_after_the_word_table(store):
    equal("table", store.text("schema", "table", "--name", "kernel"), store.text("schema", "table", "kernel"))
    assert "kernel" in store.run("schema", "table", "kernels").stderr
    assert store.run("schema", "run", "kernel").returncode == 2


def test_a_folder_gives_its_profiles_and_a_tally(base, store, tmp_path):
    folder = tmp_path / "profiles"
    folder.mkdir()
    shutil.copy(H200 / "base.json.gz", folder / "base.json.gz")
    shutil.copy(H200 / "item_sync.json.gz", folder / "sync.json.gz")
    (folder / "notes.txt").write_text("not a profile\n")
    shutil.copytree(store.folder, folder / "old_store")
    store.text("report", base.id, "--out", folder / "report")
    store.text("export", base.id, "--format", "run-json", "--out", folder / "run.json")
    store.text("export", base.id, "--format", "parquet", "--out", folder / "tables")
    store.text("flame", base.id, "--out", folder / "flame.speedscope.json")
    store.text("export", base.id, "--format", "perfetto", cwd=folder)
    reply = store.json("import", folder)
    equal("runs", {(base.id, True): 1}, {(r["run_id"], r["duplicate"]): 1 for r in reply["runs"] if r["duplicate"]})
    equal("number of runs", 2, len(reply["runs"]))
    reasons = {os.path.relpath(s["path"], folder).split("/")[0]: s["reason"] for s in reply["skipped"]}
    assert reasons["old_store"] == "stores of NeuroLens" and reasons["notes.txt"] == "not profiles", reasons
    for name in ("run.json", "tables", "flame.speedscope.json"):
        assert reasons[name] == "files that NeuroLens wrote", reasons
    assert any("pftrace" in name or "perfetto" in name for name in reasons), reasons
    said = store.text("import", folder)
    assert re.search(r"imported 0 runs, 2 runs already in the store, skipped \d+ items:", " ".join(said.split())), said
    narrow(said.splitlines()[-1])
    assert store.run("import", folder / "old_store").returncode == 2


def test_several_files_are_a_row_each(store, tmp_path):
    cut = tmp_path / "cut.json.gz"
    data = (H200 / "base.json.gz").read_bytes()
    cut.write_bytes(data[:len(data) // 2])
    said = store.text("import", H200 / "h2d_pageable.json.gz", cut, H200 / "jax_gelu_norm.trace.json.gz", "--allow-truncated")
    narrow(said)
    rows = {words[1][:5]: words[2:] for line in said.splitlines() if len(words := line.split()) > 3 and len(words[0]) == 36}
    assert rows["h2d_p"] == ["362.4", "ms", "31.5", "%"] and rows["jax_g"][-1] == "-", said
    assert re.search(r"\ncut.json.gz\n  data_loss: 1 truncated", said), said
    again = store.text("import", H200 / "h2d_pageable.json.gz", H200 / "jax_gelu_norm.trace.json.gz")
    assert again.count("in store") == 2 and "362.4" not in again, again


def test_the_demo_explains_and_compares():
    said = subprocess.run(["bash", ROOT / "scripts/demo.sh"], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"}).stdout
    for words in ("imported 10 runs", "pin_memory", "copy added (HtoD pageable)", "busy (llama.py)"):
        assert words in said, said


def test_a_cut_gzip_file_is_kept_on_request(store, tmp_path):
    data = (H200 / "base.json.gz").read_bytes()
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(data[:len(data) // 2])
    said = store.run("import", cut)
    assert said.returncode == 2 and "--allow-truncated" in said.stderr, said.stderr
    run = store.add(cut, "--allow-truncated")
    counters = {c["name"] for c in run.reply["counters"]}
    assert "truncated_stream" in counters, counters
    whole = store.add(H200 / "base.json.gz")
    assert 0 < run.reply["events"] < whole.reply["events"]


def test_a_secret_is_named_once(store, tmp_path):
    words = "\n".join(f'process pid={pid} start_ns=0 arguments="[\\"a\\", \\"--api-key=abc{pid}\\"]"' for pid in range(10, 22))
    (data,) = nlcap_writer.files_of(f"file pid=10 monotonic_ns=1000\n{words}\nframe id=1 kind=1 name=\"main\"\nstack id=1 frames=1\n"
                                    "cpu_sample time_ns=5000000 weight_ns=5000000 pid=10 tid=10 stack=1\n")
    (tmp_path / "trace.nlcap").write_bytes(data)
    said = store.text("import", tmp_path / "trace.nlcap")
    lines = [line for line in said.splitlines() if "secret" in line]
    assert len(lines) == 1 and "api-key" in lines[0] and "abc1" not in said and " 1 secret_not_stored" in lines[0], said
    assert "api-key" in store.text("summary", "@latest")
