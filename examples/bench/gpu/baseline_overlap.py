# SPDX-License-Identifier: Apache-2.0
"""Batches copied to the device and computed on one stream, one after the other."""
import torch


class Benchmark:
    def setup(self):
        self.parts = [torch.randn(1024, 4096).pin_memory() for _ in range(8)]
        self.weight = torch.randn(4096, 4096, device="cuda") / 64
        self.result = None

    def benchmark_fn(self):
        out = []
        for part in self.parts:
            out.append((part.to("cuda", non_blocking=True) @ self.weight)[::64, ::64])
        self.result = torch.stack(out)

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {f"part {i}": part for i, part in enumerate(self.parts)}

    def get_input_signature(self):
        return {"parts": [8, 1024, 4096], "dtype": "float32"}


def get_benchmark():
    return Benchmark()
