# SPDX-License-Identifier: Apache-2.0
"""64 MiB from pageable host memory: the driver copies it twice."""
import torch


class Benchmark:
    def setup(self):
        self.host = torch.randn(16 << 20)
        self.scale = torch.full((1,), 2.0, device="cuda")
        self.result = None

    def benchmark_fn(self):
        self.result = self.host.to("cuda") * self.scale

    def get_verify_output(self):
        return self.result[::4096].contiguous()

    def get_inputs(self):
        return {"host": self.host}

    def get_input_signature(self):
        return {"host": [16 << 20], "dtype": "float32"}


def get_benchmark():
    return Benchmark()
