#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_report.py OUT --page details|raw [--bytes N]: a large Nsight Compute page, made of the real one in data/h200.

Its kernels are repeated under new IDs until the file has N bytes; the last digit of every value with decimals changes from
repetition to repetition, so that no two kernels have the same metrics.
"""
import argparse
import gzip
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
VALUE = re.compile(r'(\.\d*)(\d)(?=",?\n|",")')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--page", choices=("details", "raw"), required=True)
    parser.add_argument("--bytes", type=lambda text: int(float(text)), default=100_000_000)
    options = parser.parse_args()
    with gzip.open(ROOT / f"data/h200/llama_layer_{options.page}.csv.gz", "rt", newline="") as text:
        lines = text.read().splitlines(keepends=True)
    head = 1 if options.page == "details" else 2
    # Everything behind the ID; numbers stand in quotes, so a digit before a quote is the last of one.
    rows = [(int(line.split('"', 2)[1]), line.split('"', 2)[2]) for line in lines[head:]]
    kernels = max(number for number, _ in rows) + 1
    written = 0
    with open(options.out, "w", encoding="utf-8", newline="") as out:
        written += out.write("".join(lines[:head]))
        for again in range(10**9):
            if written >= options.bytes:
                break
            for number, rest in rows:
                # Values stand behind the compute capability.
                launch, capability, values = rest.partition('"9.0",')
                values = VALUE.sub(lambda m: f"{m[1]}{(int(m[2]) + again) % 10}", values)
                written += out.write(f'"{again * kernels + number}"{launch}{capability}{values}')
                if written >= options.bytes:
                    break


if __name__ == "__main__":
    main()
