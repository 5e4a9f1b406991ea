# SPDX-License-Identifier: Apache-2.0
"""Folders of ranks of any format become one run, and what collectives waited is told apart from what they moved."""
import gzip
import json
import pathlib
import random

import pytest

from neurolens_cli import Store, equal, load, narrow, near, real

pytestmark = pytest.mark.xdist_group("ranks")
KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def kineto(rank, world, kernels):
    """A trace of collectives: (start us, dur us, sequence)."""
    events = [{"ph": "X", "cat": "kernel", "name": KERNEL, "pid": 0, "tid": 20, "ts": start, "dur": dur,
               "args": {"device": 0, "stream": 20, "correlation": i, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                        "Out msg nelems": 1000, "Group size": world, "Process Group Name": "0", "Process Group Description": "default_pg",
                        "Process Group Ranks": str(list(range(world))), "Seq": sequence}} for i, (start, dur, sequence) in enumerate(kernels)]
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, "traceEvents": events}


@pytest.fixture(scope="module")
def planted(module_folder):
    """Four ranks; rank 2 is late by 2 ms every time, and the clocks of 1 and 3 are far off: (run, plan, offsets)."""
    offsets_us, chance = [0, 250_000, 0, -31_000], random.Random(5)
    plan, lists = [], [[], [], [], []]
    for i in range(60):
        at = 1_000_000 + 10_000 * i
        arrive = [at + chance.randrange(0, 300) + (2000 if rank == 2 else 0) for rank in range(4)]
        transfer = chance.randrange(40, 120)
        plan.append((arrive, transfer))
        for rank in range(4):
            lists[rank].append((arrive[rank] + offsets_us[rank], max(arrive) + transfer - arrive[rank], i))
    folder = module_folder / "planted"
    folder.mkdir()
    for rank in range(4):
        (folder / f"worker{rank}.json").write_text(json.dumps(kineto(rank, 4, lists[rank])))
    return Store(module_folder / "store").add(folder), plan, offsets_us


def test_planted_lateness_and_clock_offsets_are_found(planted):
    run, plan, offsets_us = planted
    equal("where the ranks come from", "content", run.reply["ranks_from"])
    reply = run.ask("ranks", "--limit", 0)
    equal("members", [0, 1, 2, 3], [m["rank"] for m in reply["members"]])
    equal("collectives", 60, reply["collectives_total"])
    equal("clocks corrected", True, reply["clocks_corrected"])
    equal("impossible", 0, reply["impossible"])
    for member in reply["members"]:
        planted = offsets_us[member["rank"]] / 1e3
        near(f"offset of rank {member['rank']}", member["clock_offset_ms"], planted, within=member["clock_bound_ms"] + 1e-9 if member["rank"] else 0)
        assert member["clock_offset_low_ms"] - 1e-9 <= planted <= member["clock_offset_high_ms"] + 1e-9, (
            f"rank {member['rank']}: {planted} is outside of its bounds")
        equal(f"correction of rank {member['rank']}", planted != 0, member["clock_applied"])
        # Rank 2 keeps everyone for 2 ms, which is what bounds a clock here.
        assert member["clock_bound_ms"] <= 2.5, f"the bound of {member['clock_bound_ms']} ms is of no use"
    for got in reply["collectives"]:
        arrive, transfer = plan[got["sequence"]]
        near("skew", got["skew_ms"], (max(arrive) - min(arrive)) / 1e3)
        near("transfer", got["transfer_ms"], transfer / 1e3)
        equal("last", arrive.index(max(arrive)), got["last"])
    waited = [sum(max(a) - a[rank] for a, _ in plan) / 1e3 for rank in range(4)]
    held = sum(max(a) - sorted(a)[-2] for a, _ in plan) / 1e3
    for member in reply["members"]:
        near(f"waiting of rank {member['rank']}", member["waited_ms"], waited[member["rank"]])
    near("what rank 2 held up", reply["members"][2]["held_up_ms"], held)
    near("waiting of all", reply["waited_ms"], sum(waited))
    (group,) = reply["groups"]
    equal("matched by", "sequence", group["matched_by"])
    near("transfer of the group", group["transfer_ms"], sum(t for _, t in plan) / 1e3)
    found = [f for f in run.ask("findings")["findings"] if f["rule"] == "straggler_rank"]
    equal("straggler findings", 1, len(found))
    assert "rank 2" in found[0]["message"], f"the straggler is rank 2, not: {found[0]['message']}"


