# SPDX-License-Identifier: Apache-2.0
"""`neurolens peaks`: measuring with a CUDA driver without a GPU (tests/capture/fake_cuda.cc), keeping, comparing with datasheets, and the
shares of measured peaks in roofline and stages."""
import json
import os
import shutil
import subprocess

import pytest
from http_server import Server
from neurolens_cli import BUILD, H200, LIMIT_S, Store, error_of

FAKE_CUDA = BUILD / "capture_tests/libfake_cuda.so"
FAKE_NVML = BUILD / "capture_tests/libfake_nvml.so"
PROGRAM = BUILD / "neurolens-peaks"
UUID = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
MISSING = [p.name for p in (FAKE_CUDA, FAKE_NVML, PROGRAM) if not p.exists()]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not built: {', '.join(MISSING)}")
ON_FAKE = {"NEUROLENS_CUDA": str(FAKE_CUDA), "NEUROLENS_CUBLASLT": str(FAKE_CUDA), "NEUROLENS_NVML": str(FAKE_NVML)}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store", **ON_FAKE)


def figures(device):
    return {f["name"]: f for f in device["figures"]}


def document(values, name="NVIDIA H200", unix_ns=1_700_000_000_000_000_000, driver="580.95.05"):
    """A measurement of a GPU with these GB/s and TFLOP/s."""
    clocks = {"sm_mhz": None, "memory_mhz": None, "power_w": None, "temperature_c": None}
    listed = [{"name": n, "unit": "GB/s" if "dram" in n else "TFLOP/s", "value": v, "low": v, "high": v, "repeats": 15, "how": "so", "reason": None}
              for n, v in values.items()]
    return {"format": "neurolens-peaks/1", "unix_ns": unix_ns, "seconds": 1, "gpu_reason": None,
            "devices": [{"kind": "gpu", "id": "GPU-1", "name": name, "driver_version": driver, "index": 0, "sm_count": 132, "memory_bytes": 1, "l2_bytes": 1,
                         "library": None, "max_sm_mhz": None, "idle": clocks, "loaded": clocks, "seconds": 1, "figures": listed}]}


def take(store, tmp_path, *arguments, **options):
    (tmp_path / "m.json").write_text(json.dumps(document(*arguments, **options)))
    return store.json("peaks", "measure", "--from", tmp_path / "m.json")


def test_a_measurement_is_stored_by_device_and_driver_and_shown_beside_the_datasheet(store):
    made = store.json("peaks", "measure", "--no-cpu")
    (gpu,) = made["measured"]
    assert (gpu["id"], gpu["name"], gpu["driver_version"], gpu["max_sm_mhz"]) == (UUID, "NVIDIA H200", "580.95.05", 1980)
    assert gpu["loaded"] == {"sm_mhz": 1755, "memory_mhz": 2619, "power_w": 310.5, "temperature_c": 41}
    # Timed by the device's events: the fake device's own rates, whatever this machine's clock says.
    assert figures(gpu)["dram_read"]["value"] == pytest.approx(4000, rel=0.01)
    assert figures(gpu)["tensor_bf16"]["value"] == pytest.approx(800, rel=0.01)
    assert figures(gpu)["peer_copy"]["value"] is None and figures(gpu)["peer_copy"]["reason"] == "this machine has one GPU"
    assert [p.name for p in (store.folder / "peaks").iterdir()] == [f"{UUID}_580.95.05.json"]
    shown = store.json("peaks", "NVIDIA H200")
    assert shown["measured"] == made["measured"] and shown["devices"][0]["kind"] == "datasheet"
    rows = {r["figure"]: r for r in shown["compared"]}
    assert rows["tensor_bf16"]["datasheet"] == 989 and rows["tensor_bf16"]["ratio"] == pytest.approx(800 / 989, rel=0.01)
    assert rows["l2_read"]["datasheet"] is None and rows["l2_read"]["ratio"] is None
    assert rows["dram_read"]["spread"] == pytest.approx(0.04, abs=0.005)
    assert f"{100 * rows['dram_read']['ratio']:.1f} %" in store.text("peaks", "NVIDIA H200")


