# SPDX-License-Identifier: Apache-2.0
"""`neurolens system`: what made machines are, what does not fit on them, and that recordings hold it."""
import os
import subprocess

import pytest
from neurolens_cli import BUILD, RECORD, Store, error_of

FAKE_NVML = str(BUILD / "capture_tests/libfake_nvml.so")
XEON = "".join(f"processor\t: {i}\nmodel name\t: Intel(R) Xeon(R) Platinum 8480C\nphysical id\t: {i // 2}\ncore id\t: {i % 2}\nflags\t\t: fpu sse\n\n" for i in range(4))


class Machine:
    """A made root, and the program asked about it."""

    def __init__(self, folder, **environment):
        self.root = folder / "root"
        # A terminal's own environments are not part of a made machine.
        self.environment = {"PATH": "/usr/bin", "VIRTUAL_ENV": "", "CONDA_PREFIX": "", "CUDA_HOME": "", "HOME": "/root", "NEUROLENS_NVML": "", **environment}
        self.put("/proc/cpuinfo", XEON)
        self.put("/proc/meminfo", "MemTotal:       4000000 kB\nMemAvailable:   3000000 kB\nSwapTotal: 1000 kB\nSwapFree: 600 kB\n")
        self.put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-3\n")
        self.put("/proc/self/cgroup", "0::/\n")
        self.put("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
        self.put("/proc/sys/kernel/arch", "x86_64\n")
        self.put("/proc/sys/kernel/perf_event_paranoid", "2\n")
        self.put("/etc/os-release", 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n')
        self.store = Store(folder / "store", **self.environment)

    def put(self, path, text=""):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def link(self, path, target):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def package(self, site, name, version, *requires):
        self.put(f"{site}/{name}-{version}.dist-info/METADATA", "Metadata-Version: 2.1\n" + "".join(f"Requires-Dist: {r}\n" for r in requires) + "\nRequires-Dist: numpy<1\n")

    def driver(self, version):
        self.put("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Tue\n")
        self.put("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n")
        self.put("/proc/driver/nvidia/gpus/0000:1b:00.0/information", "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-0\n")

    def ask(self):
        return self.store.json("system", "--root", self.root)

    def text(self):
        return self.store.text("system", "--root", self.root)


def health(reply, name):
    return [check for check in reply["health"] if check["name"] == name]


def only(reply, name, state):
    (check,) = health(reply, name)
    assert check["state"] == state, check
    assert (check["advice"] is None) == (state == "ok"), check
    return check


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def gpu_machine(tmp_path):
    """Two GPUs that NVML lists: the second in MIG mode, the first weak."""
    return Machine(tmp_path, NEUROLENS_NVML=FAKE_NVML, FAKE_NVML_GPUS="2", FAKE_NVML_MIG="1", FAKE_NVML_WEAK="0")


def venv(machine, **packages):
    """A virtual environment at /srv/env that is the first on PATH."""
    machine.store.environment["PATH"] = "/srv/env/bin:/usr/bin"
    machine.put("/srv/env/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.12.3\n")
    machine.link("/srv/env/bin/python3", "/usr/bin/python3.12")
    site = "/srv/env/lib/python3.12/site-packages"
    for name, version in packages.items():
        machine.package(site, name, version)
    return site


def test_a_bare_machine(machine):
    reply = machine.ask()
    host = reply["host"]
    assert reply["gpus"] == [] and "NVML" in reply["gpus_reason"]
    assert host["cpu"] | {"governor": None} == {"model": "Intel(R) Xeon(R) Platinum 8480C", "sockets": 2, "cores": 4, "threads": 4, "numa_nodes": None,
                                                "max_mhz": None, "governor": None, "turbo": None}
    assert (host["memory_bytes"], host["memory_available_bytes"], host["swap_used_bytes"]) == (4096000000, 3072000000, 409600)
    assert (host["os"], host["kernel"], host["architecture"]) == ("Ubuntu 24.04.1 LTS", "6.8.0-45-generic", "x86_64")
    assert host["container"] is None and host["virtualization"] is None
    assert reply["python"] == [] and reply["recording"] is None and "root" in reply["recording_reason"]
    only(reply, "driver", "ok")


def test_what_cannot_be_read_is_null_with_a_reason(tmp_path):
    machine = Machine(tmp_path)
    for path in ("proc/cpuinfo", "proc/meminfo", "etc/os-release", "proc/sys/kernel/osrelease", "proc/self/cgroup"):
        (machine.root / path).unlink()
    host = machine.ask()["host"]
    for field in ("memory_bytes", "os", "kernel"):
        assert host[field] is None and host["unread"][field], field
    for field in ("model", "threads", "sockets", "governor", "turbo", "numa_nodes"):
        assert host["cpu"][field] is None and host["unread"][f"cpu.{field}"], field
    assert host["limits"]["cgroup_version"] is None and host["unread"]["limits.cgroup_version"]


def test_topology_frequency_and_turbo(machine):
    for cpu in range(8):
        folder = f"/sys/devices/system/cpu/cpu{cpu}"
        machine.put(f"{folder}/topology/physical_package_id", "0\n")
        machine.put(f"{folder}/topology/core_id", f"{cpu // 2}\n")
        machine.put(f"{folder}/cpufreq/scaling_governor", "powersave\n")
    machine.put("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3800000\n")
    machine.put("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")
    machine.put("/sys/devices/system/node/node0/cpulist", "0-7\n")
    reply = machine.ask()
    cpu = reply["host"]["cpu"]
    assert (cpu["sockets"], cpu["cores"], cpu["threads"], cpu["numa_nodes"]) == (1, 4, 8, 1)
    assert (cpu["governor"], cpu["turbo"], cpu["max_mhz"]) == ("powersave", False, 3800)
    assert "cpupower" in only(reply, "governor", "notice")["advice"]


def test_limits_of_docker_in_cgroup_2(machine):
    machine.put("/.dockerenv")
    machine.put("/proc/self/cgroup", "0::/a/b\n")
    machine.put("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n")
    machine.put("/sys/fs/cgroup/a/cpu.max", "max 100000\n")
    machine.put("/sys/fs/cgroup/a/b/memory.max", "max\n")
    machine.put("/sys/fs/cgroup/a/memory.max", "2000000000\n")
    machine.put("/sys/fs/cgroup/a/b/pids.max", "512\n")
    reply = machine.ask()
    assert reply["host"]["container"] == "docker"
    assert reply["host"]["limits"] == {"cgroup_version": 2, "cpus": 1.5, "memory_bytes": 2000000000, "processes": 512, "allowed_cpus": "0-3"}
    assert "1.5 of 4 CPUs" in only(reply, "cgroup_cpu", "notice")["text"]
    assert "2 of 4.1 GB" in only(reply, "cgroup_memory", "notice")["text"]


def test_limits_in_cgroup_1(machine):
    machine.put("/proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n")
    machine.put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n")
    machine.put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    machine.put("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "9223372036854771712\n")
    host = machine.ask()["host"]
    assert host["container"] == "docker" and host["limits"]["cgroup_version"] == 1
    assert host["limits"]["cpus"] == 0.5 and host["limits"]["memory_bytes"] is None


@pytest.mark.parametrize("path, kind", [("/run/.containerenv", "podman"), ("/.singularity.d/env", "apptainer"),
                                        ("/var/run/secrets/kubernetes.io/serviceaccount/token", "kubernetes")])
def test_other_containers(machine, path, kind):
    machine.put(path)
    assert machine.ask()["host"]["container"] == kind


def test_a_virtual_machine(machine):
    machine.put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
    assert machine.ask()["host"]["virtualization"] == "Amazon EC2"


def test_two_gpus_with_mig(gpu_machine):
    gpu_machine.put("/sys/bus/pci/devices/0000:1b:00.0/numa_node", "1\n")
    reply = gpu_machine.ask()
    weak, mig = reply["gpus"]
    assert (weak["name"], weak["sm_count"], weak["compute_capability"], weak["memory_bytes"]) == ("NVIDIA H200", 132, "9.0", 150754820096)
    assert (weak["sm_clock_mhz"], weak["sm_clock_max_mhz"], weak["memory_clock_mhz"], weak["memory_clock_max_mhz"]) == (1755, 1980, 2619, 3201)
    assert (weak["power_w"], weak["power_limit_w"], weak["power_limit_default_w"], weak["temperature_c"]) == (310.5, 400, 700, 41)
    assert (weak["numa_node"], mig["numa_node"]) == (1, None) and mig["unread"]["numa_node"]
    assert weak["clock_limit_reasons"] == ["power_cap", "hardware_thermal_slowdown"] and mig["clock_limit_reasons"] == ["power_cap"]
    assert weak["clocks_locked"] is None and "-lgc" in weak["unread"]["clocks_locked"]
    assert weak["pcie_gen"] is None and "lacks nvmlDeviceGetCurrPcieLinkGeneration" in weak["unread"]["pcie_gen"]
    assert (weak["mig"], mig["mig"], weak["mig_devices"]) == (False, True, [])
    assert mig["mig_devices"] == 2 * [{"name": "NVIDIA H200 MIG 3g.71gb", "memory_bytes": 71000000000}]
    assert reply["gpu_links"] == [{"from": 0, "to": 1, "kind": "nvlink", "nvlinks": 18}]
    assert (reply["cuda"]["driver"], reply["cuda"]["driver_cuda"]) == ("580.95.05", "13.0")
    for name in ("persistence", "power_limit", "pcie_width", "slowdown"):
        (check,) = health(reply, name)
        assert check["text"].startswith("GPU 0: ") and check["advice"], check


def test_nvml_that_cannot_be_initialised(gpu_machine):
    gpu_machine.driver("580.95.05")
    gpu_machine.store.environment["FAKE_NVML"] = "broken"
    reply = gpu_machine.ask()
    assert "nvmlInit failed: Driver Not Loaded" in reply["gpus_reason"]
    (gpu,) = reply["gpus"]
    assert gpu["name"] == "NVIDIA H200" and gpu["memory_bytes"] is None and gpu["unread"]["*"]


def test_gpus_without_a_driver(machine):
    machine.put("/sys/bus/pci/devices/0000:1b:00.0/vendor", "0x10de\n")
    machine.put("/sys/bus/pci/devices/0000:1b:00.0/class", "0x030200\n")
    machine.put("/sys/bus/pci/devices/0000:00:1f.0/vendor", "0x8086\n")
    machine.put("/sys/bus/pci/devices/0000:00:1f.0/class", "0x030000\n")
    reply = machine.ask()
    assert reply["cuda"]["gpus_on_pci"] == 1 and reply["cuda"]["driver"] is None
    assert "no driver is loaded" in only(reply, "driver", "problem")["text"]


def test_a_driver_that_is_too_old(machine):
    machine.driver("520.61.05")
    machine.put("/usr/local/cuda-12.4/version.json", '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}')
    machine.put("/usr/local/cuda-11.8/version.json", '{"cuda": {"name": "CUDA SDK", "version": "11.8.0"}}')
    machine.link("/usr/local/cuda", "/usr/local/cuda-12.4")
    machine.put("/usr/lib/x86_64-linux-gnu/libcudnn.so.9.8.0")
    machine.put("/usr/lib/x86_64-linux-gnu/libnccl.so.2.26.2")
    reply = machine.ask()
    assert [(t["path"], t["version"], t["is_default"]) for t in reply["cuda"]["toolkits"]] == [
        ("/usr/local/cuda-11.8", "11.8.0", False), ("/usr/local/cuda-12.4", "12.4.1", True)]
    assert [(x["name"], x["version"]) for x in reply["cuda"]["libraries"]] == [("cudnn", "9.8.0"), ("nccl", "2.26.2")]
    old, new = health(reply, "driver_for_cuda")
    assert old["state"] == "ok" and new["state"] == "problem"
    assert "520.61.05 is too old for CUDA 12.4.1" in new["text"] and "install driver 525 or later" in new["advice"]
    assert "NVreg_RestrictProfilingToAdminUsers" in only(reply, "counters", "warning")["advice"]


def test_stacks_that_cannot_be_sampled(machine):
    machine.put("/proc/sys/kernel/perf_event_paranoid", "4\n")
    assert "sysctl" in only(machine.ask(), "perf_events", "warning")["advice"]
    machine.put("/proc/self/status", "CapEff:\t0000004000000000\n")  # CAP_PERFMON
    only(machine.ask(), "perf_events", "ok")


def test_packages_that_fit(machine):
    site = venv(machine, numpy="2.1.0", triton="3.2.0")
    machine.package(site, "torch", "2.6.0+cu124", 'triton==3.2.0; platform_system == "Linux" and platform_machine == "x86_64"', 'numpy<2; extra == "old"',
                    'jax>9; platform_system == "Windows"', "sympy==1.13.1")
    machine.put(f"{site}/torch/version.py", "__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n")
    reply = machine.ask()
    (env,) = reply["python"]
    assert (env["path"], env["kind"], env["is_active"], env["python"]) == ("/srv/env", "venv", True, "3.12.3")
    assert env["packages"] == {"numpy": "2.1.0", "torch": "2.6.0+cu124", "triton": "3.2.0"}
    assert env["torch_cuda"] == "12.4" and env["torch_hip"] is None
    only(reply, "packages", "ok")
    assert not health(reply, "torch_without_cuda")


def test_packages_that_do_not_fit(machine):
    machine.driver("580.95.05")
    machine.put("/usr/local/cuda-13.0/version.json", '{"cuda": {"version": "13.0.0"}}')
    machine.link("/usr/local/cuda", "cuda-13.0")
    site = venv(machine, triton="3.1.0", nvidia_cublas_cu12="12.4.5.8", nvidia_cublas_cu13="13.0.1", transformers="4.40.0")
    machine.package(site, "torch", "2.6.0", "triton==3.2.0", "nvidia-cublas-cu12==12.4.5.8")
    machine.package(site, "vllm", "0.8.0", "transformers>=4.51.1", "torch==2.6.0", "numpy<2")
    machine.put(f"{site}/torch/version.py", "cuda = '12.4'\nhip = None\n")
    reply = machine.ask()
    assert "triton==3.2.0, installed is 3.1.0" in only(reply, "package_mismatch", "problem")["text"]
    assert "transformers>=4.51.1, installed is 4.40.0" in only(reply, "package_outdated", "problem")["text"]
    assert only(reply, "package_missing", "problem")["advice"] == "pip install 'numpy<2'"
    assert "2 CUDA major versions" in only(reply, "cuda_majors", "warning")["text"]
    assert "CUDA 13.0.0" in only(reply, "toolkit_for_torch", "warning")["text"]
    assert not health(reply, "packages")


def test_torch_without_cuda_on_a_gpu_machine(machine):
    machine.driver("580.95.05")
    site = venv(machine, torch="2.6.0")
    machine.put(f"{site}/torch/version.py", "cuda: Optional[str] = None\n")
    assert "built without CUDA" in only(machine.ask(), "torch_without_cuda", "problem")["text"]


def test_every_environment_once_and_the_active_one_first(machine):
    machine.store.environment.update(PATH="/srv/env/bin:/opt/conda/bin:/usr/bin:/bin", CONDA_PREFIX="/opt/conda")
    venv(machine, torch="2.6.0")
    machine.store.environment["PATH"] = "/srv/env/bin:/opt/conda/bin:/usr/bin:/bin"
    machine.store.environment["VIRTUAL_ENV"] = "/srv/env"
    machine.put("/opt/conda/conda-meta/history")
    machine.link("/opt/conda/bin/python3", "python3.11")
    machine.package("/opt/conda/lib/python3.11/site-packages", "jax", "0.5.0")
    machine.link("/usr/bin/python3", "python3.12")
    machine.link("/bin/python3", "python3.12")
    machine.put("/usr/lib/python3/dist-packages/numpy-1.26.4.egg-info", "Name: numpy\n")
    found = [(e["path"], e["kind"], e["is_active"], e["packages"]) for e in machine.ask()["python"]]
    assert found == [("/srv/env", "venv", True, {"torch": "2.6.0"}), ("/opt/conda", "conda", False, {"jax": "0.5.0"}),
                     ("/usr", "system", False, {"numpy": "1.26.4"})]


def test_text_fits_80_columns_and_has_what_needs_care(gpu_machine):
    text = gpu_machine.text()
    assert max(map(len, text.splitlines())) <= 80, text
    for part in ("GPU 0", "132 SMs", "MIG on (2 parts)", "GPU 0 to GPU 1: nvlink, 18 links", "driver      580.95.05", "Intel(R) Xeon(R)", "-> sudo nvidia-smi -i 0 -pl 700"):
        assert part in text, text


def test_a_root_that_is_not_there(machine):
    assert error_of(machine.store.run("system", "--root", machine.root / "nothing", "--json"))["code"] == "not_found"


def test_this_machine(tmp_path):
    store = Store(tmp_path / "store")
    reply = store.json("system")
    assert reply["host"]["kernel"] == os.uname().release
    assert reply["host"]["cpu"]["threads"] == os.cpu_count()
    assert reply["recording"] == store.json("doctor")["recording"]
    assert store.json("system", "--no-recording")["recording"] is None


def test_a_recording_holds_the_machine(tmp_path):
    """Also what neurolens-capture records, which has no JSON library: both come from one description."""
    environment = {"NEUROLENS_NVML": FAKE_NVML, "FAKE_NVML_WEAK": "0"}
    store = Store(tmp_path / "store", **environment)
    captures = []
    for name, recorder in (("one", RECORD), ("two", [str(BUILD / "neurolens-capture")])):
        captures.append(tmp_path / f"{name}.nlcap")
        subprocess.run([*recorder, "--out", captures[-1], "--", "sleep", "0.05"], check=True, capture_output=True, env={**os.environ, **environment}, timeout=600)
    direct = store.json("system", "--no-recording")
    for capture in captures:
        run = store.add(capture)
        document = store.json("show", run.id)["document"]
        system = document["system"]
        assert {k: type(v) for k, v in system.items()} == {k: type(v) for k, v in direct.items() if not k.startswith("recording")}
        assert system["gpus"][0]["name"] == "NVIDIA H200" and system["host"]["kernel"] == os.uname().release
        assert system["cuda"] == direct["cuda"] and system["python"] == direct["python"]
        text = store.text("show", run.id)
        assert "driver 580.95.05" in text and "warning   GPU 0: the power limit is 400 W" in text, text
        store.text("report", run.id, "--format", "md", "--out", tmp_path / f"{capture.stem}_report")
        written = "".join(p.read_text() for p in (tmp_path / f"{capture.stem}_report").rglob("*.md"))
        assert "580.95.05" in written and "warning: GPU 0: the power limit is 400 W" in written, written
