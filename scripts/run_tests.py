#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds, runs every kind of test and closes with "N passed, N failed, N skipped". Started by ./test, after the set-up.

  unit    GoogleTest programs of the release build: with --quick or a name all tests, else those that asan leaves out
  suite   pytest modules, tests/suites/*.py, on the release build
  check   scripts/check, one case per check
  asan    the unit programs under AddressSanitizer and UBSan (in the fuzzers' build)
  tsan    those unit tests with Thread or Parallel in their names under ThreadSanitizer, and programs that are recorded
  fuzz    every libFuzzer target for a few seconds on top of its corpus

What a test sees: NEUROLENS_BIN (the program), NEUROLENS_SHARED (the folder of extra real traces, when there is
one), NEUROLENS_ROOT, NEUROLENS_TEST_FILTER, and NEUROLENS_UPDATE=1 under --update; a home of its own for
configuration and store.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test-logs"
LIMIT_S = 3600  # for one program; a hang must fail rather than eat the CI's time
UNIT_LIMIT_S = 1200  # for a part of a unit program; the longest took 185 s under AddressSanitizer. Tests of suites have limits of their own
CORES = os.cpu_count() or 1
THREADED = "*Thread*:*Parallel*"
# They count right answers over more than a hundred pairs each, or run every pass on further samples: too slow there, so the release build runs them.
ASAN_LEAVES_OUT = {
    "analyze_test": ["CompareTruth.ThePlantedCauseComesFirst", "CompareTruth.WithoutNoiseTheSizeIsRight", "CompareTruth.RepeatsOfTheSameProgramAreNotAChange",
                     "CompareTruth.OfTwoCausesBothAreAmongTheFirstThree", "Sequential.LookingAgainAndAgainKeepsFalseVerdictsBelowOnePercent",
                     "TestSignificance.RarelySeesAChangeWhereThereIsNone", "ChangePoints.RarelyFindsOneInCorrelatedNoise", "Samples/PassReads.*/1?"],
    "timeline_test": ["Profiles/TileOfPublicProfile.*"],
}
TSAN_PROGRAMS = ("base_test", "capture_test", "model_test", "ledger_test", "import_test")  # what preset tsan builds
# Imports, explains and compares each input, one or two a second: a test run replays its corpus, scripts/fuzz looks for more.
REPLAYED_FUZZ = ("analysis_fuzz",)
# Programs that are recorded by the capture library under ThreadSanitizer, on the CUPTI of tests/capture.
TSAN_RECORDED = {
    "recording is switched while threads launch": "launch=1 recording_off leave=1 recording_on racing_threads=4 sleep=100 recording_off sleep=400 "
                                                  "recording_on bursts=1 recording_off sleep=300",
    "threads, forks, graphs and a context that ends": "threads=8 launch=200 stream_sync=7 sync copy=5 graph=2 malloc=2 fork_work destroy bursts=1",
    "threads at the end": "busy_threads=2 racing_threads=2 sleep=200 exit=0",
}
RUNTIME = {  # what the sanitizers read; the rest is their defaults
    # The leak check of clang 14 takes static TLS that happens to lie 16 bytes into a page for a block of glibc 2.19 and
    # reads a wild range: one run in a hundred ends with status 1 after all of its tests passed.
    "ASAN_OPTIONS": "strict_string_checks=1:intercept_tls_get_addr=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "LSAN_OPTIONS": f"suppressions={ROOT}/scripts/lsan.supp:print_suppressions=0",
    "TSAN_OPTIONS": f"suppressions={ROOT}/scripts/tsan.supp:halt_on_error=0:exitcode=66:die_after_fork=0",
}


