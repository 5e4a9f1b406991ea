# SPDX-License-Identifier: Apache-2.0
"""The web application of `neurolens serve`: how it is served, and used in Chromium over real runs and hostile ones."""
import gzip
import json
import re

import pytest

from http_server import Server
from neurolens_cli import BUILD, H200, HOSTILE_NAMES, ROOT, Store, cases_of_script, outcome, span, write_trace

pytestmark = [pytest.mark.xdist_group("app"), pytest.mark.slow_first(80)]
HOSTILE = [*HOSTILE_NAMES, "k" * 10_000, "\u202eright to left", "\x01\x07control"]


def hostile_trace(path):
    """Host and device work with hostile names, in three steps."""
    events = []
    for i in range(3 * len(HOSTILE)):
        name, start, more = HOSTILE[i % len(HOSTILE)], i * 200, {"External id": i + 1}
        events += [span(name, "cpu_op", start, 150, 1, 1, **more), span("cudaLaunchKernel", "cuda_runtime", start + 10, 5, 1, 1, correlation=i + 1, **more),
                   span(name, "kernel", start + 20, 30 + i % 7, 0, 7, device=0, stream=7, correlation=i + 1, **more)]
    return write_trace(path, events)


@pytest.fixture(scope="module")
def served(module_folder):
    """A folder with a store of real and hostile runs, and app.json that names them for the browser."""
    store = Store(module_folder / "store")
    page = ROOT / "build/release/web/app.html"
    if not page.exists():
        pytest.skip("this build has no application (no Node.js when it was built)")
    base = store.add(H200 / "base.json.gz", "--model", "llama", "--tag", "team=a")
    eager = store.add(H200 / "eager_attn.json.gz", "--model", "llama", "--tag", "team=b")
    hostile = store.add(hostile_trace(module_folder / "<img src=x onerror=hacked=7>.json"), "--model", "<img src=x onerror=window.hacked=8>" + "m" * 10_000,
                        "--tag", "<b>key</b>=<script>window.hacked=9</script>")
    second = store.add(H200 / "longer_prompt.json.gz", "--model", "second doomed")
    doomed = store.add(H200 / "item_sync.json.gz", "--model", "doomed")
    (module_folder / "app.json").write_text(json.dumps({
        "command": [*store.command("serve", "--listen")], "store": store.command(), "base": base.id, "eager": eager.id, "hostile": hostile.id, "doomed": doomed.id, "second": second.id,
        "endless": [str(BUILD / "capture_tests/gpu_program"), "launch=1", "racing_threads=1", "launched=1000000000"], "cupti": str(BUILD / "capture_tests/libfake_cupti.so"),
        "upload": str(H200 / "fp32_mlp.json.gz"), "beside": str(H200 / "compile.json.gz"), "axe": str(ROOT / "web/node_modules/axe-core/axe.min.js")}))
    return store


def test_the_page_names_assets_that_are_cached_for_good(served):
    with Server(served) as server:
        page = server.get("/")
        assert page.status == 200 and page.headers["content-type"].startswith("text/html") and page.headers["cache-control"] == "no-cache", page.headers
        text = page.body.decode()
        assert "<style" not in text and not re.search(r"<script(?![^>]*\bsrc=)", text), "a script or style in the page needs unsafe-inline"
        policy = page.headers["content-security-policy"]
        assert "unsafe" not in policy and "default-src 'none'" in policy, policy
        assets = re.findall(r'"(/assets/[^"]+)"', text)
        assert sorted(name.rsplit(".", 1)[1] for name in assets) == ["css", "js"], assets
        packed_bytes = 0
        for name in assets:
            plain, packed = server.get(name), server.get(name, Accept_Encoding="gzip")
            assert plain.status == packed.status == 200 and "immutable" in packed.headers["cache-control"], packed.headers
            assert packed.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers, packed.headers
            assert gzip.decompress(packed.body) == plain.body, f"{name} differs without gzip"
            packed_bytes += len(packed.body)
        assert packed_bytes <= 250_000, f"script and style take {packed_bytes} bytes"
        for path in ("/runs/x/flame", "/compare?a=1", "/sql", "/login"):
            assert server.get(path).body == page.body, f"{path} is not the application"
        server.get("/assets/app-other.js").problem(404)
        server.get("/nothing").problem(404)
        server.ask("POST", "/", b"{}").problem(405)


@pytest.fixture(scope="module")
def opened(served, module_folder, open_pages):
    done = open_pages("app.mjs", module_folder)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("case", cases_of_script("app.mjs"))
def test_in_chromium(case, opened):
    why = outcome(opened, f"browser {case}")
    assert why is None, why


@pytest.fixture(scope="module")
def timeline(served, module_folder, open_pages):
    done = open_pages("app_timeline.mjs", module_folder)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("case", cases_of_script("app_timeline.mjs"))
def test_timeline_in_chromium(case, timeline):
    why = outcome(timeline, f"browser {case}")
    assert why is None, why
