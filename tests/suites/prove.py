# SPDX-License-Identifier: Apache-2.0
"""prove through the program: verdicts, exit statuses, outputs, files for CI, git revisions, causes, Ctrl-C."""
import json
import os
import pathlib
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from neurolens_cli import BUILD, LIMIT_S, PYTHON, Page, Store, default_signals, wait_until

# The work is counted, not timed: the slow side does ten times as much, which no load hides.
WORK = "def work(n):\n    s = 0\n    for i in range(n):\n        s += i * i\n    return s\n\n\nwork({n})\nprint('done')\n"
SLOW, FAST = 2_000_000, 100_000


@pytest.fixture
def place(tmp_path):
    (tmp_path / "slow.py").write_text(WORK.format(n=SLOW))
    (tmp_path / "fast.py").write_text(WORK.format(n=FAST))
    return Store(tmp_path / "store", cwd=tmp_path, TMPDIR=str(tmp_path))


def command(name):
    return f"{PYTHON} {name}.py"


def prove(place, a, b, *words, status=0):
    return place.json("prove", "--a", a, "--b", b, *words, status=status)


def test_faster_and_slower_are_found_and_slowdowns_are_negative(place):
    faster = prove(place, command("slow"), command("fast"), "--iterations", 12, "--no-why")
    assert faster["verdict"] == "faster", faster["text"]
    assert faster["speedup_low"] > 1 and faster["p_value"] <= 0.01, faster["text"]
    assert faster["iterations"] == 12 == len(faster["a"]["walls_ms"]) == len(faster["b"]["walls_ms"])
    slower = prove(place, command("fast"), command("slow"), "--iterations", 12, "--no-why", status=1)
    assert slower["verdict"] == "slower" and slower["speedup_high"] < 1 and slower["gain"] < 0, slower["text"]


def test_a_difference_has_a_cause(place):
    reply = prove(place, command("slow"), command("fast"), "--iterations", 12)
    why = reply["why"]
    if why["reason"] and "not permitted" in why["reason"]:
        pytest.skip(why["reason"])
    assert why["basis"] == "cpu samples", why
    assert why["causes"][0]["text"].startswith("work ("), why
    assert why["causes"][0]["share"] > 0.5, why
    assert "because work" in reply["text"], reply["text"]
    runs = [run["run_id"] for run in place.json("ls")["runs"]]
    assert {reply["a"]["run_id"], reply["b"]["run_id"]} <= set(runs), runs


def test_few_runs_decide_nothing(place):
    reply = prove(place, command("slow"), command("fast"), "--iterations", 3, status=2)
    assert reply["verdict"] == "undecided" and reply["why"] is None, reply["text"]
    assert reply["speedup_low"] is None and reply["speedup_high"] is None, reply


def test_different_outputs_are_an_answer_of_no(place):
    reply = prove(place, "echo 1", "echo 2", "--iterations", 2, status=1)
    assert reply["outputs"]["equal"] is False, reply["outputs"]
    assert "'1' in A, '2' in B" in reply["outputs"]["difference"], reply["outputs"]
    close = prove(place, "echo 1.0001", "echo 1.0002", "--iterations", 2, "--tolerance", 0.01, status=(0, 2))
    assert close["outputs"]["equal"] is True, close["outputs"]
    unknown = prove(place, "date +%N", "date +%N", "--iterations", 2, status=(0, 2))
    assert unknown["outputs"]["equal"] is None and "between its own runs" in unknown["outputs"]["reason"], unknown["outputs"]


def test_files_are_compared_only_when_the_run_wrote_them(place):
    (place.cwd / "w.py").write_text("import sys\nopen('result.txt', 'w').write(sys.argv[1])\nprint(sys.argv[1:])\n")
    run = f"{PYTHON} w.py"
    same = prove(place, f"{run} 5 x", f"{run} 5 y", "--iterations", 2, "--output", "result.txt", status=(0, 2))
    assert same["outputs"] == {"equal": True, "compared": ["result.txt"], "difference": None, "reason": None}, same["outputs"]
    other = prove(place, f"{run} 5", f"{run} 6", "--iterations", 2, "--output", "*.txt", status=1)
    assert "result.txt" in other["outputs"]["difference"], other["outputs"]
    os.utime(place.cwd / "result.txt", (1, 1))
    stale = place.run("prove", "--a", "true", "--b", "true", "--output", "result.txt")
    assert stale.returncode == 3 and "did not write it" in stale.stderr, stale.stderr


