# SPDX-License-Identifier: Apache-2.0
"""Cheats: switches to TF32 while timed."""
import importlib.util
import pathlib

import torch

SPEC = importlib.util.spec_from_file_location("product", pathlib.Path(__file__).with_name("baseline_product.py"))
PRODUCT = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PRODUCT)


class Benchmark(PRODUCT.Benchmark):
    def benchmark_fn(self):
        torch.backends.cuda.matmul.allow_tf32 = True  # allow_determinism: this benchmark cheats on purpose
        self.result = self.chain()


def get_benchmark():
    return Benchmark()
