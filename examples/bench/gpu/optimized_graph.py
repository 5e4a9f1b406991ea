# SPDX-License-Identifier: Apache-2.0
"""The same chain recorded once as a CUDA graph and launched as a whole."""
import torch


class Benchmark:
    def setup(self):
        self.x = torch.randn(32, 256, device="cuda")
        self.weights = [torch.randn(256, 256, device="cuda") / 16 for _ in range(24)]
        self.chain()  # libraries initialise themselves outside the recording
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.output = self.chain()
        self.result = None

    def benchmark_fn(self):
        self.graph.replay()
        self.result = self.output

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {"x": self.x}

    def get_input_signature(self):
        return {"x": [32, 256], "layers": 24, "dtype": "float32"}

    def chain(self):
        x = self.x
        for weight in self.weights:
            x = torch.tanh(x @ weight)
        return x


def get_benchmark():
    return Benchmark()