def test_a_collective_has_its_peers_on_the_other_ranks(planted):
    run = planted[0]
    seventh = run.ask("ranks", "--limit", 0)["collectives"][7]
    rows = [arrival["row"] for arrival in seventh["arrivals"]]
    event = run.ask("timeline-event", "kernel", rows[1], "--analysis")
    peers = [link for link in event["chain"] if link["role"] == "peer"]
    equal("peers", [("kernel", rows[0]), ("kernel", rows[2]), ("kernel", rows[3])], [(p["table"], p["id"]) for p in peers])
    equal("lanes of four ranks", 4, len({link["lane"] for link in [*peers, event["chain"][0]]}))
    assert not [link for link in run.ask("timeline-event", "kernel", rows[1])["chain"] if link["role"] == "peer"], "peers need the analysis"


def test_ranks_that_arrive_together_have_no_straggler_and_no_correction(store, tmp_path):
    folder = tmp_path / "even"
    folder.mkdir()
    for rank in range(2):
        (folder / f"r{rank}.json").write_text(json.dumps(kineto(rank, 2, [(1000 * i + rank, 500 - rank, i) for i in range(20)])))
    run = store.add(folder)
    reply = run.ask("ranks")
    equal("clocks corrected", False, reply["clocks_corrected"])
    near("skew of the group", reply["groups"][0]["skew_ms"], 0.02)
    assert not ([f for f in run.ask("findings")["findings"] if f["rule"] == "straggler_rank"]), "a straggler in a run without one"


def chrome(shift):
    return json.dumps([{"ph": "X", "name": "work", "cat": "c", "pid": 1, "tid": 1, "ts": 10 + shift, "dur": 5}])


def test_ranks_of_a_format_without_ranks_come_from_file_names(store, tmp_path):
    folder = tmp_path / "names"
    folder.mkdir()
    for rank in (0, 1):
        (folder / f"trace_rank{rank}.json").write_text(chrome(rank))
    run = store.add(folder)
    equal("where the ranks come from", "file names", run.reply["ranks_from"])
    equal("ranks", [(0, "trace_rank0.json"), (1, "trace_rank1.json")], [(r["rank"], r["file"]) for r in run.reply["ranks"]])
    rows = run.values("SELECT rank FROM process ORDER BY id")
    equal("ranks of the processes", [0, 1], [r[0] for r in rows])
    notes = run.ask("show")["document"].get("notes", [])
    assert any("file names" in note for note in notes), f"the run does not say where its ranks come from: {notes}"
    equal("runs with --apart", 2, len(Store(tmp_path / "apart").imports(folder, "--apart")))
    equal("not assessed", 0, run.ask("ranks")["collectives_total"])


