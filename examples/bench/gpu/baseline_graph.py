# SPDX-License-Identifier: Apache-2.0
"""A chain of small layers, each kernel launched by the host."""
import torch


class Benchmark:
    def setup(self):
        self.x = torch.randn(32, 256, device="cuda")
        self.weights = [torch.randn(256, 256, device="cuda") / 16 for _ in range(24)]
        self.result = None

    def benchmark_fn(self):
        x = self.x
        for weight in self.weights:
            x = torch.tanh(x @ weight)
        self.result = x

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {"x": self.x}

    def get_input_signature(self):
        return {"x": [32, 256], "layers": 24, "dtype": "float32"}


def get_benchmark():
    return Benchmark()
