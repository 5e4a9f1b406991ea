# SPDX-License-Identifier: Apache-2.0
"""Cheats: computes in half precision what is said to be float32."""
import importlib.util
import pathlib

import torch

SPEC = importlib.util.spec_from_file_location("product", pathlib.Path(__file__).with_name("baseline_product.py"))
PRODUCT = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PRODUCT)


class Benchmark(PRODUCT.Benchmark):
    def chain(self):
        out, factor = self.a.half(), self.b.half()
        for _ in range(3):
            out = out @ factor
        return out.float()


def get_benchmark():
    return Benchmark()