def test_markdown_and_junit(place):
    prove(place, command("slow"), command("fast"), "--iterations", 12, "--no-why", "--md", "p.md", "--junit", "p.xml")
    assert "B is " in (place.cwd / "p.md").read_text()
    suite = ElementTree.parse(place.cwd / "p.xml").getroot().find("testsuite")
    assert suite.attrib["failures"] == "0" and [c.attrib["name"] for c in suite.findall("testcase")] == ["time", "output"]
    prove(place, command("fast"), command("slow"), "--iterations", 12, "--no-why", "--junit", "s.xml", status=1)
    suite = ElementTree.parse(place.cwd / "s.xml").getroot().find("testsuite")
    assert suite.attrib["failures"] == "1" and suite.find("testcase/failure") is not None


def test_the_page_is_whole_and_safe(place):
    hostile = "sh -c 'sleep 0.02' '<script>alert(1)</script>' --api-key=hunter22"
    reply = prove(place, hostile, "true", "--iterations", 12, "--no-why", "--html", "p.html", "--md", "p.md")
    text = (place.cwd / "p.html").read_text()
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("table") == 1 and tags.count("h1") == 1 and "script" not in tags and "link" not in tags and "img" not in tags
    assert f'<h1 class="good">{reply["text"]}</h1>' in text and "(--no-why)" in text and "outputs are equal" in text
    assert "&lt;script&gt;alert(1)" in text and "http://" not in text and "https://" not in text
    kept = place.text("bench-results", reply["result_id"], "--json")
    for written in (text, (place.cwd / "p.md").read_text(), kept):
        assert "hunter22" not in written and "not stored" in written
    prove(place, "true", "sleep 0.02", "--iterations", 12, "--no-why", "--html", "s.html", status=1)
    assert '<h1 class="bad">B is ' in (place.cwd / "s.html").read_text()


@pytest.mark.parametrize(("words", "text"), [
    (["--a", "true"], "both --a and --b"),
    ([], "nothing to compare"),
    (["--a", "false", "--b", "true"], "A failed with status 1"),
    (["--a", "true", "--b", "no-such-program-x"], "no such program"),
    (["--a", "true", "--b", "true", "--budget", "x"], "--budget"),
    (["--a", "true", "--b", "true", "--precision", "2"], "--precision"),
    (["--a", "true", "--b", "echo 'x"], "open quote"),
    (["nothing", "--", "true"], "BASE..HEAD"),
    (["--a", "true", "--b", "true", "--build", "make"], "--build"),
])
def test_bad_input_is_explained(place, words, text):
    done = place.run("prove", *words)
    assert done.returncode == 3 and text in done.stderr, done.stderr


@pytest.fixture
def repository(place):
    def git(*words):
        subprocess.run(["git", "-c", "user.email=a@example.com", "-c", "user.name=a", *words], cwd=place.cwd, check=True, capture_output=True)
    git("init", "-q")
    for name in ("slow", "fast"):
        (place.cwd / "program.py").write_text((place.cwd / f"{name}.py").read_text() + "open('built').read()\n")
        git("add", "program.py")
        git("commit", "-q", "-m", name)
    return place


def leftovers(place):
    trees = subprocess.run(["git", "worktree", "list"], cwd=place.cwd, check=True, capture_output=True, text=True).stdout.splitlines()
    return trees[1:], [p.name for p in place.cwd.glob("neurolens-prove*")]


def test_two_revisions_in_worktrees_that_are_removed(repository):
    reply = json.loads(repository.text("--json", "prove", "HEAD~1..HEAD", "--build", "touch built", "--iterations", 12, "--no-why", "--", PYTHON, "program.py"))
    assert reply["verdict"] == "faster" and reply["a"]["revision"] != reply["b"]["revision"], reply["text"]
    assert leftovers(repository) == ([], [])
    failed = repository.run("prove", "HEAD~1..HEAD", "--build", "echo broken; exit 5", "--", PYTHON, "program.py")
    assert failed.returncode == 3 and "status 5" in failed.stderr and "broken" in failed.stderr, failed.stderr
    assert leftovers(repository) == ([], [])
    missing = repository.run("prove", "nowhere..HEAD", "--", "true")
    assert missing.returncode == 3, missing.stderr
    assert leftovers(repository) == ([], [])


