# SPDX-License-Identifier: Apache-2.0
"""GPU clocks while something is measured, with a fake NVML: locked and restored however the program ends, and pairs that do not count because the GPU was throttled."""
import os
import pathlib
import signal
import subprocess

import pytest
from neurolens_cli import BUILD, Store, default_signals, error_of, wait_until
from queue_store import Queue

FAKE_NVML = BUILD / "capture_tests/libfake_nvml.so"
SHORT = ("--iterations", 12, "--no-why", "--no-keep")


class Gpu:
    """A machine with a GPU; `clocks` is what was done to its clocks, `reasons` what limits them."""

    def __init__(self, folder, permitted=True):
        self.folder, self.clocks, self.journal = folder, folder / "clocks", folder / "clocks.lock"
        self.reasons = folder / "reasons"
        self.reasons.write_text("0\n")
        self.environment = {"NEUROLENS_NVML": str(FAKE_NVML), "NEUROLENS_CLOCK_LOCK": str(self.journal), "FAKE_NVML_REASONS": str(self.reasons)}
        if permitted:
            self.clocks.write_text("")
            self.environment["FAKE_NVML_CLOCKS"] = str(self.clocks)
        self.store = Store(folder / "store", cwd=folder, **self.environment)

    def lines(self):
        return self.clocks.read_text().splitlines()

    def prove(self, *words, a="sleep 0.01", b="true", status=(0, 2)):
        return self.store.json("prove", "--a", a, "--b", b, *SHORT, *words, status=status)

    def start(self):
        """A measurement that lasts, with its clocks locked."""
        command = self.store.command("prove", "--a", "sleep 0.2", "--b", "sleep 0.1", "--iterations", 10_000, "--no-why", "--no-keep", "--lock-clocks", 1200)
        process = subprocess.Popen(command, cwd=self.folder, env={**os.environ, **self.environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=default_signals)
        wait_until(lambda: self.lines() == ["0 locked 1200 1200"], "locked clocks", process)
        return process

    def guards(self):
        mine = f"NEUROLENS_CLOCK_LOCK={self.journal}".encode()
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if b"clock-guard" in (entry / "cmdline").read_bytes().split(b"\0") and mine in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


@pytest.fixture
def gpu(tmp_path):
    return Gpu(tmp_path)


def test_clocks_are_locked_and_restored(gpu):
    reply = gpu.prove("--lock-clocks", 1500)["gpu"]
    assert gpu.lines() == ["0 locked 1500 1500", "0 restored"] and gpu.journal.read_text() == ""
    assert reply["locked_clock_mhz"] == 1500 and reply["lock_reason"] is None
    (device,) = reply["gpus"]
    state = {"sm_clock_mhz": 1755, "memory_clock_mhz": 2619, "temperature_c": 41, "power_w": 310.5, "clock_limit_reasons": []}
    assert device["before"] == device["after"] == state and device["readings"] >= 2
    assert (device["name"], device["sm_clock_min_mhz"], device["sm_clock_max_mhz"], device["temperature_max_c"]) == ("NVIDIA H200", 1755, 1755, 41)
    assert gpu.prove("--lock-clocks", "default")["gpu"]["locked_clock_mhz"] == 1980, "without a default application clock the highest one"
    wait_until(lambda: not gpu.guards(), "the end of the guard")
    for word in ("fast", "0", "-3", "15x"):
        assert error_of(gpu.store.run("prove", "--a", "true", "--b", "true", f"--lock-clocks={word}", "--json"), 3)["code"] == "invalid_input"


def test_nothing_is_locked_unless_asked_for(gpu):
    reply = gpu.prove()["gpu"]
    assert gpu.lines() == [] and reply["locked_clock_mhz"] is None and reply["lock_reason"] is None and reply["gpus"]


def test_clocks_that_may_not_be_locked_are_a_reason(tmp_path):
    reply = Gpu(tmp_path, permitted=False).prove("--lock-clocks", 1500)
    assert "not permitted" in reply["gpu"]["lock_reason"] and reply["gpu"]["locked_clock_mhz"] is None
    assert any("not permitted" in note for note in reply["notes"]), reply["notes"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_clocks_are_restored_whatever_ends_the_program(gpu, number):
    process = gpu.start()
    process.send_signal(number)
    process.wait(timeout=600)
    wait_until(lambda: "0 restored" in gpu.lines(), "restored clocks")
    wait_until(lambda: gpu.journal.read_text() == "", "an empty journal")
    wait_until(lambda: not gpu.guards(), "the end of the guard")


def test_the_next_command_restores_what_a_killed_guard_could_not(gpu):
    process = gpu.start()
    (guard,) = gpu.guards()
    os.kill(guard, signal.SIGKILL)
    process.kill()
    process.wait(timeout=600)
    assert gpu.lines() == ["0 locked 1200 1200"] and gpu.journal.read_text() != ""
    queue = Queue(gpu.folder, **gpu.environment)
    queue.work()
    assert gpu.lines() == ["0 locked 1200 1200", "0 restored"] and gpu.journal.read_text() == ""


def test_only_one_process_holds_clocks(gpu):
    process = gpu.start()
    second = gpu.prove("--lock-clocks", 1500)
    assert "another process holds the clocks" in second["gpu"]["lock_reason"], second["gpu"]
    assert gpu.lines() == ["0 locked 1200 1200"], "the lock of the first process must stay"
    process.terminate()
    process.wait(timeout=600)


def test_only_visible_gpus_are_locked(tmp_path):
    gpu = Gpu(tmp_path)
    gpu.store.environment.update({"FAKE_NVML_GPUS": "3", "CUDA_VISIBLE_DEVICES": "GPU-2,1"})
    reply = gpu.prove("--lock-clocks", 1500)["gpu"]
    assert gpu.lines() == ["1 locked 1500 1500", "2 locked 1500 1500", "1 restored", "2 restored"]
    assert [device["index"] for device in reply["gpus"]] == [1, 2]


def test_what_was_not_locked_here_is_not_restored(tmp_path):
    gpu = Gpu(tmp_path)
    gpu.store.environment.update({"FAKE_NVML_GPUS": "3", "FAKE_NVML_LOCKED_MOST": "1"})
    reply = gpu.prove("--lock-clocks", 1500)["gpu"]
    assert gpu.lines() == ["0 locked 1500 1500", "0 restored"] and gpu.journal.read_text() == ""
    assert reply["locked_clock_mhz"] is None and "cannot be locked at 1500 MHz" in reply["lock_reason"]
    wait_until(lambda: not gpu.guards(), "the end of the guard")


@pytest.mark.parametrize("text", ["{", '{"gpus": 3}', '{"gpus": ["GPU-7", 1]}'])
def test_a_journal_that_names_no_gpu_restores_none(gpu, text):
    gpu.journal.write_text(text)
    gpu.prove()
    assert gpu.lines() == [] and gpu.journal.read_text() == ""


def test_a_journal_that_is_a_link_is_not_followed(gpu):
    target = gpu.folder / "target"
    target.write_text('{"gpus": ["GPU-0"]}')
    gpu.journal.symlink_to(target)
    reply = gpu.prove("--lock-clocks", 1500)["gpu"]
    assert "cannot be opened" in reply["lock_reason"] and gpu.lines() == [] and target.read_text() == '{"gpus": ["GPU-0"]}'


def test_pairs_of_a_throttled_gpu_do_not_count(gpu):
    # The eighth run of A, after the warm-up, finds the GPU too hot; the ninth finds it well again.
    a = "sh -c 'echo x >> n; if [ $(wc -l < n) = 8 ]; then echo 64 > reasons; else echo 0 > reasons; fi'"
    reply = gpu.prove(a=a)
    rejected = reply["gpu"]["rejected_pairs"]
    assert 1 <= rejected <= 2 and reply["iterations"] == 12 == len(reply["a"]["walls_ms"]), reply["gpu"]
    assert len((gpu.folder / "n").read_text().split()) == reply["warmup"] + 12 + rejected
    assert "hardware_thermal_slowdown" in reply["gpu"]["gpus"][0]["clock_limit_reasons"]
    assert any("throttled" in note for note in reply["notes"]), reply["notes"]


def test_a_power_cap_is_stated_and_counts(gpu):
    gpu.reasons.write_text("4\n")
    reply = gpu.prove()
    assert reply["gpu"]["power_capped_pairs"] == 12 and reply["gpu"]["rejected_pairs"] == 0 and reply["iterations"] == 12


def test_a_gpu_that_is_always_throttled_is_an_error(gpu):
    gpu.reasons.write_text("64\n")
    error = error_of(gpu.store.run("prove", "--a", "true", "--b", "true", *map(str, SHORT), "--json"), 3)
    assert "throttled" in error["message"] and "lock-clocks" in error["hint"], error
