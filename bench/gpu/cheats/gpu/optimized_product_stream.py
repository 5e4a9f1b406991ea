# SPDX-License-Identifier: Apache-2.0
"""Cheats: the work runs on a stream that is not declared, and nobody waits for it."""
import importlib.util
import pathlib

import torch

SPEC = importlib.util.spec_from_file_location("product", pathlib.Path(__file__).with_name("baseline_product.py"))
PRODUCT = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PRODUCT)


class Benchmark(PRODUCT.Benchmark):
    def setup(self):
        super().setup()
        self.hidden = torch.cuda.Stream()

    def benchmark_fn(self):
        with torch.cuda.stream(self.hidden):
            self.result = self.chain()


def get_benchmark():
    return Benchmark()
