# SPDX-License-Identifier: Apache-2.0
"""What the suites share: where things are, the program as a caller sees it, and comparisons with a useful message."""
import collections
import csv
import gzip
import html.parser
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT") or pathlib.Path(__file__).resolve().parents[1])
BIN = os.environ.get("NEUROLENS_BIN") or str(ROOT / "build/release/neurolens")
BUILD = pathlib.Path(BIN).parent
TESTS = ROOT / "tests"
SAMPLES = TESTS / "cases/samples"
H200 = ROOT / "data/h200"
SHARED = pathlib.Path(os.environ.get("NEUROLENS_SHARED") or ROOT.parent / "shared")
# The recorder; NEUROLENS_TEST_RECORDER names another one, such as "neurolens-capture".
RECORD = shlex.split(os.environ.get("NEUROLENS_TEST_RECORDER", "")) or [BIN, "record"]
PYTHON = next((p for p in ("/usr/bin/python3", "/usr/local/bin/python3") if os.path.exists(p)), sys.executable)
# No test measures time: a limit only turns a hang into a failure, and a busy machine must not reach it.
LIMIT_S = 600


def default_signals():
    """For preexec_fn: a test run in the background has these ignored, and what it starts would inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_until(condition, what, process=None):
    """The first true value of `condition()`; fails after LIMIT_S, or when `process` ends before."""
    until = time.monotonic() + LIMIT_S
    while True:
        result = condition()
        if result:
            return result
        assert process is None or process.poll() is None, f"the program ended with {process.returncode} before {what}"
        assert time.monotonic() < until, f"waited {LIMIT_S} s for {what}"
        time.sleep(0.02)


def content(path):
    """The bytes of a file, unpacked when it is gzip."""
    data = pathlib.Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def load(path):
    """The JSON of a file, packed or not."""
    return json.loads(content(path))


class Store:
    """A store of runs, used through the program."""

    def __init__(self, folder, cwd=None, **environment):
        self.folder = pathlib.Path(folder)
        self.cwd = cwd
        self.environment = environment

    def command(self, *words):
        return [BIN, "--store", str(self.folder), *map(str, words)]

    def run(self, *words, stdin="", **options):
        """A finished call, whatever its exit status; text=False gives bytes, `prefix` goes before the command. Further options
        are those of subprocess.run."""
        environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", **self.environment, **options.pop("env", {})}
        text, prefix = options.pop("text", True), options.pop("prefix", [])
        options = {"cwd": self.cwd, "timeout": LIMIT_S, **options}
        done = subprocess.run([*prefix, *self.command(*words)], input=stdin.encode() if isinstance(stdin, str) else stdin, capture_output=True, check=False,
                              env=environment, **options)
        if text:
            done.stdout, done.stderr = (said.decode("utf-8", "replace") for said in (done.stdout, done.stderr))
        return done

    def text(self, *words, status=0, **options):
        """What a call with this exit status (or one of these) prints."""
        done = self.run(*words, **options)
        allowed = status if isinstance(status, tuple) else (status,)
        assert done.returncode in allowed, f"{' '.join(map(str, words))[:200]} ended with {done.returncode}, not {status}: {(done.stderr or done.stdout).strip()[-400:]}"
        return done.stdout

    def json(self, *words, **options):
        return json.loads(self.text(*words, "--json", **options))

    def imports(self, *paths):
        """The replies of an import, one per run."""
        return self.json("import", *paths)["runs"]

    def add(self, path, *flags):
        """The one run of an import."""
        (reply,) = self.imports(path, *flags)
        return Run(self, reply)


class Run:
    """One imported run of a store."""

    def __init__(self, store, reply):
        self.store, self.reply, self.id = store, reply, reply["run_id"]
        self.adapter = reply.get("adapter")

    def rows(self, sql):
        """Rows as tuples of text, "" for null."""
        text = self.said("query", sql, "--format", "csv", "--max-rows", 10_000_000)
        return [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))][1:]

    def values(self, sql):
        """Rows as lists of JSON values."""
        return self.ask("query", sql, "--max-rows", 10_000_000)["rows"]

    def ask(self, command, *words):
        """The JSON reply of a command about this run."""
        return json.loads(self.said(command, *words, "--json"))

    def said(self, command, *words):
        """What a command about this run prints."""
        return self.store.text(command, self.id, *words)

    def document(self):
        return load(pathlib.Path(self.ask("show")["path"]) / "run.json")


class ToolReport:
    """A vendor's report that only the vendor's tool can read; a stand-in on PATH plays the tool."""

    def __init__(self, store, folder, tool, checks):
        self.store, self.folder, self.tool, self.checks = store, folder, tool, checks
        self.path = None

    def prepare(self, body, packed=False):
        """Writes the report, and the stand-in unless `body` is None: then no tool is on PATH at all."""
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        if body is not None:
            (programs / self.tool).write_text(f"#!/bin/sh\n{self.checks}{body}")
            (programs / self.tool).chmod(0o755)
        self.path = self.folder / f"r.{self.tool}-rep{'.gz' if packed else ''}"
        data = b"NVR\0report of some recording"
        self.path.write_bytes(gzip.compress(data) if packed else data)
        self.store.environment = {"PATH": f"{programs}:/usr/bin:/bin" if body is not None else str(programs), "TMPDIR": str(self.folder)}

    def imported(self, body=None, packed=False):
        """The finished import, which leaves no scratch files."""
        self.prepare(body, packed)
        done = self.store.run("import", self.path, "--json")
        left = [p.name for p in self.folder.iterdir() if p.name.startswith("neurolens-")]
        assert not left, f"left behind: {left}"
        return done


def error_of(done, status=2):
    """The error a failed call with --json gives."""
    assert done.returncode == status, f"exit status {done.returncode}, not {status}: {(done.stderr or done.stdout)[-400:]}"
    return json.loads(done.stdout or done.stderr)["error"]


def difference(expected, found):
    """The first things that only one side has."""
    if isinstance(expected, collections.Counter) and isinstance(found, collections.Counter):
        return list((expected - found).items())[:2], list((found - expected).items())[:2]
    if isinstance(expected, list) and isinstance(found, list):
        gone, more = [e for e in expected if e not in found][:2], [f for f in found if f not in expected][:2]
        return (gone, more) if gone or more else (expected, found)
    return expected, found


def equal(what, expected, found):
    if expected != found:
        gone, more = difference(expected, found)
        pytest.fail(f"{what}: expected {str(gone)[:400]}, found {str(more)[:400]}")


def same_rows(what, expected, found):
    """Rows in any order, of any types that print alike."""
    equal(what, sorted(map(str, expected)), sorted(map(str, found)))


def near(what, found, wanted, within=1e-6):
    assert found is not None and abs(found - wanted) <= within, f"{what}: {found} instead of {wanted}"


def narrow(text, columns=80):
    wide = [line for line in text.splitlines() if len(line) > columns]
    assert not wide, f"wider than {columns} columns: {wide[0]!r}"


def named(paths, missing=""):
    """Parameters of a test, one per file; without files one that is skipped because `missing`."""
    paths = list(paths)
    if not paths:
        return [pytest.param(None, id="none", marks=pytest.mark.skip(reason=missing))] if missing else []
    return [pytest.param(path, id=path.name) for path in paths]


def real_files(folder, *patterns):
    """Files below the folder of extra real traces (NEUROLENS_SHARED), sorted by name."""
    return sorted(path for pattern in patterns for path in (SHARED / "data" / folder).glob(pattern))


def kineto_traces(group=""):
    """Parameters, one per real Kineto trace: the bundled and the public ones. Cases of one trace share a worker where they share a `group`."""
    public = real_files("public/kineto", "*.json.gz")
    missing = [] if public else named([], "no public traces here (NEUROLENS_SHARED)")
    for one in [*named([*sorted(H200.glob("*.json.gz")), *public]), *missing]:
        yield pytest.param(*one.values, id=one.id, marks=[*one.marks, *([pytest.mark.xdist_group(f"{group}_{one.id}")] if group else [])])


def real(*parts):
    """A file of the extra real traces; skips the test when it is not there."""
    path = SHARED.joinpath("data", *parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not here (NEUROLENS_SHARED)")
    return path


def python_with(module):
    """A Python that can import `module`; skips the test when there is none."""
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        found = shutil.which(python)
        if found and subprocess.run([found, "-c", f"import {module}"], capture_output=True, check=False, timeout=LIMIT_S).returncode == 0:
            return found
    return pytest.skip(f"no Python here has {module}")


def outcome(output, name):
    """None when a script printed "PASS name", with or without a remark; else why not."""
    for line in output.splitlines():
        if line == f"PASS {name}" or line.startswith(f"PASS {name} ("):
            return None
        if line.startswith(f"FAIL {name}"):
            return line.removeprefix(f"FAIL {name}").removeprefix(": ") or "no reason given"
    return "it was not run"


# Names that break a page, a table or a terminal that does not quote them.
HOSTILE_NAMES = ["<script>window.hacked=1</script>", "</script><script>window.hacked=2</script>", "\"'onmouseover=window.hacked=3", "a|b|c `code` *x* [y](z)",
                 "new\nline\r\ttab \x1b[31m", "\u2028 and \u2029 \u202e", "<img src=x onerror=window.hacked=5>", "<!-- --> ]]> &lt;b&gt;", "# head",
                 "- item", "\\", "| |"]


class Page(html.parser.HTMLParser):
    """The tags of a page, and the text of its data element."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.data, self.inside = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id") == "report-data"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.data += data


def fill_page(page, model, to):
    """Another model in a built page."""
    data = json.dumps(model).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    pattern = r'(<script type="application/json" id="report-data">).*?(</script>)'
    to.write_text(re.sub(pattern, lambda m: m.group(1) + data + m.group(2), page.read_text(), count=1, flags=re.S))


def cases_of_script(name):
    """Names of the cases in web/test/NAME."""
    return re.findall(r'^\s*await test\("([^"]+)"', (ROOT / "web/test" / name).read_text(), re.M)


def span(name, cat, start_us, dur_us, pid, tid, **args):
    """A complete event of a Kineto trace."""
    return {"ph": "X", "name": name, "cat": cat, "ts": start_us, "dur": dur_us, "pid": pid, "tid": tid, "args": args}


def write_trace(path, events):
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "<b>GPU</b>|"}], "traceEvents": events}))
    return path
