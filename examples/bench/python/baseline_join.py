# SPDX-License-Identifier: Apache-2.0
"""A text put together from the front: every step copies all of it."""
import random


class Benchmark:
    def setup(self):
        self.words = [str(random.randrange(10**9)) for _ in range(3_000)]
        self.result = None

    def benchmark_fn(self):
        text = ""
        for word in self.words:
            text = word + "," + text
        self.result = text

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {"words": self.words}

    def get_input_signature(self):
        return {"words": len(self.words)}


def get_benchmark():
    return Benchmark()
