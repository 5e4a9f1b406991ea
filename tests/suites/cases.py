# SPDX-License-Identifier: Apache-2.0
"""Runs tests/cases/<adapter>/*.case: an input, questions to the imported run, and the exact answers.

A case is text in sections that begin with a line `== section`:

  == input [NAME]        the file to import (NAME: trace.json unless told), up to the next section; several are given together
  == input latin1        the same, each character one byte: for text that is not UTF-8
  == input unended       the same without the line end at the end
  == input NAME.gz       the same as a gzip file; `cut=BYTES`: it ends there
  == sqlite [NAME]       SQL that makes the database to import (NAME: trace.sqlite unless told), up to the next section;
                         `zeroed` behind it: the first page is zeros; `cut=BYTES`: it ends there; `damaged=PAGE`: that
                         page (from 1) is overwritten
  == protobuf [NAME]     the message to import as JSON (tests/protobuf_text.py; NAME: trace.pb unless told); `cut=BYTES`: it ends there
  == xspace [NAME]       the XSpace to import as JSON (tests/xspace.py; NAME: trace.xplane.pb unless told); `cut=BYTES`: it ends there
  == nlcap [NAME]        a capture as tests/nlcap_writer.py makes it of lines of text (NAME: trace.nlcap unless told; `folder`
                         behind it: a folder with one file per process); `cut=BYTES`: it ends there; `damaged=BYTE`: that
                         byte is wrong
  == sample PATH         a file below tests/cases/samples instead
  == beside [NAME]       a file that stands in the folder of the input and is not named in the import
  == options             further flags of `neurolens import`
  == query / == rows     SQL and the CSV it must answer; any number of pairs
  == counters            every counter of the import with its count, exactly ("none" for none)
  == error               exit status and message the import must end with, instead of rows and counters

Lines before the first section say what the case is about. ./test --update (NEUROLENS_UPDATE=1) writes what the
program answers into the cases; review the diff. Every counter that src/import declares must occur in some case.
"""
import json
import os
import re

import pytest

from case_inputs import CASES, parse, place_input
from neurolens_cli import ROOT, equal

EMPTY = "none\n"


def render(preamble, sections):
    return preamble + "".join(f"== {heading}\n{body}" for heading, body in sections)


def answers(sections, store):
    """What the program says to each section that holds an answer, by index."""
    paths = place_input(sections, store.cwd)
    flags = next((body.split() for heading, body in sections if heading == "options"), [])
    done = store.run("import", *paths, "--json", *flags)
    out, err = done.stdout, done.stderr
    found = {}
    for i, (heading, _) in enumerate(sections):
        if heading == "error":
            assert done.returncode != 0, "was imported, an error was expected"
            message = json.loads(out or err)["error"]["message"] if (out or err).lstrip().startswith("{") else err.strip()
            found[i] = f"{done.returncode} {message}\n"
            assert "\n" not in message, f"the error has more than one line: {message}"
            return found
    assert done.returncode == 0, f"import ended with {done.returncode}: {(err or out).strip()[-300:]}"
    (run,) = json.loads(out)["runs"]
    query = None
    for i, (heading, body) in enumerate(sections):
        if heading == "query":
            query = " ".join(body.split())
        elif heading == "rows":
            found[i] = store.text("query", run["run_id"], query, "--format", "csv", text=False).decode("utf-8", "replace").replace("\r\n", "\n")
        elif heading == "counters":
            lines = sorted(f"{c['name']} {c['count']}\n" for c in run["counters"])
            found[i] = "".join(lines) or EMPTY
    return found


@pytest.mark.parametrize("path", [pytest.param(p, id=f"{p.parent.name}_{p.stem}") for p in sorted(CASES.glob("*/*.case"))])
def test_the_program_answers_as_the_case_says(path, store):
    preamble, sections = parse(path.read_text(encoding="utf-8"))
    found = answers(sections, store)
    assert found, "asks nothing"
    wrong = [i for i, text in found.items() if sections[i][1].rstrip("\n") != text.rstrip("\n")]
    if wrong and os.environ.get("NEUROLENS_UPDATE") == "1":
        for i in wrong:
            last = i == len(sections) - 1
            sections[i][1] = found[i].rstrip("\n") + ("\n" if last else "\n\n")
        path.write_text(render(preamble, sections), encoding="utf-8")
    elif wrong:
        heading, expected = sections[wrong[0]]
        equal(heading, expected.strip(), found[wrong[0]].strip())


def counters_of(path):
    """The counters a case expects, which are those it has: every case is checked exactly."""
    _, sections = parse(path.read_text(encoding="utf-8"))
    return {line.split()[0] for heading, body in sections if heading == "counters" for line in body.split("\n") if line.strip()}


def declared_counters():
    names = set()
    for source in (ROOT / "src/import").rglob("*"):
        if source.suffix in (".h", ".cc") and not source.name.endswith("_test.cc"):
            names |= set(re.findall(r'CounterInfo k\w+\s*\{\s*"(\w+)"', source.read_text()))
    return names


def test_every_counter_is_hit_by_some_case():
    missing = declared_counters() - set().union(*map(counters_of, CASES.glob("*/*.case")))
    assert not missing, f"no case has {', '.join(sorted(missing))}"
