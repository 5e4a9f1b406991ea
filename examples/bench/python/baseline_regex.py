# SPDX-License-Identifier: Apache-2.0
"""Numbers found in lines of a log by a regular expression with a greedy start."""
import random
import re


class Benchmark:
    def setup(self):
        levels = ('info', 'error')
        self.lines = [f'id={random.randrange(10**6)} level={random.choice(levels)} ms={random.random():.6f}' for _ in range(5_000)]
        self.result = None

    def benchmark_fn(self):
        self.result = [float(re.match(r".*ms=([0-9.]+)", line).group(1)) for line in self.lines]

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {"lines": self.lines}

    def get_input_signature(self):
        return {"lines": len(self.lines)}


def get_benchmark():
    return Benchmark()
