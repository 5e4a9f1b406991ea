# SPDX-License-Identifier: Apache-2.0
"""The squares of a list summed by a loop of the interpreter."""
import random


class Benchmark:
    def setup(self):
        self.values = [random.randrange(1000) for _ in range(50_000)]
        self.result = None

    def benchmark_fn(self):
        total = 0
        for value in self.values:
            total += value * value
        self.result = total

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {"values": self.values}

    def get_input_signature(self):
        return {"values": len(self.values), "dtype": "int"}


def get_benchmark():
    return Benchmark()
