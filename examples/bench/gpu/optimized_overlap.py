# SPDX-License-Identifier: Apache-2.0
"""The copy of the next batch runs on a second stream, beside the computation of this one."""
import torch


class Benchmark:
    def setup(self):
        self.parts = [torch.randn(1024, 4096).pin_memory() for _ in range(8)]
        self.weight = torch.randn(4096, 4096, device="cuda") / 64
        self.copies = torch.cuda.Stream()
        self.room = [torch.empty(1024, 4096, device="cuda") for _ in range(8)]
        self.result = None

    def benchmark_fn(self):
        main, out, ready = torch.cuda.current_stream(), [], []
        with torch.cuda.stream(self.copies):
            for part, room in zip(self.parts, self.room):
                room.copy_(part, non_blocking=True)
                ready.append(self.copies.record_event())
        for room, event in zip(self.room, ready):
            main.wait_event(event)
            out.append((room @ self.weight)[::64, ::64])
        self.result = torch.stack(out)

    def get_verify_output(self):
        return self.result

    def get_inputs(self):
        return {f"part {i}": part for i, part in enumerate(self.parts)}

    def get_input_signature(self):
        return {"parts": [8, 1024, 4096], "dtype": "float32"}

    def get_streams(self):
        return [self.copies]


def get_benchmark():
    return Benchmark()