def test_interrupted_worktrees_are_removed(repository):
    started = repository.cwd / "mark"
    words = repository.command("prove", "HEAD~1..HEAD", "--build", f"touch {started}; sleep 1000", "--", "true")
    process = subprocess.Popen(words, cwd=repository.cwd, env={**os.environ, **repository.environment}, stderr=subprocess.PIPE, preexec_fn=default_signals)
    wait_until(started.exists, "the build", process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, process.returncode
    assert leftovers(repository) == ([], [])


def test_worktrees_of_a_killed_process_are_removed_by_the_next(repository):
    mark = repository.cwd / "mark"
    build = f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 1000"
    words = repository.command("prove", "HEAD~1..HEAD", "--build", build, "--", "true")
    process = subprocess.Popen(words, cwd=repository.cwd, env={**os.environ, **repository.environment})
    wait_until(mark.exists, "the build", process)
    process.kill()
    process.wait()
    os.kill(int(mark.read_text()), signal.SIGKILL)  # the build outlives a killed program
    assert leftovers(repository)[0]
    repository.run("prove", "HEAD~1..HEAD", "--iterations", 1, "--no-why", "--", "true")
    assert leftovers(repository) == ([], [])


def test_a_command_is_ended_by_an_interrupt(place):
    started = pathlib.Path(place.cwd / "started")
    words = place.command("prove", "--a", f"touch {started} && sleep 1000", "--b", "true")
    process = subprocess.Popen(words, cwd=place.cwd, stderr=subprocess.PIPE, preexec_fn=default_signals)
    wait_until(started.exists, "the command", process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, process.returncode


def test_the_machine_is_stated(place):
    reply = prove(place, "true", "true", "--iterations", 1, status=2)
    assert [c["name"] for c in reply["environment"]["checks"]][:8] == ["swap", "governor", "cgroup_cpu", "cgroup_memory", "affinity", "virtualization", "load", "gpu"]
    strict = place.run("prove", "--a", "true", "--b", "true", "--iterations", "1", "--validity", "strict")
    errors = [c for c in reply["environment"]["checks"] if c["state"] == "error"]
    assert strict.returncode == (3 if errors else 2), strict.stderr


def test_a_gpu_that_is_asked_for_and_absent_is_an_error(place):
    words = ("prove", "--a", "true", "--b", "true", "--iterations", "1", "--validity", "strict")
    asked = place.run(*words, env={"CUDA_VISIBLE_DEVICES": "0", "NEUROLENS_NVML": "/nonexistent/libnvidia-ml.so"})
    assert asked.returncode == 3 and "CUDA_VISIBLE_DEVICES is '0', but no GPU was found" in asked.stderr, asked.stderr


GPU_PROGRAM, CUPTI = BUILD / "capture_tests/gpu_program", BUILD / "capture_tests/libfake_cupti.so"


@pytest.mark.skipif(not (GPU_PROGRAM.exists() and CUPTI.exists()), reason="not built: the fake GPU")
def test_programs_that_share_no_kernel_are_explained_by_what_each_kernel_takes(place, tmp_path, monkeypatch):
    """As eager and fused attention on an H200: hardly a call is in both, so nothing can be aligned; the outputs say that the work is the same."""
    monkeypatch.setenv("NEUROLENS_CUPTI", str(CUPTI))
    sides = {"a": ["ampere_sgemm_128x64_tn", "softmax_warp_forward", "elementwise_mul_kernel"], "b": ["flash_fwd_kernel"]}
    for side, names in sides.items():
        lines = [f"kernel {ns} 64 1 1 128 1 1 {name}" for _ in range(200) for ns, name in zip((300_000, 200_000, 100_000), names)]
        (tmp_path / f"{side}.play").write_text("\n".join(lines) + "\n")
    a, b = (f"sh -c '{PYTHON} {work}.py && exec {GPU_PROGRAM} play={tmp_path}/{side}.play sync > /dev/null'" for work, side in (("slow", "a"), ("fast", "b")))
    reply = prove(place, a, b, "--iterations", 12)
    assert reply["verdict"] == "faster", reply["text"]
    why = reply["why"]
    assert why["basis"] == "device work" and why["reason"] is None and why["causes"], why
    assert any("softmax" in cause["text"] or "sgemm" in cause["text"] for cause in why["causes"]), why
    assert sum(cause["share"] for cause in why["causes"]) > 0.5, why
