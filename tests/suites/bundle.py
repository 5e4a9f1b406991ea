#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bundles and the other exports, through the command line: out, back in bit by bit, and every hostile zip refused.

Prints "PASS name" or "FAIL name: why". The program is $NEUROLENS_BIN, else build/release/neurolens.
"""
import hashlib
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import warnings
import zipfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT") or pathlib.Path(__file__).resolve().parents[2])
BIN = os.environ.get("NEUROLENS_BIN") or str(ROOT / "build" / "release" / "neurolens")
TRACE = ROOT / "tests" / "cases" / "samples" / "kineto" / "h200_inference.json"
LIMIT_S = 120
CASES = []
warnings.filterwarnings("ignore", message="Duplicate name")


class Wrong(Exception):
    """A claim that does not hold."""


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def case(function):
    CASES.append(function)
    return function


def call(store, *args, expected=0, stdin=b"", cwd=None, env=None):
    done = subprocess.run([BIN, *map(str, args)], input=stdin, capture_output=True, timeout=LIMIT_S, cwd=cwd,
                          env={**os.environ, "NEUROLENS_STORE": str(store), "COLUMNS": "80", **(env or {})})
    expect(done.returncode == expected,
           f"exit {done.returncode} instead of {expected} of {' '.join(map(str, args))}: {done.stderr.decode()[-300:]}")
    return done


def reply(store, *args, **more):
    return json.loads(call(store, *args, "--json", **more).stdout)


def hashes(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


class Fixture:
    """One run in store a, tagged, and its bundle."""

    def __init__(self, folder):
        self.folder = folder
        self.a = folder / "a"
        self.run_id = reply(self.a, "import", TRACE, "--tag", "machine=h200")["runs"][0]["run_id"]
        call(self.a, "tag", self.run_id, "note=kept later")
        self.bundle = folder / "run.zip"
        call(self.a, "export", self.run_id, "--format", "bundle", "--out", self.bundle)
        with zipfile.ZipFile(self.bundle) as z:
            self.members = {name: z.read(name) for name in z.namelist()}
            self.order = z.namelist()
        self.count = 0

    def fresh(self):
        self.count += 1
        folder = self.folder / f"case{self.count}"
        folder.mkdir()
        return folder

    def manifest(self):
        return json.loads(self.members["manifest.json"])


def write_zip(path, members, manifest=None, compression=zipfile.ZIP_STORED, order=None):
    """members: name -> bytes or (ZipInfo, bytes). The manifest goes first unless `order` says otherwise."""
    members = dict(members)
    if manifest is not None:
        members["manifest.json"] = json.dumps(manifest).encode() if isinstance(manifest, dict) else manifest
    with zipfile.ZipFile(path, "w", compression) as z:
        for name in order or sorted(members, key=lambda n: n != "manifest.json"):
            value = members[name]
            z.writestr(*(value if isinstance(value, tuple) else (name, value)))


def described(name, data):
    return {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def put(fixture, changes):
    """Members and a truthful manifest after `changes` (name -> bytes, or None to take out)."""
    members = {k: v for k, v in fixture.members.items() if k != "manifest.json"}
    for name, data in changes.items():
        if data is None:
            members.pop(name)
        else:
            members[name] = data
    return members, {**fixture.manifest(), "files": [described(n, d) for n, d in members.items()]}


# ------------------------------------------------------------------ out and in


@case
def same_run_gives_same_bytes_in_every_time_zone(f):
    for i, zone in enumerate(["UTC", "Asia/Tokyo", "America/New_York"]):
        out = f.folder / f"again{i}.zip"
        call(f.a, "export", f.run_id, "--format", "bundle", "--out", out, env={"TZ": zone})
        expect(out.read_bytes() == f.bundle.read_bytes(), f"other bytes in {zone}")
    piped = call(f.a, "export", f.run_id, "--format", "bundle", "--out", "-").stdout
    expect(piped == f.bundle.read_bytes(), "standard output has other bytes than the file")


@case
def manifest_comes_first_and_is_true(f):
    expect(f.order[:3] == ["manifest.json", "run.json", "catalog_entry.json"], f"order {f.order[:4]}")
    expect(f.order[3:] == sorted(f.order[3:]), "the rest is not sorted")
    manifest = f.manifest()
    expect((manifest["format"], manifest["version"], manifest["run_id"]) == ("neurolens-bundle", 1, f.run_id), str(manifest)[:200])
    expect(manifest["files"] == [described(n, f.members[n]) for n in f.order[1:]], "the list of files is wrong")
    with zipfile.ZipFile(f.bundle) as z:
        expect(z.testzip() is None, "a CRC is wrong")


@case
def import_restores_the_run_bit_by_bit(f):
    b = f.fresh() / "store"
    first = reply(b, "import", f.bundle)["runs"][0]
    expect(first["run_id"] == f.run_id and first["duplicate"] is False, str(first))
    here, there = f.a / "runs" / f.run_id, b / "runs" / f.run_id
    ours, theirs = hashes(here), hashes(there)
    for entry in (ours, theirs):  # holds the tags, which changed after the import
        entry.pop("catalog_entry.json")
    expect(ours == theirs, "a file differs")
    expect((there / "catalog_entry.json").read_bytes() == f.members["catalog_entry.json"], "the catalog entry differs")
    expect(reply(b, "ls")["runs"] == reply(f.a, "ls")["runs"], "the catalog rows differ")
    expect(reply(b, "ls")["runs"][0]["tags"] == {"machine": "h200", "note": "kept later"}, "tags were lost")
    again = f.folder / "from-b.zip"
    call(b, "export", f.run_id, "--format", "bundle", "--out", again)
    expect(again.read_bytes() == f.bundle.read_bytes(), "bundled again it has other bytes")
    sums = 'SELECT name, sum(dur_ns), count(*) FROM kernel GROUP BY name ORDER BY name'
    expect(reply(b, "query", f.run_id, sums)["rows"] == reply(f.a, "query", f.run_id, sums)["rows"], "queries differ")
    expect(not os.listdir(b / "staging"), "staging is not empty")


@case
def what_is_there_is_a_duplicate(f):
    b = f.fresh() / "store"
    call(b, "import", f.bundle)
    for store, source in ((b, f.bundle), (f.a, f.bundle), (b, TRACE)):
        run = reply(store, "import", source)["runs"][0]
        expect(run["duplicate"] is True and run["run_id"] == f.run_id, f"{source.name}: {run}")
        expect(len(reply(store, "ls")["runs"]) == 1, "more than one run")
    expect("already in the store" in call(b, "import", f.bundle).stdout.decode(), "the text does not say so")


@case
def tags_given_to_import_are_added(f):
    b = f.fresh() / "store"
    call(b, "import", f.bundle, "--tag", "from=colleague")
    expect(reply(b, "ls")["runs"][0]["tags"] == {"machine": "h200", "note": "kept later", "from": "colleague"}, "tags")


@case
def deflated_and_reordered_by_another_tool_it_is_still_taken(f):
    where = f.fresh()
    order = ["manifest.json", *reversed(f.order[1:])]
    write_zip(where / "again.zip", f.members, compression=zipfile.ZIP_DEFLATED, order=order)
    run = reply(where / "store", "import", where / "again.zip")["runs"][0]
    expect(run["run_id"] == f.run_id, str(run))
    expect(hashes(where / "store" / "runs" / f.run_id)["run.json"] == hashlib.sha256(f.members["run.json"]).hexdigest(), "run.json")


# ------------------------------------------------------------------ hostile


def refused(name, build, word):
    """`build(path)` writes a zip that import must refuse with one clear error that says `word`."""

    def check(fixture):
        where = fixture.fresh()
        store = where / "in" / "store"
        path = where / "bad.zip"
        build(fixture, path)
        before = sorted(str(p) for p in where.rglob("*"))
        done = call(store, "import", path, expected=2)
        errors = [line for line in done.stderr.decode().splitlines() if "error:" in line]
        expect(len(errors) == 1, f"not one error: {done.stderr.decode()[:300]}")
        expect(word in errors[0], f"the error does not say '{word}': {errors[0]}")
        expect(reply(store, "ls")["runs"] == [], "a run is listed")
        for part in ("runs", "staging"):
            left = list((store / part).rglob("*")) if (store / part).exists() else []
            expect(not left, f"{part} holds {left[:3]}")
        after = sorted(str(p) for p in where.rglob("*") if (where / "in") not in [p, *p.parents])
        expect(after == before, f"files appeared: {set(after) ^ set(before)}")

    check.__name__ = f"refused_{name}"
    CASES.append(check)


def named(name, data=b"x", listed=True):
    def build(f, path):
        members, manifest = put(f, {name: data} if listed else {})
        write_zip(path, {**members, name: data}, manifest)
    return build


for bad_name in ("../evil", "../../evil.parquet", "/tmp/neurolens-evil", "files/../../evil", "files/../run.json", "files//x",
                 "files/a/", "files\\..\\evil", "files/\x07bell", "runs.sqlite", "sub/kernel.parquet", "KERNEL.PARQUET", "files/" + "a" * 300):
    refused("name_" + "".join(c if c.isalnum() else "_" for c in bad_name[:24]), named(bad_name), "name")
refused("unknown_table", named("runs.parquet", b"PAR1" + b"\0" * 8 + b"PAR1"), "does not know")
refused("entry_not_in_manifest", named("files/extra", listed=False), "not in its manifest")
refused("traversal_not_in_manifest", named("../evil", listed=False), "not in its manifest")


def link(f, path, kind=stat.S_IFLNK):
    members, manifest = put(f, {"files/link": b"/etc/passwd"})
    info = zipfile.ZipInfo("files/link")
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    write_zip(path, {**members, "files/link": (info, b"/etc/passwd")}, manifest)


refused("symbolic_link", link, "not a plain file")


def folder_entry(f, path):
    members, manifest = put(f, {})
    write_zip(path, {**members, "files/": b""}, manifest)


refused("folder_entry", folder_entry, "not in its manifest")


def without(f, path):
    members, manifest = put(f, {})
    members.pop("kernel.parquet")
    write_zip(path, members, manifest)


refused("missing_file", without, "lacks kernel.parquet")


def other_bytes(f, path):
    members, manifest = put(f, {})
    data = bytearray(members["kernel.parquet"])
    data[len(data) // 2] ^= 1
    write_zip(path, {**members, "kernel.parquet": bytes(data)}, manifest)


refused("wrong_hash", other_bytes, "hash")


def resized(change):
    def build(f, path):
        members, manifest = put(f, {})
        write_zip(path, {**members, "op.parquet": change(members["op.parquet"])}, manifest)
    return build


refused("file_longer_than_said", resized(lambda d: d + b"x"), "longer")
refused("file_shorter_than_said", resized(lambda d: d[:-1]), "shorter")


def entry_resized(f, path):
    members, manifest = put(f, {})
    write_zip(path, {**members, "catalog_entry.json": members["catalog_entry.json"] + b" " * 1000}, manifest)


refused("catalog_entry_longer_than_said", entry_resized, "larger")


def bomb(f, path, honest):
    zeros = b"\0" * (300 << 20)
    members, manifest = put(f, {"files/zeros": zeros if honest else b"\0" * 10})
    write_zip(path, {**members, "files/zeros": zeros}, manifest, compression=zipfile.ZIP_DEFLATED)


refused("bomb_beyond_its_manifest", lambda f, p: bomb(f, p, False), "longer")
refused("bomb_with_a_true_manifest", lambda f, p: bomb(f, p, True), "zip bomb")


def manifest_with(**changes):
    return lambda f, path: write_zip(path, f.members, {**f.manifest(), **changes})


refused("newer_version", manifest_with(version=2), "version 2")
refused("version_as_text", manifest_with(version="1"), "version")
refused("version_zero", manifest_with(version=0), "version")
refused("other_format", manifest_with(format="something"), "not one of neurolens")
refused("files_as_object", manifest_with(files={}), "files")
refused("no_files", manifest_with(files=[]), "run.json")
refused("negative_size", manifest_with(files=[{"name": "run.json", "bytes": -1, "sha256": "0" * 64}]), "bytes")
refused("absurd_size", manifest_with(files=[{"name": "run.json", "bytes": 2**63, "sha256": "0" * 64}]), "bytes")
refused("hash_in_capitals", manifest_with(files=[{"name": "run.json", "bytes": 1, "sha256": "A" * 64}]), "sha256")
refused("too_many_files", manifest_with(files=[{"name": f"files/{i}", "bytes": 0, "sha256": "0" * 64} for i in range(1001)]), "too many")
refused("run_id_of_another_run", manifest_with(run_id="01890000-0000-7000-8000-000000000000"), "different runs")
refused("run_id_as_path", manifest_with(run_id="../../evil"), "different runs")
refused("file_named_twice", lambda f, p: write_zip(p, f.members, {**f.manifest(), "files": f.manifest()["files"] * 2}), "twice")
refused("manifest_not_json", lambda f, p: write_zip(p, f.members, b"{\"format\""), "JSON")
refused("manifest_nested_deeply", lambda f, p: write_zip(p, f.members, b"[" * 100000), "JSON")
refused("manifest_of_5_MB", lambda f, p: write_zip(p, f.members, b" " * (5 << 20)), "larger")
refused("manifest_of_a_million_keys", lambda f, p: write_zip(
    p, f.members, ("{" + ",".join(f'"{i:x}":0' for i in range(300000)) + "}").encode()), "members")
refused("manifest_not_first", lambda f, p: write_zip(p, f.members, order=[*f.order[1:], "manifest.json"]), "")


def entry_twice(f, path):
    members, manifest = put(f, {})
    write_zip(path, members, manifest)
    with zipfile.ZipFile(path, "a") as z:
        z.writestr("kernel.parquet", members["kernel.parquet"])


refused("entry_twice", entry_twice, "twice")


def truthful(changes):
    return lambda f, path: write_zip(path, *put(f, changes(f)))


def document(f, **changes):
    return json.dumps({**json.loads(f.members["run.json"]), **changes}).encode()


def row(f, **changes):
    return json.dumps({**json.loads(f.members["catalog_entry.json"]), **changes}).encode()


refused("invalid_run_document", truthful(lambda f: {"run.json": document(f, hardware=3)}), "/hardware")
refused("newer_run_document", truthful(lambda f: {"run.json": document(f, schema_version=99)}), "schema_version")
refused("run_document_not_json", truthful(lambda f: {"run.json": b"{"}), "run.json")
refused("run_document_of_another_run", truthful(
    lambda f: {"run.json": document(f, run_id="01890000-0000-7000-8000-000000000000")}), "different runs")
refused("no_run_document", truthful(lambda f: {"run.json": None}), "run.json")
refused("catalog_entry_of_another_run", truthful(lambda f: {"catalog_entry.json": row(f, run_id="0189")}), "different runs")
refused("catalog_entry_with_wrong_types", truthful(lambda f: {"catalog_entry.json": row(f, wall_ns="long")}), "wall_ns")
refused("catalog_entry_of_other_sources", truthful(lambda f: {"catalog_entry.json": row(f, content_sha256="0" * 64)}), "sources")
refused("parquet_without_magic", truthful(lambda f: {"kernel.parquet": b"x" * 5000}), "no Parquet")
refused("parquet_without_end", truthful(lambda f: {"kernel.parquet": b"PAR1" + b"x" * 5000}), "no Parquet")
refused("parquet_too_small", truthful(lambda f: {"kernel.parquet": b"PAR1"}), "no Parquet")


def encrypted_flag(f, path):
    members, manifest = put(f, {})
    write_zip(path, members, manifest)
    with zipfile.ZipFile(path) as z:
        local = z.getinfo("kernel.parquet").header_offset
    data = bytearray(path.read_bytes())
    data[local + 6] |= 1
    data[data.rindex(b"PK\x01\x02", 0, data.rindex(b"kernel.parquet")) + 8] |= 1
    path.write_bytes(bytes(data))


refused("encrypted_entry", encrypted_flag, "zip")


@case
def refused_cut_anywhere(f):
    data = f.bundle.read_bytes()
    where = f.fresh()
    for i in range(1, 25):
        path = where / "cut.zip"
        path.write_bytes(data[:len(data) * i // 25])
        done = call(where / "store", "import", path, expected=2)
        expect(done.stderr.count(b"error:") == 1, done.stderr.decode()[:200])
    path.write_bytes(data[:-1])
    call(where / "store", "import", path, expected=2)
    expect(not list((where / "store" / "runs").iterdir()) and not list((where / "store" / "staging").iterdir()), "something is left")


@case
def refused_or_whole_with_any_byte_changed(f):
    """A flipped bit is refused, or (in bytes of the zip that carry nothing) changes nothing."""
    data = f.bundle.read_bytes()
    where = f.fresh()
    path = where / "flip.zip"
    for i in range(60):
        at = len(data) * i // 60 + i % 7
        changed = bytearray(data)
        changed[at] ^= 1 << i % 8
        path.write_bytes(bytes(changed))
        store = where / f"store{i}"
        done = subprocess.run([BIN, "import", path, "--json"], capture_output=True, timeout=LIMIT_S,
                              env={**os.environ, "NEUROLENS_STORE": str(store)})
        if done.returncode == 0:
            restored = hashes(store / "runs" / f.run_id)
            expect(restored == {n: hashlib.sha256(d).hexdigest() for n, d in f.members.items() if n != "manifest.json"},
                   f"byte {at}: taken, but other than it was")
        else:
            expect(done.returncode == 2 and b"error:" in done.stderr, f"byte {at}: exit {done.returncode} {done.stderr[-200:]}")
            expect(not list((store / "runs").iterdir()), f"byte {at}: half a run")


@case
def another_zip_is_no_bundle(f):
    where = f.fresh()
    with zipfile.ZipFile(where / "other.zip", "w") as z:
        z.writestr("hello.txt", "hello")
    call(where / "store", "import", where / "other.zip", expected=2)


# ------------------------------------------------------------------ the other exports


@case
def run_json_is_printed_and_written_as_stored(f):
    stored = (f.a / "runs" / f.run_id / "run.json").read_bytes()
    expect(call(f.a, "export", f.run_id, "--format", "run-json").stdout == stored, "printed bytes differ")
    where = f.fresh()
    call(f.a, "export", f.run_id, "--format", "run-json", "--out", where / "r.json")
    expect((where / "r.json").read_bytes() == stored, "written bytes differ")
    expect(reply(f.a, "export", f.run_id, "--format", "run-json")["document"] == json.loads(stored), "--json differs")
    call(f.a, "validate", where / "r.json")


@case
def parquet_copies_the_tables(f):
    where = f.fresh()
    answer = reply(f.a, "export", f.run_id, "--format", "parquet", cwd=where)
    out = where / answer["path"]
    expect(answer["path"].endswith("-parquet") and f.run_id.startswith(answer["path"][:-8]), answer["path"])
    tables = {n: h for n, h in hashes(f.a / "runs" / f.run_id).items() if n.endswith(".parquet")}
    expect(hashes(out) == tables and sorted(answer["files"]) == sorted(tables), "the tables differ")
    expect(stat.S_IMODE(out.stat().st_mode) == 0o755, "the folder is private")
    call(f.a, "export", f.run_id, "--format", "parquet", "--out", out, expected=2)
    (out / "mine.txt").write_text("mine")
    (out / "kernel.parquet").write_text("old")
    (out / "collective.parquet").write_text("of another run")
    call(f.a, "export", f.run_id, "--format", "parquet", "--out", out, "--force")
    left = hashes(out)
    expect(left.pop("mine.txt") and left == tables, "--force does not give exactly the tables beside other files")
    call(f.a, "export", f.run_id, "--format", "parquet", "--out", "-", expected=2)


@case
def nothing_is_overwritten_without_force_and_nothing_is_left(f):
    where = f.fresh()
    for kind in ("bundle", "perfetto", "run-json"):
        out = where / f"{kind}.out"
        out.write_text("precious")
        done = call(f.a, "export", f.run_id, "--format", kind, "--out", out, expected=2)
        expect(b"--force" in done.stderr and out.read_text() == "precious", f"{kind} overwrote")
        call(f.a, "export", f.run_id, "--format", kind, "--out", out, "--force")
        expect(out.read_bytes()[:8] != b"precious", f"{kind} --force did not write")
    call(f.a, "export", f.run_id, "--format", "bundle", "--out", "/dev/null", "--force", expected=2)
    expect(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null was replaced")
    call(f.a, "export", f.run_id, "--format", "bundle", "--out", where / "missing" / "x.zip", expected=3)
    expect(sorted(p.name for p in where.iterdir()) == ["bundle.out", "perfetto.out", "run-json.out"], "a temporary is left")


@case
def default_names_carry_model_and_id(f):
    where = f.fresh()
    for kind, ending in (("bundle", ".zip"), ("perfetto", ".pftrace")):
        answer = reply(f.a, "export", f.run_id, "--format", kind, cwd=where)
        stem = answer["path"][:-len(ending)]
        expect(answer["path"].endswith(ending) and f.run_id.startswith(stem.split("-", 1)[1]), answer["path"])
        expect((where / answer["path"]).stat().st_size == answer["bytes"], "bytes")


@case
def validate_tells_pointer_rule_and_value(f):
    where = f.fresh()
    good = f.members["run.json"]
    (where / "good.json").write_bytes(good)
    expect(b"valid" in call(f.a, "validate", where / "good.json").stdout, "text")
    call(f.a, "validate", "-", stdin=good)
    bad = json.loads(good)
    bad["timeline"][0]["duration_ms"] = "abc"
    done = call(f.a, "validate", "-", "--json", stdin=json.dumps(bad).encode(), expected=1)
    answer = json.loads(done.stdout)
    found = [v for v in answer["violations"] if v["pointer"] == "/timeline/0/duration_ms"]
    expect(not answer["valid"] and found and found[0]["rule"].startswith("type") and found[0]["value"] == '"abc"', str(answer)[:300])
    text = call(f.a, "validate", "-", stdin=json.dumps(bad).encode(), expected=1).stdout.decode()
    expect("/timeline/0/duration_ms" in text and '"abc"' in text, text[:300])
    for junk in (b"", b"{", b"not json", good[:-10], b"[" * 1000000, b"\xff\xfe"):
        call(f.a, "validate", "-", stdin=junk, expected=2)
    call(f.a, "validate", where / "absent.json", expected=2)
    many = b"{" + b",".join(b'"%d":0' % i for i in range(1000000)) + b"}"
    expect(b"members" in call(f.a, "validate", "-", stdin=many, expected=2).stderr, "a million keys")


@case
def schema_prints_tables_and_the_document_schema(f):
    expect(call(f.a, "schema", "run").stdout == (ROOT / "schemas" / "run.schema.json").read_bytes(), "run schema bytes")
    expect(reply(f.a, "schema", "run")["schema"] == json.loads((ROOT / "schemas" / "run.schema.json").read_bytes()), "json")
    tables = {t["name"]: t for t in reply(f.a, "schema")["tables"]}
    stored = {p.stem for p in (f.a / "runs" / f.run_id).glob("*.parquet")}
    expect(stored <= set(tables), f"not described: {stored - set(tables)}")
    for name in sorted(stored):
        described_columns = [(c["name"], c["type"]) for c in tables[name]["columns"]]
        actual = [(r[0], r[1]) for r in reply(f.a, "query", f.run_id, f"DESCRIBE {name}")["rows"] if r[0] != "run"]
        expect(actual == described_columns, f"{name}: {set(actual) ^ set(described_columns)}")
    expect(call(f.a, "schema", "table", "--md").stdout == (ROOT / "docs" / "tables.md").read_bytes(), "docs/tables.md is stale")
    expect([t["name"] for t in reply(f.a, "schema", "table", "--name", "kernel")["tables"]] == ["kernel"], "--name")
    call(f.a, "schema", "table", "--name", "nothing", expected=2)
    for line in call(f.a, "schema").stdout.decode().splitlines():
        expect(len(line) <= 80, f"wider than 80: {line}")


@case
def formats_lists_every_adapter(f):
    names = [x["name"] for x in reply(f.a, "formats")["formats"]]
    folders = sorted(p.name for p in (ROOT / "src" / "import" / "adapters").iterdir() if p.is_dir())
    expect(sorted(names) == sorted([*folders, "bundle"]), f"{names} for {folders}")
    for line in call(f.a, "formats").stdout.decode().splitlines():
        expect(len(line) <= 80, f"wider than 80: {line}")


def main():
    chosen = os.environ.get("NEUROLENS_TEST_FILTER", "")
    failed = False
    with tempfile.TemporaryDirectory(prefix="nl-bundle-") as folder:
        fixture = Fixture(pathlib.Path(folder))
        for function in CASES:
            if chosen and chosen not in function.__name__:
                continue
            try:
                function(fixture)
                print(f"PASS {function.__name__}", flush=True)
            except (Wrong, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
                failed = True
                print(f"FAIL {function.__name__}: {' '.join(str(error).split())[:400]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
