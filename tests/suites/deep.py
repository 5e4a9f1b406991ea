# SPDX-License-Identifier: Apache-2.0
"""`neurolens deep`: timeline, plan, counters and bundle. The GPU is the fake CUPTI of tests/capture, which plays kernels of a real recording;
Nsight Compute is tests/fake_ncu.py, which answers with that recording's own pages."""
import csv
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import fake_ncu
import pytest
import yaml
from neurolens_cli import BUILD, H200, LIMIT_S, ROOT, SAMPLES, TESTS, Store, default_signals, error_of

FAKE = BUILD / "capture_tests"
PROGRAM, CUPTI = FAKE / "gpu_program", FAKE / "libfake_cupti.so"
MISSING = [p.name for p in (PROGRAM, CUPTI) if not p.exists()]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not built: {', '.join(MISSING)}")
REQUESTS = 40
# Files of a whole bundle.
FILES = {"config.yaml", "env.json", "inputs.yaml", "kernels.md", "metrics.json", "ncu/cmd.txt", "ncu/details.csv", "ncu/ncu.log", "ncu/program.out",
         "ncu/raw.csv", "ncu/report.ncu-rep", "operators.md", "plan.json", "report.html", "report.json", "report.md", "stakeholder_summary.md",
         "timeline/cmd.txt", "timeline/run.json"}


def raw_rows():
    """Kernels of the real recording, in order."""
    with gzip.open(H200 / "llama_layer_raw.csv.gz", "rt") as file:
        rows = list(csv.DictReader(line for line in file if line.startswith('"')))
    return [row for row in rows if row["ID"]]


def sizes(text):
    return [int(number) for number in text.strip("()").split(",")]


def write_play(path, requests=REQUESTS):
    """Requests of the real kernels: a prefill and two decode steps each; in the first request everything takes three times as long."""
    kernels = []
    for row in raw_rows():
        ns = round(float(row["gpu__time_duration.sum"].replace(",", "")) * 1000)
        kernels.append((ns, *sizes(row["Grid Size"]), *sizes(row["Block Size"]), row["Kernel Name"]))
    half = len(kernels) // 2
    lines = []
    for request in range(requests):
        slow = 3 if request == 0 else 1
        lines.append("push LLM@request")
        for stage, part in (("prefill", kernels[:half]), ("decode_step", kernels[half:]), ("decode_step", kernels[half:])):
            lines.append(f"push LLM@{stage}")
            lines += ["kernel " + " ".join(map(str, (slow * kernel[0], *kernel[1:]))) for kernel in part]
            lines.append("pop")
        lines.append("pop")
    path.write_text("\n".join(lines) + "\n")
    return path


class Deep:
    """`neurolens deep` in a folder of its own, with stand-ins for the tools on PATH."""

    def __init__(self, folder):
        self.folder, self.store = folder, Store(folder / "store")
        self.out, self.calls = folder / "bundles", folder / "calls.txt"
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.play = write_play(folder / "program.play")
        self.program = [str(PROGRAM), f"play={self.play}", "sync"]
        self.environment = {}
        self.add("ncu", f"#!/bin/sh\nexec {sys.executable} {TESTS / 'fake_ncu.py'} \"$@\"\n")

    def add(self, name, text):
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def run(self, *words, command=None, **environment):
        words = [*words, *(["--", *(command or self.program)] if command != () else [])]
        env = {**os.environ, "PATH": f"{self.programs}:/usr/bin:/bin", "NEUROLENS_CUPTI": str(CUPTI), "TMPDIR": str(self.folder), "FAKE_NCU_PAGES": str(H200),
               "FAKE_NCU_CALLS": str(self.calls), **self.environment, **environment}
        return subprocess.run(self.store.command("deep", "--out", self.out, "--json", *words), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=LIMIT_S, env=env, cwd=self.folder, preexec_fn=default_signals)

    def reply(self, *words, **environment):
        done = self.run(*words, **environment)
        assert done.returncode == 0, done.stderr[-800:] + done.stdout[-800:]
        return json.loads(done.stdout)

    def bundles(self):
        return sorted(p.name for p in self.out.iterdir()) if self.out.exists() else []

    def only_bundle(self):
        assert len(self.bundles()) == 1, self.bundles()
        return self.out / self.bundles()[0]

    def ncu_calls(self):
        return [json.loads(line) for line in self.calls.read_text().splitlines()] if self.calls.exists() else []


