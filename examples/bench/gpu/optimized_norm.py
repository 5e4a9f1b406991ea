# SPDX-License-Identifier: Apache-2.0
"""RMS norm as one Triton kernel: every value is read once and written once."""
import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm(x, weight, out, columns, epsilon, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, axis=0) / columns + epsilon)
    factors = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * columns + at, (values * scale * factors).to(tl.bfloat16), mask=inside)


class Benchmark:
    def setup(self):
        self.x = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)
        self.weight = torch.rand(4096, device="cuda", dtype=torch.bfloat16) + 0.5
        self.output = torch.empty_like(self.x)
        self.result = None

    def benchmark_fn(self):
        rms_norm[(8192,)](self.x, self.weight, self.output, 4096, 1e-5, WIDTH=4096, num_warps=8)
        self.result = self.output

    def get_verify_output(self):
        return self.result[::128, ::64].contiguous()

    def get_inputs(self):
        return {"x": self.x, "weight": self.weight}

    def get_input_signature(self):
        return {"x": [8192, 4096], "dtype": "bfloat16", "epsilon": 1e-5}

    def get_output_tolerance(self):
        return {"rtol": 2e-2, "atol": 1e-2, "reason": "one step of bfloat16: the roundings between the operations are gone"}


def get_benchmark():
    return Benchmark()
