#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of ranks of any format become one run; what collectives waited and moved is told apart.

planted.*  kineto ranks with planted lateness and clock offsets: every number against the plan
names.*    formats that know no ranks: told by file names; two formats in one folder are two runs
real.*     a real NCCL trace (NEUROLENS_SHARED) beside itself on a clock that is 7 ms off
text.*     the command's text at 80 columns
"""
import gzip
import json
import os
import pathlib
import random
import subprocess
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = os.environ.get("NEUROLENS_SHARED")
KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


class Wrong(Exception):
    pass


def call(store, *words, json_reply=True):
    done = subprocess.run([BIN, "--store", str(store), *(["--json"] if json_reply else []), *map(str, words)], capture_output=True, text=True,
                          check=False, timeout=300)
    if done.returncode != 0:
        raise Wrong(f"{words[0]} ends with {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout) if json_reply else done.stdout


def near(what, got, wanted, within=1e-6):
    if got is None or abs(got - wanted) > within:
        raise Wrong(f"{what}: {got} instead of {wanted}")


def equal(what, got, wanted):
    if got != wanted:
        raise Wrong(f"{what}: {got!r} instead of {wanted!r}")


def kineto(rank, world, kernels):
    """A trace of collectives: (start us, dur us, sequence)."""
    events = [{"ph": "X", "cat": "kernel", "name": KERNEL, "pid": 0, "tid": 20, "ts": start, "dur": dur,
               "args": {"device": 0, "stream": 20, "correlation": i, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                        "Out msg nelems": 1000, "Group size": world, "Process Group Name": "0", "Process Group Description": "default_pg",
                        "Process Group Ranks": str(list(range(world))), "Seq": sequence}} for i, (start, dur, sequence) in enumerate(kernels)]
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, "traceEvents": events}


def check_planted(work):
    """Four ranks; rank 2 is late by 2 ms every time, and the clocks of 1 and 3 are far off."""
    offsets_us, chance = [0, 250_000, 0, -31_000], random.Random(5)
    plan, lists = [], [[], [], [], []]
    for i in range(60):
        at = 1_000_000 + 10_000 * i
        arrive = [at + chance.randrange(0, 300) + (2000 if rank == 2 else 0) for rank in range(4)]
        transfer = chance.randrange(40, 120)
        plan.append((arrive, transfer))
        for rank in range(4):
            lists[rank].append((arrive[rank] + offsets_us[rank], max(arrive) + transfer - arrive[rank], i))
    folder = work / "planted"
    folder.mkdir()
    for rank in range(4):
        (folder / f"worker{rank}.json").write_text(json.dumps(kineto(rank, 4, lists[rank])))
    store = work / "store"
    runs = call(store, "import", folder)["runs"]
    equal("runs of the folder", len(runs), 1)
    equal("where the ranks come from", runs[0]["ranks_from"], "content")
    reply = call(store, "ranks", runs[0]["run_id"], "--limit", 0)
    equal("members", [m["rank"] for m in reply["members"]], [0, 1, 2, 3])
    equal("collectives", reply["collectives_total"], 60)
    equal("clocks corrected", reply["clocks_corrected"], True)
    equal("impossible", reply["impossible"], 0)
    for member in reply["members"]:
        planted = offsets_us[member["rank"]] / 1e3
        near(f"offset of rank {member['rank']}", member["clock_offset_ms"], planted, within=member["clock_bound_ms"] + 1e-9 if member["rank"] else 0)
        if not member["clock_offset_low_ms"] - 1e-9 <= planted <= member["clock_offset_high_ms"] + 1e-9:
            raise Wrong(f"rank {member['rank']}: {planted} is outside of its bounds")
        equal(f"correction of rank {member['rank']}", member["clock_applied"], planted != 0)
        # Rank 2 keeps everyone for 2 ms, which is what bounds a clock here.
        if member["clock_bound_ms"] > 2.5:
            raise Wrong(f"the bound of {member['clock_bound_ms']} ms is of no use")
    for got in reply["collectives"]:
        arrive, transfer = plan[got["sequence"]]
        near("skew", got["skew_ms"], (max(arrive) - min(arrive)) / 1e3)
        near("transfer", got["transfer_ms"], transfer / 1e3)
        equal("last", got["last"], arrive.index(max(arrive)))
    waited = [sum(max(a) - a[rank] for a, _ in plan) / 1e3 for rank in range(4)]
    held = sum(max(a) - sorted(a)[-2] for a, _ in plan) / 1e3
    for member in reply["members"]:
        near(f"waiting of rank {member['rank']}", member["waited_ms"], waited[member["rank"]])
    near("what rank 2 held up", reply["members"][2]["held_up_ms"], held)
    near("waiting of all", reply["waited_ms"], sum(waited))
    (group,) = reply["groups"]
    equal("matched by", group["matched_by"], "sequence")
    near("transfer of the group", group["transfer_ms"], sum(t for _, t in plan) / 1e3)
    found = [f for f in call(store, "findings", runs[0]["run_id"])["findings"] if f["rule"] == "straggler_rank"]
    equal("straggler findings", len(found), 1)
    if "rank 2" not in found[0]["message"]:
        raise Wrong(f"the straggler is rank 2, not: {found[0]['message']}")
    return store, runs[0]["run_id"]


def check_even(work):
    """Ranks that arrive together: no straggler, nothing corrected."""
    folder = work / "even"
    folder.mkdir()
    for rank in range(2):
        (folder / f"r{rank}.json").write_text(json.dumps(kineto(rank, 2, [(1000 * i + rank, 500 - rank, i) for i in range(20)])))
    store = work / "store"
    run = call(store, "import", folder)["runs"][0]["run_id"]
    reply = call(store, "ranks", run)
    equal("clocks corrected", reply["clocks_corrected"], False)
    near("skew of the group", reply["groups"][0]["skew_ms"], 0.02)
    if [f for f in call(store, "findings", run)["findings"] if f["rule"] == "straggler_rank"]:
        raise Wrong("a straggler in a run without one")


def chrome(shift):
    return json.dumps([{"ph": "X", "name": "work", "cat": "c", "pid": 1, "tid": 1, "ts": 10 + shift, "dur": 5}])


def check_names(work):
    store = work / "names_store"
    folder = work / "names"
    folder.mkdir()
    for rank in (0, 1):
        (folder / f"trace_rank{rank}.json").write_text(chrome(rank))
    (run,) = call(store, "import", folder)["runs"]
    equal("where the ranks come from", run["ranks_from"], "file names")
    equal("ranks", [(r["rank"], r["file"]) for r in run["ranks"]], [(0, "trace_rank0.json"), (1, "trace_rank1.json")])
    rows = call(store, "query", run["run_id"], "SELECT rank FROM process ORDER BY id")["rows"]
    equal("ranks of the processes", [r[0] for r in rows], [0, 1])
    notes = call(store, "show", run["run_id"])["document"].get("notes", [])
    if not any("file names" in note for note in notes):
        raise Wrong(f"the run does not say where its ranks come from: {notes}")
    equal("runs with --apart", len(call(work / "apart_store", "import", folder, "--apart")["runs"]), 2)
    equal("not assessed", call(store, "ranks", run["run_id"])["collectives_total"], 0)


def check_sets(work):
    """Each rank is a set of CSV files of rocprofv3, named by its process."""
    folder, store = work / "sets", work / "sets_store"
    for rank, pid in ((0, 908), (1, 1207)):
        (folder / f"rank_{rank}").mkdir(parents=True)
        place = folder / f"rank_{rank}" / f"{pid}_"
        pathlib.Path(f"{place}kernel_trace.csv").write_text(
            '"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
            f'"KERNEL_DISPATCH","Agent 4",1,7,1,10,"add",1,{1000 + rank},{1500 + rank}\n')
        pathlib.Path(f"{place}hip_api_trace.csv").write_text(
            '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
            f'"HIP_RUNTIME_API","hipLaunchKernel",{pid},7,1,{900 + rank},{950 + rank}\n')
    (run,) = call(store, "import", folder)["runs"]
    equal("ranks", [r["rank"] for r in run["ranks"]], [0, 1])
    equal("files", len(run["files"]), 4)
    rows = call(store, "query", run["run_id"], "SELECT p.rank, k.start_ns, a.start_ns FROM kernel k JOIN thread t ON t.id = k.thread_id "
                "JOIN process p ON p.id = t.process_id JOIN api_call a ON a.id = k.api_call_id ORDER BY 1")["rows"]
    equal("kernels with their calls, by rank", rows, [[0, 1000, 900], [1, 1001, 901]])
    equal("runs with --apart", len(call(work / "sets_apart", "import", folder, "--apart")["runs"]), 2)


def check_two_formats(work):
    store = work / "formats_store"
    folder = work / "formats"
    folder.mkdir()
    for rank in (0, 1):
        (folder / f"rank{rank}.json").write_text(chrome(rank))
        (folder / f"rank{rank}.pt.trace.json").write_text(json.dumps(kineto(rank, 2, [(10, 5, 0)])))
    runs = call(store, "import", folder)["runs"]
    equal("runs of two formats", sorted((r["adapter"], len(r["files"])) for r in runs), [("chrome", 2), ("kineto", 2)])


def check_repetitions(work):
    folder = work / "repetitions"
    folder.mkdir()
    for i in (0, 1):
        (folder / f"run_{i}.json").write_text(chrome(i))
    equal("runs of repetitions", len(call(work / "rep_store", "import", folder)["runs"]), 2)


def check_real(work):
    """The only rank that was published, and itself on a clock 7 ms ahead, 2 us late in every collective."""
    source = pathlib.Path(SHARED) / "data/public/kineto/hta_nccl.json.gz"
    trace = json.load(gzip.open(source))
    folder = work / "real"
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
    store = work / "real_store"
    (run,) = call(store, "import", folder)["runs"]
    equal("files", len(run["files"]), 2)
    reply = call(store, "ranks", run["run_id"], "--limit", 0)
    equal("collectives", reply["collectives_total"], kernels)
    equal("matched by", [g["matched_by"] for g in reply["groups"]], ["order"])
    member = reply["members"][1]
    near("offset", member["clock_offset_ms"], 7, within=member["clock_bound_ms"])
    near("offset from the ends", member["clock_offset_ms"], 7, within=1e-5)
    near("bound", member["clock_bound_ms"], (shortest + 2) / 1e3, within=1e-5)
    equal("correction", member["clock_applied"], shortest < 7000)
    equal("last", member["last"], kernels)
    near("lateness", member["mean_late_ms"], 0.002, within=1e-5)


def check_text(store, run):
    text = call(store, "ranks", run, "--limit", 3, json_reply=False)
    wide = [line for line in text.splitlines() if len(line) > 80]
    if wide:
        raise Wrong(f"wider than 80 columns: {wide[0]!r}")
    for part in ("waiting for the last to arrive", "rank 2 came last", "times stored in the run are not", "CLOCK OFFSET", "LARGEST SKEW"):
        if part not in text:
            raise Wrong(f"{part!r} is missing in:\n{text}")


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        planted = []
        checks = {"planted.lateness_and_offsets": lambda: planted.extend(check_planted(work)), "planted.even_ranks": lambda: check_even(work),
                  "names.ranks_of_any_format": lambda: check_names(work), "names.sets_of_files": lambda: check_sets(work), "names.two_formats": lambda: check_two_formats(work),
                  "names.repetitions": lambda: check_repetitions(work), "text.eighty_columns": lambda: check_text(*planted)}
        if SHARED and (pathlib.Path(SHARED) / "data/public/kineto/hta_nccl.json.gz").exists():
            checks["real.nccl_trace"] = lambda: check_real(work)
        else:
            print("SKIP real.nccl_trace: no extra real traces (NEUROLENS_SHARED)")
        for title, check in checks.items():
            try:
                check()
                print(f"PASS {title}")
            except (Wrong, KeyError, TypeError, ValueError, subprocess.TimeoutExpired) as error:
                print(f"FAIL {title}: {type(error).__name__} {error}")


main()
