# SPDX-License-Identifier: Apache-2.0
"""The same text with one join."""
import random


class Benchmark:
    def setup(self):
        self.words = [str(random.randrange(10**9)) for _ in range(3_000)]
        self.result = None

    def benchmark_fn(self):
        self.result = ",".join([*reversed(self.words), ""])

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {"words": self.words}

    def get_input_signature(self):
        return {"words": len(self.words)}


def get_benchmark():
    return Benchmark()
