# SPDX-License-Identifier: Apache-2.0
"""The list becomes a set first, in the timed function."""
import random


class Benchmark:
    def setup(self):
        self.wanted = [random.randrange(4_000) for _ in range(1_000)]
        self.known = [random.randrange(4_000) for _ in range(1_000)]
        self.result = None

    def benchmark_fn(self):
        known = set(self.known)
        self.result = [value in known for value in self.wanted]

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {"wanted": self.wanted, "known": self.known}

    def get_input_signature(self):
        return {"wanted": len(self.wanted), "known": len(self.known)}


def get_benchmark():
    return Benchmark()
