# SPDX-License-Identifier: Apache-2.0
"""A fresh clone, in a folder with a space in its name, sets itself up, builds and records with one command; and what the program is
made of is known, so that a later change builds it again."""
import json
import os
import pathlib
import shlex
import shutil
import subprocess

import pytest

from neurolens_cli import LIMIT_S, PYTHON, ROOT

pytestmark = [pytest.mark.xdist_group("fresh_clone"), pytest.mark.slow_first(300)]
BUILD_LIMIT_S = 3600  # a whole build on a busy machine


class Clone:
    def __init__(self, folder):
        self.folder = folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("NEUROLENS_")} | {"XDG_DATA_HOME": str(folder.parent / "data")}

    def run(self, *words, **options):
        return subprocess.run([str(w) for w in words], cwd=options.pop("cwd", self.folder), env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=BUILD_LIMIT_S, **options)

    def neurolens(self, *words, **options):
        """What ./neurolens prints, which must succeed."""
        done = self.run(self.folder / "neurolens", *words, **options)
        assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.returncode} {done.stderr[-600:]}"
        return done.stdout

    def is_current(self):
        """Whether ./neurolens would run the program without building it."""
        return self.run("bash", "-c", f"source {shlex.quote(str(self.folder / 'scripts/lib.sh'))} && nl_current").returncode == 0


def make_clone(folder):
    """The last commit and what is changed in tracked files since."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("this tree is not a git repository")
    clone = Clone(folder)
    folder.parent.mkdir(parents=True)
    git = ["git", "-c", "safe.directory=*"]
    done = clone.run(*git, "clone", "--quiet", "--no-tags", ROOT, folder, cwd=folder.parent)
    if done.returncode != 0:
        pytest.skip(f"git clone failed: {done.stderr.strip()[-200:]}")
    changes = subprocess.run([*git, "diff", "--binary", "HEAD"], cwd=ROOT, capture_output=True, check=True, timeout=LIMIT_S).stdout
    if changes:
        subprocess.run([*git, "apply", "--whitespace=nowarn", "-"], cwd=folder, input=changes, check=True, timeout=LIMIT_S)
    return clone


@pytest.fixture(scope="module")
def clone(module_folder):
    return make_clone(module_folder / "a fresh clone" / "neurolens")


@pytest.fixture(scope="module")
def built(module_folder):
    """A clone that was built by its first command, with what is downloaded copied from here."""
    if not shutil.which("ccache") or os.environ.get("CCACHE_DISABLE"):
        pytest.skip("without ccache it takes minutes to build the program again")
    clone = make_clone(module_folder / "a built clone" / "neurolens")
    for downloaded in (".deps", "web/node_modules"):
        if (ROOT / downloaded).exists():
            shutil.copytree(ROOT / downloaded, clone.folder / downloaded, symlinks=True)
    assert clone.neurolens("version").startswith("neurolens "), "version"
    return clone


@pytest.mark.parametrize("path", ["rules/run.yaml", "data/peaks.yaml", "web/compare.html", "web/src/main.ts", "python/neurolens/__init__.py", "src/cli/main.cc",
                                  "CMakeLists.txt"])
def test_a_change_to_what_the_program_is_made_of_is_seen(path, clone):
    """On a stand-in for the build: lib.sh compares times with the list that CMake has left."""
    folder = clone.folder / "build/release"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "build/release/inputs.txt", folder)
    (folder / "neurolens").write_text("#!/bin/sh\n")
    (folder / "neurolens").chmod(0o755)
    newest = max(p.stat().st_mtime for p in clone.folder.rglob("*"))
    (folder / ".built").touch()
    os.utime(folder / ".built", (newest + 10, newest + 10))
    assert clone.is_current(), "it would be built without a change"
    changed = clone.folder / path
    if not changed.exists():
        changed = next(p for p in changed.parent.iterdir() if p.suffix == changed.suffix)
    before = changed.stat()
    os.utime(changed, (newest + 20, newest + 20))
    assert not clone.is_current(), f"{changed.name} was changed, and the old program would be run"
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert clone.is_current(), "it would be built without a change"


def test_a_clone_is_current_after_its_first_command(built):
    assert built.is_current()


def test_doctor_finds_the_capture_library_of_a_clone(built):
    parts = {part["name"]: part for part in json.loads(built.neurolens("doctor", "--json"))["recording"]}
    assert parts["library"]["works"], parts["library"]
    assert pathlib.Path(parts["library"]["detail"].split(" (")[0]).is_relative_to(built.folder), parts["library"]


def test_ranges_of_a_python_program_are_recorded_by_a_clone(built):
    folder = built.folder.parent
    (folder / "x.py").write_text('import neurolens\nfor _ in range(3):\n    with neurolens.scope("step"):\n        sum(range(1000))\n')
    built.neurolens("run", "--", PYTHON, "x.py", cwd=folder)
    (row,) = json.loads(built.neurolens("query", "@latest", "SELECT count(*) FROM range WHERE name = 'step'", "--json"))["rows"]
    assert row == [3], row