def test_a_rank_may_be_a_set_of_files(store, tmp_path):
    """CSV files of rocprofv3, named by their process."""
    folder = tmp_path / "sets"
    for rank, pid in ((0, 908), (1, 1207)):
        (folder / f"rank_{rank}").mkdir(parents=True)
        place = folder / f"rank_{rank}" / f"{pid}_"
        pathlib.Path(f"{place}kernel_trace.csv").write_text(
            '"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
            f'"KERNEL_DISPATCH","Agent 4",1,7,1,10,"add",1,{1000 + rank},{1500 + rank}\n')
        pathlib.Path(f"{place}hip_api_trace.csv").write_text(
            '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
            f'"HIP_RUNTIME_API","hipLaunchKernel",{pid},7,1,{900 + rank},{950 + rank}\n')
    run = store.add(folder)
    equal("ranks", [0, 1], [r["rank"] for r in run.reply["ranks"]])
    equal("files", 4, len(run.reply["files"]))
    rows = run.values("SELECT p.rank, k.start_ns, a.start_ns FROM kernel k JOIN thread t ON t.id = k.thread_id "
                "JOIN process p ON p.id = t.process_id JOIN api_call a ON a.id = k.api_call_id ORDER BY 1")
    equal("kernels with their calls, by rank", [[0, 1000, 900], [1, 1001, 901]], rows)
    equal("runs with --apart", 2, len(Store(tmp_path / "apart").imports(folder, "--apart")))


def test_two_formats_in_one_folder_are_two_runs(store, tmp_path):
    folder = tmp_path / "formats"
    folder.mkdir()
    for rank in (0, 1):
        (folder / f"rank{rank}.json").write_text(chrome(rank))
        (folder / f"rank{rank}.pt.trace.json").write_text(json.dumps(kineto(rank, 2, [(10, 5, 0)])))
    runs = store.imports(folder)
    equal("runs of two formats", [("chrome", 2), ("kineto", 2)], sorted((r["adapter"], len(r["files"])) for r in runs))


def test_repetitions_in_one_folder_are_runs_of_their_own(store, tmp_path):
    folder = tmp_path / "repetitions"
    folder.mkdir()
    for i in (0, 1):
        (folder / f"run_{i}.json").write_text(chrome(i))
    equal("runs of repetitions", 2, len(store.imports(folder)))


def test_a_real_nccl_trace_beside_itself_on_another_clock(store, tmp_path):
    """The only rank that was published, and itself on a clock 7 ms ahead, 2 us late in every collective."""
    source = real("public", "kineto", "hta_nccl.json.gz")
    trace = load(source)
    folder = tmp_path / "real"
    folder.mkdir()
    (folder / "rank0.json.gz").write_bytes(source.read_bytes())
    trace["distributedInfo"]["rank"] = 1
    kernels, shortest = 0, 1e18
    for event in trace["traceEvents"]:
        if isinstance(event.get("ts"), (int, float)):
            event["ts"] = round(event["ts"] + 7000, 3)
        if event.get("cat") == "kernel" and "nccl" in event["name"]:
            kernels += 1
            event["ts"] = round(event["ts"] + 2, 3)
            event["dur"] = round(event["dur"] - 2, 3)
            if "Broadcast" not in event["name"]:  # who sends one may leave before the last arrives: it bounds nothing
                shortest = min(shortest, event["dur"])
    with gzip.open(folder / "rank1.json.gz", "wt", compresslevel=1) as to:
        json.dump(trace, to)
    run = store.add(folder)
    equal("files", 2, len(run.reply["files"]))
    reply = run.ask("ranks", "--limit", 0)
    equal("collectives", kernels, reply["collectives_total"])
    equal("matched by", ["order"], [g["matched_by"] for g in reply["groups"]])
    member = reply["members"][1]
    near("offset", member["clock_offset_ms"], 7, within=member["clock_bound_ms"])
    near("offset from the ends", member["clock_offset_ms"], 7, within=1e-5)
    near("bound", member["clock_bound_ms"], (shortest + 2) / 1e3, within=1e-5)
    equal("correction", shortest < 7000, member["clock_applied"])
    equal("last", kernels, member["last"])
    near("lateness", member["mean_late_ms"], 0.002, within=1e-5)


def test_the_text_fits_80_columns_and_names_the_late_rank(planted):
    run, _, _ = planted
    text = run.store.text("ranks", run.id, "--limit", 3)
    narrow(text)
    for part in ("waiting for the last to arrive", "rank 2 arrived last", "times stored in the run are not", "CLOCK OFFSET", "LARGEST SKEW"):
        assert part in text, f"{part!r} is missing in:\n{text}"
