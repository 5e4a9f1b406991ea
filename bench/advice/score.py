#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted gains against measured ones: imports the recordings of the flawed programs (h200: by torch.profiler, made by pairs.py;
h200_run: by neurolens-capture, made by record.sh) and compares the first finding with the fix that was measured. Needs the release build.

  bench/advice/score.py [--recordings h200_run]    the table and the score
  bench/advice/score.py --recordings h200_run --thin 2,2,7,1500,800    with operators in some steps only (thin.py: first, block, every, ops-first, ops-turn)
  bench/advice/score.py --without shapes,steps     recordings of torch.profiler without what not everybody records (strip.py)
  bench/advice/score.py --json                     the same as JSON

A gain is right within 25 % of the measured one or 2 % of the step. A fix is right when the first finding is one of the rules that
propose it. Programs without a flaw are right when no finding promises more than 10 % of the step; a fix that was measured to gain nothing, when
none is promised for it.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tarfile
import tempfile

import pairs
import strip
import thin

HERE = pathlib.Path(__file__).resolve().parent
BIN = os.environ.get("NEUROLENS_BIN") or str(HERE.parents[1] / "build/release/neurolens")
RULES = {  # fix of pairs.py: rules whose first suggestion is that fix
    "graphs": {"graph_candidate", "host_bound_launch"},
    "sync": {"sync_in_loop", "small_copies_wait", "pageable_transfer"},
    "pinned": {"pageable_transfer", "memcpy_dominates", "no_overlap"},
    "hoist": {"pageable_transfer", "memcpy_dominates", "host_code", "operator_on_cpu"},
    "sample": {"host_code", "sync_in_loop", "small_copies_wait", "pageable_transfer"},
    "pack": {"copies_one_by_one"},
    "cpu_op": {"operator_on_cpu"},
    "checkpoint": {"host_code", "pageable_transfer"},
    "bf16": {"tensor_core_unused", "fp32_in_mixed"},
    "cast": {"casts_in_each_step"},
    "fp32": {"wide_type"},
    "tf32": {"tensor_core_unused", "fp32_in_mixed"},
    "sdpa": {"attention_unfused"},
    "channels_last": {"convolution_layout"},
    "host": {"host_code"},
    "workers": {"data_loader_waits"},
    "allocator": {"alloc_churn"},
    "batch": {"rows_one_by_one", "loop_over_rows"},
    "fuse": {"unfused_elementwise"},
    "optimizer": {"optimizer_one_by_one", "loop_over_tensors"},
    "concat": {"layout_copies"},
    "layout": {"layout_copies"},
    "streams": {"serial_streams", "sync_in_loop"},
    "fill": {"hot_kernel"},
    "pad": {"hot_kernel"},
}
WITHIN, WITHIN_STEP, CLEAN = 0.25, 0.02, 0.10


def call(store, *words):
    done = subprocess.run([BIN, *map(str, words), "--store", str(store), "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def judged(store, measured, trace, labelled):
    """What the program says of one pair, and whether it is right."""
    run = call(store, "import", trace)["runs"][0]["run_id"]
    reply = call(store, "findings", run)
    first = reply["findings"][0] if reply["findings"] else None
    step_ms, gain_ms = statistics.median(measured["flawed_ms"]), measured["gain_ms"]
    predicted = first["gain_ms"]["expected"] if first and first["gain_ms"] else None
    if predicted is not None and not labelled and reply["step"]:
        # Where no step is labelled, the program finds the shortest part that repeats: one layer of several equal ones.
        predicted *= max(1, round(step_ms / reply["step"]["ms"]))
    out = {"name": measured["name"], "fix": measured["fix"], "step_ms": step_ms, "gain_ms": gain_ms,
           "predicted_step_ms": reply["step"]["ms"] if reply["step"] else None, "predicted_ms": predicted, "first": first["rule"] if first else None,
           "others": [(f["rule"], f["gain_ms"] and f["gain_ms"]["expected"]) for f in reply["findings"][1:4]]}
    if measured["fix"] == "none":
        out["fix_right"] = out["gain_right"] = not any(f["gain_share"] and f["gain_share"] > CLEAN for f in reply["findings"])
        return out
    if gain_ms < WITHIN_STEP * step_ms:
        # The fix gains nothing here, because something else hides the time: nobody may promise that it does.
        promised = [f["gain_ms"]["expected"] for f in reply["findings"] if f["rule"] in RULES[measured["fix"]] and f["gain_ms"]]
        out["gain_right"] = all(ms <= gain_ms + WITHIN_STEP * step_ms for ms in promised)
        out["fix_right"] = out["first"] not in RULES[measured["fix"]]
        return out
    out["fix_right"] = out["first"] in RULES[measured["fix"]]
    out["gain_right"] = predicted is not None and abs(predicted - gain_ms) <= max(WITHIN * abs(gain_ms), WITHIN_STEP * step_ms)
    return out


def score(recordings="h200", thinned=None, names=None, without=()):
    """`thinned`: the options of thin.py; None: recordings as they are. `names`: of the pairs; None: all. `without`: parts of strip.py."""
    rows, folder = [], HERE / recordings
    with tempfile.TemporaryDirectory(prefix="neurolens-advice-") as store:
        for line in (folder / "measured.jsonl").read_text().splitlines():
            measured = json.loads(line)
            if names is not None and measured["name"] not in names:
                continue
            trace, packed = folder / f"{measured['name']}.json.gz", folder / f"{measured['name']}.nlcap.tar.xz"
            if packed.exists():
                with tarfile.open(packed) as archive:
                    archive.extractall(store)
                trace = pathlib.Path(store) / f"{measured['name']}.nlcap"
                if thinned is not None:
                    thin.thin(trace, pathlib.Path(store) / f"{measured['name']}.thin.nlcap", thinned)
                    trace = trace.with_name(f"{measured['name']}.thin.nlcap")
            if trace.exists() and without:
                strip.strip(trace, pathlib.Path(store) / trace.name, without)
                trace = pathlib.Path(store) / trace.name
            if trace.exists():
                rows.append(judged(store, measured, trace, pairs.RECORDED[measured["name"]]["labelled"] and "steps" not in without))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--recordings", default="h200", choices=["h200", "h200_run", "h200_observed", "h200_later", "h200_later_run", "h200_unseen", "h200_unseen_run", "h200_varied", "h200_varied_run"])
    parser.add_argument("--thin", type=lambda text: thin.Options(*map(int, text.split(","))))
    parser.add_argument("--without", default=[], type=lambda text: text.split(","), help=" and ".join(strip.PARTS))
    parser.add_argument("--names", help="of the pairs, with commas between them", type=lambda text: text.split(","))
    arguments = parser.parse_args()
    rows = score(arguments.recordings, arguments.thin, arguments.names, arguments.without)
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    shown = {True: "yes", False: "no"}
    for r in rows:
        ms = {key: "-" if r[key] is None else f"{r[key]:.3f}" for key in ("step_ms", "predicted_step_ms", "gain_ms", "predicted_ms")}
        print(f"{r['name']:26} step {ms['step_ms']:>7} ({ms['predicted_step_ms']:>7})  gain {ms['gain_ms']:>7} ({ms['predicted_ms']:>7})  "
              f"gain {shown[r['gain_right']]:3} fix {shown[r['fix_right']]:3} {r['first']}  {r['others']}")
    count = len(rows)
    print(f"gain within {WITHIN:.0%} or {WITHIN_STEP:.0%} of the step: {sum(r['gain_right'] for r in rows)} of {count}; "
          f"right fix first: {sum(r['fix_right'] for r in rows)} of {count}")


if __name__ == "__main__":
    main()
