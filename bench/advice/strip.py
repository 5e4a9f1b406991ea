# SPDX-License-Identifier: Apache-2.0
"""Recordings of torch.profiler as people make them who asked for less: without shapes (record_shapes), without labelled steps (schedule, step())."""
import gzip
import json

PARTS = ("shapes", "steps")


def strip(source, target, without):
    """`without`: some of PARTS."""
    with gzip.open(source) as file:
        trace = json.load(file)
    if "shapes" in without:
        trace.pop("record_shapes", None)
        for event in trace["traceEvents"]:
            for key in [key for key in event.get("args", ()) if key.startswith("Input ") or key == "Concrete Inputs"]:
                del event["args"][key]
    if "steps" in without:
        trace["traceEvents"] = [e for e in trace["traceEvents"] if not str(e.get("name", "")).startswith("ProfilerStep#")]
    with gzip.open(target, "wt", compresslevel=1) as file:
        json.dump(trace, file)
