// SPDX-License-Identifier: Apache-2.0
// Holds our declarations of CUPTI against NVIDIA's own, where CMake found the headers.
// Older headers lack names this compares with, and are left alone. Makes no code.

#include "capture/lib/cupti_types.h"

#ifdef NL_HAVE_CUPTI_HEADERS
#include <cupti.h>

#if CUPTI_API_VERSION >= 130000
namespace nl::capture::cupti {

#define NL_SAME(ours, our_field, theirs, their_field) \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field))

NL_SAME(Kernel, shared_config, CUpti_ActivityKernel9, sharedMemoryConfig);
NL_SAME(Kernel, registers_per_thread, CUpti_ActivityKernel9, registersPerThread);
NL_SAME(Kernel, start, CUpti_ActivityKernel9, start);
NL_SAME(Kernel, end, CUpti_ActivityKernel9, end);
NL_SAME(Kernel, device, CUpti_ActivityKernel9, deviceId);
NL_SAME(Kernel, grid, CUpti_ActivityKernel9, gridX);
NL_SAME(Kernel, block, CUpti_ActivityKernel9, blockX);
NL_SAME(Kernel, dynamic_shared, CUpti_ActivityKernel9, dynamicSharedMemory);
NL_SAME(Kernel, local_per_thread, CUpti_ActivityKernel9, localMemoryPerThread);
NL_SAME(Kernel, correlation, CUpti_ActivityKernel9, correlationId);
NL_SAME(Kernel, name, CUpti_ActivityKernel9, name);
NL_SAME(Kernel, queued, CUpti_ActivityKernel9, queued);
NL_SAME(Kernel, submitted, CUpti_ActivityKernel9, submitted);
NL_SAME(Kernel, launch_type, CUpti_ActivityKernel9, launchType);
NL_SAME(Kernel, shared_executed, CUpti_ActivityKernel9, sharedMemoryExecuted);
NL_SAME(Kernel, graph_node_id, CUpti_ActivityKernel9, graphNodeId);
NL_SAME(Kernel, graph_id, CUpti_ActivityKernel9, graphId);
NL_SAME(Kernel, channel, CUpti_ActivityKernel9, channelID);
NL_SAME(Kernel, cluster, CUpti_ActivityKernel9, clusterX);
NL_SAME(Kernel, name, CUpti_ActivityKernel4, name);
NL_SAME(Kernel, shared_executed, CUpti_ActivityKernel4, sharedMemoryExecuted);
static_assert(sizeof(CUpti_ActivityKernel4) == offsetof(Kernel, graph_node_id));
static_assert(sizeof(CUpti_ActivityKernel5) == offsetof(Kernel, access_policy_window));
static_assert(sizeof(CUpti_ActivityKernel8) == sizeof(Kernel));

NL_SAME(Memcpy, copy_kind, CUpti_ActivityMemcpy5, copyKind);
NL_SAME(Memcpy, dst_kind, CUpti_ActivityMemcpy5, dstKind);
NL_SAME(Memcpy, bytes, CUpti_ActivityMemcpy5, bytes);
NL_SAME(Memcpy, start, CUpti_ActivityMemcpy5, start);
NL_SAME(Memcpy, device, CUpti_ActivityMemcpy5, deviceId);
NL_SAME(Memcpy, correlation, CUpti_ActivityMemcpy5, correlationId);
NL_SAME(Memcpy, graph_node_id, CUpti_ActivityMemcpy5, graphNodeId);
NL_SAME(Memcpy, graph_id, CUpti_ActivityMemcpy5, graphId);
static_assert(sizeof(CUpti_ActivityMemcpy5) == offsetof(Memcpy, copy_count));
NL_SAME(MemcpyPeer, src_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
NL_SAME(MemcpyPeer, dst_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
NL_SAME(MemcpyPeer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
NL_SAME(MemcpyPeer, graph_node_id, CUpti_ActivityMemcpyPtoP4, graphNodeId);
NL_SAME(MemcpyPeer, graph_id, CUpti_ActivityMemcpyPtoP4, graphId);
NL_SAME(Memset, value, CUpti_ActivityMemset4, value);
NL_SAME(Memset, start, CUpti_ActivityMemset4, start);
NL_SAME(Memset, correlation, CUpti_ActivityMemset4, correlationId);
NL_SAME(Memset, memory_kind, CUpti_ActivityMemset4, memoryKind);
NL_SAME(Memset, graph_node_id, CUpti_ActivityMemset4, graphNodeId);
NL_SAME(Memset, graph_id, CUpti_ActivityMemset4, graphId);

NL_SAME(Memory, operation, CUpti_ActivityMemory3, memoryOperationType);
NL_SAME(Memory, address, CUpti_ActivityMemory3, address);
NL_SAME(Memory, timestamp, CUpti_ActivityMemory3, timestamp);
NL_SAME(Memory, device, CUpti_ActivityMemory3, deviceId);
NL_SAME(Memory, is_async, CUpti_ActivityMemory3, isAsync);
NL_SAME(Memory, pool_address, CUpti_ActivityMemory3, memoryPoolConfig.address);
static_assert(sizeof(CUpti_ActivityMemory3) == offsetof(Memory, source));
NL_SAME(Overhead, overhead_kind, CUpti_ActivityOverhead, overheadKind);
NL_SAME(Overhead, object, CUpti_ActivityOverhead, objectId);
NL_SAME(Overhead, start, CUpti_ActivityOverhead, start);
NL_SAME(Overhead, end, CUpti_ActivityOverhead, end);
NL_SAME(Device, memory_bytes, CUpti_ActivityDevice4, globalMemorySize);
NL_SAME(Device, sm_count, CUpti_ActivityDevice4, numMultiprocessors);
NL_SAME(Device, max_registers_per_sm, CUpti_ActivityDevice4, maxRegistersPerMultiprocessor);
NL_SAME(Device, compute_major, CUpti_ActivityDevice4, computeCapabilityMajor);
NL_SAME(Device, id, CUpti_ActivityDevice4, id);
NL_SAME(Device, uuid, CUpti_ActivityDevice4, uuid);
NL_SAME(Device, name, CUpti_ActivityDevice4, name);
NL_SAME(Device, is_mig, CUpti_ActivityDevice4, isMigEnabled);
NL_SAME(Context, device, CUpti_ActivityContext, deviceId);
NL_SAME(Context, null_stream, CUpti_ActivityContext, nullStreamId);
NL_SAME(Context, is_green, CUpti_ActivityContext2, isGreenContext);
NL_SAME(GraphTrace, start, CUpti_ActivityGraphTrace, start);
NL_SAME(GraphTrace, graph_id, CUpti_ActivityGraphTrace, graphId);
NL_SAME(ResourceData, context, CUpti_ResourceData, context);
NL_SAME(ApiData, site, CUpti_CallbackData, callbackSite);
NL_SAME(ApiData, arguments, CUpti_CallbackData, functionParams);
NL_SAME(ApiData, return_value, CUpti_CallbackData, functionReturnValue);
NL_SAME(ApiData, context, CUpti_CallbackData, context);
NL_SAME(ApiData, context_id, CUpti_CallbackData, contextUid);
NL_SAME(ApiData, correlation, CUpti_CallbackData, correlationId);
NL_SAME(GraphTrace, stream, CUpti_ActivityGraphTrace, streamId);
#undef NL_SAME

static_assert(int{kErrorMaxLimitReached} == CUPTI_ERROR_MAX_LIMIT_REACHED);
static_assert(int{kErrorMultipleSubscribers} == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(int{kErrorInsufficientPrivileges} == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
static_assert(uint32_t{kMemcpy} == CUPTI_ACTIVITY_KIND_MEMCPY &&
              uint32_t{kMemset} == CUPTI_ACTIVITY_KIND_MEMSET);
static_assert(uint32_t{kDriver} == CUPTI_ACTIVITY_KIND_DRIVER &&
              uint32_t{kRuntime} == CUPTI_ACTIVITY_KIND_RUNTIME);
static_assert(uint32_t{kKernel} == CUPTI_ACTIVITY_KIND_KERNEL &&
              uint32_t{kConcurrentKernel} == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(uint32_t{kOverhead} == CUPTI_ACTIVITY_KIND_OVERHEAD &&
              uint32_t{kMemcpyPeer} == CUPTI_ACTIVITY_KIND_MEMCPY2);
static_assert(uint32_t{kSynchronization} == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION &&
              uint32_t{kExternalCorrelation} == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
static_assert(uint32_t{kMemory2} == CUPTI_ACTIVITY_KIND_MEMORY2 &&
              uint32_t{kGraphTrace} == CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
static_assert(uint32_t{kDevice} == CUPTI_ACTIVITY_KIND_DEVICE &&
              uint32_t{kContext} == CUPTI_ACTIVITY_KIND_CONTEXT);
static_assert(int{kDriverApi} == CUPTI_CB_DOMAIN_DRIVER_API &&
              int{kRuntimeApi} == CUPTI_CB_DOMAIN_RUNTIME_API && int{kResource} == CUPTI_CB_DOMAIN_RESOURCE);
static_assert(uint32_t{kContextCreated} == CUPTI_CBID_RESOURCE_CONTEXT_CREATED &&
              uint32_t{kContextDestroyStarting} == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING &&
              uint32_t{kInitFinished} == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED &&
              uint32_t{kGraphExecCreated} == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
static_assert(kApiExit == CUPTI_API_EXIT);
static_assert(
    int{static_cast<int>(Wait::kEvent)} == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE &&
    int{static_cast<int>(Wait::kStreamForEvent)} == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT &&
    int{static_cast<int>(Wait::kStream)} == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE &&
    int{static_cast<int>(Wait::kContext)} == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
static_assert(kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
static_assert(int{kZeroedOutBuffer} == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER &&
              int{kPerThreadBuffer} == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
static_assert(kThreadIdSystem == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);

}  // namespace nl::capture::cupti
#endif
#endif
