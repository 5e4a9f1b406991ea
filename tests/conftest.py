# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the suites, and the order and choice of their cases.

Run by scripts/run_tests.py; by hand: /usr/bin/python3 -m pytest tests/suites/gate.py -k trend
"""
import fcntl
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

import pytest

pytest.register_assert_rewrite("neurolens_cli", "http_server")
from neurolens_cli import BIN, LIMIT_S, ROOT, TESTS, Run, Store, content, load  # noqa: E402


def pytest_configure(config):
    if not os.access(BIN, os.X_OK):
        pytest.exit(f"{BIN} is not built: run scripts/build release", returncode=3)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Keeps what NEUROLENS_TEST_FILTER asks for, and starts what takes long first."""
    wanted = os.environ.get("NEUROLENS_TEST_FILTER", "")
    if wanted:
        kept = [item for item in items if wanted in item.nodeid]
        config.hook.pytest_deselected(items=[item for item in items if wanted not in item.nodeid])
        items[:] = kept

    def weight(item):
        mark = item.get_closest_marker("slow_first")
        return -mark.args[0] if mark else 0
    items.sort(key=weight)


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory):
    """Configuration and default store of the user stay out of the tests."""
    home = tmp_path_factory.mktemp("home")
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        os.environ[variable] = str(home / variable.lower())
    os.environ.pop("NEUROLENS_STORE", None)


@pytest.fixture
def store(tmp_path):
    """An empty store of this case."""
    return Store(tmp_path / "store", cwd=tmp_path)


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory, request):
    """A folder of all cases of a module."""
    return tmp_path_factory.mktemp(request.module.__name__.rsplit(".", 1)[-1])


def made_once(path, make):
    """The text of the file `path`, written by the first caller of whichever worker; the others wait for it."""
    with open(f"{path}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            text = make()
            path.write_text(text, encoding="utf-8")
        return path.read_text(encoding="utf-8")


class ReadRun(Run):
    """A run that cases only read: each question about it is answered once, for all suites and workers."""

    def __init__(self, store, reply, folder):
        super().__init__(store, reply)
        self.folder = folder

    def said(self, *words):
        question = json.dumps([self.id, *map(str, words)])
        return made_once(self.folder / hashlib.sha256(question.encode()).hexdigest()[:24], lambda: super(ReadRun, self).said(*words))


class OnceImported:
    """Runs that cases only read: each file is imported once, whichever worker asks first."""

    def __init__(self, folder):
        self.folder = folder
        self.store = Store(folder / "store")
        for name in ("replies", "answers"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def __call__(self, path):
        path = pathlib.Path(path)
        name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
        reply = made_once(self.folder / "replies" / f"{name}.json", lambda: json.dumps(self.add(path)))
        return ReadRun(self.store, json.loads(reply), self.folder / "answers")

    def add(self, path):
        (made,) = self.store.imports(path)
        if made.get("duplicate"):  # the same bytes under another name: their first reply says more
            return next(one for one in map(load, (self.folder / "replies").glob("*.json")) if one["run_id"] == made["run_id"])
        return made


@pytest.fixture(scope="session")
def imported(tmp_path_factory, worker_id):
    """imported(path): the run of a file, for reading only."""
    base = tmp_path_factory.getbasetemp()
    return OnceImported((base if worker_id == "master" else base.parent) / "imported")


@pytest.fixture(scope="session")
def exported_perfetto(imported):
    """exported_perfetto(path): the Perfetto export of the run of a file, made once."""
    def export(path):
        run = imported(path)
        to = imported.folder / f"{run.id}.pftrace"
        made_once(imported.folder / f"{run.id}.exported", lambda: run.store.text("export", run.id, "--format", "perfetto", "--out", to))
        return to
    return export


def npm_folder(folder, module, *command):
    """`folder` with the Node.js `module` in it, installed when it is missing; skips when that cannot be."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("Node.js or npm is not installed")
    with open(folder / ".npm-lock", "w", encoding="utf-8") as lock:  # web/build.sh takes the same one
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules" / module).exists():
            done = subprocess.run(["npm", *command, "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT_S)
            if done.returncode:
                pytest.skip(f"npm {command[0]} failed: {done.stderr.strip().splitlines()[-1:]}")
    return folder


@pytest.fixture(scope="session")
def ajv():
    """The folder of ajv, an independent validator of JSON schemas."""
    return npm_folder(TESTS / "ajv", "ajv", "ci")


@pytest.fixture(scope="session")
def mcp_client():
    """The folder of the official client of the Model Context Protocol."""
    return npm_folder(TESTS / "mcp", "@modelcontextprotocol", "ci")


@pytest.fixture(scope="session")
def openapi_linter():
    """The folder of redocly, an independent linter of OpenAPI descriptions."""
    return npm_folder(TESTS / "openapi", "@redocly/cli", "ci", "--ignore-scripts")


@pytest.fixture(scope="session")
def onnxruntime_node():
    """The folder that Node.js finds ONNX Runtime from."""
    return npm_folder(TESTS / "onnxrt_node", "onnxruntime-node", "ci", "--ignore-scripts")


@pytest.fixture(scope="session")
def open_pages():
    """open_pages(script, folder): what web/test/SCRIPT prints about the pages of a folder, in Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        pytest.skip("chromium is not installed")
    web = npm_folder(ROOT / "web", "playwright-core", "install", "--no-save")

    def run(script, folder):
        return subprocess.run(["node", str(web / "test" / script), chromium, str(folder)], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    return run


@pytest.fixture
def packed(store, tmp_path):
    """packed(path): the run of the same file as .gz."""
    def run(path):
        to = tmp_path / "packed"
        to.write_bytes(gzip.compress(content(path)))
        return store.add(to)
    return run
