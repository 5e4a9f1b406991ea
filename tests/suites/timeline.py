# SPDX-License-Identifier: Apache-2.0
"""The timeline: lanes, tiles in both forms, search and chains agree with the tables of the run; the stored overview is a cache."""
import contextlib
import gzip
import http.client
import json
import math
import pathlib
import select
import shutil
import sqlite3
import struct

import pytest
from http_server import Server
from neurolens_cli import H200, LIMIT_S, Store, wait_until

TRACE = H200 / "base.json.gz"
TILE = "application/vnd.neurolens.tile"
TABLES = ["kernel", "memcpy", "memset", "sync", "api_call", "op", "python_call", "range", "cpu_sample"]
STORED_FROM = 1_000_000


@pytest.fixture(scope="module")
def run(module_folder):
    return Store(module_folder / "store").add(TRACE)


@pytest.fixture(scope="module")
def server(run):
    with Server(run.store) as started:
        yield started


def reply(run, *words):
    return json.loads(run.store.text(*words, "--json"))


class Reader:
    """The binary form of a tile, by docs/formats/tile.md."""

    def __init__(self, data):
        self.data, self.at = data, 64
        assert data[:4] == b"NLT2"
        (self.rows, self.spans, self.buckets, self.names, self.series, self.points, size) = struct.unpack_from("<7I", data, 4)
        assert size == len(data)
        self.from_ns, self.to_ns, self.bucket_ns, self.exact_from_ns = struct.unpack_from("<4q", data, 32)

    def v(self, count):
        out = []
        for _ in range(count):
            value = shift = 0
            while True:
                byte = self.data[self.at]
                self.at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            out.append(value)
        return out

    def z(self, count):
        return [(n >> 1) ^ -(n & 1) for n in self.v(count)]

    def f32(self, count):
        self.at += 4 * count
        return list(struct.unpack_from(f"<{count}f", self.data, self.at - 4 * count))

    def u8(self, count):
        self.at += count
        return list(self.data[self.at - count:self.at])


def placed(gaps, durs, first):
    """Starts of spans from their distances to the end of the one before."""
    out, before = [], first
    for gap, dur in zip(gaps, durs):
        out.append(before + gap)
        before = out[-1] + dur
    return out


def running(differences, counts, first, step=0):
    """Differences within each row as values."""
    out, place = [], 0
    for count in counts:
        values, before = [], first
        for difference in differences[place:place + count]:
            before += difference + step
            values.append(before)
        place += count
        out.append(values)
    return out


def split(values, counts):
    out, place = [], 0
    for count in counts:
        out.append(values[place:place + count])
        place += count
    return out


