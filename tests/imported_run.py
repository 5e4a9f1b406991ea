# SPDX-License-Identifier: Apache-2.0
"""A file imported into a store of its own, for suites that hold the run against their own reading of the file."""
import csv
import gzip
import io
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[1]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = os.environ.get("NEUROLENS_SHARED")


class Failure(Exception):
    pass


class Imported:
    def __init__(self, path, folder):
        self.folder = folder
        (self.run,) = json.loads(self.call("import", str(path), "--json"))["runs"]

    def call(self, *arguments):
        done = subprocess.run([BIN, "--store", str(self.folder), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              text=True, timeout=300)
        if done.returncode != 0:
            raise Failure(f"{arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def rows(self, sql):
        return [tuple(r) for r in csv.reader(io.StringIO(self.call("query", self.run["run_id"], sql, "--format", "csv")))][1:]


def expect(what, expected, found):
    expected, found = sorted(map(str, expected)), sorted(map(str, found))
    if expected != found:
        raise Failure(f"{what}: the file has {[e for e in expected if e not in found][:2]}, the run {[f for f in found if f not in expected][:2]}")


def content(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def packed(path):
    """.gz gives the same run as the plain file."""
    with tempfile.TemporaryDirectory(prefix="nl-packed-") as folder:
        gz = pathlib.Path(folder) / "packed"
        gz.write_bytes(gzip.compress(content(path)))
        plain, other = Imported(path, pathlib.Path(folder) / "a"), Imported(gz, pathlib.Path(folder) / "b")
        expect("tables", plain.run["tables"].items(), other.run["tables"].items())


def run_checks(suite, tests):
    """Runs (name, function, argument) and prints the result of each; gives the exit status."""
    wanted, failed = os.environ.get("NEUROLENS_TEST_FILTER", ""), 0
    for name, function, argument in tests:
        if wanted and wanted not in name and wanted not in suite:
            continue
        try:
            function(argument)
            print(f"PASS {name}", flush=True)
        except (Failure, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as failure:
            failed += 1
            print(f"FAIL {name}: {' '.join(str(failure).split())}", flush=True)
    return 1 if failed else 0
