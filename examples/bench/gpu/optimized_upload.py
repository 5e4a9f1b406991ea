# SPDX-License-Identifier: Apache-2.0
"""64 MiB from page-locked host memory: one transfer by the copy engine."""
import torch


class Benchmark:
    def setup(self):
        self.host = torch.randn(16 << 20).pin_memory()
        self.scale = torch.full((1,), 2.0, device="cuda")
        self.result = None

    def benchmark_fn(self):
        self.result = self.host.to("cuda", non_blocking=True) * self.scale

    def get_verify_output(self):
        return self.result[::4096].contiguous()

    def get_inputs(self):
        return {"host": self.host}

    def get_input_signature(self):
        return {"host": [16 << 20], "dtype": "float32"}


def get_benchmark():
    return Benchmark()
