# SPDX-License-Identifier: Apache-2.0
"""Bundles and the other exports, through the command line: out, back in bit by bit, and every hostile zip refused."""
import hashlib
import json
import os
import stat
import zipfile

import pytest

from neurolens_cli import ROOT, SAMPLES, Store, narrow

pytestmark = pytest.mark.filterwarnings("ignore:Duplicate name")
TRACE = SAMPLES / "kineto/h200_inference.json"


def hashes(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


class Bundled:
    """One run in a store, tagged, and its bundle."""

    def __init__(self, folder):
        self.folder = folder
        self.store = Store(folder / "a")
        self.run_id = self.store.add(TRACE, "--tag", "machine=h200").id
        self.store.text("tag", self.run_id, "note=kept later")
        self.bundle = folder / "run.zip"
        self.export("bundle", "--out", self.bundle)
        with zipfile.ZipFile(self.bundle) as z:
            self.members = {name: z.read(name) for name in z.namelist()}
            self.order = z.namelist()

    def export(self, kind, *words, **options):
        return self.store.text("export", self.run_id, "--format", kind, *words, **options)

    def manifest(self):
        return json.loads(self.members["manifest.json"])


@pytest.fixture(scope="module")
def f(module_folder):
    return Bundled(module_folder)


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


def test_the_same_run_gives_the_same_bytes_in_every_time_zone(f, tmp_path):
    for i, zone in enumerate(["UTC", "Asia/Tokyo", "America/New_York"]):
        out = tmp_path / f"again{i}.zip"
        f.export("bundle", "--out", out, env={"TZ": zone})
        assert out.read_bytes() == f.bundle.read_bytes(), f"other bytes in {zone}"
    piped = f.export("bundle", "--out", "-", text=False)
    assert piped == f.bundle.read_bytes(), "standard output has other bytes than the file"


def test_the_manifest_comes_first_and_is_true(f):
    assert f.order[:3] == ["manifest.json", "run.json", "catalog_entry.json"], f"order {f.order[:4]}"
    assert f.order[3:] == sorted(f.order[3:]), "the rest is not sorted"
    manifest = f.manifest()
    assert (manifest["format"], manifest["version"], manifest["run_id"]) == ("neurolens-bundle", 1, f.run_id), str(manifest)[:200]
    assert manifest["files"] == [described(n, f.members[n]) for n in f.order[1:]], "the list of files is wrong"
    with zipfile.ZipFile(f.bundle) as z:
        assert z.testzip() is None, "a CRC is wrong"


def test_import_restores_the_run_bit_by_bit(f, store, tmp_path):
    first = store.imports(f.bundle)[0]
    assert first["run_id"] == f.run_id and first["duplicate"] is False, str(first)
    here, there = (one.folder / "runs" / f.run_id for one in (f.store, store))
    ours, theirs = hashes(here), hashes(there)
    for entry in (ours, theirs):  # holds the tags, which changed after the import
        entry.pop("catalog_entry.json")
    assert ours == theirs, "a file differs"
    assert (there / "catalog_entry.json").read_bytes() == f.members["catalog_entry.json"], "the catalog entry differs"
    assert store.json("ls")["runs"] == f.store.json("ls")["runs"], "the catalog rows differ"
    assert store.json("ls")["runs"][0]["tags"] == {"machine": "h200", "note": "kept later"}, "tags were lost"
    again = tmp_path / "again.zip"
    store.text("export", f.run_id, "--format", "bundle", "--out", again)
    assert again.read_bytes() == f.bundle.read_bytes(), "bundled again it has other bytes"
    sums = "SELECT name, sum(dur_ns), count(*) FROM kernel GROUP BY name ORDER BY name"
    assert store.json("query", f.run_id, sums)["rows"] == f.store.json("query", f.run_id, sums)["rows"], "queries differ"
    assert not os.listdir(store.folder / "staging"), "staging is not empty"


def test_what_is_there_is_a_duplicate(f, store):
    store.text("import", f.bundle)
    for to, source in ((store, f.bundle), (f.store, f.bundle), (store, TRACE)):
        run = to.imports(source)[0]
        assert run["duplicate"] is True and run["run_id"] == f.run_id, f"{source.name}: {run}"
        assert len(to.json("ls")["runs"]) == 1, "more than one run"
    assert "already in the store" in store.text("import", f.bundle), "the text does not say so"


def test_tags_given_to_import_are_added(f, store):
    store.text("import", f.bundle, "--tag", "from=colleague")
    assert store.json("ls")["runs"][0]["tags"] == {"machine": "h200", "note": "kept later", "from": "colleague"}, "tags"


def test_a_bundle_deflated_and_reordered_by_another_tool_is_taken(f, store, tmp_path):
    order = ["manifest.json", *reversed(f.order[1:])]
    write_zip(tmp_path / "again.zip", f.members, compression=zipfile.ZIP_DEFLATED, order=order)
    run = store.imports(tmp_path / "again.zip")[0]
    assert run["run_id"] == f.run_id, str(run)
    assert hashes(store.folder / "runs" / f.run_id)["run.json"] == hashlib.sha256(f.members["run.json"]).hexdigest(), "run.json"


HOSTILE = {}  # name: (what writes the zip, the word its error must have)


def refused(name, build, word):
    HOSTILE[name] = (build, word)


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


refused("newer_version", manifest_with(version=3), "version 3")
NOTE = {"created_at_ns": 1, "author": "", "text": "x"}
for why, document in {"not_json": b"{", "no_list": b"{}", "a_number": b'{"notes": [1]}'}.items():
    refused(f"notes_{why}", named("notes.json", document), "")
for why, change in {"without_text": {"text": ""}, "too_long": {"text": "x" * 10_001}, "half_a_time": {"from_ns": 1}, "time_as_text": {"from_ns": "1", "to_ns": 2}, "unknown_table": {"table": "x", "event_id": 1},
                    "table_alone": {"table": "kernel"}, "negative_event": {"table": "kernel", "event_id": -1}, "unknown_member": {"run_id": "x"}, "huge_number": {"created_at_ns": 2**63}}.items():
    refused(f"notes_{why}", named("notes.json", json.dumps({"notes": [NOTE, {**NOTE, **change}]}).encode()), "note 2 of notes.json")
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


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_zip_is_refused_with_one_clear_error_and_leaves_nothing(name, f, tmp_path):
    build, word = HOSTILE[name]
    store, path = Store(tmp_path / "in" / "store"), tmp_path / "bad.zip"
    build(f, path)
    before = sorted(str(p) for p in tmp_path.rglob("*"))
    done = store.run("import", path)
    assert done.returncode == 2, f"exit {done.returncode}: {done.stderr[-300:]}"
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1, f"not one error: {done.stderr[:300]}"
    assert word in errors[0], f"the error does not say '{word}': {errors[0]}"
    assert store.json("ls")["runs"] == [], "a run is listed"
    for part in ("runs", "staging"):
        left = list((store.folder / part).rglob("*")) if (store.folder / part).exists() else []
        assert not left, f"{part} holds {left[:3]}"
    after = sorted(str(p) for p in tmp_path.rglob("*") if (tmp_path / "in") not in [p, *p.parents])
    assert after == before, f"files appeared: {set(after) ^ set(before)}"


def test_a_bundle_cut_anywhere_is_refused(f, store, tmp_path):
    data, path = f.bundle.read_bytes(), tmp_path / "cut.zip"
    for length in [*(len(data) * i // 25 for i in range(1, 25)), len(data) - 1]:
        path.write_bytes(data[:length])
        done = store.run("import", path)
        assert done.returncode == 2 and done.stderr.count("error:") == 1, f"{length} bytes: {done.returncode} {done.stderr[:200]}"
    assert not list((store.folder / "runs").iterdir()) and not list((store.folder / "staging").iterdir()), "something is left"


def test_a_flipped_bit_is_refused_or_changes_nothing(f, tmp_path):
    """Some bytes of a zip carry nothing."""
    data, path = f.bundle.read_bytes(), tmp_path / "flip.zip"
    whole = {n: hashlib.sha256(d).hexdigest() for n, d in f.members.items() if n != "manifest.json"}
    for i in range(60):
        at = len(data) * i // 60 + i % 7
        changed = bytearray(data)
        changed[at] ^= 1 << i % 8
        path.write_bytes(bytes(changed))
        store = Store(tmp_path / f"store{i}")
        done = store.run("import", path)
        if done.returncode == 0:
            assert hashes(store.folder / "runs" / f.run_id) == whole, f"byte {at}: taken, but other than it was"
        else:
            assert done.returncode == 2 and "error:" in done.stderr, f"byte {at}: exit {done.returncode} {done.stderr[-200:]}"
            assert not list((store.folder / "runs").iterdir()), f"byte {at}: half a run"


def test_another_zip_is_not_taken_for_a_bundle(store, tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as z:
        z.writestr("hello.txt", "hello")
    store.text("import", tmp_path / "other.zip", status=2)


def test_the_run_document_is_printed_and_written_as_stored(f, tmp_path):
    stored = (f.store.folder / "runs" / f.run_id / "run.json").read_bytes()
    assert f.export("run-json", text=False) == stored, "printed bytes differ"
    f.export("run-json", "--out", tmp_path / "r.json")
    assert (tmp_path / "r.json").read_bytes() == stored, "written bytes differ"
    assert json.loads(f.export("run-json", "--json"))["document"] == json.loads(stored), "--json differs"
    f.store.text("validate", tmp_path / "r.json")


def test_a_parquet_export_copies_the_tables(f, tmp_path):
    answer = json.loads(f.export("parquet", "--json", cwd=tmp_path))
    out = tmp_path / answer["path"]
    assert answer["path"].endswith("-parquet") and f.run_id.startswith(answer["path"][:-8]), answer["path"]
    tables = {n: h for n, h in hashes(f.store.folder / "runs" / f.run_id).items() if n.endswith(".parquet")}
    assert hashes(out) == tables and sorted(answer["files"]) == sorted(tables), "the tables differ"
    assert stat.S_IMODE(out.stat().st_mode) == 0o755, "the folder is private"
    f.export("parquet", "--out", out, status=2)
    (out / "mine.txt").write_text("mine")
    (out / "kernel.parquet").write_text("old")
    (out / "collective.parquet").write_text("of another run")
    f.export("parquet", "--out", out, "--force")
    left = hashes(out)
    assert left.pop("mine.txt") and left == tables, "--force does not give exactly the tables beside other files"
    f.export("parquet", "--out", "-", status=2)


def test_nothing_is_overwritten_without_force_and_nothing_is_left(f, tmp_path):
    for kind in ("bundle", "perfetto", "run-json"):
        out = tmp_path / f"{kind}.out"
        out.write_text("precious")
        done = f.store.run("export", f.run_id, "--format", kind, "--out", out)
        assert done.returncode == 2 and "--force" in done.stderr and out.read_text() == "precious", f"{kind} overwrote"
        f.export(kind, "--out", out, "--force")
        assert out.read_bytes()[:8] != b"precious", f"{kind} --force did not write"
    f.export("bundle", "--out", "/dev/null", "--force", status=2)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null was replaced"
    f.export("bundle", "--out", tmp_path / "missing" / "x.zip", status=3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bundle.out", "perfetto.out", "run-json.out"], "a temporary is left"


def test_default_names_carry_model_and_id(f, tmp_path):
    for kind, ending in (("bundle", ".zip"), ("perfetto", ".pftrace")):
        answer = json.loads(f.export(kind, "--json", cwd=tmp_path))
        stem = answer["path"][:-len(ending)]
        assert answer["path"].endswith(ending) and f.run_id.startswith(stem.split("-", 1)[1]), answer["path"]
        assert (tmp_path / answer["path"]).stat().st_size == answer["bytes"], "bytes"


def test_validate_names_pointer_rule_and_value(f, tmp_path):
    good = f.members["run.json"]
    (tmp_path / "good.json").write_bytes(good)
    assert "valid" in f.store.text("validate", tmp_path / "good.json"), "text"
    f.store.text("validate", "-", stdin=good)
    bad = json.loads(good)
    bad["timeline"][0]["duration_ms"] = "abc"
    answer = f.store.json("validate", "-", stdin=json.dumps(bad), status=1)
    found = [v for v in answer["violations"] if v["pointer"] == "/timeline/0/duration_ms"]
    assert not answer["valid"] and found and found[0]["rule"].startswith("type") and found[0]["value"] == '"abc"', str(answer)[:300]
    text = f.store.text("validate", "-", stdin=json.dumps(bad), status=1)
    assert "/timeline/0/duration_ms" in text and '"abc"' in text, text[:300]


def test_validate_refuses_what_is_not_a_document(f, tmp_path):
    good = f.members["run.json"]
    for junk in (b"", b"{", b"not json", good[:-10], b"[" * 1000000, b"\xff\xfe"):
        f.store.text("validate", "-", stdin=junk, status=2)
    f.store.text("validate", tmp_path / "absent.json", status=2)
    many = b"{" + b",".join(b'"%d":0' % i for i in range(1000000)) + b"}"
    done = f.store.run("validate", "-", stdin=many)
    assert done.returncode == 2 and "members" in done.stderr, "a million keys"


def test_schema_prints_tables_and_the_document_schema(f):
    schema = (ROOT / "schemas/run.schema.json").read_bytes()
    assert f.store.text("schema", "run", text=False) == schema, "run schema bytes"
    assert f.store.json("schema", "run")["schema"] == json.loads(schema), "json"
    tables = {t["name"]: t for t in f.store.json("schema")["tables"]}
    stored = {p.stem for p in (f.store.folder / "runs" / f.run_id).glob("*.parquet")}
    assert stored <= set(tables), f"not described: {stored - set(tables)}"
    for name in sorted(stored):
        described_columns = [(c["name"], c["type"]) for c in tables[name]["columns"]]
        actual = [(r[0], r[1]) for r in f.store.json("query", f.run_id, f"DESCRIBE {name}")["rows"] if r[0] != "run"]
        assert actual == described_columns, f"{name}: {set(actual) ^ set(described_columns)}"
    assert f.store.text("schema", "table", "--md", text=False) == (ROOT / "docs/tables.md").read_bytes(), "docs/tables.md is stale"
    assert [t["name"] for t in f.store.json("schema", "table", "--name", "kernel")["tables"]] == ["kernel"], "--name"
    f.store.text("schema", "table", "--name", "nothing", status=2)
    narrow(f.store.text("schema"))


def test_formats_lists_every_adapter(store):
    names = [x["name"] for x in store.json("formats")["formats"]]
    folders = sorted(p.name for p in (ROOT / "src/import/adapters").iterdir() if p.is_dir())
    assert sorted(names) == sorted([*folders, "bundle"]), f"{names} for {folders}"
    narrow(store.text("formats"))


def test_csv_lines_end_with_lf(store, tmp_path):
    (tmp_path / "trace.json").write_text(
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 10, "dur": 5}]}')
    store.add(tmp_path / "trace.json")
    for question in (["query", "@latest", "SELECT id, name FROM op", "--format", "csv"], ["operators", "@latest", "--csv"]):
        answer = store.text(*question, text=False)
        assert b"\r" not in answer
        assert answer.endswith(b"\n") and answer.count(b"\n") == 2
    assert store.text("query", "@latest", "SELECT id, name FROM op", "--format", "csv") == "id,name\n0,aten::add\n"
