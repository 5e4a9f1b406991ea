# SPDX-License-Identifier: Apache-2.0
"""`neurolens run` and `record` of a program that runs until a test ends it. The GPU is the fake CUPTI of tests/capture."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess

from neurolens_cli import BUILD, LIMIT_S, default_signals, error_of, wait_until

FAKE = BUILD / "capture_tests"
PROGRAM, CUPTI = FAKE / "gpu_program", FAKE / "libfake_cupti.so"
MISSING = [p.name for p in (PROGRAM, CUPTI) if not p.exists()]
# Launches kernels until it is ended.
ENDLESS = [str(PROGRAM), "launch=1", "racing_threads=1", "launched=1000000000"]


class Recorder:
    """`neurolens run` or `record` of a program that runs until the test ends it."""

    def __init__(self, store, *words, command=ENDLESS, **environment):
        self.store = store
        self.process = subprocess.Popen(store.command(*words, "--no-cpu", "--no-python", "--no-counters", "--", *command), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals,
                                        env={**os.environ, "NEUROLENS_CUPTI": str(CUPTI), "TMPDIR": str(store.folder.parent), **environment})

    def row(self):
        """How the store lists it, once it does."""
        return wait_until(lambda: next(iter(self.store.json("live")["recordings"]), None), "the recording to be listed", self.process)

    def has(self, kernels):
        return wait_until(lambda: next((r for r in self.store.json("live")["recordings"] if r["kernels"] and r["kernels"] >= kernels), None),
                          f"{kernels} kernels", self.process)

    def counted(self, more_than=0):
        """Kernels of the partial run, when they are more than that."""
        self.row()
        def look():
            done = self.store.run("query", "@live", "SELECT count(*) FROM kernel", "--json")
            if done.returncode != 0:
                assert "nothing to show was recorded yet" in error_of(done)["message"], done.stdout
                return None
            count = json.loads(done.stdout)["rows"][0][0]
            return count if count > more_than else None
        return wait_until(look, f"more than {more_than} kernels in the partial run", self.process)

    def children(self):
        return [int(pid) for pid in pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()]

    def end(self):
        """Ends the program; what the recorder printed when it was done."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=LIMIT_S)


@contextlib.contextmanager
def recording(store, *words, **options):
    recorder = Recorder(store, *(words or ("run",)), **options)
    try:
        yield recorder
    finally:
        for pid in [*recorder.children(), recorder.process.pid] if recorder.process.poll() is None else []:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        recorder.process.wait()
        recorder.process.stdout.close()
        recorder.process.stderr.close()
