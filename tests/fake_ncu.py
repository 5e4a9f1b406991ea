#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nsight Compute without a GPU, for tests/suites/deep.py. It runs the program, takes the launches that --kernel-id chooses from the file the program plays
(gpu_program play=FILE), counted per function, grid and block as ncu 2025.3 does with --filter-mode per-launch-config, and answers with the pages of a real recording (H200).

FAKE_NCU_PAGES   folder with llama_layer_raw.csv.gz and llama_layer_details.csv.gz
FAKE_NCU_CALLS   file that gets one line of JSON per call
FAKE_NCU         denied: no permission for counters; other: the program launches other kernels than it did; broken_pages: pages cannot be printed;
                 other_order: what was measured takes four times as long as in the recording
"""
import collections
import csv
import gzip
import json
import os
import re
import subprocess
import sys

MAGIC = b"NVR\0"  # as real reports begin
# Options without a value; all others have one.
SWITCHES = {"--nvtx", "--csv", "--force-overwrite"}
DENIED = ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0. "
          "For instructions on enabling permissions and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n")


def page(name):
    """Header and rows, as lists of cells; the row of units is first on the raw page."""
    with gzip.open(os.path.join(os.environ["FAKE_NCU_PAGES"], f"llama_layer_{name}.csv.gz"), "rt") as file:
        rows = list(csv.reader(line for line in file if line.startswith('"')))
    return rows[0], rows[1:]


def print_page(report, name):
    if os.environ.get("FAKE_NCU") == "broken_pages":
        sys.exit("==ERROR== Failed to open the report: wrong version")
    with open(report, "rb") as file:
        wanted = json.loads(file.read().removeprefix(MAGIC))
    header, rows = page(name)
    out = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL, lineterminator="\n")
    out.writerow(header)
    if name == "raw":
        out.writerow(rows[0])
    by_id = collections.defaultdict(list)
    for row in rows:
        by_id[row[0]].append(row)
    if os.environ.get("FAKE_NCU") == "other_order" and name == "raw":
        at = header.index("gpu__time_duration.sum")
        for row in rows[1:]:
            row[at] = str(4 * float(row[at].replace(",", "")))
    for number, kernel in enumerate(wanted):
        for row in by_id[kernel]:
            out.writerow([str(number), *row[1:]])


def function_of(name):
    """As --kernel-name-base function: without namespaces, template arguments and parameters."""
    plain = re.sub(r"\(anonymous namespace\)::|<unnamed>::", "", name.removeprefix("void "))
    return re.split(r"[<(]", plain)[0].rsplit("::", 1)[-1]


def played(command):
    """Launches of the program in order: (name, number, grid, duration in ns)."""
    path = next(word.removeprefix("play=") for word in command if word.startswith("play="))
    counts = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("kernel "):
                _, ns, x, y, z, *block, name = line.rstrip("\n").split(" ", 8)
                grid = f"({x}, {y}, {z})"
                key = (function_of(name), grid, *block)
                counts[key] += 1
                yield name, counts[key], grid, int(ns)


def profile(options, command):
    done = subprocess.run(command, check=False)
    assert options["--filter-mode"] == "per-launch-config" and options["--kernel-name-base"] == "function"
    context, stream, operator, expression, number_expression = options["--kernel-id"].split(":")
    assert (context, stream, operator) == ("", "", "regex")
    functions, numbers = re.compile(expression), re.compile(number_expression)
    header, rows = page("raw")
    known = collections.defaultdict(list)  # by name and grid: duration, ID
    for row in rows[1:]:
        ns = 1000 * float(row[header.index("gpu__time_duration.sum")].replace(",", ""))
        known[row[header.index("Kernel Name")], row[header.index("Grid Size")]].append((ns, row[0]))
    taken, log = [], ["==PROF== Connected to process 7\n"]
    launches = list(played(command))
    if os.environ.get("FAKE_NCU") == "other":
        launches = [("renamed_" + re.sub(r"\W", "", name), *rest) for name, *rest in launches]
    for name, number, grid, launch_ns in launches:
        if functions.search(function_of(name)) and numbers.search(str(number)) and (name, grid) in known:
            taken.append(min((abs(ns - launch_ns), row) for ns, row in known[name, grid])[1])
            log.append(f'==PROF== Profiling "{name[:40]}" - {len(taken) - 1}: 0%....50%....100% - 38 passes\n')
    if os.environ.get("FAKE_NCU") == "denied":
        taken, log = [], [log[0], DENIED]
    log.append("==PROF== Disconnected from process 7\n")
    if done.returncode != 0:
        log.append(f"==ERROR== The application returned an error code ({done.returncode}).\n")
    elif taken:
        with open(options["--export"], "wb") as file:
            file.write(MAGIC + json.dumps(taken).encode())
    elif os.environ.get("FAKE_NCU") != "denied":
        log += ["==WARNING== No kernels were profiled.\n", "Available Kernels:\n"]
        log += [f"{i + 1}. {name}\n" for i, name in enumerate(sorted({name for name, *_ in launches}))]
    with open(options["--log-file"], "w", encoding="utf-8") as file:
        file.writelines(log)
    return 1 if os.environ.get("FAKE_NCU") == "denied" else done.returncode


def main():
    words = sys.argv[1:]
    if words == ["--version"]:
        print("NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 36398880) (public-release)")
        return 0
    options = {}
    while words and words[0].startswith("--"):
        name = words.pop(0)
        value = None if name in SWITCHES else words.pop(0)
        if name != "--section" and name in options:
            sys.exit(f"==ERROR== option '{name}' cannot be specified more than once. Use --help for further details.")
        options[name] = value
    with open(os.environ["FAKE_NCU_CALLS"], "a", encoding="utf-8") as file:
        file.write(json.dumps({"options": options, "command": words}) + "\n")
    if "--import" in options:
        print_page(options["--import"], options["--page"])
        return 0
    return profile(options, words)


if __name__ == "__main__":
    sys.exit(main())
