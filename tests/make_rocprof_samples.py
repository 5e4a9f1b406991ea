#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/cases/samples/rocprof: small recordings in the layouts of rocprofv3 (ROCm 6.4 and 7) and rocprof v1.

    tests/make_rocprof_samples.py [FOLDER]

Two steps of a small training loop on one GPU of two, with HIP and HSA calls, markers, copies, allocations, scratch memory and counters.
Everything is made here; nothing is copied from a recording.
"""
import json
import pathlib
import sys

KINDS = ["NONE", "HSA_CORE_API", "HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "MEMORY_COPY", "KERNEL_DISPATCH", "SCRATCH_MEMORY",
         "MEMORY_ALLOCATION", "RCCL_API", "MARKER_CORE_API"]
OPERATIONS = {
    "HSA_CORE_API": ["hsa_queue_create", "hsa_signal_wait_scacquire"],
    "HIP_RUNTIME_API_EXT": ["hipLaunchKernel", "hipMemcpyAsync", "hipStreamSynchronize", "hipMalloc"],
    "MARKER_CORE_RANGE_API": ["roctxThreadRangeA"],
    "MARKER_CORE_API": ["roctxMarkA"],
    "MEMORY_COPY": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST"],
    "KERNEL_DISPATCH": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"],
    "SCRATCH_MEMORY": ["SCRATCH_MEMORY_NONE", "SCRATCH_MEMORY_ALLOC"],
    "MEMORY_ALLOCATION": ["MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_FREE"],
    "RCCL_API": ["ncclAllReduce"],
}
KERNELS = [("gemm", "void gemm<float, 64, 64>(float*, float const*, float const*, int)", 64, 32, 48, 8192, 0),
           ("copyBuffer", "__amd_rocclr_copyBuffer.kd", 8, 0, 32, 0, 0),
           ("softmax", "softmax_rows(float*, \"in place\", int)", 24, 0, 24, 1024, 256)]
CPU, GPU0, GPU1 = 100, 101, 102
START, PID, MAIN, WORKER = 63_857_982_000_000, 4242, 4242, 4250


def agent(handle, kind, node, index):
    gpu = kind == 2
    return {"size": 312, "id": {"handle": handle}, "type": kind, "cpu_cores_count": 0 if gpu else 64, "simd_count": 1216 if gpu else 0,
            "max_waves_per_simd": 8 if gpu else 0, "lds_size_in_kb": 64 if gpu else 0, "wave_front_size": 64 if gpu else 0,
            "cu_count": 304 if gpu else 64, "simd_per_cu": 4 if gpu else 0, "gfx_target_version": 90402 if gpu else 0,
            "name": "gfx942" if gpu else "Test CPU 64-Core", "vendor_name": "AMD" if gpu else "CPU",
            "product_name": "AMD Instinct MI300X" if gpu else "Test CPU 64-Core", "node_id": node, "logical_node_id": node,
            "logical_node_type_id": index,
            "mem_banks": [{"heap_type": 1 if gpu else 0, "flags": {}, "width": 8192, "size_in_bytes": 206_141_652_992}]}


class Recording:
    """Events of the loop, in order of time."""

    def __init__(self):
        self.records = {name: [] for name in ("kernel_dispatch", "hip_api", "hsa_api", "marker_api", "rccl_api", "memory_copy",
                                              "memory_allocation", "scratch_memory")}
        self.markers, self.counted = [], []
        self.correlation = self.dispatch = 0
        self.at = START

    def record(self, kind, operation, thread, start, end, **more):
        return {"size": 64, "kind": KINDS.index(kind), "operation": OPERATIONS[kind].index(operation), "thread_id": thread,
                "correlation_id": {"internal": self.correlation, "external": 0}, "start_timestamp": start, "end_timestamp": end, **more}

    def call(self, section, kind, operation, dur, thread=MAIN):
        self.correlation += 1
        self.at += 500
        self.records[section].append(self.record(kind, operation, thread, self.at, self.at + dur))
        self.at += dur
        return self.at

    def launch(self, kernel, dur, grid, workgroup, stream=1):
        end = self.call("hip_api", "HIP_RUNTIME_API_EXT", "hipLaunchKernel", 4_200)
        self.dispatch += 1
        info = {"size": 72, "agent_id": {"handle": GPU0}, "queue_id": {"handle": 16}, "kernel_id": kernel + 1, "dispatch_id": self.dispatch,
                "private_segment_size": KERNELS[kernel][6], "group_segment_size": KERNELS[kernel][5],
                "workgroup_size": dict(zip("xyz", workgroup)), "grid_size": dict(zip("xyz", grid))}
        record = self.record("KERNEL_DISPATCH", "KERNEL_DISPATCH_COMPLETE", MAIN, end + 3_000, end + 3_000 + dur, dispatch_info=info,
                             stream_id={"handle": stream})
        record["size"] = 184
        self.records["kernel_dispatch"].append(record)
        self.counted.append({"dispatch_data": {"size": 160, "correlation_id": record["correlation_id"], "start_timestamp": end + 3_000,
                                               "end_timestamp": end + 3_000 + dur, "dispatch_info": info},
                             "records": [{"counter_id": {"handle": 7}, "value": 512.0}, {"counter_id": {"handle": 7}, "value": 512.0},
                                         {"counter_id": {"handle": 8}, "value": 12.25}],
                             "thread_id": MAIN, "arch_vgpr_count": KERNELS[kernel][2], "accum_vgpr_count": KERNELS[kernel][3],
                             "sgpr_count": KERNELS[kernel][4], "lds_block_size_v": KERNELS[kernel][5]})

    def copy(self, operation, source, target, dur, size):
        end = self.call("hip_api", "HIP_RUNTIME_API_EXT", "hipMemcpyAsync", 6_000)
        self.records["memory_copy"].append(self.record("MEMORY_COPY", operation, MAIN, end + 2_000, end + 2_000 + dur,
                                                       dst_agent_id={"handle": target}, src_agent_id={"handle": source}, bytes=size,
                                                       stream_id={"handle": 2}))

    def marker(self, name, start, end, kind="MARKER_CORE_RANGE_API"):
        self.correlation += 1
        self.markers.append({"key": self.correlation, "value": name})
        self.records["marker_api"].append(self.record(kind, OPERATIONS[kind][0], MAIN, start, end))


def build():
    r = Recording()
    end = r.call("hip_api", "HIP_RUNTIME_API_EXT", "hipMalloc", 30_000)
    r.records["memory_allocation"].append(r.record("MEMORY_ALLOCATION", "MEMORY_ALLOCATION_ALLOCATE", MAIN, end - 20_000, end - 1_000,
                                                   agent_id={"handle": GPU0}, address=140_000_000_000, allocation_size=1 << 20))
    r.call("hsa_api", "HSA_CORE_API", "hsa_queue_create", 12_000)
    r.records["scratch_memory"].append(r.record("SCRATCH_MEMORY", "SCRATCH_MEMORY_ALLOC", MAIN, r.at, r.at + 900,
                                                agent_id={"handle": GPU0}, queue_id={"handle": 16}, flags=0))
    r.marker("warm-up over", r.at, r.at, "MARKER_CORE_API")
    for step in range(2):
        begin = r.at
        r.copy("MEMORY_COPY_HOST_TO_DEVICE", CPU, GPU0, 40_000, 1 << 20)
        r.launch(0, 90_000 + 1_000 * step, (4096, 64, 1), (256, 1, 1))
        r.launch(2, 12_345, (1000, 1, 1), (64, 1, 1))
        r.launch(1, 2_840, (512, 1, 1), (512, 1, 1), stream=0)
        r.call("rccl_api", "RCCL_API", "ncclAllReduce", 15_000, WORKER)
        r.copy("MEMORY_COPY_DEVICE_TO_HOST", GPU0, CPU, 9_000, 4096)
        r.call("hip_api", "HIP_RUNTIME_API_EXT", "hipStreamSynchronize", 120_000)
        r.marker(f"ProfilerStep#{step}", begin, r.at)
    r.correlation += 1
    r.records["memory_allocation"].append(r.record("MEMORY_ALLOCATION", "MEMORY_ALLOCATION_FREE", MAIN, r.at, r.at + 5_000,
                                                   agent_id={"handle": 0}, address=140_000_000_000, allocation_size=0))
    return r


def document(r, counters=True):
    symbols = [{"size": 88, "kernel_id": i + 1, "code_object_id": 1, "kernel_name": f"_Z{name}.kd", "kernarg_segment_size": 48,
                "group_segment_size": lds, "private_segment_size": scratch, "sgpr_count": sgpr, "arch_vgpr_count": vgpr,
                "accum_vgpr_count": accum, "kernel_address": {"handle": 4096 * (i + 1)}, "formatted_kernel_name": demangled,
                "demangled_kernel_name": demangled, "truncated_kernel_name": name}
               for i, (name, demangled, vgpr, accum, sgpr, lds, scratch) in enumerate(KERNELS)]
    strings = {"callback_records": [], "buffer_records": [{"kind": k, "operations": OPERATIONS.get(k, [])} for k in KINDS],
               "marker_api": r.markers, "correlation_id": {"external": []}, "counters": {"dimension_ids": []}}
    tool = {"metadata": {"node": {"id": 0, "system_name": "Linux", "hostname": "node-1", "release": "6.8.0"}, "pid": PID,
                         "init_time": START - 1000, "fini_time": r.at + 1000, "command": ["/usr/bin/python3", "train.py"],
                         "config": {"csv_output": False, "json_output": True}},
            "agents": [agent(CPU, 1, 0, 0), agent(GPU0, 2, 1, 0), agent(GPU1, 2, 2, 1)],
            "counters": [{"agent_id": {"handle": GPU0}, "id": {"handle": 7}, "name": "SQ_WAVES", "description": "waves"},
                         {"agent_id": {"handle": GPU0}, "id": {"handle": 8}, "name": "MemUnitBusy", "description": "busy"}],
            "strings": strings, "code_objects": [], "kernel_symbols": symbols, "host_functions": [], "summary": [],
            "callback_records": {"counter_collection": r.counted if counters else []},
            "buffer_records": {**r.records, "pc_sample_host_trap": []}}
    return {"rocprofiler-sdk-tool": [tool]}


def csv_row(values):
    return ",".join(f'"{v}"' if isinstance(v, str) else str(v) for v in values) + "\n"


def kernel_trace(r):
    columns = ["Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name", "Correlation_Id",
               "Start_Timestamp", "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count",
               "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z", "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"]
    text = csv_row(columns)
    for k in r.records["kernel_dispatch"]:
        info = k["dispatch_info"]
        _, name, vgpr, accum, sgpr, lds, scratch = KERNELS[info["kernel_id"] - 1]
        text += csv_row(["KERNEL_DISPATCH", "Agent 1", 16, k["stream_id"]["handle"], MAIN, info["dispatch_id"], info["kernel_id"],
                         name.removesuffix(".kd").replace('"', '""'), k["correlation_id"]["internal"], k["start_timestamp"],
                         k["end_timestamp"], lds, scratch, vgpr, accum, sgpr, *info["workgroup_size"].values(), *info["grid_size"].values()])
    return text


def v1_table(r):
    text = ("Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,obj,"
            "Wavefronts,L2CacheHit,DispatchNs,BeginNs,EndNs,CompleteNs\n")
    for i, k in enumerate(r.records["kernel_dispatch"]):
        info = k["dispatch_info"]
        _, name, vgpr, accum, sgpr, lds, scratch = KERNELS[info["kernel_id"] - 1]
        name = name.removesuffix(".kd").replace('"', '""')
        work = [g["x"] * g["y"] * g["z"] for g in (info["grid_size"], info["workgroup_size"])]
        text += (f'{i},"{name} [clone .kd]",0,0,{i},{PID},{MAIN},{work[0]},{work[1]},{lds},{scratch},{vgpr},{accum},{sgpr},64,0x0,0x7f2b4d282500,'
                 f'{work[0] // 64}.0000000000,{70 + i}.5000000000,{k["start_timestamp"] - 5000},{k["start_timestamp"]},{k["end_timestamp"]},'
                 f'{k["end_timestamp"] + 400}\n')
    return text


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent / "cases/samples/rocprof"
    folder.mkdir(parents=True, exist_ok=True)
    r = build()
    (folder / "training_results.json").write_text(json.dumps(document(r), separators=(",", ":")))
    late = document(r, counters=False)
    tool = late["rocprofiler-sdk-tool"][0]
    late["rocprofiler-sdk-tool"] = [{k: tool[k] for k in ["buffer_records", "callback_records", "kernel_symbols", "strings", "agents",
                                                          "metadata"]}]
    (folder / "tables_behind_the_records.json").write_text(json.dumps(late, indent=1))
    (folder / "training_kernel_trace.csv").write_text(kernel_trace(r))
    (folder / "rocprof_v1.csv").write_text(v1_table(r))


if __name__ == "__main__":
    main()
