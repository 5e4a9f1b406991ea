# SPDX-License-Identifier: Apache-2.0
"""Which values are known? Each is looked for in a list."""
import random


class Benchmark:
    def setup(self):
        self.wanted = [random.randrange(4_000) for _ in range(1_000)]
        self.known = [random.randrange(4_000) for _ in range(1_000)]
        self.result = None

    def benchmark_fn(self):
        self.result = [value in self.known for value in self.wanted]

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {"wanted": self.wanted, "known": self.known}

    def get_input_signature(self):
        return {"wanted": len(self.wanted), "known": len(self.known)}


def get_benchmark():
    return Benchmark()
