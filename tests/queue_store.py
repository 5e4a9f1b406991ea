# SPDX-License-Identifier: Apache-2.0
"""The queue of a store as the suites use it."""
import json
import os
import subprocess

from neurolens_cli import Store, default_signals

NO_NVML = "/nonexistent/libnvidia-ml.so"


class Queue(Store):
    """The queue of a store, with a runner lock of its own, so that tests may run side by side."""

    def __init__(self, folder, **environment):
        super().__init__(folder / "store", cwd=folder, NEUROLENS_QUEUE_LOCK=str(folder / "runner.lock"), **{"NEUROLENS_NVML": NO_NVML, **environment})
        self.base = folder
        self.path = self.folder / "queue"

    def add(self, *command, flags=(), **options):
        return json.loads(self.text("queue", "add", "--json", *flags, "--", *command, **options))["entries"][0]["entry_id"]

    def shell(self, text, *flags):
        return self.add("sh", "-c", text, flags=flags)

    def entries(self):
        """Every entry by id, in the order they were added."""
        listed = self.json("queue", "ls", "--limit", 0)["entries"]
        assert len({e["entry_id"] for e in listed}) == len(listed)
        return {e["entry_id"]: e for e in reversed(listed)}

    def entry(self, which):
        return self.json("queue", "ls", which)["entries"][0]

    def work(self, *flags, status=0):
        return self.json("queue", "run", *flags, status=status)["totals"]

    def start(self, *flags):
        """A runner in the background."""
        environment = {**os.environ, "NO_COLOR": "1", **self.environment}
        return subprocess.Popen(self.command("queue", "run", *flags), cwd=self.cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=default_signals)

    def progress(self):
        """What progress.json says; {} without one."""
        try:
            return json.loads((self.path / "progress.json").read_text())
        except FileNotFoundError:
            return {}

    def log(self):
        return self.text("queue", "log").splitlines()