def metrics_of(bundle):
    return json.loads((bundle / "metrics.json").read_text())


def partial(bundle, text):
    """The bundle says that it is not whole, and why."""
    metrics = metrics_of(bundle)
    assert metrics["partial"] and any(text in problem for problem in metrics["problems"]), metrics["problems"]
    assert text in (bundle / "PARTIAL").read_text()
    return metrics


@pytest.fixture
def deep(tmp_path):
    return Deep(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A bundle that everything worked for; tests only read it."""
    made = Deep(tmp_path_factory.mktemp("deep"))
    made.result = made.reply()
    return made


def test_a_bundle_has_every_file_and_is_not_partial(whole):
    reply, bundle = whole.result, whole.only_bundle()
    assert reply["bundle"] == str(bundle) and bundle.name == reply["run_id"] and not reply["partial"] and reply["problems"] == []
    found = {str(p.relative_to(bundle)) for p in bundle.rglob("*") if p.is_file()}
    assert {f for f in found if not f.startswith("timeline/capture.nlcap/")} == FILES
    assert any(f.startswith("timeline/capture.nlcap/") for f in found)
    assert sorted(found) == reply["files"]
    assert metrics_of(bundle) == {k: v for k, v in reply.items() if k not in ("bundle", "files", "removed")}


def test_the_json_files_of_a_bundle_have_the_form_of_their_schemas(whole, ajv):
    bundle = whole.only_bundle()
    cases = [{"name": name, "schema": json.loads((ROOT / f"schemas/deep_{name}.schema.json").read_text()),
              "value": json.loads((bundle / f"{name}.json").read_text())} for name in ("plan", "metrics", "env")]
    # A member that no schema has must be refused: the schemas are strict.
    cases.append({**cases[0], "name": "strict", "value": {**cases[0]["value"], "other": 1}})
    done = subprocess.run(["node", "replies.mjs"], cwd=ajv, input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=LIMIT_S)
    lines = done.stdout.splitlines()
    assert lines[:3] == ["PASS plan", "PASS metrics", "PASS env"] and lines[3].startswith("FAIL strict"), done.stdout


def test_the_plan_takes_launches_of_each_stage_after_the_slow_first_request(whole):
    plan = json.loads((whole.only_bundle() / "plan.json").read_text())
    assert [s["name"] for s in plan["stages"]] == ["prefill", "decode_step"]
    launches = {}
    request = -1
    for line in whole.play.read_text().splitlines():
        if line == "push LLM@request":
            request += 1
        if line.startswith("kernel "):
            _, ns, *size, name = line.split(" ", 8)
            launches.setdefault((fake_ncu.function_of(name), tuple(map(int, size))), []).append((request, int(ns), name))
    assert plan["kernels"] and plan["launch_numbers"] == sorted(set(plan["launch_numbers"]))
    assert {kernel["launch_number"] for kernel in plan["kernels"]} == set(plan["launch_numbers"]), "no number without a kernel that needs it"
    for kernel in plan["kernels"]:
        request, ns, name = launches[fake_ncu.function_of(kernel["name"]), (*kernel["grid"], *kernel["block"])][kernel["launch_number"] - 1]
        assert name == kernel["name"], "other kernels of the function are counted, but do not stand for it"
        assert abs(kernel["launch_ms"] * 1e6 - ns) < 10  # the clocks of host and device are not quite the same
        near = abs(kernel["launch_ms"] - kernel["median_ms"]) <= 0.1 * kernel["median_ms"]
        # A launch of another stage with the same grid is not suitable, however long it takes.
        assert not kernel["suitable"] or (request > 0 and near and kernel["same_shapes"]), kernel["kernel"]
    suitable = sum(kernel["suitable"] for kernel in plan["kernels"])
    assert suitable > len(plan["kernels"]) / 2, f"{suitable} of {len(plan['kernels'])}"
    assert all(kernel["warmup_launches"] > 0 for kernel in plan["kernels"])


def test_ncu_runs_once_over_the_program_with_one_filter_for_all(whole):
    runs = [call for call in whole.ncu_calls() if "--import" not in call["options"]]
    assert len(runs) == 1 and runs[0]["command"] == whole.program
    options = runs[0]["options"]
    assert options["--target-processes"] == "all" and options["--kernel-name-base"] == "function" and options["--clock-control"] == "none"
    assert options["--set"] == "roofline" and options["--replay-mode"] == "kernel"
    text = (whole.only_bundle() / "ncu/cmd.txt").read_text()
    for section in ("SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "SchedulerStats", "ComputeWorkloadAnalysis", "WarpStateStats", "LaunchStats", "InstructionStats"):
        assert f"--section {section} " in text
    plan = json.loads((whole.only_bundle() / "plan.json").read_text())
    results = (whole.only_bundle() / "ncu/ncu.log").read_text().count("==PROF== Profiling")
    assert len({(k["name"], tuple(k["grid"])) for k in plan["kernels"]}) <= results <= plan["measured_launches"]


def test_every_selected_kernel_has_the_counters_of_the_recording_and_their_class(whole):
    reply = whole.result
    uncounted = [k for k in reply["kernels"] if k["source"] is None]
    assert reply["counted"] + len(uncounted) == reply["selected"] == len(reply["kernels"]) > 20
    assert not uncounted, [k["reason"] for k in uncounted]
    rows = {}
    for row in raw_rows():
        rows.setdefault((row["Kernel Name"], tuple(sizes(row["Grid Size"]))), []).append(row)
    number = lambda row, name: float(row[name].replace(",", ""))
    for kernel in (k for k in reply["kernels"] if k["source"]):
        shares = [(min(1, number(row, "sm__throughput.avg.pct_of_peak_sustained_elapsed") / 100),
                   min(1, number(row, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed") / 100)) for row in rows[kernel["name"], tuple(kernel["grid"])]]
        near = [s for s in shares if abs(s[0] - kernel["sm_throughput"]) < 1e-9 and abs(s[1] - kernel["dram_throughput"]) < 1e-9]
        assert near, (kernel["kernel"], shares, kernel["sm_throughput"])
        sm, dram = near[0]
        low, high = min(sm, dram), max(sm, dram)
        expected = ("low_utilization" if high < 0.2 else "balanced" if high < 1.3 * low and high - low < 0.05 else
                    "compute_bound" if sm > dram else "memory_bound")
        assert kernel["utilization"] == expected and kernel["source"] == "ncu" and kernel["reason"] is None
        stalls = {k: v for k, v in kernel["stalls"].items() if v}
        assert kernel["top_stall"] == max(stalls, key=stalls.get)
    assert {k["utilization"] for k in reply["kernels"]} >= {"low_utilization", "memory_bound"}


def test_counters_of_a_launch_that_takes_another_time_under_ncu_are_not_taken(deep):
    reply = deep.reply(FAKE_NCU="other_order")
    assert reply["selected"] > reply["counted"] > 0
    for kernel in reply["kernels"]:
        # Every result lasts four times as long: of short kernels that may be cold caches.
        other = "in another order than in the timeline" in (kernel["reason"] or "")
        assert other == (kernel["source"] is None) and (not other or kernel["mean_ms"] * 3 > 0.01), kernel


def test_counters_are_part_of_the_run_for_all_executions_of_a_kernel(whole):
    counted = whole.store.json("query", whole.result["run_id"], "SELECT count(*), count(DISTINCT kernel_id) FROM kernel_counter WHERE joined_by = 'same_kernel'")
    launches = sum(k["launches"] for k in whole.result["kernels"])
    rows, kernels = counted["rows"][0]
    assert rows == kernels >= launches
    assert whole.store.json("roofline", whole.result["run_id"], "--phase", "all")["counted_ms"] >= whole.result["selected_ms"] * 0.999


def test_kernels_are_listed_by_time_with_device_and_mean(whole):
    lines = (whole.only_bundle() / "kernels.md").read_text().splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("| Name"))
    assert re.findall(r"[A-Z][a-z]+(?: ms)?", lines[head]) == ["Name", "Device", "Total ms", "Calls", "Mean ms"]
    rows = []
    for line in lines[head + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")][-4:])
    totals = [float(row[1]) for row in rows]
    assert totals == sorted(totals, reverse=True) and all(row[0] == "0" for row in rows)
    assert sum(int(row[2]) for row in rows) == whole.play.read_text().count("kernel ")


def test_settings_and_inputs_are_written(whole):
    bundle = whole.only_bundle()
    config, inputs = (bundle / "config.yaml").read_text(), (bundle / "inputs.yaml").read_text()
    assert "top_n: 20" in config and "clock_control: none" in config and str(PROGRAM) in config
    digest = subprocess.run(["sha256sum", PROGRAM], capture_output=True, text=True, check=True).stdout.split()[0]
    assert digest in inputs and f"bytes: {whole.play.stat().st_size}" in inputs
    env = json.loads((bundle / "env.json").read_text())
    assert env["gpus"][0]["name"].startswith("NVIDIA") and env["tools"] == {"ncu": "2025.3.1.0"}
    assert env["git"] is None and env["git_reason"]
    machine = whole.store.json("system", "--no-recording")
    assert env["system"]["host"]["cpu"] == machine["host"]["cpu"] and env["system"]["cuda"] == machine["cuda"] and env["container"] == machine["host"]["container"]


def test_without_permission_the_tools_words_and_the_remedy_are_given(deep):
    done = deep.run(FAKE_NCU="denied")
    assert done.returncode == 2
    bundle = deep.only_bundle()
    metrics = partial(bundle, "ERR_NVGPUCTRPERM")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in metrics["problems"][0]
    assert "does not have permission" in next(t for t in metrics["tools"] if t["tool"] == "ncu")["problem"]
    # What was recorded before is there.
    assert (bundle / "report.md").exists() and metrics["run_id"] and metrics["counted"] == 0
    assert all(k["reason"] for k in metrics["kernels"])


def test_when_nothing_matches_it_is_said_with_near_names_and_not_repeated(deep):
    done = deep.run(FAKE_NCU="other")
    assert done.returncode == 2
    problem = partial(deep.only_bundle(), "the program launches other kernels than in the timeline")["problems"][0]
    assert "renamed_" in problem
    runs = [call for call in deep.ncu_calls() if "--import" not in call["options"]]
    assert len(runs) == 1 and runs[0]["options"]["--kernel-id"].startswith("::regex:")


def test_pages_that_cannot_be_printed_fail_the_command(deep):
    assert deep.run(FAKE_NCU="broken_pages").returncode == 2
    partial(deep.only_bundle(), "wrong version")


def test_a_program_that_fails_is_not_run_under_ncu(deep):
    done = deep.run(command=[*deep.program, "exit=3"])
    assert done.returncode == 2 and not deep.ncu_calls()
    partial(deep.only_bundle(), "the program ended with status 3")


def test_a_program_without_kernels_is_a_failure(deep):
    assert deep.run(command=["/bin/true"]).returncode == 2
    assert metrics_of(deep.only_bundle())["partial"]


def test_a_missing_tool_is_said_before_the_program_runs(deep):
    (deep.programs / "ncu").unlink()
    mark = deep.folder / "ran"
    error = error_of(deep.run(command=["/bin/touch", str(mark)]))
    assert "Nsight Compute" in error["message"] and "--mode light" in error["hint"]
    assert not mark.exists() and deep.bundles() == []
    assert "Nsight Systems" in error_of(deep.run("--nsys", "--plan-only", command=["/bin/touch", str(mark)]))["message"]


def test_old_bundles_are_removed_and_other_folders_are_not(deep):
    (deep.out / "mine").mkdir(parents=True)
    first = deep.reply("--plan-only", "--keep", "2")
    for _ in range(2):
        last = deep.reply("--plan-only", "--keep", "2")
    assert last["removed"] == [first["run_id"]]
    assert len(deep.bundles()) == 3 and "mine" in deep.bundles() and first["run_id"] not in deep.bundles()


def test_a_bundle_is_made_smaller_and_one_that_cannot_be_fails(deep):
    small = deep.reply("--plan-only")
    capture = sum(p.stat().st_size for p in (pathlib.Path(small["bundle"]) / "timeline/capture.nlcap").rglob("*"))
    size = sum(p.stat().st_size for p in pathlib.Path(small["bundle"]).rglob("*") if p.is_file())
    reply = deep.reply("--plan-only", "--max-size", str(size - capture // 2))
    assert reply["dropped"] == ["timeline/capture.nlcap"] and not (pathlib.Path(reply["bundle"]) / "timeline/capture.nlcap").exists()
    assert deep.run("--plan-only", "--max-size", "1000").returncode != 0


def test_light_mode_samples_counters_and_states_its_overhead(deep):
    (deep.programs / "ncu").unlink()
    reply = deep.reply("--mode", "light", command=[str(PROGRAM), "launch=1", "bursts=2", "busy_bursts=4"])
    assert reply["mode"] == "light" and reply["counted"] > 0 and not deep.ncu_calls()
    assert (reply["overhead_pct"] is None) != (reply["overhead_reason"] is None)
    assert {k["source"] for k in reply["kernels"] if k["source"]} == {"pm_sampling"}
    assert not (pathlib.Path(reply["bundle"]) / "ncu").exists()


def test_light_mode_without_counters_fails_with_what_doctor_says(deep):
    done = deep.run("--mode", "light", command=[str(PROGRAM), "launch=5", "sync"], FAKE_CUPTI="pm_denied")
    assert done.returncode == 2
    said = next(row["detail"] for row in json.loads(deep.store.run("doctor", "--json").stdout)["recording"] if row["name"] == "counters")
    partial(deep.only_bundle(), f"no hardware counters were recorded: {said}")


def test_a_stored_run_can_be_the_timeline(deep):
    run = deep.reply("--plan-only")["run_id"]
    shutil.rmtree(deep.out)
    reply = deep.reply("--timeline", run)
    assert reply["run_id"] == run and reply["counted"] >= 0.9 * reply["selected"] > 0
    assert [t["tool"] for t in reply["tools"]] == ["ncu"]


NSYS = """#!/bin/sh
echo "$@" >> {calls}
case "$1" in
--version) echo "NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0" ;;
profile) {profile} ;;
export) for last; do true; done; while [ "$1" != --output ]; do shift; done; cp {sqlite} "$2" ;;
stats) while [ "$1" != --output ]; do shift; done; echo Time > "$2_cuda_gpu_kern_sum.csv" ;;
esac
"""


def test_nsys_can_record_the_timeline(deep):
    calls = deep.folder / "nsys.txt"
    write = 'while [ "$1" != --output ]; do shift; done; echo report > "$2"'
    deep.add("nsys", NSYS.format(calls=calls, profile=write, sqlite=SAMPLES / "nsys/training_two_gpus.sqlite"))
    reply = deep.reply("--nsys", "--plan-only", command=["./train"])
    bundle = pathlib.Path(reply["bundle"])
    assert "profile --trace cuda,nvtx,osrt" in calls.read_text() and calls.read_text().count("./train") == 1
    assert {"report.nsys-rep", "report.sqlite", "stats_cuda_gpu_kern_sum.csv", "cmd.txt"} <= {p.name for p in (bundle / "nsys").iterdir()}
    assert reply["selected"] > 0 and reply["tools"][0]["version"] == "2025.3.2.474"


def test_what_nsys_says_when_it_fails_is_given(deep):
    deep.add("nsys", NSYS.format(calls="/dev/null", profile='echo "cannot open the target" >&2; exit 4', sqlite="/dev/null"))
    done = deep.run("--nsys", command=["./train"])
    assert done.returncode == 2
    partial(deep.only_bundle(), "cannot open the target")


WORKLOAD = """name: mine
model:
  task: causal_lm
  hf: {model_type: llama, vocab_size: 512, hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2,
       rms_norm_eps: 1.0e-05, bos_token_id: null, hidden_act: silu, note: "yes", scales: [1.0, 2.5e-07, "3"]}
