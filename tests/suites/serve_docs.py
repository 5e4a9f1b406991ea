# SPDX-License-Identifier: Apache-2.0
"""/docs of `neurolens serve` in Chromium: it lists everything that /openapi.json describes, and its policy keeps foreign scripts out."""
import pytest

from http_server import Server
from neurolens_cli import Store, cases_of_script, outcome


@pytest.fixture(scope="module")
def seen(open_pages, module_folder):
    with Server(Store(module_folder / "store")) as server:
        done = open_pages("docs.mjs", server.url)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("name", cases_of_script("docs.mjs"))
def test_docs_in_chromium(name, seen):
    why = outcome(seen, f"browser {name}")
    assert why is None, why
