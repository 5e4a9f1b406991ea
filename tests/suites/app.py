# SPDX-License-Identifier: Apache-2.0
"""The web application of `neurolens serve`: how it is served, and used in Chromium over real runs and hostile ones."""
import gzip
import json
import os
import re

import pytest

from http_server import Server
from many_runs import fill
from queue_store import Queue
from neurolens_cli import BUILD, H200, HOSTILE_NAMES, PYTHON, ROOT, Store, cases_of_script, outcome, span, write_trace

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


def ranks_folder(folder):
    """Two ranks with five collectives; rank 1 comes 200 us later each time."""
    folder.mkdir()
    for rank in range(2):
        group = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000, "Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
        events = [span("ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", "kernel", 1000 + 1000 * i + 200 * rank, 500 - 200 * rank, 0, 20, device=0, stream=20, correlation=i, Seq=i, **group)
                  for i in range(5)]
        (folder / f"rank{rank}.json").write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": events}))
    return str(folder)


def counters_trace(path):
    """A kernel, and a clock that goes from 1980 to 1410 and is no longer recorded."""
    clock = [{"ph": "C", "cat": "counter", "name": "sm_clock_mhz", "pid": 0, "tid": 0, "ts": at, "args": {"sm_clock_mhz": value}} for at, value in ((0, 1980), (500, 1410))]
    return str(write_trace(path, [span("work", "kernel", 0, 1000, 0, 7, device=0, stream=7), *clock]))


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
        "ranks": ranks_folder(module_folder / "ranks"), "counters": counters_trace(module_folder / "counters.json"), "sampled": str(H200 / "compiled_training.nlc.gz"), "totals": str(H200 / "llama_layer_raw.csv.gz"),
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


@pytest.fixture(scope="module")
def long_list(served, module_folder, open_pages):
    folder = module_folder / "many"
    store = Store(folder / "store")
    store.add(H200 / "base.json.gz", "--model", "first")
    fill(store.folder, 10_000)
    (folder / "app.json").write_text(json.dumps({"command": [*store.command("serve", "--listen")], "store": store.command()}))
    done = open_pages("app_runs.mjs", folder)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("case", cases_of_script("app_runs.mjs"))
def test_a_list_of_10_000_runs_in_chromium(case, long_list):
    why = outcome(long_list, f"browser {case}")
    assert why is None, why


def measured_peaks():
    """What `neurolens-peaks` would print on an H200."""
    clocks = {"sm_mhz": None, "memory_mhz": None, "power_w": None, "temperature_c": None}
    figures = [{"name": name, "unit": unit, "value": value, "low": value, "high": value, "repeats": 15, "how": "so", "reason": None}
               for name, unit, value in (("dram_read", "GB/s", 4300.0), ("tensor_bf16", "TFLOP/s", 790.0))]
    return {"format": "neurolens-peaks/1", "unix_ns": 1_700_000_000_000_000_000, "seconds": 1, "gpu_reason": None,
            "devices": [{"kind": "gpu", "id": "GPU-1", "name": "NVIDIA H200", "driver_version": "580.95.05", "index": 0, "sm_count": 132, "memory_bytes": 1, "l2_bytes": 1,
                         "library": None, "max_sm_mhz": None, "idle": clocks, "loaded": clocks, "seconds": 1, "figures": figures}]}


@pytest.fixture(scope="module")
def system(served, module_folder, open_pages):
    folder = module_folder / "system"
    environment = {"NEUROLENS_NVML": str(BUILD / "capture_tests/libfake_nvml.so"), "FAKE_NVML_GPUS": "2", "FAKE_NVML_WEAK": "0"}
    store = Store(folder / "store", **environment)
    store.add(H200 / "base.json.gz", "--model", "llama")
    (folder / "measured.json").write_text(json.dumps(measured_peaks()))
    store.text("peaks", "measure", "--from", folder / "measured.json")
    (folder / "app.json").write_text(json.dumps({"command": [*store.command("serve", "--listen")], "store": store.command(), "environment": environment,
                                                 "axe": str(ROOT / "web/node_modules/axe-core/axe.min.js")}))
    done = open_pages("app_system.mjs", folder)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("case", cases_of_script("app_system.mjs"))
def test_system_in_chromium(case, system):
    why = outcome(system, f"browser {case}")
    assert why is None, why


@pytest.fixture(scope="module")
def bench(served, module_folder, open_pages):
    folder = module_folder / "bench"
    (folder / "suite/sub").mkdir(parents=True)
    (folder / "suite/sub/bench.yaml").write_text("pairs:\n- name: nap\n  baseline: sleep 0.02\n  optimized: {quick: 'true', wrong: echo 1}\n")
    queue = Queue(folder)
    run = ("bench", "run", "sub:nap_quick", "--suite", "suite", "--python", PYTHON, "--iterations", 20)
    queue.text("bench", "run", "all", *run[3:], status=1)
    queue.text(*run, "--update-expectations")
    queue.shell("echo '<b>why</b>' >&2; exit 3", "--name", "broken")
    queue.shell("true", "--name", "<img src=x onerror=window.hacked=1>" + "n" * 300)
    queue.work(status=1)
    gate = folder / "gate"
    os.mkfifo(gate)
    queue.shell(f"cat {gate}", "--name", "held")
    (folder / "app.json").write_text(json.dumps({
        "command": [*queue.command("serve", "--bench-root", folder / "suite", "--listen")], "store": queue.command(), "environment": queue.environment, "gate": str(gate),
        "suite": str(folder / "suite"), "axe": str(ROOT / "web/node_modules/axe-core/axe.min.js")}))
    done = open_pages("app_bench.mjs", folder)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("case", cases_of_script("app_bench.mjs"))
def test_bench_in_chromium(case, bench):
    why = outcome(bench, f"browser {case}")
    assert why is None, why
