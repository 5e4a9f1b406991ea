# SPDX-License-Identifier: Apache-2.0
"""The same with map and sum, whose loops are native code."""
import operator
import random


class Benchmark:
    def setup(self):
        self.values = [random.randrange(1000) for _ in range(50_000)]
        self.result = None

    def benchmark_fn(self):
        self.result = sum(map(operator.mul, self.values, self.values))

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {"values": self.values}

    def get_input_signature(self):
        return {"values": len(self.values), "dtype": "int"}


def get_benchmark():
    return Benchmark()
