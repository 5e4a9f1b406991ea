# SPDX-License-Identifier: Apache-2.0
"""Every sentence that rules make of every profile there is: no doubled word, no empty place, no plural of one."""
import re
import subprocess

import pytest

from neurolens_cli import BIN, H200, LIMIT_S, ROOT, SAMPLES, SHARED, named

PROFILES = [p for p in sorted(H200.iterdir()) if p.is_file()]
PROFILES += [p for p in sorted(SAMPLES.glob("*/*")) if p.is_file()]
PROFILES += [p for p in sorted((SHARED / "data").glob("*/*/*")) if p.is_file() and p.suffix != ".md" and p.stat().st_size < 40_000_000] if SHARED.exists() else []
WRONG = {
    "a doubled word": r"\b(?!that\b|had\b)([A-Za-z_]{2,}) \1\b",
    "an empty place": r"(?<![\w>])\(\s*\)|\(unknown|\[\[|\]\]|[{}]|\bunknown (of|in|at)\b| ,| \.(\s|$)|starting with the operators",
    "two spaces": r"\S  \S",
    "a plural of one": r"(?<![\d.,])1 (calls|times|kernels|launches|copies|casts|chains|steps|records|threads|runs|events|rows|sectors|collectives|conflicts|samples|frames|files)\b",
}


def complaints(text):
    return [f"{what}: ...{text[max(0, m.start() - 40):m.end() + 40]}..." for what, pattern in WRONG.items() for m in [re.search(pattern, text)] if m]


def test_the_patterns_find_what_they_are_for():
    for text in ("cudaMalloc cudaMalloc", "starting with the operators", "in (unknown api)", "two  spaces", "in 1 calls of", "in () of"):
        assert complaints(text), text
    for text in ("in 21 calls of", "0.1 calls", "it had had that", "1 call"):
        assert not complaints(text), (text, complaints(text))


@pytest.mark.parametrize("path", named(PROFILES))
def test_every_sentence_reads_well(path, store):
    done = store.run("import", path, "--only")
    if done.returncode != 0:
        pytest.skip(f"not imported: {done.stderr.strip()[:100]}")
    reply = store.json("findings", "@latest", "--limit", "1000")
    texts = [text for f in reply["findings"] for text in (f["message"], *f["suggestions"])]
    texts += store.text("analyze", "@latest").split("\n\n")[:1]
    wrong = [c for text in texts for c in complaints(text)]
    assert not wrong, "\n".join(wrong[:10])
    assert all(f["suggestions"] for f in reply["findings"]), [f["rule"] for f in reply["findings"] if not f["suggestions"]]


COMMAND = re.compile(r"`neurolens ([a-z][a-z-]*)([^`\n]*)`")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def named_commands():
    """{operation: {option: a file that names it}} of the commands in backquotes, in rules, documents, pages and strings of the program."""
    listing = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard", "--", "rules", "docs", "src", "web/src", "python", "README.md"],
                             cwd=ROOT, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    out = {}
    for path in filter(None, listing.stdout.split("\0")):
        if not path.endswith((".yaml", ".md", ".cc", ".h", ".ts", ".tsx", ".py")):
            continue
        for operation, words in COMMAND.findall((ROOT / path).read_text(errors="replace")):
            options = OPTION.findall(words.split(" -- ")[0])
            out.setdefault(operation, {}).update({option: path for option in ["--help", *options]})
    return out


def test_every_command_that_a_text_names_exists():
    commands = named_commands()
    assert len(commands) > 40 and "--out" in commands["flame"], sorted(commands)

    def known(*words):
        said = subprocess.run([BIN, *words, "--help"], capture_output=True, text=True, check=False, timeout=LIMIT_S)
        both = re.sub(r"--\[no-\]([a-z-]+)", r"--\1 --no-\1", said.stdout)
        return set(OPTION.findall(both)) if said.returncode == 0 else set()

    of_all = known() | {"--help"}
    wrong = []
    for operation, options in commands.items():
        own = known(operation)
        wrong += [f"{path}: neurolens {operation} {option}" for option, path in options.items() if not own or option not in own | of_all]
    assert not wrong, wrong