def decoded(data):
    r = Reader(data)
    lane, depth, spans, buckets = (r.v(r.rows) for _ in range(4))
    gap, dur, name = split(r.z(r.spans), spans), split(r.v(r.spans), spans), split(r.v(r.spans), spans)
    start = [placed(gaps, durs, r.from_ns) for gaps, durs in zip(gap, dur)]
    ids = running(r.z(r.spans), spans, 0)
    index = running(r.z(r.buckets), buckets, r.from_ns // r.bucket_ns - 1, 1)
    count, busy, top = split(r.v(r.buckets), buckets), split(r.u8(r.buckets), buckets), split(r.v(r.buckets), buckets)
    longest = split(r.u8(r.buckets), buckets)
    lanes, sizes = r.v(r.series), r.v(r.series)
    points = [size // 2 for size in sizes]
    at, last = running(r.z(r.points), points, r.from_ns), split(r.f32(r.points), points)
    least, greatest = ([values if size % 2 else r.f32(len(values)) for size, values in zip(sizes, last)] for _ in range(2))
    series = [{"lane": lanes[i], "at_ns": at[i], "min": least[i], "max": greatest[i], "last": last[i]} for i in range(r.series)]
    tables, lengths = r.u8(r.names), r.v(r.names)
    names = []
    for length in lengths:
        names.append(r.data[r.at:r.at + length].decode())
        r.at += length
    assert r.at == len(data)
    rows = [{"lane": lane[i], "depth": depth[i], "start_ns": start[i], "dur_ns": dur[i], "name": name[i], "id": ids[i], "bucket": index[i],
             "count": count[i], "busy": busy[i], "top": top[i], "longest": longest[i]} for i in range(r.rows)]
    return {"names": names, "name_tables": [TABLES[t] for t in tables], "rows": rows, "bucket_ns": r.bucket_ns, "series": series}


def rounded(tile):
    """A JSON tile with the rounding of the binary form."""
    for row in tile["rows"]:
        row["busy"] = [min(63, math.ceil(63 * ns / tile["bucket_ns"])) for ns in row.pop("busy_ns")]
        row["longest"] = [0 if ns == 0 else 1 + int(4 * math.log2(ns)) for ns in row.pop("longest_ns")]
    for series in tile["series"]:
        for name in ("min", "max", "last"):
            series[name] = [struct.unpack("<f", struct.pack("<f", value))[0] for value in series[name]]
    return {key: tile[key] for key in ("names", "name_tables", "rows", "bucket_ns", "series")}


@pytest.mark.parametrize("window", ["", "from_ns=20000000&to_ns=21000000&width=1600", "from_ns=-5000&to_ns=90000000&width=37&lanes=stream"])
def test_both_forms_have_the_same_content(server, run, window):
    path = f"/api/v1/runs/{run.id}/timeline?{window}"
    plain = server.get(path)
    binary = server.ask("GET", path, Accept=f"{TILE}, */*;q=0.1")
    assert plain.headers["content-type"].startswith("application/json") and binary.headers["content-type"] == TILE
    assert len(plain.json()["rows"]) > 0
    assert decoded(binary.body) == rounded(plain.json())
    # A wildcard is not a wish for the binary form.
    assert server.ask("GET", path, Accept="*/*").body == plain.body
    again = server.ask("GET", path, Accept=TILE, If_None_Match=binary.headers["etag"])
    assert again.status == 304 and binary.headers["etag"] != plain.headers["etag"]


def test_tiles_count_every_span(run):
    tile = reply(run, "timeline", run.id, "--width", 1600)
    lanes = reply(run, "timeline-lanes", run.id)
    sql = " + ".join(f"(SELECT count(*) FROM {t} WHERE start_ns IS NOT NULL AND (dur_ns IS NOT NULL OR '{t}' = 'range'))" for t in TABLES[:-1])
    spans = reply(run, "query", run.id, f"SELECT {sql} + (SELECT count(start_ns) FROM cpu_sample) AS n")["rows"][0][0]
    assert lanes["events"] == spans == sum(len(row["start_ns"]) + sum(row["count"]) for row in tile["rows"])
    assert sum(lane["count"] for lane in lanes["lanes"] if lane["depths"] > 0) == spans
    for lane in lanes["lanes"]:
        assert lane["parent"] is None or lane["parent"] < lane["id"]
    kinds = {lane["kind"] for lane in lanes["lanes"]}
    assert {"process", "device", "stream", "thread"} <= kinds


def test_search_counts_what_sql_counts(run):
    for text, regex, condition in (("gemm", (), "name ILIKE '%gemm%'"), ("^aten::(mm|add)$", ("--regex",), "regexp_matches(name, '^aten::(mm|add)$')")):
        found = reply(run, "timeline-find", run.id, text, *regex, "--from-ns", 50_000_000, "--limit", 4)
        sql = " UNION ALL ".join(f"SELECT '{t}' AS t, id, start_ns FROM {t} WHERE {condition} AND start_ns IS NOT NULL" for t in TABLES[:-1])
        rows = reply(run, "query", run.id, f"SELECT t, id, start_ns FROM ({sql}) ORDER BY start_ns", "--max-rows", 100000)["rows"]
        zero = reply(run, "timeline-lanes", run.id)["zero_ns"]
        assert found["total"] == len(rows) > 10
        assert sum(name["count"] for name in reply(run, "timeline-find", run.id, text, *regex, "--limit", 10000)["names"]) == len(rows)
        after = [row[2] - zero for row in rows if row[2] - zero >= 50_000_000][:4]
        before = [row[2] - zero for row in rows if row[2] - zero < 50_000_000][-4:][::-1]
        assert [span["start_ns"] for span in found["next"]] == after and [span["start_ns"] for span in found["previous"]] == before
    assert run.store.run("timeline-find", run.id, "(", "--regex").returncode == 2
    assert reply(run, "timeline-find", run.id, "no such name")["total"] == 0


def test_an_event_has_its_chain(run):
    kernel, launch, op = reply(run, "query", run.id,
                               "SELECT id, api_call_id, op_id FROM kernel WHERE op_id IS NOT NULL ORDER BY id LIMIT 1 OFFSET 100")["rows"][0]
    event = reply(run, "timeline-event", run.id, "kernel", kernel)
    roles = {(link["role"], link["table"], link["id"]) for link in event["chain"]}
    assert {("event", "kernel", kernel), ("launch", "api_call", launch), ("operator", "op", op)} <= roles
    inner = next(link for link in event["chain"] if link["role"] == "launch")
    around = [link for link in event["chain"] if link["role"] == "inside"]
    assert around and all(link["start_ns"] <= inner["start_ns"] <= link["start_ns"] + link["dur_ns"] for link in around)
    assert event["columns"]["id"] == kernel and "grid_x" in event["columns"]
    caused = reply(run, "timeline-event", run.id, "api_call", launch)["chain"]
    assert ("caused", "kernel", kernel) in {(link["role"], link["table"], link["id"]) for link in caused}
    assert run.store.run("timeline-event", run.id, "kernel", 10**9).returncode == 2


@pytest.fixture(scope="module")
def large_file(module_folder):
    """A trace that is just large enough for a stored overview, with a counter."""
    events = ",".join(f'{{"ph":"C","name":"clock","pid":1,"ts":{i * 50},"args":{{"MHz":{1000 + i % 977}}}}}' for i in range(40_000)) + "," + ",".join(f'{{"ph":"X","cat":"cpu_op","name":"op {i % 7}","pid":1,"tid":{i % 3},"ts":{i * 2},"dur":{1 + i % 5}}}' for i in range(STORED_FROM + 1))
    path = module_folder / "large.json.gz"
    path.write_bytes(gzip.compress(f'{{"traceEvents":[{events}]}}'.encode(), 1))
    return path


@pytest.fixture
def large(large_file, tmp_path):
    return Store(tmp_path / "store").add(large_file)


def test_the_overview_is_a_cache(large):
    derived = large.store.folder / "derived" / large.id
    tile = ("timeline", large.id, "--width", 300)
    first = large.store.text(*tile, "--json")
    files = sorted(derived.iterdir())
    assert [f.name.split(".")[0] for f in files] == ["lines-1", "overview-2"] and sum(sum(r["count"]) + len(r["start_ns"]) for r in json.loads(first)["rows"]) == STORED_FROM + 1
    tables = sum(f.stat().st_size for f in (large.store.folder / "runs" / large.id).glob("*.parquet"))
    assert sum(f.stat().st_size for f in files) <= max(0.03 * tables, 2 * 256 * 1024)
    assert large.store.text(*tile, "--json") == first  # from the files
    # Damaged: made again.
    for file in files:
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
        assert large.store.text(*tile, "--json") == first
        assert file.read_bytes() != bytes(data)
    # Nowhere to write: kept in memory.
    shutil.rmtree(derived)
    derived.parent.rmdir()
    derived.parent.write_text("not a folder")
    assert large.store.text(*tile, "--json") == first
    derived.parent.unlink()
    # What belongs to no run is deleted by doctor, what belongs to a removed run by rm.
    large.store.text(*tile)
    orphan = derived.parent / "01a1ec35-d9bd-784f-85cc-42995f1a3115"
    orphan.mkdir()
    large.store.text("doctor", "--repair")
    assert not orphan.exists() and derived.exists()
    large.store.text("rm", large.id, "--yes")
    assert not derived.exists()


def children_of(pid):
    """Processes that this one started and that still run."""
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()]


def union(intervals):
    covered, until = 0, None
    for start, end in sorted(intervals):
        start = start if until is None else max(start, until)
        covered += max(0, end - start)
        until = end if until is None else max(until, end)
    return covered


@pytest.mark.parametrize("window", [(20_000_000, 21_000_000), (0, 0)])
def test_totals_are_those_of_the_tables(run, window):
    lanes = reply(run, "timeline-lanes", run.id)
    zero = lanes["zero_ns"]
    begin, end = window[0], window[1] or lanes["last_ns"]
    totals = reply(run, "timeline-totals", run.id, "--from-ns", begin, "--to-ns", end, "--limit", 0)
    assert (totals["from_ns"], totals["to_ns"], totals["names_total"]) == (begin, end, len(totals["names"]))
    sql = " UNION ALL ".join(f"SELECT '{t}' AS t, name, start_ns - {zero} AS s, coalesce(dur_ns, 0) AS d FROM {t} WHERE start_ns IS NOT NULL "
                             f"AND (dur_ns IS NOT NULL OR '{t}' = 'range')" for t in TABLES[:-1])
    rows = reply(run, "query", run.id, f"SELECT t, name, s, d FROM ({sql}) WHERE s < {end} AND (s + d > {begin} OR s >= {begin})", "--max-rows", 1000000)["rows"]
    assert len(rows) > 100
    wanted = {}
    for table, name, start, dur in rows:
        for key in ((table, name), (table,)):
            wanted.setdefault(key, []).append((start, dur))
    got = {(n["table"], n["name"]): n for n in totals["names"]} | {(t["table"],): t for t in totals["tables"]}
    assert got.keys() == wanted.keys()
    for key, spans in wanted.items():
        cut = [(max(start, begin), min(start + dur, end)) for start, dur in spans]
        expected = {"count": len(spans), "total_ns": sum(e - s for s, e in cut), "covered_ns": union(cut), "mean_ns": sum(d for _, d in spans) // len(spans),
                    "longest_ns": max(d for _, d in spans)}
        assert {name: got[key][name] for name in expected} == expected, key
    assert sum(lane["count"] for lane in totals["lanes"]) == len(rows)
    # One lane alone has a part of it.
    stream = reply(run, "timeline-totals", run.id, "--from-ns", begin, "--to-ns", end, "--lanes", "stream", "--limit", 0)
    assert {lane["name"] for lane in stream["lanes"]} <= {lane["name"] for lane in totals["lanes"]} and len(stream["lanes"]) < len(totals["lanes"])
    assert run.store.run("timeline-totals", run.id, "--from-ns", 5, "--to-ns", 5).returncode == 2


def test_an_event_has_its_findings_and_its_limit(run):
    findings = reply(run, "findings", run.id, "--limit", 1000)["findings"]
    named = next(f for f in findings if any(e["table"] in ("kernel", "op", "api_call") and e["row"] is not None for e in f["evidence"]))
    row = next(e for e in named["evidence"] if e["table"] in ("kernel", "op", "api_call") and e["row"] is not None)
    event = reply(run, "timeline-event", run.id, row["table"], row["row"], "--analysis")
    assert named["rule"] in {f["rule"] for f in event["analysis"]["findings"]}
    assert reply(run, "timeline-event", run.id, row["table"], row["row"])["analysis"] is None
    # A kernel of an operator whose efficiency is known has that of the operator with its shapes.
    point = next(p for p in reply(run, "roofline", run.id, "--phase", "all", "--limit", 1000)["points"] if p["efficiency"] is not None and p["shapes"])
    shapes = point["shapes"].replace("'", "''")
    kernel = reply(run, "query", run.id,
                   f"SELECT k.id FROM kernel k JOIN op o ON o.id = k.op_id WHERE o.name = '{point['op']}' AND o.input_dims = '{shapes}' LIMIT 1")["rows"][0][0]
    limit = reply(run, "timeline-event", run.id, "kernel", kernel, "--analysis")["analysis"]["roofline"]
    assert (limit["op"], limit["shapes"], limit["efficiency"]) == (point["op"], point["shapes"], point["efficiency"])


def test_a_large_run_is_opened_beside_quick_requests(large):
    """Requests for a run that is not open yet leave the quick workers to others, and report their progress."""
    shutil.rmtree(large.store.folder / "derived", ignore_errors=True)
    with Server(large.store, "--workers", "1", "--heavy-workers", "2") as started:
        lanes = started.get(f"/api/v1/runs/{large.id}/timeline-lanes")
        assert lanes.status == 200, lanes.body
        assert lanes.json()["events"] == STORED_FROM + 1
        # Open now: the same request is quick, and both forms agree with the command line.
        assert started.get(f"/api/v1/runs/{large.id}/timeline?width=300").json() == reply(large, "timeline", large.id, "--width", 300)


def test_quick_requests_are_answered_while_large_runs_wait_to_be_opened(run, tmp_path):
    """Both workers for long requests are held by queries without an end; opening large runs waits for them, and everything else does not."""
    store = Store(tmp_path / "store")
    shutil.copytree(run.store.folder, store.folder)
    second = store.add(H200 / "rerun.json.gz")
    with contextlib.closing(sqlite3.connect(store.folder / "catalog.sqlite")) as db, db:
        db.execute("UPDATE run SET event_count = 2000000 WHERE run_id = ?", (run.id,))  # as a large one
    endless = json.dumps({"args": [second.id, "SELECT count(*) FROM range(100000000000) a, range(100000000000) b"], "timeout": 86400})
    with Server(store, "--workers", "2", "--heavy-workers", "2") as started, contextlib.ExitStack() as open_connections:
        held = []
        for _ in range(2):
            connection = open_connections.enter_context(contextlib.closing(http.client.HTTPConnection("127.0.0.1", started.port, timeout=LIMIT_S)))
            connection.request("POST", "/api/v1/query", endless, {"Content-Type": "application/json"})
            held.append(connection)
        wait_until(lambda: len(children_of(started.process.pid)) == 2, "both queries run")
        opening = []
        for _ in range(8):
            connection = open_connections.enter_context(contextlib.closing(http.client.HTTPConnection("127.0.0.1", started.port, timeout=LIMIT_S)))
            connection.request("GET", f"/api/v1/runs/{run.id}/timeline-lanes")
            opening.append(connection)
        assert started.get("/api/v1/version").status == 200
        assert started.get("/api/v1/runs").json()["total"] == 2
        lanes = started.get(f"/api/v1/runs/{second.id}/timeline-lanes")
        assert lanes.status == 200 and lanes.json()["lanes"], "a small run is opened at once"
        assert started.get(f"/api/v1/runs/{second.id}/timeline?width=300").status == 200
        waiting = select.select([c.sock for c in [*held, *opening]], [], [], 0)[0]
        assert waiting == [], "a large run was opened by a worker for quick requests"
        for connection in held:
            connection.close()  # the server ends what nobody waits for
        for connection in opening:
            answer = connection.getresponse()
            assert answer.status == 200 and json.loads(answer.read())["run_id"] == run.id


def test_a_page_of_a_timeline_opens_its_run_ahead(large):
    """The server begins to open the run of the page before the page asks for its lanes."""
    derived = large.store.folder / "derived" / large.id
    shutil.rmtree(derived.parent, ignore_errors=True)
    with Server(large.store) as started:
        assert started.get(f"/runs/{large.id}/kernels").status == 200
        assert started.get("/runs/nothing/timeline").status == 200
        assert started.get(f"/runs/{large.id}/timeline").status == 200
        wait_until(lambda: any(derived.glob("overview-*.parquet")), "the overview is made")


def test_notes_are_kept_with_their_run(module_folder):
    store = Store(module_folder / "notes_store")
    run, other = store.add(TRACE), store.add(H200 / "rerun.json.gz")
    store.text("note", run.id, "first", "--json")
    store.text("note", run.id, "slow <b>here</b>\nsecond line", "--from-ns", 5, "--to-ns", 900, "--json")
    notes = reply(run, "note", run.id, "this kernel", "--table", "kernel", "--event-id", 12)["notes"]
    assert [(n["text"], n["from_ns"], n["to_ns"], n["table"], n["event_id"]) for n in notes] == [
        ("first", None, None, None, None), ("slow <b>here</b>\nsecond line", 5, 900, None, None), ("this kernel", None, None, "kernel", 12)]
    assert reply(run, "notes", run.id)["notes"] == notes and reply(run, "notes", other.id)["notes"] == []
    for words in (("",), ("x", "--from-ns", 9, "--to-ns", 5), ("x", "--table", "kernel"), ("x", "--event-id", 3), ("x" * 10_001,), ("x", "--remove", notes[0]["id"])):
        assert store.run("note", run.id, *words).returncode == 2, words
    assert store.run("note", other.id, "--remove", notes[0]["id"]).returncode == 2
    left = reply(run, "note", run.id, "--remove", notes[0]["id"])["notes"]
    assert [n["id"] for n in left] == [n["id"] for n in notes[1:]]
    with Server(store) as started:
        added = started.post("/api/v1/note", {"run": run.id, "text": "over HTTP"})
        assert added.status == 200 and started.get(f"/api/v1/runs/{run.id}/notes").json()["notes"][-1]["text"] == "over HTTP"
    # A bundle takes them along, and import brings them back; the numbers are those of the store.
    bundle, there = module_folder / "noted.zip", Store(module_folder / "notes_elsewhere")
    store.text("export", run.id, "--format", "bundle", "--out", bundle)
    there.text("import", bundle)

    def without_numbers(notes):
        return [{key: value for key, value in note.items() if key != "id"} for note in notes]
    kept = reply(run, "notes", run.id)["notes"]
    assert without_numbers(there.json("notes", run.id)["notes"]) == without_numbers(kept) and len(kept) == 3
    again = module_folder / "noted_again.zip"
    there.text("export", run.id, "--format", "bundle", "--out", again)
    assert again.read_bytes() == bundle.read_bytes()
    store.text("rm", run.id)  # they go with it
    assert store.run("notes", run.id).returncode == 2 and reply(other, "notes", other.id)["notes"] == []
