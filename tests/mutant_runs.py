# SPDX-License-Identifier: Apache-2.0
"""Runs the program on mutants (tests/mutate.py, tests/mutate_bundle.py) and says what must never happen. Used by scripts/mutants and by
tests/suites/mutants.py."""
import collections
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import tempfile

import mutate
import mutate_bundle
from mutate import FORMATS

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = os.environ.get("NEUROLENS_BIN") or str(ROOT / "build/release/neurolens")
SHARED = pathlib.Path(os.environ.get("NEUROLENS_SHARED") or ROOT.parent / "shared")
HANG_S = 120
MEMORY_BYTES = 8 << 30  # address space; DuckDB reserves more than it uses
REPORTS = (b"AddressSanitizer", b"runtime error:", b"ThreadSanitizer", b"LeakSanitizer")
BASE = mutate.CASES / "samples/kineto/h200_inference.json"
BUNDLED = [mutate.CASES / "samples" / name for name in ("kineto/h200_training_stacks.json", "nsys/serving_with_graphs.sqlite", "nlcap/decoding.nlcap",
                                                        "xplane/h200_jax_mlp.xplane.pb", "speedscope/two_kinds.speedscope.json")]


def limits():
    if "asan" not in BIN:  # a sanitizer reserves terabytes
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Bench:
    """A store with one good run that every mutant is compared with; a context that removes its folder. Thread rule: `outcome` from any."""

    def __init__(self, seed):
        self.seed, self.counts = seed, collections.Counter()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="neurolens-mutants-"))
        self.base = self.folder / "base"
        self.other = self.call(self.base, "import", BASE)[1]["runs"][0]["run_id"]
        self.seeds = mutate.seeds(SHARED)
        self.bundles = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def tally(self):
        return ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))

    def good_bundles(self):
        """(members, manifest) of a bundle of each of BUNDLED."""
        if self.bundles is None:
            store, out = self.folder / "bundled", []
            for path in BUNDLED:
                run = self.call(store, "import", path)[1]["runs"][0]["run_id"]
                to = self.folder / f"{run}.zip"
                self.call(store, "export", run, "--format", "bundle", "--out", to)
                out.append(mutate_bundle.read(to))
            self.bundles = out
        return self.bundles

    def maker(self):
        """maker(number, format) -> (format, name, bytes or what writes the file, flags); for one thread."""
        tables = mutate_bundle.Tables()

        def make(number, format_name):
            dice = random.Random(f"{self.seed}/{format_name or ''}/{number}")
            if format_name == "bundle":
                members, manifest = dice.choice(self.good_bundles())
                members = tables.bundle(members, dice)
                return "bundle", "mutant.zip", lambda path: mutate_bundle.write(path, members, manifest), []
            name = format_name or FORMATS[number % len(FORMATS)]
            seed = dice.choice(self.seeds[name])
            data = mutate.mutant(seed, dice)
            flags = (["--format", name] if dice.random() < 0.7 else []) + (["--allow-truncated"] if dice.random() < 0.5 else [])
            return name, seed.name, lambda path: path.write_bytes(data), flags
        return make

    def call(self, store, *words):
        """Exit status (None: hang), the JSON reply or None, and standard error."""
        try:
            done = subprocess.run([BIN, *map(str, words), "--store", str(store), "--json"], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                  timeout=HANG_S, preexec_fn=limits, cwd=store.parent)
        except subprocess.TimeoutExpired:
            return None, None, b""
        try:
            reply = json.loads(done.stdout)
        except ValueError:
            reply = None
        return done.returncode, reply, done.stderr + (done.stdout if done.returncode else b"")

    def outcome(self, format_name, name, write, flags, keep=None):
        """None, or what went wrong."""
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            place = pathlib.Path(place)
            store, path = place / "store", place / name
            shutil.copytree(self.base, store)
            write(path)
            problem = self.through(format_name, store, path, flags)
            if problem and keep:
                keep.mkdir(parents=True, exist_ok=True)
                kept = keep / f"{len(list(keep.iterdir()))}_{format_name}_{name}"
                shutil.copy(path, kept)
                problem = f"{problem} [{kept} {' '.join(flags)}]"
            return problem

    def through(self, format_name, store, path, flags):
        status, reply, said = self.call(store, "import", path, *flags)
        problem = self.problem("import", status, said)
        if problem:
            return problem
        if status != 0:
            self.counts["refused"] += 1
            return None
        self.counts["imported"] += 1
        for run in [r["run_id"] for r in reply["runs"]][:1]:
            for words in (["analyze", run], ["report", run, "--out", store.parent / "report"], ["compare", run, "--", self.other]):
                status, _, said = self.call(store, *words)
                problem = self.problem(words[0], status, said)
                if not problem and status and format_name != "bundle":
                    problem = f"{words[0]} of an imported run ended with {status}: {said.decode(errors='replace').strip()[:300]}"
                if problem:
                    return problem
        return None

    def problem(self, what, status, said):
        text = said.decode(errors="replace").strip()[-600:]
        if status is None:
            return f"{what} hangs"
        if status < 0 or status >= 128:
            return f"{what} ended by signal {-status if status < 0 else status - 128}: {text}"
        if status not in (0, 1, 2, 3):
            return f"{what} ended with status {status}: {text}"
        if any(report in said for report in REPORTS):
            return f"{what}: {text}"
        return None