class Tally:
    """Every outcome so far; prints one line per group, and what failed as soon as it did. Thread rule: any thread."""

    def __init__(self, out=sys.stdout):
        self.out = out
        self.lock = threading.Lock()
        self.passed = 0
        self.failed = []
        self.skipped = []  # (name, reason)
        self.outcomes = {}  # name: "passed", "failed" or "skipped"

    def group(self, name, passed, failed, skipped, seconds, detail=""):
        """`passed` and `failed`: names, the latter with why behind a colon; `skipped`: (name, reason)."""
        with self.lock:
            self.passed += len(passed)
            self.failed += [f"{name} {case}" for case in failed]
            self.skipped += [(f"{name} {case}", reason) for case, reason in skipped]
            self.outcomes.update({f"{name} {case}": "passed" for case in passed})
            self.outcomes.update({f"{name} {case.split(': ')[0]}": "failed" for case in failed})
            self.outcomes.update({f"{name} {case}": "skipped" for case, _ in skipped})
            counts = f"{len(passed)} ok"
            if failed:
                counts += f", {len(failed)} FAILED"
            if skipped:
                counts += f", {len(skipped)} skipped"
            print(f"{name:<34} {counts}  ({seconds:.1f} s)", file=self.out)
            for case in failed:
                print(f"  FAILED {case}", file=self.out)
            if failed and detail:
                print("".join(f"    {line}\n" for line in detail.splitlines()[-60:]), end="", file=self.out)
            self.out.flush()

    def close(self, wanted):
        if self.skipped:
            print("\nskipped:")
            for name, reason in self.skipped:
                print(f"  {name}: {reason}")
        if self.failed:
            print("\nfailed:")
            for name in self.failed:
                print(f"  {name}")
        nothing = not (self.passed or self.failed)
        if nothing:
            print(f"no test ran{f': none matches {wanted}' if wanted else ''}")
        print(f"\n{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped", flush=True)
        return 1 if self.failed or nothing else 0


def pytest_python():
    """A Python with pytest and pytest-xdist: the one on PATH may be another than Debian's."""
    for python in ("python3", "/usr/bin/python3"):
        found = shutil.which(python)
        if found and subprocess.run([found, "-c", "import pytest, xdist"], capture_output=True, check=False).returncode == 0:
            return found
    return None


def seconds_since(started):
    return time.monotonic() - started


