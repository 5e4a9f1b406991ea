# SPDX-License-Identifier: Apache-2.0
"""Every command of the README and of the operations' own examples runs and succeeds, as a reader would type it.

They build on one another (an import first, questions after it): all are run once, in order, and each is a case."""
import re
import shlex
import shutil

import pytest

from neurolens_cli import H200, ROOT, Store

pytestmark = [pytest.mark.xdist_group("readme"), pytest.mark.slow_first(40)]
RECORDED = "neurolens run -- python3 infer.py"
# Tested elsewhere, or last: they would remove or hide what the others use, need a process, or a framework.
NOT_HERE = ("serve", "rm", "ctl", "run", "profile")


def readme_commands():
    """Lines in code blocks that begin with `$ neurolens` or `neurolens`, with their continuation lines."""
    found = []
    for block in re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text(), re.S):
        lines = block.splitlines()
        for i, line in enumerate(lines):
            match = re.match(r"(?:\$ )?(neurolens .*)", line)
            if not match:
                continue
            command = match.group(1)
            while command.count('"') % 2 == 1:  # a quoted SQL statement goes on
                i += 1
                command += " " + lines[i].strip()
            found.append(re.sub(r"\s+#.*$", "", command))
    return found


def readme_outputs():
    """{command: the lines the README shows after it}; `...` stands for lines that are left out."""
    shown = {}
    for block in re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text(), re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            lines = part.splitlines()
            command = lines.pop(0)
            while command.count('"') % 2 == 1:
                command += " " + lines.pop(0).strip()
            shown[command] = lines
    return shown


def missing_part(shown, printed):
    """The first group of shown lines that is not in what is printed, after the groups before it; None when all are."""
    rest = [line.rstrip() for line in printed.splitlines() if not re.fullmatch(r"run [0-9a-f-]{36}", line)]
    groups, first = [[]], True
    for line in shown:
        if line == "...":
            groups.append([])
        else:
            groups[-1].append(line.rstrip())
    for group in groups:
        if group:
            found = next((i for i in range(len(rest) - len(group) + 1) if rest[i:i + len(group)] == group), None)
            if found is None or (first and found > 0):
                return group
            rest = rest[found + len(group):]
        first = False
    return None if not shown or shown[-1] == "..." or not any(rest) else ["(the end)", *rest[:3]]


def examples():
    """Examples in docs/cli.md; what has a placeholder in it is a usage line."""
    found = sorted(set(re.findall(r"^(neurolens [a-z]+ ?[^\n|`]*)$", (ROOT / "docs/cli.md").read_text(), re.M)))
    return [e for e in found if not re.search(r"\[|\.\.\.|COMMAND|RUN|FILE|PATH", e)]


README = list(dict.fromkeys(readme_commands()))
EXAMPLES = [*(e for e in examples() if e.split()[1] not in NOT_HERE), RECORDED]


@pytest.fixture(scope="module")
def results(module_folder):
    """{command: its result}, run in the order of the README, then the examples on files named as they name them."""
    for name, trace in {"trace": "base", "before": "base", "after": "item_sync", "candidate": "item_sync"}.items():
        shutil.copy(H200 / f"{trace}.json.gz", module_folder / f"{name}.json.gz")
    (module_folder / "infer.py").write_text("for _ in range(10 ** 7): pass\n")
    (module_folder / "old.py").write_text("import time\ntime.sleep(0.3)\n")
    (module_folder / "new.py").write_text("")
    (module_folder / "examples").symlink_to(ROOT / "examples")
    store = Store(module_folder / "store", cwd=module_folder)

    def run(command):
        words = [str(ROOT / w) if w.startswith("data/") else w for w in shlex.split(command)[1:]]
        return store.run(*words)
    found = {command: run(command) for command in readme_commands()}
    run_id = store.json("ls")["runs"][0]["run_id"]
    store.text("export", run_id, "--format", "run-json", "--out", module_folder / "run.json", "--force")
    # Those that record a program of their own come last: @latest is theirs then.
    for command in sorted(EXAMPLES, key=lambda e: e.split()[1] in ("prove", "bench")):
        found[f"example {command}"] = run(command)
    return found


@pytest.mark.parametrize("command", README)
def test_a_command_of_the_readme_succeeds(command, results):
    assert results[command].returncode == 0, (results[command].stderr or results[command].stdout)[-300:]


@pytest.mark.parametrize("command", readme_outputs())
def test_the_readme_shows_what_the_command_prints(command, results):
    missing = missing_part(readme_outputs()[command], results[command].stdout)
    assert missing is None, "not printed as the README shows it:\n" + "\n".join(missing) + "\nprinted:\n" + results[command].stdout[:3000]


def test_a_difference_from_the_readme_is_seen():
    printed = "a\nb  1.5 ms\nc\n"
    assert missing_part(["a", "..."], printed) is None and missing_part(["a", "b  1.5 ms", "c"], printed) is None
    assert missing_part(["...", "c"], printed) is None
    assert missing_part(["b  1.5 ms", "..."], printed) and missing_part(["a", "b  1.6 ms", "..."], printed) and missing_part(["a"], printed)
    assert not any("@latest~" in command for command in README), "@latest~N depends on what was imported before"


@pytest.mark.parametrize("command", EXAMPLES)
def test_an_example_of_an_operation_succeeds(command, results):
    result = results[f"example {command}"]
    # A machine can have problems, can be too busy for a verdict, and can lack Nsight Compute.
    also = {"doctor": 1, "prove": 2, "bench": 2, "deep": 2, "send": 3}.get(command.split()[1], 0)
    assert result.returncode in (0, also), (result.stderr or result.stdout)[-300:]


def test_the_readme_and_the_examples_are_found():
    assert len(README) >= 8, f"only {len(README)} commands found, the README changed its form"
    assert RECORDED in examples(), "not in docs/cli.md"