workload: {batch: 2, prompt_tokens: 16, output_tokens: 3}
variants:
  wide: {model.hf.hidden_size: 128}
"""


def play_models(deep):
    """`python3 -m neurolens.models run` plays the kernels of the real recording."""
    deep.add("python3", f'#!/bin/sh\n[ "$1" = -c ] && exit 0\n[ "$2 $3" = "neurolens.models run" ] || exit 9\nexec {PROGRAM} play={deep.play} sync\n')


def resolved(*words):
    done = subprocess.run([sys.executable, "-m", "neurolens.models", "show", "--resolved", *words], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                          capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return yaml.safe_load(done.stdout)


def test_a_config_file_is_run_by_the_python_package_and_resolved_in_the_bundle(deep):
    config = deep.folder / "model.yaml"
    config.write_text(WORKLOAD)
    play_models(deep)
    words = ["--config", str(config), "--set", "variant=wide", "--set", "workload.batch=4"]
    reply = deep.reply("--plan-only", *words, command=())
    assert reply["command"] == ["python3", "-m", "neurolens.models", "run", *words]
    bundle = pathlib.Path(reply["bundle"])
    written = yaml.safe_load((bundle / "config.yaml").read_text())
    assert written["workload"] == resolved(*words) and written["set"] == ["variant=wide", "workload.batch=4"]
    inputs = {i["path"]: i for i in yaml.safe_load((bundle / "inputs.yaml").read_text())["inputs"]}
    assert inputs[str(config)] == {"path": str(config), "bytes": len(WORKLOAD), "sha256": hashlib.sha256(WORKLOAD.encode()).hexdigest()}


def test_a_configured_model_is_predicted_and_measured_side_by_side(deep):
    play_models(deep)
    sets = ["--set", "workload.output_tokens=3", "--set", "model.hf.num_hidden_layers=2"]
    reply = deep.reply("--plan-only", "--config", "llama_8b", *sets, command=(), FAKE_CUPTI="h200")
    bundle = pathlib.Path(reply["bundle"])
    again = deep.store.json("predict", "--config", "llama_8b", "--run", reply["run_id"], *sets)
    whole = json.loads((bundle / "prediction.json").read_text())
    assert whole == again and reply["prediction_reason"] is None
    assert [p["stage"] for p in reply["prediction"]] == ["prefill", "decode_step"]
    text = (bundle / "report.md").read_text()
    for row, stage in zip(reply["prediction"], whole["stages"]):
        assert row["predicted_ms"] == stage["device_ms"] and row["measured_ms"] == stage["measured_ms"] > 0
        section = text[text.index("## Predicted and measured"):]
        section = section[section.index(f"### {stage['name']}"):]
        assert all("| " + module["name"].replace("_", "\\_") + " |" in section for module in stage["modules"])
    # A workload that comes with the program is an input too.
    (own,) = [i for i in yaml.safe_load((bundle / "inputs.yaml").read_text())["inputs"] if i.get("name") == "llama_8b"]
    assert own["sha256"] == hashlib.sha256((ROOT / "conf/llama_8b.yaml").read_bytes()).hexdigest()


def test_a_model_that_cannot_be_predicted_is_profiled_and_the_reason_given(deep):
    play_models(deep)
    config = deep.folder / "own.yaml"
    config.write_text("name: own\nmodel: {target: 'my.package:make'}\n")
    reply = deep.reply("--plan-only", "--config", str(config), command=())
    assert reply["prediction"] == [] and reply["prediction_reason"] and not (pathlib.Path(reply["bundle"]) / "prediction.json").exists()


@pytest.mark.parametrize("words, text", [(["--replay", "range"], "range replay needs a range"), (["--capture-range", "api"], "nvtx:LABEL"),
                                         (["--mode", "light", "--nsys"], "--nsys does not use it"), (["--config", "no.yaml"], "a command cannot be given too"),
                                         (["--timeline", "@latest", "--nsys"], "--timeline takes"), (["--set", "workload.batch=2"], "name it with --config")])
def test_bad_options_are_refused_before_anything_runs(deep, words, text):
    error = error_of(deep.run(*words))
    assert text in error["message"] + error["hint"]
    assert deep.bundles() == []


def test_a_range_is_given_to_ncu_in_the_form_of_its_kind(deep):
    reply = deep.reply("--plan-only", "--capture-range", "nvtx:LLM@prefill")
    # The at sign separates a domain there, and the slash is for ranges that are pushed and popped.
    assert "--nvtx-include 'LLM\\@prefill/'" in (pathlib.Path(reply["bundle"]) / "ncu/cmd.txt").read_text()
    assert [s["name"] for s in reply["stages"]] == ["prefill"]


def test_doctor_shows_the_tools(deep):
    deep.store.environment = {"PATH": f"{deep.programs}:/usr/bin:/bin", "FAKE_NCU_CALLS": str(deep.calls)}
    done = deep.store.run("doctor", "--json")
    tools = {row["name"]: row for row in json.loads(done.stdout)["recording"]}
    assert tools["ncu"]["works"] and "2025.3.1.0" in tools["ncu"]["detail"] and not tools["nsys"]["works"]


@pytest.mark.parametrize(("metric_set", "collected"), [
    ("minimal", ["SpeedOfLight", "Occupancy", "LaunchStats"]),
    ("stalls", ["SpeedOfLight", "Occupancy", "LaunchStats", "SchedulerStats", "WarpStateStats"]),
    ("roofline", ["SpeedOfLight", "Occupancy", "LaunchStats", "MemoryWorkloadAnalysis", "SchedulerStats"])])
def test_a_metric_set_names_the_sections_that_are_collected(deep, metric_set, collected):
    deep.reply("--plan-only", "--metric-set", metric_set)
    command = (deep.only_bundle() / "ncu/cmd.txt").read_text().splitlines()[0]
    assert re.findall(r"--section (\w+)", command) == collected
    assert ("--set roofline" in command) == (metric_set == "roofline")


def test_a_missing_python_package_is_said_before_anything_runs(deep):
    program = deep.folder / "elsewhere" / "neurolens"  # nothing of the package is beside it
    program.parent.mkdir()
    shutil.copy2(BUILD / "neurolens", program)
    environment = {"PATH": f"{deep.programs}:/usr/bin:/bin", "HOME": str(deep.folder)}
    words = [program, "deep", "--config", "llama_8b", "--json", "--out", deep.out, "--store", deep.folder / "store"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    error = error_of(done)
    assert "cannot import the package neurolens" in error["message"] and "No module named 'neurolens'" in error["message"], error
    assert "NEUROLENS_PYTHON" in error["hint"] and deep.bundles() == []


def test_a_deep_dive_pairs_the_kernels_of_both_sides_with_their_counters(deep):
    """A pair of commands on the fake GPU: the optimized one runs every kernel in half the time and leaves one out."""
    suite = deep.folder / "suite"
    suite.mkdir()
    lines = deep.play.read_text().splitlines()
    gone = next(line.split(" ", 8)[8] for line in lines if line.startswith("kernel ") and "elementwise" in line)
    faster = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "kernel":
            ns, tail = rest.split(" ", 1)
            if line.endswith(gone):
                continue
            line = f"kernel {int(ns) // 2} {tail}"
        faster.append(line)
    (deep.folder / "faster.play").write_text("\n".join(faster) + "\n")
    pair = {"name": "play", "baseline": " ".join(deep.program), "optimized": f"{PROGRAM} play={deep.folder / 'faster.play'} sync", "allow": {"outputs": "not of interest here"}}
    (suite / "bench.yaml").write_text(yaml.safe_dump({"pairs": [pair]}))
    env = {**os.environ, "PATH": f"{deep.programs}:/usr/bin:/bin", "NEUROLENS_CUPTI": str(CUPTI), "TMPDIR": str(deep.folder), "FAKE_NCU_PAGES": str(H200), "FAKE_NCU_CALLS": str(deep.calls)}
    done = subprocess.run(deep.store.command("bench", "deep-dive", "all", "--suite", suite, "--iterations", 10, "--json"), env=env, cwd=deep.folder,
                          capture_output=True, text=True, check=False, timeout=LIMIT_S, preexec_fn=default_signals)
    assert done.returncode in (0, 1), done.stderr[-800:]  # its wall time is not the point: the kernels are played
    profile = json.loads(done.stdout)["targets"][0]["profile"]
    assert profile["metric_set"] == "deep_dive" and profile["baseline"]["counted"] > 10 < profile["optimized"]["counted"], profile["baseline"]["reason"]
    names = {line.split(" ", 8)[8] for line in lines if line.startswith("kernel ")}
    assert profile["pairing"] == {"exact": len(names) - 1, "normalised": 0, "structural": 0, "unmatched_a": 1, "unmatched_b": 0}
    (alone,) = (k for k in profile["kernels"] if k["kernel_b"] is None)
    assert alone["kernel_a"] == gone and alone["b_ms"] == 0 and alone["delta_ms"] == -alone["a_ms"]
    both = [k for k in profile["kernels"] if k["match"] == "exact"]
    assert all(k["count_a"] == k["count_b"] and 0.45 < k["b_ms"] / k["a_ms"] < 0.55 for k in both)
    assert sum(k["counters_a"] is not None and k["counters_b"] is not None for k in both) > 10
    launches = next(c for c in profile["api_calls"] if "Launch" in c["name"])
    assert launches["count_a"] - launches["count_b"] == alone["count_a"]
    folder = next((deep.folder / "artifacts/runs").iterdir())
    assert (folder / "reports/deep_dive_compare.json").exists()
    for side in ("baseline", "optimized"):
        assert (deep.folder / profile[side]["bundle"] / "ncu/report.ncu-rep").exists()
