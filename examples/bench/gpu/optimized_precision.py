# SPDX-License-Identifier: Apache-2.0
"""The same product in bfloat16, conversions included."""
import torch


class Benchmark:
    def setup(self):
        self.a = torch.randn(4096, 4096, device="cuda")
        self.b = torch.randn(4096, 4096, device="cuda") / 64
        self.result = None

    def benchmark_fn(self):
        self.result = (self.a.to(torch.bfloat16) @ self.b.to(torch.bfloat16)).float()

    def get_verify_output(self):
        return self.result[::64, ::64].contiguous()

    def get_inputs(self):
        return {"a": self.a, "b": self.b}

    def get_input_signature(self):
        return {"a": [4096, 4096], "b": [4096, 4096], "inputs": "float32"}

    def get_output_tolerance(self):
        return {"rtol": 5e-2, "atol": 5e-2, "reason": "bfloat16 has eight bits of mantissa; the sums are kept in float32"}


def get_benchmark():
    return Benchmark()
