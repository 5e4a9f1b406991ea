# SPDX-License-Identifier: Apache-2.0
"""Damage is seen: single flipped bits and deleted files of a run are named by doctor, and never change an answer unnoticed."""
import json
import random
import shutil

import pytest

from neurolens_cli import H200, Run, Store, error_of

FLIPS = 60
TRACE, COUNTERS = H200 / "base.json.gz", H200 / "llama_layer_details.csv.gz"
ANSWERS = {"summary": ("summary",), "findings": ("findings",), "document": ("export", "--format", "run-json")}


class Damaged:
    """A run with an attachment, and what the program says about it while it is whole."""

    def __init__(self, folder):
        self.store = Store(folder / "store")
        self.run = self.store.add(TRACE)
        attached = self.store.run("import", "--attach", self.run.id, COUNTERS)
        assert attached.returncode == 0, attached.stderr
        self.folder = self.store.folder / "runs" / self.run.id
        self.files = sorted(p for p in self.folder.rglob("*") if p.is_file())
        self.whole = {name: self.ask(name) for name in ANSWERS}

    def ask(self, name):
        command, *flags = ANSWERS[name]
        return self.outcome(command, self.run.id, *flags)

    def outcome(self, *words):
        done = self.store.run(*words)
        return done.returncode, done.stdout, done.stderr

    def table(self, name):
        return self.outcome("query", self.run.id, f"SELECT * FROM {name}", "--format", "csv", "--max-rows", "1000000")

    def expect_named_or_same(self, what, whole, now, name):
        status, out, error = now
        if (status, out) == whole[:2]:
            return False
        assert status == 3 and not out, f"{what}: another answer for a flip in {name}: status {status}, {error[:300]}"
        assert name in error, f"{what}: the error does not name {name}: {error[:300]}"
        return True


@pytest.fixture(scope="module")
def damaged(module_folder):
    return Damaged(module_folder)


def flip(path, bit):
    with path.open("r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


@pytest.mark.slow_first(60)
def test_no_flipped_bit_changes_an_answer_unnoticed(damaged):
    chosen, refused = random.Random(15), 0
    for number in range(FLIPS):
        path = damaged.files[number % len(damaged.files)]
        name = str(path.relative_to(damaged.folder))
        bit = chosen.randrange(path.stat().st_size * 8)
        flip(path, bit)
        try:
            report = damaged.store.run("doctor", "--json")
            assert report.returncode == 1, f"doctor finds no fault with bit {bit} of {name}"
            told = [check["detail"] for check in json.loads(report.stdout)["checks"] if check["status"] == "problem"]
            assert len(told) == 1 and name in told[0], f"bit {bit} of {name}: {told}"
            what = list(ANSWERS)[number % len(ANSWERS)]
            refused += damaged.expect_named_or_same(what, damaged.whole[what], damaged.ask(what), name)
            if path.suffix == ".parquet":
                status, out, error = damaged.table(path.stem)
                assert status == 3 and not out and name in error, f"query of {path.stem}: status {status}, {error[:300]}"
        finally:
            flip(path, bit)
    assert refused > FLIPS // 4, f"only {refused} of {FLIPS} answers were refused"
    assert damaged.store.json("doctor")["healthy"]
    assert damaged.ask("summary")[:2] == damaged.whole["summary"][:2]


def test_a_deleted_file_is_named(damaged, tmp_path):
    for path in damaged.files:
        name = str(path.relative_to(damaged.folder))
        kept = tmp_path / "kept"
        shutil.move(path, kept)
        try:
            checks = json.loads(damaged.store.run("doctor", "--json").stdout)["checks"]
            word = "without checksums" if name == "catalog_entry.json" else name
            assert any(word in check["detail"] for check in checks if check["status"] != "ok"), f"{name}: {checks}"
            if path.suffix == ".parquet":
                status, out, error = damaged.table(path.stem)
                assert status == 3 and not out and f"{name} is missing" in error, f"{name}: status {status}: {error[:300]}"
        finally:
            shutil.move(kept, path)


def test_a_damaged_run_is_not_exported(damaged, tmp_path):
    victim = damaged.folder / "kernel.parquet"
    flip(victim, 333)
    try:
        for kind, out in (("bundle", "b.zip"), ("parquet", "tables")):
            done = damaged.store.run("export", damaged.run.id, "--format", kind, "--out", tmp_path / out, "--json")
            assert "kernel.parquet does not match its checksum" in error_of(done, 3)["message"]
            assert not (tmp_path / out).exists()
    finally:
        flip(victim, 333)


def test_a_bundle_carries_the_checksums(damaged, tmp_path):
    damaged.store.text("export", damaged.run.id, "--format", "bundle", "--out", tmp_path / "b.zip")
    other = Store(tmp_path / "other")
    restored = Run(other, other.imports(tmp_path / "b.zip")[0])
    folder = other.folder / "runs" / restored.id
    noted = {item["name"]: item["crc64"] for item in json.loads((folder / "catalog_entry.json").read_text())["files"]}
    assert set(noted) == {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} - {"catalog_entry.json"}
    flip(folder / "kernel.parquet", 4321)
    assert other.run("doctor").returncode == 1
    assert other.run("summary", restored.id).returncode == 3
