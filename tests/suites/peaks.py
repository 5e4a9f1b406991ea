# SPDX-License-Identifier: Apache-2.0
"""`neurolens peaks`: measuring with a CUDA driver without a GPU (tests/capture/fake_cuda.cc), keeping, comparing with datasheets, and the
shares of measured peaks in roofline and stages."""
import json
import shutil
import subprocess

import pytest
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