def test_without_a_driver_the_cpu_is_measured_and_the_gpu_has_a_reason(tmp_path):
    store = Store(tmp_path / "store", NEUROLENS_CUDA="/nonexistent/libcuda.so.1")
    reply = store.json("peaks", "measure", "--budget", "20")
    assert [d["kind"] for d in reply["measured"]] == ["cpu"]
    assert all(f["value"] > 0 for f in reply["measured"][0]["figures"])
    assert reply["gpu_reason"] == "no NVIDIA driver: /nonexistent/libcuda.so.1 cannot be loaded"


def test_the_small_program_writes_what_the_store_takes(store, tmp_path):
    out = subprocess.run([PROGRAM, "--no-cpu"], capture_output=True, text=True, timeout=LIMIT_S, check=True, env=ON_FAKE).stdout
    (tmp_path / "p.json").write_text(out)
    (gpu,) = store.json("peaks", "measure", "--from", tmp_path / "p.json")["measured"]
    assert figures(gpu)["dram_copy"]["value"] == pytest.approx(3900, rel=0.01)
    assert subprocess.run([PROGRAM, "--budget", "-1"], capture_output=True, timeout=LIMIT_S, check=False).returncode == 2


def test_shares_of_the_measured_peaks_stand_beside_those_of_the_datasheet(store, tmp_path):
    run = store.add(H200 / "base.json.gz")
    before = store.json("roofline", run.id)
    assert before["measured_peaks"] == [] and all(p["efficiency_measured"] is None for p in before["points"])
    assert error_of(store.run("roofline", run.id, "--peaks", "measured", "--json"))
    take(store, tmp_path, {"dram_read": 4000, "dram_copy": 3900, "tensor_bf16": 500, "tensor_fp16": 500, "tensor_tf32": 300, "fma_fp32": 60})
    both = store.json("roofline", run.id)
    assert both["peaks"] == before["peaks"] and both["peaks"][0]["kind"] == "datasheet"
    assert (both["measured_peaks"][0]["dram_gbps"], both["measured_peaks"][0]["kind"]) == (4000, "measured")
    memory = [p for p in both["points"] if p["efficiency"] and p["bound"] == "memory" and p["efficiency_measured"]]
    assert memory
    for point, old in zip(both["points"], before["points"]):
        assert point["efficiency"] == old["efficiency"]
    pure = [p for p in memory if not p["flops"]]
    for p in pure:
        assert p["efficiency_measured"] == pytest.approx(p["efficiency"] * 4800 / 4000)
    chosen = store.json("roofline", run.id, "--peaks", "measured")
    assert chosen["peaks"][0]["kind"] == "measured" and chosen["peaks"][0]["dram_gbps"] == 4000 and chosen["peaks"][0]["fp8_tflops"] == 1979
    assert [p["efficiency"] for p in chosen["points"]] == [p["efficiency_measured"] for p in both["points"]]
    text = store.text("roofline", run.id)
    assert "EFF MEASURED" in text and "datasheet peaks of H200 SXM" in text and "measured peaks of NVIDIA H200" in text


def test_findings_judge_kernels_by_the_peaks_that_are_asked_for(store, tmp_path):
    run = store.add(H200 / "base.json.gz")
    near = lambda *options: {k["kernel"]: k["efficiency"] for k in store.json("findings", run.id, *options)["near_limit"]}
    datasheet = near()
    assert error_of(store.run("findings", run.id, "--peaks", "measured", "--json"))
    take(store, tmp_path, {"dram_read": 2500, "tensor_bf16": 600, "tensor_fp16": 600, "tensor_tf32": 300, "fma_fp32": 60})
    # A measurement in the store changes nothing unless it is asked for.
    assert near() == near("--peaks", "datasheet") == datasheet
    measured, lower = near("--peaks", "measured"), near("--peaks", "peak_dram_gbps=2400")
    only = set(measured) - set(datasheet)
    assert only, "kernels that read at half the rate of the datasheet are near the limit of this device"
    # They are bound by memory: their share of the peak is their rate, which does not change, by that peak.
    for kernel in only:
        assert lower[kernel] * 2400 == pytest.approx(measured[kernel] * 2500), kernel
    assert error_of(store.run("findings", run.id, "--peaks", "peak_dram_gbps=none", "--json"))


