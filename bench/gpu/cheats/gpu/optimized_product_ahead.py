# SPDX-License-Identifier: Apache-2.0
"""Cheats: computes in setup."""
import importlib.util
import pathlib

import torch

SPEC = importlib.util.spec_from_file_location("product", pathlib.Path(__file__).with_name("baseline_product.py"))
PRODUCT = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PRODUCT)


class Benchmark(PRODUCT.Benchmark):
    def setup(self):
        super().setup()
        self.ahead = self.chain()

    def benchmark_fn(self):
        self.result = self.ahead.clone()


def get_benchmark():
    return Benchmark()
