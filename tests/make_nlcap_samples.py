#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/cases/samples/nlcap/ and fuzz/corpus/nlcap_fuzz/: a small model that decodes, as the recorder would write it
(no recording: sizes and times are made up, and the same every time), and the captures of the cases as seeds."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import nlcap_writer  # noqa: E402

AHEAD_NS = 7_000_000_000  # of the GPU clock
KERNELS = ("_Z4gemmPfS_S_i", "_ZN2at6native29vectorized_elementwise_kernelILi4EEEviT_", "flash_fwd_kernel")


def decoding():
    lines = ["file pid=100 writer=2 ppid=1", "fact host.cpu_model made up", "fact host.cores 8", "fact neurolens.version 0.1.0",
             'process pid=101 ppid=100 start_ns=900000 end_ns=9000000 flags=13 name="python" arguments="[\\"python\\", \\"decode.py\\"]"',
             'frame id=1 kind=2 name="decode" file="/app/decode.py" line=12',
             'frame id=2 kind=1 address=4096 module="/usr/lib/libtorch.so" name="at::linear"', "stack id=1 frames=1,2", "stack id=2 frames=1"]
    for i in range(12):
        lines.append(f"cpu_sample time_ns={1_000_000 + i * 500_000} weight_ns=500000 pid=101 tid=101 stack={1 + i % 2} state=1 gil=2")
    lines += ["end time_ns=9100000 records=1", "file pid=101 ppid=100 monotonic_ns=950000", "fact cupti.version 130000", "fact env.RANK 0"]
    for at in (950_000, 4_000_000, 8_900_000):
        lines.append(f"clock gpu_ns={at + AHEAD_NS} before_ns={at - 150} after_ns={at + 150} realtime_ns={at + 1_000_000_000}")
    lines.append('device device=0 name="NVIDIA H200" memory_bytes=150754820096 sm_count=132 compute_major=9 warp=32 max_warps=64')
    lines += ["context context=1 device=0 null_stream=7", "window time_ns=950000 on=1 reason=1"]
    now, correlation = 1_000_000, 0

    def op(name, start):
        nonlocal now, correlation
        correlation += 1
        lines.append(f'range what=1 time_ns={start} tid=101 name="{name}, op_id = {correlation}, sizes = [[1, 64]]"')
        at = start + 3_000 + AHEAD_NS
        lines.append(f'api start_ns={at} end_ns={at + 5_000} callback_id=211 domain=2 tid=101 correlation={correlation} name="cudaLaunchKernel_v7000"')
        kernel = KERNELS[correlation % len(KERNELS)]
        lines.append(f'kernel start_ns={at + 7_000} end_ns={at + 7_000 + 20_000 + correlation * 100} device=0 context=1 stream=7 correlation={correlation} '
                     f'name="{kernel}" grid_x=132 grid_y=1 grid_z=1 block_x=256 block_y=1 block_z=1 registers=64 dynamic_shared=16384')
        lines.append(f"range what=2 time_ns={start + 12_000} tid=101")
        now = start + 35_000

    for stage, steps in (("LLM@prefill", 1), ("LLM@decode_step", 5)):
        for _ in range(steps):
            lines.append(f'range what=1 time_ns={now} tid=101 name="{stage}"')
            for name in ("aten::linear", "aten::mul", "aten::scaled_dot_product_attention"):
                op(name, now + 2_000)
            lines.append(f"range what=2 time_ns={now + 5_000} tid=101")
            now += 20_000
    for i in range(8):
        lines.append(f'counter_sample start_ns={1_000_000 + i * 20_000 + AHEAD_NS} end_ns={1_020_000 + i * 20_000 + AHEAD_NS} value={40 + i}.5 '
                     'name="sm__cycles_active.avg.pct_of_peak_sustained_elapsed" device=0 clock=1 source=1')
    lines += ["cost time_ns=8900000 in_program_ns=20000 in_writer_ns=100000 program_calls=60", "window time_ns=8900000 on=0 reason=6",
              "end time_ns=8900000 records=1"]
    return "\n".join(lines)


def main():
    samples, seeds = ROOT / "tests/cases/samples/nlcap", ROOT / "fuzz/corpus/nlcap_fuzz"
    for folder in (samples, seeds):
        folder.mkdir(parents=True, exist_ok=True)
    (samples / "decoding.nlcap").write_bytes(b"".join(nlcap_writer.files_of(decoding())))
    for case in sorted((ROOT / "tests/cases/nlcap").glob("*.case")):
        parts = re.split(r"^== (.*)\n", case.read_text(), flags=re.M)
        body = next((parts[i + 1] for i in range(1, len(parts), 2) if parts[i].startswith("nlcap")), None)
        if body is not None:
            (seeds / case.stem).write_bytes(b"".join(nlcap_writer.files_of(body)))


if __name__ == "__main__":
    main()
