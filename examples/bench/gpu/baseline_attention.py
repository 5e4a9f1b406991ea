# SPDX-License-Identifier: Apache-2.0
"""Causal attention written out: the scores go to memory and back four times."""
import torch


class Benchmark:
    def setup(self):
        self.q, self.k, self.v = (torch.randn(4, 16, 1024, 64, device="cuda", dtype=torch.float16) for _ in range(3))
        self.result = None

    def benchmark_fn(self):
        scores = self.q @ self.k.transpose(-1, -2) / 8
        allowed = torch.ones(1024, 1024, device="cuda", dtype=torch.bool).tril()
        self.result = torch.softmax(scores.masked_fill(~allowed, float("-inf")), dim=-1) @ self.v

    def get_verify_output(self):
        return self.result[:, :, ::64]

    def get_inputs(self):
        return {"q": self.q, "k": self.k, "v": self.v}

    def get_input_signature(self):
        return {"heads": [4, 16, 1024, 64], "causal": True, "dtype": "float16"}

    def get_output_tolerance(self):
        return {"rtol": 2e-2, "atol": 2e-2, "reason": "sums of 1,024 half-precision values in another order"}


def get_benchmark():
    return Benchmark()
