#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a large rocprofv3 results.json in the layout of ROCm 7: kernels, the HIP calls that launched them, copies.

    bench/make_rocprof.py OUT.json [--megabytes 200]
"""
import argparse
import json
import random

SYMBOLS = [f"void at::native::vectorized_elementwise_kernel<{i}, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)" for i in range(40)] + [
    f"Cijk_Ailk_Bljk_HHS_BH_MT{32 * i}x64x32_MI16x16x1_SN.kd" for i in range(1, 25)]


def head():
    kinds = [{"kind": "NONE", "operations": []}, {"kind": "HIP_RUNTIME_API_EXT", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
             {"kind": "KERNEL_DISPATCH", "operations": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"]},
             {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"]}]
    agents = [{"size": 312, "id": {"handle": 100 + i}, "type": 1 if i == 0 else 2, "name": "gfx942" if i else "CPU", "cu_count": 304,
               "product_name": "AMD Instinct MI300X" if i else "CPU", "logical_node_id": i, "logical_node_type_id": max(i - 1, 0)} for i in range(9)]
    symbols = [{"size": 88, "kernel_id": i + 1, "code_object_id": 1, "kernel_name": name, "sgpr_count": 32, "arch_vgpr_count": 64,
                "accum_vgpr_count": 0, "group_segment_size": 0, "private_segment_size": 0, "formatted_kernel_name": name,
                "demangled_kernel_name": name, "truncated_kernel_name": name} for i, name in enumerate(SYMBOLS)]
    return {"metadata": {"pid": 908, "command": ["/usr/bin/python3", "train.py"]}, "agents": agents, "counters": [],
            "strings": {"buffer_records": kinds, "marker_api": []}, "code_objects": [], "kernel_symbols": symbols, "host_functions": [],
            "callback_records": {"counter_collection": []}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--megabytes", type=int, default=200)
    options = parser.parse_args()
    noise = random.Random(7)
    # A kernel takes about 440 bytes, its launch 190.
    kernels = options.megabytes * 1_000_000 // 630
    with open(options.out, "w", encoding="utf-8") as out:
        text = json.dumps(head(), separators=(",", ":"))
        out.write('{"rocprofiler-sdk-tool":[' + text[:-1] + ',"buffer_records":{"kernel_dispatch":[')
        at, launches = 63_857_982_592_000, []
        for i in range(kernels):
            dur = noise.randrange(2_000, 90_000)
            gpu = 101 + (i & 7)
            out.write(f'{"," if i else ""}{{"size":184,"kind":2,"operation":2,"thread_id":{908 + (i & 3)},"correlation_id":{{"internal":{i + 1},'
                      f'"external":0}},"start_timestamp":{at},"end_timestamp":{at + dur},"dispatch_info":{{"size":72,"agent_id":{{"handle":{gpu}}},'
                      f'"queue_id":{{"handle":{16 + (i & 7)}}},"kernel_id":{noise.randrange(len(SYMBOLS)) + 1},"dispatch_id":{i + 1},'
                      f'"private_segment_size":0,"group_segment_size":{4096 * (i % 3)},"workgroup_size":{{"x":256,"y":1,"z":1}},'
                      f'"grid_size":{{"x":{256 * noise.randrange(1, 4096)},"y":1,"z":1}}}},"stream_id":{{"handle":{i & 7}}}}}')
            at += dur // 8
            launches.append(at - 9_000)
        out.write('],"hip_api":[')
        for i, start in enumerate(launches):
            out.write(f'{"," if i else ""}{{"size":64,"kind":1,"operation":0,"thread_id":{908 + (i & 3)},"correlation_id":{{"internal":{i + 1},'
                      f'"external":0}},"start_timestamp":{start},"end_timestamp":{start + 4_000}}}')
        out.write('],"memory_copy":[]}}]}')


if __name__ == "__main__":
    main()
