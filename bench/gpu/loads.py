# SPDX-License-Identifier: Apache-2.0
"""What is timed: five ways of using a GPU. Each load runs once per call and ends synchronised."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "workloads"))

TINY_KERNELS = 20_000


class Loads:
    """Made on first use: a worker that is asked for one load pays for one."""

    def __init__(self):
        self._made = {}

    def run(self, name):
        if name not in self._made:
            self._made[name] = getattr(self, "_" + name)()
            for _ in range(3):
                self._made[name]()
        self._made[name]()

    def _workload(self):
        import llama

        if "llama" not in self._made:
            self._made["llama"] = llama.Workload("base")
        return self._made["llama"]

    def _eager(self):
        """A prompt and 12 decode steps of an 8-layer Llama, eager: about 4 700 launches, bound by the host."""
        return self._workload().request

    def _tiny(self):
        import torch

        x = torch.zeros(32, device="cuda")

        def loop():
            for _ in range(TINY_KERNELS):
                x.add_(1)
            torch.cuda.synchronize()

        return loop

    def _graph(self):
        """A graph of 930 kernels of about 12 us, ten times."""
        import torch

        x = torch.zeros(12 << 20, device="cuda", dtype=torch.float16)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            x.add_(1)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(930):
                x.add_(1)

        def replay():
            for _ in range(10):
                graph.replay()
            torch.cuda.synchronize()

        return replay

    def _resnet(self):
        """One training step of a ResNet-50 with 32 pictures in bf16: about 1 100 launches, bound by the host."""
        import torch
        from transformers import ResNetConfig, ResNetForImageClassification

        model = ResNetForImageClassification(ResNetConfig(num_labels=1000)).to("cuda")
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        images = torch.randn(32, 3, 224, 224, device="cuda")
        labels = torch.randint(0, 1000, (32,), device="cuda")

        def step():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(images).logits, labels)
            loss.backward()
            optimizer.step()

        def steps():
            for _ in range(10):
                step()
            torch.cuda.synchronize()

        return steps

    def _prefill(self):
        """A prompt of 32 x 1024 tokens: kernels of 50 us and more."""
        import torch

        workload = self._workload()
        ids = torch.randint(0, 32000, (32, 1024), device="cuda")

        @torch.no_grad()
        def forward():
            workload.model(input_ids=ids, use_cache=False, logits_to_keep=1)
            torch.cuda.synchronize()

        return forward
