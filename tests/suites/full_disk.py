# SPDX-License-Identifier: Apache-2.0
"""A full disk: everything can still be read, and rm and doctor make room. On a small file system of its own."""
import os
import sqlite3
import subprocess

import pytest

from neurolens_cli import SAMPLES, Store

TRACES = [SAMPLES / "kineto/h200_inference.json", SAMPLES / "kineto/h200_training_stacks.json"]


@pytest.fixture
def small_disk(tmp_path):
    mount = tmp_path / "disk"
    mount.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(mount)], capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    yield mount
    subprocess.run(["umount", str(mount)], check=False)


def fill(folder):
    """To the last byte."""
    with (folder / "filler").open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
    status = os.statvfs(folder)
    assert status.f_bavail == 0, f"{status.f_bavail} blocks are still free"


def test_a_full_disk_can_be_read_and_rm_makes_room(small_disk):
    store = Store(small_disk / "store")
    runs = [store.add(path).id for path in TRACES]
    summary = store.text("summary", runs[0])
    store.text("tag", runs[0], "a=b")
    assert not list(store.folder.glob("catalog.sqlite-*")), "a writer leaves nothing for the next process to share"
    fill(small_disk)
    assert {run["run_id"] for run in store.json("ls")["runs"]} == set(runs)
    assert store.text("summary", runs[0]) == summary
    assert store.json("query", runs[0], "SELECT count(*) FROM kernel")["rows"][0][0] > 0
    assert store.json("doctor")["healthy"]
    refused = store.run("import", SAMPLES / "kineto/rocm.json")
    assert refused.returncode != 0
    removed = store.json("rm", runs[1])
    assert removed["freed_bytes"] > 0 and [run["run_id"] for run in store.json("ls")["runs"]] == [runs[0]]
    assert os.statvfs(small_disk).f_bavail > 0, "rm freed nothing"
    assert store.json("doctor", "--repair")["healthy"]
    assert store.text("summary", runs[0]) == summary
    assert store.json("ls")["runs"][0]["run_id"] == runs[0]


def test_a_catalog_whose_last_writer_was_killed_can_be_read_on_a_full_disk(small_disk):
    """The last change is still in the write-ahead log."""
    store = Store(small_disk / "store")
    runs = [store.add(path).id for path in TRACES]
    kept = sqlite3.connect(store.folder / "catalog.sqlite")
    kept.execute("BEGIN")
    kept.execute("SELECT * FROM run").fetchall()  # a reader keeps the log from being emptied
    store.text("tag", runs[0], "written=last")
    log = (store.folder / "catalog.sqlite-wal").read_bytes()
    kept.close()
    assert log
    (store.folder / "catalog.sqlite-wal").write_bytes(log)
    (store.folder / "catalog.sqlite-shm").unlink(missing_ok=True)
    fill(small_disk)
    assert {run["run_id"]: run["tags"] for run in store.json("ls")["runs"]}[runs[0]] == {"written": "last"}
    assert store.run("summary", runs[0]).returncode == 0


def test_doctor_removes_an_unfinished_import_on_a_full_disk(small_disk):
    store = Store(small_disk / "store")
    run = store.add(TRACES[0]).id
    dead = store.folder / "staging/0123456789abcdef-1"
    dead.mkdir()
    (dead / "kernel.parquet").write_bytes(b"x" * 200_000)
    fill(small_disk)
    assert store.run("doctor").returncode == 1
    assert store.json("doctor", "--repair")["healthy"]
    assert not dead.exists() and os.statvfs(small_disk).f_bavail > 0
    assert store.json("ls")["runs"][0]["run_id"] == run