def run(command, env, log_name, limit_s=LIMIT_S):
    """Output (both streams together, also kept under build/test-logs) and status; None when it ran out of time."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{log_name}.log"
    with open(log, "wb") as sink:
        try:
            status = subprocess.run(
                command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
                timeout=limit_s, check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
    return log.read_text(errors="replace"), status


def ending(status):
    if status is None:
        return "still running when its time was over"
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


def built(preset, folder):
    """Names of the programs that ninja makes in `folder` (leftovers of removed targets are not among them)."""
    build_dir = ROOT / "build" / preset
    listing = subprocess.run(["ninja", "-C", str(build_dir), "-t", "targets", "all"], capture_output=True, text=True, check=False)
    return sorted(set(re.findall(rf"^{folder}/([^/:]+): .*EXECUTABLE_LINKER", listing.stdout, re.M)))


def build(preset, targets, tally):
    started = time.monotonic()
    result = subprocess.run([str(ROOT / "scripts" / "build"), preset, *targets], stdin=subprocess.DEVNULL, check=False)
    if result.returncode != 0:
        tally.group(f"{preset} build", [], ["build"], [], seconds_since(started))
        return False
    print(f"{preset + ' build':<34} done  ({time.monotonic() - started:.1f} s)", flush=True)
    return True


def read_gtest(output, report):
    """Passed names, failed names, (skipped name, reason) of one GoogleTest program.

    The printed text gives the reasons of skips, and is all there is when the program died half-way."""
    reasons = {}
    for match in re.finditer(r"^\[ RUN      \] (\S+)\n(.*?)^\[  SKIPPED \] \1", output, re.M | re.S):
        text = match.group(2).split("Skipped\n", 1)[-1]
        reasons[match.group(1)] = " ".join(text.split()) or "no reason given"
    if report is None:
        passed = re.findall(r"^\[       OK \] (\S+)", output, re.M)
        begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
        ended = set(re.findall(r"^\[(?:       OK |  FAILED  |  SKIPPED )\] (\S+)", output, re.M))
        failed = sorted(set(re.findall(r"^\[  FAILED  \] (\S+?),? .*\(\d+ ms\)", output, re.M)))
        return passed, failed + [name for name in begun if name not in ended], list(reasons.items())
    passed, failed, skipped = [], [], []
    for suite in report["testsuites"]:
        for case in suite["testsuite"]:
            name = f"{suite['name']}.{case['name']}"
            if case.get("result") == "SKIPPED":
                skipped.append((name, reasons.get(name, "no reason given")))
            elif case.get("status") != "RUN":
                continue
            elif case.get("failures"):
                failed.append(name)
            else:
                passed.append(name)
    return passed, failed, skipped


def read_junit(path):
    """{module: [passed, failed, skipped, seconds, what the failed printed]} of pytest's report; None when there is none."""
    try:
        cases = ElementTree.parse(path).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError):
        return None
    modules = {}
    for case in cases:
        passed, failed, skipped, *_ = entry = modules.setdefault(case.get("classname", "").rsplit(".", 1)[-1], [[], [], [], 0.0, ""])
        entry[3] += float(case.get("time", 0))
        name = re.sub(r"@[\w.]+$", "", case.get("name", "")).removeprefix("test_")  # xdist adds the group
        problems = [e for e in case if e.tag in ("failure", "error")]
        reasons = [e.get("message") or "no reason given" for e in case if e.tag == "skipped"]
        if problems:
            failed.append(f"{name}: {' '.join((problems[0].get('message') or '').split())[:600]}")
            entry[4] += f"{problems[0].text or ''}\n"
        elif reasons:
            skipped.append((name, reasons[0]))
        else:
            passed.append(name)
    return modules