def mcp_tool(store, name, arguments):
    """What `neurolens mcp` offers as tool `name`, and its answer to these arguments."""
    ask = lambda number, method, **params: json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    lines = [ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"}),
             json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), ask(2, "tools/list"), ask(3, "tools/call", name=name, arguments=arguments)]
    answers = {}
    # Its input stays open until it has answered: at the end of the input it ends, whatever was asked.
    with subprocess.Popen(store.command("mcp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **store.environment}) as agent:
        agent.stdin.write("".join(line + "\n" for line in lines))
        agent.stdin.flush()
        for answer in map(json.loads, agent.stdout):
            answers[answer.get("id")] = answer
            if {2, 3} <= set(answers):
                break
    return {t["name"]: t for t in answers[2]["result"]["tools"]}, answers[3]


def test_only_the_command_line_measures_and_forgets(store, tmp_path):
    take(store, tmp_path, {"dram_read": 4000})
    kept = sorted((p.name, p.read_bytes()) for p in (store.folder / "peaks").iterdir())
    with Server(store) as server:
        # What may be asked is answered, so that a refusal below is one of its parameter.
        assert [m["id"] for m in server.post("/api/v1/peaks", {"device": "NVIDIA H200"}).json()["measured"]] == ["GPU-1"]
        for action in ("measure", "forget"):
            refused = server.post("/api/v1/peaks", {"action": action, "device": "all"}).problem(400)
            assert "action" in refused["detail"], refused
        described = json.dumps(server.get("/openapi.json").json()["paths"]["/api/v1/peaks"])
        assert '"device"' in described and '"action"' not in described and '"no_gpu"' not in described
    tools, answer = mcp_tool(store, "peaks", {"action": "measure"})
    assert "peaks" not in tools or "action" not in tools["peaks"]["inputSchema"]["properties"]
    assert "error" in answer or answer["result"]["isError"], answer
    assert sorted((p.name, p.read_bytes()) for p in (store.folder / "peaks").iterdir()) == kept


def test_the_latest_measurement_counts_and_forget_removes(store, tmp_path):
    take(store, tmp_path, {"dram_read": 4000})
    take(store, tmp_path, {"dram_read": 4100}, unix_ns=1_800_000_000_000_000_000, driver="590.1")
    assert store.json("peaks", "NVIDIA H200", "--peaks", "measured")["devices"][0]["dram_gbps"] == 4100
    assert len(store.json("peaks")["measured"]) == 2
    assert len(store.json("peaks", "forget", "h200")["measured"]) == 2
    assert store.json("peaks")["measured"] == [] and list((store.folder / "peaks").iterdir()) == []
    assert error_of(store.run("peaks", "forget", "h200", "--json"))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "neurolens-peaks/9"}', '{"format": "neurolens-peaks/1", "devices": 3}'])
def test_another_document_is_refused(store, tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    assert error_of(store.run("peaks", "measure", "--from", tmp_path / "bad.json", "--json"))
    assert not (store.folder / "peaks").exists()


def test_a_damaged_document_takes_only_its_own_figures_away(store, tmp_path):
    take(store, tmp_path, {"dram_read": 4000})
    (store.folder / "peaks/GPU-2_1.json").write_text("{")
    done = store.run("peaks", "--json")
    assert len(json.loads(done.stdout)["measured"]) == 1 and done.returncode == 2
    store.json("roofline", store.add(H200 / "base.json.gz").id)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_kernels_compile(tmp_path, arch):
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if ptxas is None:
        pytest.skip("ptxas of the CUDA toolkit is not installed")
    text = subprocess.run([PROGRAM, "--ptx"], capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
    (tmp_path / "k.ptx").write_text(text)
    done = subprocess.run([ptxas, "-v", f"-arch={arch}", tmp_path / "k.ptx", "-o", tmp_path / "k.cubin"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Compiling entry function") == 16 and done.stderr.count(" 0 bytes spill stores") == 16
