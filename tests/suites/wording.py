# SPDX-License-Identifier: Apache-2.0
"""Every sentence that rules make of every profile there is: no doubled word, no empty place, no plural of one."""
import re

import pytest

from neurolens_cli import H200, SAMPLES, SHARED, named

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