class Runner:
    def __init__(self, home, wanted="", update=False, out=sys.stdout):
        self.home = Path(home)
        self.wanted = wanted
        self.tally = Tally(out)
        keep = {k: v for k, v in os.environ.items() if not k.startswith("NEUROLENS_")}
        shared = Path(os.environ.get("NEUROLENS_SHARED", ROOT.parent / "shared"))
        if shared.is_dir():
            keep["NEUROLENS_SHARED"] = str(shared.resolve())
        for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            keep[variable] = str(Path(home) / variable.lower())
        keep.update(RUNTIME, NEUROLENS_ROOT=str(ROOT), NEUROLENS_BIN=str(ROOT / "build/release/neurolens"))
        keep["NEUROLENS_TEST_FILTER"] = self.wanted
        if update:
            keep["NEUROLENS_UPDATE"] = "1"
        self.env = keep

    def gtests(self, kind, preset, programs):
        """Runs the named tests of GoogleTest programs ({program: names, None: all}), as many at a time as there are cores: each program
        is cut into that many parts."""
        parts = [(program, names, part) for program, names in programs.items() for part in range(CORES)]
        with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
            done = list(pool.map(lambda job: (job[0], self.gtest_part(kind, preset, *job)), parts))
        for program in programs:
            passed, failed, skipped, seconds, detail = [], [], [], 0.0, ""
            for _, (good, bad, left, took, output) in (one for one in done if one[0] == program):
                passed, failed, skipped, seconds, detail = passed + good, failed + bad, skipped + left, seconds + took, detail + output
            if passed or failed or skipped:
                self.tally.group(f"{kind} {program}", passed, failed, skipped, seconds, detail)

    def gtest_part(self, kind, preset, program, names, part):
        """(passed, failed, skipped, seconds, what failed printed) of one part of a program."""
        command = [str(ROOT / "build" / preset / "bin_tests" / program)]
        left_out = ":".join(ASAN_LEAVES_OUT.get(program, [])) if kind == "asan" and not self.wanted else ""
        filters = ":".join(names or []) + (f"-{left_out}" if left_out else "")
        command += [f"--gtest_filter={filters}"] if filters else []
        if kind == "tsan" and shutil.which("setarch"):
            # Kernels that randomise more address bits than the runtime expects end it at start-up.
            command = ["setarch", os.uname().machine, "-R", *command]
        name = f"{kind}-{program}-{part}"
        scratch = self.home / name
        scratch.mkdir(exist_ok=True)
        env = {**self.env, "TMPDIR": str(scratch), "TEST_TMPDIR": str(scratch)}
        env |= {"GTEST_TOTAL_SHARDS": str(CORES), "GTEST_SHARD_INDEX": str(part)}
        if (program_bin := ROOT / "build" / preset / "neurolens").exists():
            env["NEUROLENS_BIN"] = str(program_bin)
        started = time.monotonic()
        report_path = LOGS / f"{name}.json"
        report_path.unlink(missing_ok=True)
        output, status = run([*command, f"--gtest_output=json:{report_path}", "--gtest_color=no"], env, name, UNIT_LIMIT_S)
        shutil.rmtree(scratch, ignore_errors=True)
        try:
            report = json.loads(report_path.read_text())
        except (OSError, ValueError):
            report = None
        passed, failed, skipped = read_gtest(output, report)
        if status != 0 and not failed:
            failed = [f"({ending(status)})"]
        detail = output if failed else ""
        if failed and report is not None and status is not None:
            blocks = re.finditer(r"^\[ RUN      \] (\S+)\n.*?^\[  FAILED  \] \1.*?$", output, re.M | re.S)
            detail = "\n".join(block.group(0) for block in blocks) or output
        return passed, failed, skipped, seconds_since(started), detail

    def recorded_under_tsan(self):
        folder = ROOT / "build/tsan"
        names = [name for name in TSAN_RECORDED if self.wanted in name]
        files = ("libneurolens_capture.so", "capture_tests/libfake_cupti.so", "capture_tests/libfake_nvml.so", "capture_tests/gpu_program")
        if not names or not build("tsan", files, self.tally):
            return
        started, passed, failed, detail = time.monotonic(), [], [], ""
        for number, name in enumerate(names):
            with tempfile.TemporaryDirectory(prefix="neurolens-tsan-") as out:
                env = {**self.env, "NEUROLENS_CAPTURE_DIR": out, "CUDA_INJECTION64_PATH": str(folder / files[0]), "NVTX_INJECTION64_PATH": str(folder / files[0]),
                       "NEUROLENS_CUPTI": str(folder / files[1]), "NEUROLENS_NVML": str(folder / files[2]), "FAKE_CUPTI": "racing"}
                command = [str(folder / files[3]), *TSAN_RECORDED[name].split()]
                if shutil.which("setarch"):
                    command = ["setarch", os.uname().machine, "-R", *command]
                output, status = run(command, env, f"tsan-recorded-{number}")
            if status == 0:
                passed.append(name)
            else:
                failed.append(f"{name}: {ending(status)}")
                detail += output
        self.tally.group("tsan recorded programs", passed, failed, [], seconds_since(started), detail)

    def tests_of(self, program, patterns="*"):
        """Names of the tests that the release build of a program has, fit `patterns` and were asked for; the patterns where all were."""
        if not self.wanted:
            return [patterns]
        path = ROOT / "build/release/bin_tests" / program
        listing = subprocess.run([str(path), "--gtest_list_tests", f"--gtest_filter={patterns}"], capture_output=True,
                                 text=True, check=False, env=self.env)
        names, suite = [], ""
        for line in listing.stdout.splitlines():
            name = line.split("#")[0].rstrip()
            if name.startswith("  "):
                names.append(suite + name.strip())
            elif name.endswith("."):
                suite = name
        return [name for name in names if self.wanted in program or self.wanted in name]

    def suites(self, workers=CORES + 1):
        """All pytest modules, on this many workers: one more than there are cores, because some tests wait."""
        python = pytest_python()
        if python is None:
            return self.tally.group("suites", [], ["(no Python here has pytest and pytest-xdist: install python3-pytest and python3-pytest-xdist)"], [], 0)
        started = time.monotonic()
        report_path = LOGS / "suites.xml"
        report_path.unlink(missing_ok=True)
        command = [python, "-m", "pytest", "tests/suites", "-n", str(workers), "--dist", "loadgroup", "--basetemp", str(self.home / "pytest"),
                   "-q", "--tb=short", "--durations=30", f"--junitxml={report_path}"]
        output, status = run(command, {**self.env, "PYTHONDONTWRITEBYTECODE": "1"}, "suites")
        modules = read_junit(report_path)
        if status == 5 and self.wanted:  # pytest's status for nothing to do
            return None
        if modules is None or status not in (0, 1):
            self.tally.group("suites", [], [f"(pytest: {ending(status)})"], [], seconds_since(started), output)
        for name, (passed, failed, skipped, seconds, detail) in sorted((modules or {}).items()):
            self.tally.group(f"suite {name}", passed, failed, skipped, seconds, detail)
        print(f"{'suites':<34} done  ({seconds_since(started):.1f} s)", file=self.tally.out, flush=True)
        return None

    def checks(self):
        started = time.monotonic()
        output, status = run([str(ROOT / "scripts" / "check"), *([self.wanted] if self.wanted else [])], self.env, "check")
        passed = re.findall(r"^ok (.*)$", output, re.M)
        failed = [line for line in re.findall(r"^FAIL (.*)$", output, re.M)]
        skipped = re.findall(r"^skip ([^\n:]+): (.*)$", output, re.M)
        if status != 0 and not failed:
            failed = [f"({ending(status)})"]
        if passed or failed or skipped:
            detail = re.sub(r"^(?:ok|skip|FAIL) .*\n", "", output, flags=re.M)
            self.tally.group("check", passed, failed, skipped, seconds_since(started), detail)

    def skip(self, what, reason):
        if not self.wanted:
            self.tally.group(what, [], [], [("all", reason)], 0)

    def fuzz(self, seconds):
        if not shutil.which("clang++-14"):
            return self.skip("fuzz", "clang++-14 is not installed")
        if not (ROOT / "fuzz" / "CMakeLists.txt").exists():
            return self.skip("fuzz", "no fuzz targets in this tree")
        configure = f'source "{ROOT}/scripts/lib.sh" && mkdir -p "$NL_ROOT/build/fuzz" && nl_configure fuzz'
        if subprocess.run(["bash", "-c", configure], check=False).returncode != 0:
            return self.tally.group("fuzz", [], ["configure"], [], 0)
        targets = [name for name in built("fuzz", "bin_fuzz") if self.wanted in name]
        if not targets:
            return self.skip("fuzz", "no fuzz targets in this tree")
        if not build("fuzz", [f"bin_fuzz/{name}" for name in targets], self.tally):
            return None
        with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
            list(pool.map(lambda name: self.fuzz_one(name, seconds), targets))
        return None

    def fuzz_one(self, target, seconds):
        started = time.monotonic()
        artifacts = ROOT / "build/fuzz/artifacts" / target
        artifacts.mkdir(parents=True, exist_ok=True)
        corpus = ROOT / "fuzz/corpus" / target
        dictionary = ROOT / "fuzz" / f"{target}.dict"
        replayed = target in REPLAYED_FUZZ
        with tempfile.TemporaryDirectory() as learnt:
            # A fixed seed: a change that has nothing to do with the target must not turn it red.
            command = [str(ROOT / "build/fuzz/bin_fuzz" / target), f"-max_total_time={seconds}", "-seed=1", f"-timeout={120 if replayed else 20}",
                       "-rss_limit_mb=3000", "-print_final_stats=1", f"-artifact_prefix={artifacts}/"]
            command += [f"-dict={dictionary}"] if dictionary.exists() else []
            command += ["-runs=0"] if replayed else []
            command += [learnt] + ([str(corpus)] if corpus.is_dir() else [])
            output, status = run(command, self.env, f"fuzz-{target}")
        failed = [] if status == 0 else [f"{target}: {ending(status)}; input in build/fuzz/artifacts/{target}"]
        self.tally.group("fuzz", [target] if status == 0 else [], failed, [], seconds_since(started), output)

    def unit_programs(self):
        """{program: names of the tests that were asked for, None: all}."""
        asked = {p: self.tests_of(p) if self.wanted else None for p in built("release", "bin_tests")}
        return {p: names for p, names in asked.items() if names != []}

    def quick(self):
        """Units, suites and checks, all on the release build."""
        if not build("release", [], self.tally):
            return
        self.gtests("unit", "release", self.unit_programs())
        self.suites()
        self.checks()

    def full(self):
        """Every test once or, with a name, in every way: of the unit tests, the release build has those that are not run under the sanitizers."""
        if self.wanted or os.environ.get("NEUROLENS_TEST_ASAN", "1") == "0":
            self.quick()
        elif build("release", ["product", "suite_programs", *(f"bin_tests/{p}" for p in ASAN_LEAVES_OUT)], self.tally):
            self.gtests("unit", "release", ASAN_LEAVES_OUT)
            self.suites()
            self.checks()
        self.sanitized()

    def sanitized(self):
        asked = self.unit_programs()
        threaded = {p: names for p in asked if p in TSAN_PROGRAMS and (names := self.tests_of(p, THREADED))}
        # The fuzzers' build has both sanitizers too: one build serves both, and clang's is the quicker one.
        preset = "fuzz" if shutil.which("clang++-14") else "asan"
        if os.environ.get("NEUROLENS_TEST_ASAN", "1") == "0":
            self.skip("asan", "NEUROLENS_TEST_ASAN=0")
        elif asked and build(preset, [f"bin_tests/{p}" for p in asked], self.tally):
            self.gtests("asan", preset, asked)
        if os.environ.get("NEUROLENS_TEST_TSAN", "1") == "0":
            self.skip("tsan", "NEUROLENS_TEST_TSAN=0")
        elif not threaded:
            self.skip("tsan", "no unit test has Thread or Parallel in its name")
        elif build("tsan", [f"bin_tests/{p}" for p in threaded], self.tally):
            self.gtests("tsan", "tsan", threaded)
            self.recorded_under_tsan()
        seconds = int(os.environ.get("NEUROLENS_FUZZ_SECONDS", "5"))
        if seconds == 0:
            self.skip("fuzz", "NEUROLENS_FUZZ_SECONDS=0")
        else:
            self.fuzz(seconds)


def main():
    parser = argparse.ArgumentParser(
        prog="./test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="environment: NEUROLENS_TEST_ASAN=0 and NEUROLENS_TEST_TSAN=0 leave those out; "
               "NEUROLENS_FUZZ_SECONDS (5) per target, 0 leaves fuzzing out")
    parser.add_argument("name", nargs="?", help="only tests whose name has this in it")
    parser.add_argument("--quick", action="store_true", help="unit, suite and check only")
    parser.add_argument("--update", action="store_true", help="let the suites rewrite their expected results; implies --quick")
    options = parser.parse_args()
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    with tempfile.TemporaryDirectory(prefix="neurolens-test-", ignore_cleanup_errors=True) as home:
        os.chmod(home, 0o755)  # some tests become another user, who must reach their own scratch folder
        runner = Runner(home, options.name or "", options.update)
        if options.quick or options.update:
            runner.quick()
        else:
            runner.full()
    return runner.tally.close(options.name)


if __name__ == "__main__":
    sys.exit(main())
