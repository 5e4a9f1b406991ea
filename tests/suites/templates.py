# SPDX-License-Identifier: Apache-2.0
"""What `scripts/new` makes compiles as it is and passes scripts/check, and a pass declares the columns that it reads."""
import json
import shlex
import shutil
import subprocess

import pytest

from neurolens_cli import BIN, BUILD, LIMIT_S, ROOT


def compile_flags():
    """Include folders and definitions that the unit tests are compiled with."""
    commands = BUILD / "compile_commands.json"
    if not commands.exists():
        pytest.skip(f"{commands} does not exist")
    words = next(shlex.split(entry["command"]) for entry in json.loads(commands.read_text()) if "analyze_test.dir" in entry["command"])
    system = [word for at, word in enumerate(words) if at > 0 and "-isystem" in (word, words[at - 1])]
    return system + [word for word in words if word.startswith(("-I", "-D"))]


def make(folder, kind):
    """The sources of a new thing, made in a tree that holds only the scripts."""
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    done = subprocess.run([folder / "scripts/new", kind, "fresh_thing"], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return [folder / line for line in done.stdout.split()]


def compiler_errors(folder, source):
    command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", f"-I{folder / 'src'}", *compile_flags(), source]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT_S).stderr


@pytest.mark.parametrize("kind", ["adapter", "op", "pass", "renderer"])
def test_a_new_thing_compiles(tmp_path, kind):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    sources = [path for path in make(tmp_path, kind) if path.suffix == ".cc"]
    assert sources
    for source in sources:
        assert compiler_errors(tmp_path, source) == ""


@pytest.mark.parametrize("kind", ["adapter", "op", "pass", "renderer", "rule"])
def test_a_new_thing_passes_the_checks(tmp_path, kind):
    made = make(tmp_path, kind)
    subprocess.run(["git", "init", "-q", tmp_path], check=True, timeout=LIMIT_S)
    for check in ("format", "layers", "sizes", "names", "units", "english", "spdx", "words", "no_throw", "reply_keys"):
        done = subprocess.run([tmp_path / "scripts/check", check], capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert done.returncode == 0, done.stdout
    if kind == "rule":
        done = subprocess.run([BIN, "rules", "check", made[0]], capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert done.returncode == 0 and "valid, 1 rule added or changed" in done.stdout, done.stdout + done.stderr


def test_a_pass_that_declares_a_column_that_does_not_exist_does_not_compile(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    source = next(path for path in make(tmp_path, "pass") if path.name == "fresh_thing.cc")
    source.write_text(source.read_text().replace("NL_READS(Memcpy, bytes)", "NL_READS(Memcpy, byte)"))
    assert "byte" in compiler_errors(tmp_path, source)
