# SPDX-License-Identifier: Apache-2.0
"""The honest side of the benchmarks that cheat: a chain of three float32 products."""
import torch


class Benchmark:
    def setup(self):
        self.a = torch.randn(2048, 2048, device="cuda")
        self.b = torch.randn(2048, 2048, device="cuda") / 45
        self.result = None

    def benchmark_fn(self):
        self.result = self.chain()

    def chain(self):
        out = self.a
        for _ in range(3):
            out = out @ self.b
        return out

    def get_verify_output(self):
        return self.result[::64, ::64].contiguous()

    def get_inputs(self):
        return {"a": self.a, "b": self.b}

    def get_input_signature(self):
        return {"a": [2048, 2048], "b": [2048, 2048], "dtype": "float32"}

    def get_output_tolerance(self):
        return {"rtol": 1e-4, "atol": 1e-5, "reason": "another order of the same float32 sums"}


def get_benchmark():
    return Benchmark()
