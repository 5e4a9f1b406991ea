#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/cases/samples/nsys/*.sqlite: small Nsight Systems exports with the tables and columns of real ones, and the
fuzzer's seeds (fuzz/corpus/nsys_fuzz) from the SQL of tests/cases/nsys.

The events are invented, the shape is not: table and column names, global ids, enum values and the texts that PyTorch and
NCCL give to NVTX are those of exports by nsys 2024.6 (schema 3.16) and 2026.2 (schema 3.25). Run it after a change and
commit what it writes; every number in the cases that use the samples follows from here.
"""
import pathlib
import re
import sqlite3

FOLDER = pathlib.Path(__file__).resolve().parent / "cases/samples/nsys"
VM = 1 << 48  # machine 0, virtual machine 1
NONE = 0xFFFFFFFF


def gpid(pid):
    return VM | pid << 24


def gtid(pid, tid):
    return gpid(pid) | tid


WORK = "start end deviceId contextId greenContextId streamId correlationId globalPid "
KERNEL = WORK + ("demangledName shortName mangledName launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY "
                 "blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted "
                 "graphNodeId sharedMemoryLimitConfig")
KERNEL_2026 = KERNEL + (" qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ "
                        "clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters sharedMemoryRequestedPercentage "
                        "tensorSizeMinusOneElements")
MEMCPY = WORK + ("bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId migrationCause "
                 "graphNodeId virtualAddress")
MEMSET = WORK + "value bytes graphNodeId memKind"
API = "start end eventClass globalTid correlationId nameId returnValue callchainId"
NVTX = ("start end eventType rangeId category color text globalTid endGlobalTid textId domainId uint64Value int64Value "
        "doubleValue uint32Value int32Value floatValue jsonTextId jsonText binaryData")
GPU = ("vmId id name busLocation isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount uuid chipName cuDevice "
       "maxShmemPerSm maxRegistersPerSm threadsPerWarp maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock computeMajor computeMinor")
COPY_KINDS = ["UNKNOWN", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD", "DTOA", "DTOD", "HTOH", "PTOP", "UVM_HTOD", "UVM_DTOH",
              "UVM_DTOD"]
MEM_KINDS = ["PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN"]
TEXT = {"text", "jsonText", "binaryData", "name", "value", "label", "busLocation", "uuid", "chipName", "devStateName", "typeName",
        "metricName", "tensorSizeMinusOneElements", "utcTime", "localTime", "filename"}


class Export:
    """One database; strings get numbers as they come."""

    def __init__(self, name, first_string=0):
        self.path = FOLDER / name
        self.path.unlink(missing_ok=True)
        self.db = sqlite3.connect(self.path)
        self.db.execute("PRAGMA page_size = 1024")
        self.strings, self.next_string = {}, first_string
        self.table("StringIds", "id value", key="id")

    def table(self, name, columns, key=None):
        number = ("value",) if name in ("CUPTI_ACTIVITY_KIND_MEMSET", "GPU_METRICS") else ()
        kinds = (f"{c} {'TEXT' if c in TEXT and c not in number else 'INTEGER'}" + (" NOT NULL PRIMARY KEY" if c == key else "")
                 for c in columns.split())
        self.db.execute(f"CREATE TABLE {name} ({', '.join(kinds)})")

    def put(self, table, **values):
        marks = ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))

    def text(self, value):
        if value not in self.strings:
            self.strings[value] = self.next_string
            self.put("StringIds", id=self.next_string, value=value)
            self.next_string += 7  # real numbers have gaps
        return self.strings[value]

    def enums(self):
        for name, prefix, words in (("ENUM_CUDA_MEMCPY_OPER", "CUDA_MEMCPY_KIND_", COPY_KINDS),
                                    ("ENUM_CUDA_MEM_KIND", "CUDA_MEMOPR_MEMORY_KIND_", MEM_KINDS)):
            self.table(name, "id name label", key="id")
            for i, word in enumerate(words):
                self.put(name, id=i, name=prefix + word, label=word.replace("_", " ").title())

    def meta(self, product, schema):
        self.table("META_DATA_EXPORT", "name value")
        for name, value in (("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"), ("EXPORT_PRODUCT_VERSION", product),
                            ("EXPORT_SCHEMA_VERSION", schema)):
            self.put("META_DATA_EXPORT", name=name, value=value)
        self.table("META_DATA_CAPTURE", "name value")
        for name, value in (("CAPTURE_EVENT_TYPE", "NvtxEvents"), ("CAPTURE_EVENT_TYPE", "Cuda"),
                            ("PROCESS_0:COMMAND", "python"), ("PROCESS_0:ENVIRONMENT_VARIABLE", "LANG=C"),
                            ("PROCESS_0:ENVIRONMENT_VARIABLE", "HF_TOKEN=hf_not_a_real_one")):
            self.put("META_DATA_CAPTURE", name=name, value=value)
        self.table("TARGET_INFO_SYSTEM_ENV", "globalVid devStateName name nameEnum value")
        for i, (name, value) in enumerate((("CpuCores", "18"), ("CpuDescription", "A CPU"), ("OsDescription", "Debian 12"),
                                           ("NvDriverVersion", "580.95.05"), ("SoftwareReleaseVersion", "6.1.0"),
                                           ("DeviceEnvironment", "A=1;API_KEY=x;y;B=2"))):
            self.put("TARGET_INFO_SYSTEM_ENV", globalVid=VM, devStateName="Local (CLI)", name=name, nameEnum=i, value=value)

    def api(self, pid, tid, start, end, name, correlation=None, event_class=0, result=0):
        self.put("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=event_class, globalTid=gtid(pid, tid),
                 correlationId=correlation, nameId=self.text(name), returnValue=result)

    def kernel(self, pid, start, end, name, correlation, device=0, context=1, stream=7, **more):
        values = dict(registersPerThread=32, gridX=132, gridY=1, gridZ=1, blockX=128, blockY=1, blockZ=1, staticSharedMemory=1024,
                      dynamicSharedMemory=2048, localMemoryPerThread=0, localMemoryTotal=0, gridId=1, launchType=1, cacheConfig=1)
        values.update(more)
        self.put("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device, contextId=context, streamId=stream,
                 correlationId=correlation, globalPid=gpid(pid), demangledName=self.text(name),
                 shortName=self.text(name.split("<")[0].split("(")[0].split()[-1]), **values)

    def push(self, pid, tid, start, end, text=None, kind=59, **more):
        self.put("NVTX_EVENTS", start=start, end=end, eventType=kind, text=text, globalTid=gtid(pid, tid), **more)

    def done(self):
        self.db.commit()
        self.db.execute("VACUUM")
        self.db.close()
        print(self.path.name, self.path.stat().st_size)


def training_two_gpus():
    """Two ranks of one training on one machine: ids that repeat between the processes, ops from emit_nvtx, NCCL's domain."""
    e = Export("training_two_gpus.sqlite", first_string=1364000)
    e.table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "start end deviceId contextId greenContextId streamId correlationId globalPid "
            "deprecatedSyncType syncType eventId eventSyncId")
    e.table("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "timestamp deviceId contextId greenContextId streamId correlationId globalPid eventId "
            "eventSyncId")
    e.table("CUPTI_ACTIVITY_KIND_MEMSET", MEMSET + " graphId")
    e.table("CUPTI_ACTIVITY_KIND_MEMCPY", MEMCPY + " copyCount")
    e.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL_2026)
    e.table("CUPTI_ACTIVITY_KIND_RUNTIME", API)
    e.table("NVTX_EVENTS", NVTX)
    e.table("PROCESSES", "globalPid pid name")
    e.table("ThreadNames", "nameId priority globalTid")
    e.table("SCHED_EVENTS", "start cpu isSchedIn globalTid")
    for pid, name in ((144, "python"), (145, "python"), (1, "init")):
        e.put("PROCESSES", globalPid=gpid(pid), pid=pid, name=name)
    e.put("ThreadNames", nameId=e.text("pt_main_thread"), priority=20, globalTid=gtid(144, 144))
    e.put("SCHED_EVENTS", start=1000, cpu=3, isSchedIn=1, globalTid=gtid(144, 144))
    gemm, nccl = "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"
    for rank, pid in ((0, 144), (1, 145)):
        t, context, stream = 60_000_000_000 + rank * 250, 1 + rank, 7 + 8 * rank
        place = dict(device=rank, context=context, stream=stream)
        e.push(pid, pid, t - 900, None, "NCCL", kind=75, domainId=1)
        e.push(pid, pid, t, t + 100_000, "LLM@request")
        e.push(pid, pid, t + 500, t + 90_000, "FSDP::forward (blocks.0), op_id = 990346")
        e.push(pid, pid, t + 1_000, t + 40_000, "aten::linear, seq = 45328, op_id = 990347")
        e.push(pid, pid, t + 2_000, t + 30_000, "aten::addmm, seq = 45328, op_id = 990348, sizes = [[8], [4, 16], [16, 8]]")
        e.api(pid, pid, t + 5_000, t + 11_000, "cudaLaunchKernel_v7000", 1001)
        e.kernel(pid, t + 20_000, t + 60_000, gemm, 1001, tensorSizeMinusOneElements="[]", **place)
        e.push(pid, pid, t + 41_000, t + 70_000, "c10d::alltoall_base_, op_id = 990349")
        e.push(pid, pid, t + 42_000, t + 43_000, textId=e.text("ncclSend"), domainId=1)
        e.api(pid, pid, t + 45_000, t + 50_000, "cuLaunchKernelEx", 1002, event_class=1)
        e.kernel(pid, t + 61_000, t + 80_000, nccl, 1002, tensorSizeMinusOneElements="[]", clusterX=2, clusterY=1, clusterZ=1, **place)
        e.api(pid, pid, t + 51_000, t + 53_000, "cudaEventRecord_v3020", 1003)
        e.api(pid, pid, t + 54_000, t + 55_000, "cudaStreamWaitEvent_v3020", 1004)
        e.put("CUPTI_ACTIVITY_KIND_CUDA_EVENT", timestamp=t + 81_000, deviceId=0, contextId=context, streamId=stream,
              correlationId=1003, globalPid=gpid(pid), eventId=285, eventSyncId=16863)
        sync = dict(deviceId=0, contextId=context, globalPid=gpid(pid))
        e.put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=t + 54_100, end=t + 54_900, streamId=stream + 1, correlationId=1004,
              syncType=2, eventId=285, eventSyncId=16863, **sync)
        e.api(pid, pid, t + 56_000, t + 58_000, "cudaMemcpyAsync_v3020", 1005)
        e.put("CUPTI_ACTIVITY_KIND_MEMCPY", start=t + 81_000, end=t + 82_000, deviceId=rank, contextId=context, streamId=stream,
              correlationId=1005, globalPid=gpid(pid), bytes=4096, copyKind=1, srcKind=0, dstKind=2, copyCount=1)
        e.api(pid, pid, t + 59_000, t + 60_000, "cudaMemsetAsync_v3020", 1006)
        e.put("CUPTI_ACTIVITY_KIND_MEMSET", start=t + 83_000, end=t + 83_500, deviceId=rank, contextId=context, streamId=stream,
              correlationId=1006, globalPid=gpid(pid), value=0, bytes=64, memKind=2)
        e.api(pid, pid, t + 84_000, t + 89_000, "cudaStreamSynchronize_v3020", 1007)
        e.put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=t + 84_100, end=t + 88_900, streamId=stream, correlationId=1007, syncType=3,
              eventId=NONE, eventSyncId=0, **sync)
        e.push(pid, pid + 1, t + 7_000, None, "a mark", kind=34)
    e.kernel(144, 60_000_000_001, 60_000_005_000, "launched_before_the_window", 17, tensorSizeMinusOneElements="[]")
    e.enums()
    e.meta("2026.2.1.210", "3.25.0")
    e.table("TARGET_INFO_SESSION_START_TIME", "utcEpochNs utcTime localTime systemClockNs")
    e.put("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1779782330176752435, systemClockNs=28254349605)
    e.done()


def serving_with_graphs():
    """One process that sees GPU 1 as its device 0; graph launches in one piece, and everything else nsys can sample."""
    pid, gpu = 500, 1
    e = Export("serving_with_graphs.sqlite")
    e.table("TARGET_INFO_GPU", GPU)
    for i in (1, 0):
        e.put("TARGET_INFO_GPU", vmId=VM, id=i, name="NVIDIA H100 80GB HBM3", busLocation=f"0000:{i}b:00.0", isDiscrete=1,
              l2CacheSize=52428800, totalMemory=84942979072, memoryBandwidth=3352320000000, clockRate=1980000000, smCount=132,
              uuid=f"uuid-{i}", chipName="GH100", cuDevice=i, maxShmemPerSm=233472, maxRegistersPerSm=65536, threadsPerWarp=32,
              maxWarpsPerSm=64, maxBlocksPerSm=32, maxThreadsPerBlock=1024, computeMajor=9, computeMinor=0)
    e.table("TARGET_INFO_CUDA_DEVICE", "gpuId cudaId pid uuid numMultiprocessors")
    e.put("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=pid, uuid="uuid-1", numMultiprocessors=132)
    e.table("TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId hwId vmId processId deviceId contextId parentContextId isGreenContext")
    e.put("TARGET_INFO_CUDA_CONTEXT_INFO", nullStreamId=7, hwId=0, vmId=1, processId=pid, deviceId=0, contextId=1)
    e.table("PROCESSES", "globalPid pid name")
    e.put("PROCESSES", globalPid=gpid(pid), pid=pid, name="vllm")
    e.table("ThreadNames", "nameId priority globalTid")
    e.put("ThreadNames", nameId=e.text("EngineCore"), priority=20, globalTid=gtid(pid, pid))
    e.table("MPI_RANKS", "globalTid rank")
    e.put("MPI_RANKS", globalTid=gtid(pid, pid), rank=3)
    e.table("CUPTI_ACTIVITY_KIND_RUNTIME", API)
    e.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL)
    e.table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", WORK + "graphId graphExecId")
    e.table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", WORK + "syncType eventId")
    e.table("NVTX_EVENTS", NVTX)
    e.table("CUBLAS_EVENTS", "start end eventClass globalTid nameId")
    e.table("OSRT_API", "start end eventClass globalTid nameId returnValue nestingLevel callchainId")
    e.table("MPI_COLLECTIVES_EVENTS", "start end globalTid textId commHandle rootRank size recvSize requestHandle")
    e.table("PROFILER_OVERHEAD", "start end globalTid nameId returnValue")
    e.table("CUDA_GPU_MEMORY_USAGE_EVENTS", "start globalPid deviceId contextId address pc bytes memKind memoryOperationType name "
            "correlationId localMemoryPoolAddress")
    e.table("TARGET_INFO_GPU_METRICS", "typeId sourceId typeName metricId metricName")
    e.table("GPU_METRICS", "timestamp typeId metricId value")
    e.table("COMPOSITE_EVENTS", "id start cpu threadState globalTid cpuCycles", key="id")
    e.table("SAMPLING_CALLCHAINS", "id symbol module kernelMode thumbCode unresolved specialEntry originalIP unwindMethod stackDepth")
    e.table("ENUM_DIAGNOSTIC_SEVERITY_LEVEL", "id name label", key="id")
    for i, name in enumerate(("UNKNOWN", "INFORMATION", "WARNING", "ERROR", "FATAL_ERROR")):
        e.put("ENUM_DIAGNOSTIC_SEVERITY_LEVEL", id=i, name=f"DIAGNOSTIC_SEVERITY_{name}", label=name.title())
    e.table("DIAGNOSTIC_EVENT", "timestamp timestampType source severity text globalPid")
    for severity, text in ((1, "Profiling has started."), (2, "Some CUDA events were dropped.")):
        e.put("DIAGNOSTIC_EVENT", timestamp=0, timestampType=1, source=3, severity=severity, text=text, globalPid=gpid(pid))
    tid = gtid(pid, pid)
    work = dict(deviceId=0, contextId=1, greenContextId=0, streamId=7, globalPid=gpid(pid))
    e.push(pid, pid, 1_000, 50_000, "LLM@prefill")
    e.put("CUBLAS_EVENTS", start=1_500, end=4_000, eventClass=29, globalTid=tid, nameId=e.text("cublasGemmEx"))
    e.api(pid, pid, 2_000, 3_000, "cudaLaunchKernel_v7000", 21)
    e.kernel(pid, 5_000, 45_000, "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm>(Params)", 21, localMemoryPerThread=16)
    e.push(pid, pid, 50_000, 100_000, "LLM@decode_all", kind=60, rangeId=1)
    for step in range(3):
        t = 51_000 + 16_000 * step
        e.push(pid, pid, t, t + 15_000, "LLM@decode_step")
        e.api(pid, pid, t + 100, t + 1_100, "cudaGraphLaunch_v10000", 30 + step)
        e.put("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=t + 2_000, end=t + 12_000, correlationId=30 + step, graphId=109, graphExecId=110,
              **work)
        e.api(pid, pid, t + 1_200, t + 13_000, "cudaStreamSynchronize_v3020", 40 + step)
        e.put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=t + 1_300, end=t + 12_900, correlationId=40 + step, syncType=2, eventId=NONE,
              **work)
        e.put("OSRT_API", start=t + 1_400, end=t + 12_800, eventClass=27, globalTid=tid, nameId=e.text("poll"), returnValue=1,
              nestingLevel=0, callchainId=0)
    e.put("MPI_COLLECTIVES_EVENTS", start=99_000, end=99_500, globalTid=tid, textId=e.text("MPI_Allreduce"), size=8)
    e.put("PROFILER_OVERHEAD", start=97_000, end=98_000, globalTid=tid, nameId=e.text("Buffer flush"), returnValue=0)
    e.put("PROFILER_OVERHEAD", start=10, end=400, globalTid=tid, nameId=e.text("CUDA profiling initialization"), returnValue=0)
    memory = dict(globalPid=gpid(pid), deviceId=0, contextId=1, pc=1, memKind=2)
    e.put("CUDA_GPU_MEMORY_USAGE_EVENTS", start=500, address=4096, bytes=1 << 20, memoryOperationType=0, correlationId=5, **memory)
    e.put("CUDA_GPU_MEMORY_USAGE_EVENTS", start=99_900, address=4096, bytes=1 << 20, memoryOperationType=1, name="weights", **memory)
    for metric, name in ((1, "SMs Active [Throughput %]"), (2, "DRAM Read Bandwidth [Throughput %]")):
        e.put("TARGET_INFO_GPU_METRICS", typeId=0x1234500 + gpu, sourceId=1, typeName="GPU Metrics", metricId=metric, metricName=name)
        for i in range(4):
            e.put("GPU_METRICS", timestamp=i * 25_000, typeId=0x1234500 + gpu, metricId=metric, value=(metric * 20 + i) % 101)
    leaf, middle, root = e.text("memcpy;avx"), e.text("forward"), e.text("main")
    frame = dict(module=e.text("libc.so.6"), unresolved=0)
    for sample, frames in ((11, (leaf, middle, root)), (12, (middle, root)), (13, (leaf, middle, root))):
        e.put("COMPOSITE_EVENTS", id=sample, start=sample * 1_000, cpu=2, threadState=1, globalTid=tid, cpuCycles=125000)
        for depth, symbol in reversed(list(enumerate(frames))):
            e.put("SAMPLING_CALLCHAINS", id=sample, symbol=symbol, stackDepth=depth, **frame)
    e.put("COMPOSITE_EVENTS", id=14, start=14_000, cpu=2, threadState=1, globalTid=tid, cpuCycles=125000)
    e.enums()
    e.meta("2024.6.2.25", "3.16.1")
    e.done()


def seeds():
    """The databases of the cases, in the smallest pages."""
    root = pathlib.Path(__file__).resolve().parents[1]
    folder = root / "fuzz/corpus/nsys_fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    for case in sorted((root / "tests/cases/nsys").glob("*.case")):
        found = re.search(r"^== sqlite[^\n]*\n(.*?)^== ", case.read_text(encoding="utf-8"), flags=re.M | re.S)
        if not found:
            continue
        path = folder / f"{case.stem}.sqlite"
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path)
        database.executescript("PRAGMA page_size = 512;" + found.group(1))
        database.close()
    (folder / "stats.csv").write_text("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n30.0,5,1,5,5,5,5,0,k\n",
                                      encoding="utf-8")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    training_two_gpus()
    serving_with_graphs()
    seeds()


if __name__ == "__main__":
    main()
