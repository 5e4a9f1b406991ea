// SPDX-License-Identifier: Apache-2.0
// Holds our declarations of CUPTI's PM sampling against NVIDIA's own, where CMake found the
// headers and they are of CUDA 13. Makes no code.

#include "capture/lib/cupti_pm_types.h"

#ifdef NL_HAVE_CUPTI_HEADERS
#include <cupti.h>

#if CUPTI_API_VERSION >= 130000
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

namespace nl::capture::cupti::pm {

#define NL_SAME(ours, our_field, theirs, their_field)                         \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) && \
                sizeof(ours::our_field) == sizeof(theirs::their_field))
// Later versions may have added fields after ours.
#define NL_SIZE(ours, theirs) static_assert(ours::kBytes <= theirs##_STRUCT_SIZE)

NL_SIZE(ProfilerInitialize, CUpti_Profiler_Initialize_Params);
NL_SIZE(ProfilerInitialize, CUpti_Profiler_DeInitialize_Params);
NL_SIZE(DeviceSupported, CUpti_Profiler_DeviceSupported_Params);
NL_SAME(DeviceSupported, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
NL_SAME(DeviceSupported, is_supported, CUpti_Profiler_DeviceSupported_Params, isSupported);
NL_SAME(DeviceSupported, vgpu, CUpti_Profiler_DeviceSupported_Params, vGpu);
NL_SAME(DeviceSupported, wsl, CUpti_Profiler_DeviceSupported_Params, wsl);
NL_SAME(DeviceSupported, api, CUpti_Profiler_DeviceSupported_Params, api);
NL_SIZE(GetChipName, CUpti_Device_GetChipName_Params);
NL_SAME(GetChipName, device, CUpti_Device_GetChipName_Params, deviceIndex);
NL_SAME(GetChipName, name, CUpti_Device_GetChipName_Params, pChipName);
NL_SIZE(HostInitialize, CUpti_Profiler_Host_Initialize_Params);
NL_SAME(HostInitialize, profiler_type, CUpti_Profiler_Host_Initialize_Params, profilerType);
NL_SAME(HostInitialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
NL_SAME(HostInitialize, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
NL_SAME(HostInitialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
NL_SIZE(HostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params);
NL_SIZE(GetMetricProperties, CUpti_Profiler_Host_GetMetricProperties_Params);
NL_SAME(GetMetricProperties, metric, CUpti_Profiler_Host_GetMetricProperties_Params, pMetricName);
NL_SAME(GetMetricProperties, type, CUpti_Profiler_Host_GetMetricProperties_Params, metricType);
NL_SIZE(ConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params);
NL_SAME(ConfigAddMetrics, metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
NL_SAME(ConfigAddMetrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
NL_SIZE(GetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params);
NL_SAME(GetConfigImageSize, image_bytes, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
NL_SIZE(GetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params);
NL_SAME(GetConfigImage, image_bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
NL_SAME(GetConfigImage, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
NL_SIZE(GetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params);
NL_SAME(GetNumOfPasses, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
NL_SAME(GetNumOfPasses, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
NL_SIZE(EvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
NL_SAME(EvaluateToGpuValues, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
NL_SAME(EvaluateToGpuValues, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
NL_SAME(EvaluateToGpuValues, metrics, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
NL_SAME(EvaluateToGpuValues, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
NL_SIZE(Enable, CUpti_PmSampling_Enable_Params);
NL_SAME(Enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
NL_SAME(Enable, sampling, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
NL_SIZE(OfObject, CUpti_PmSampling_Disable_Params);
NL_SIZE(OfObject, CUpti_PmSampling_Start_Params);
NL_SIZE(OfObject, CUpti_PmSampling_Stop_Params);
NL_SIZE(SetConfig, CUpti_PmSampling_SetConfig_Params);
NL_SAME(SetConfig, config_bytes, CUpti_PmSampling_SetConfig_Params, configSize);
NL_SAME(SetConfig, config, CUpti_PmSampling_SetConfig_Params, pConfig);
NL_SAME(SetConfig, hardware_buffer_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
NL_SAME(SetConfig, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
NL_SAME(SetConfig, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
NL_SAME(SetConfig, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
NL_SIZE(DecodeData, CUpti_PmSampling_DecodeData_Params);
NL_SAME(DecodeData, image, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
NL_SAME(DecodeData, stop_reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
NL_SAME(DecodeData, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
NL_SIZE(GetCounterAvailability, CUpti_PmSampling_GetCounterAvailability_Params);
NL_SAME(GetCounterAvailability, image_bytes, CUpti_PmSampling_GetCounterAvailability_Params,
        counterAvailabilityImageSize);
NL_SAME(GetCounterAvailability, image, CUpti_PmSampling_GetCounterAvailability_Params,
        pCounterAvailabilityImage);
NL_SIZE(GetCounterDataSize, CUpti_PmSampling_GetCounterDataSize_Params);
NL_SAME(GetCounterDataSize, metrics, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
NL_SAME(GetCounterDataSize, max_samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
NL_SAME(GetCounterDataSize, image_bytes, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
NL_SIZE(ImageInitialize, CUpti_PmSampling_CounterDataImage_Initialize_Params);
NL_SAME(ImageInitialize, image, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
NL_SIZE(GetCounterDataInfo, CUpti_PmSampling_GetCounterDataInfo_Params);
NL_SAME(GetCounterDataInfo, total, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
NL_SAME(GetCounterDataInfo, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
NL_SIZE(GetSampleInfo, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
NL_SAME(GetSampleInfo, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
NL_SAME(GetSampleInfo, start_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
NL_SAME(GetSampleInfo, end_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
#undef NL_SIZE
#undef NL_SAME

static_assert(int{kPmSamplingProfiler} == CUPTI_PROFILER_TYPE_PM_SAMPLING);
static_assert(kPmSamplingApi == CUPTI_PROFILER_PM_SAMPLING);
static_assert(int{kSysclkInterval} == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL &&
              int{kTimeInterval} == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
static_assert(int{kImageFull} == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL &&
              int{kEndOfRecords} == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);
static_assert(int{kKeepOldest} == CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
static_assert(int{kUnsupported} == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED &&
              int{kDisabled} == CUPTI_PROFILER_CONFIGURATION_DISABLED &&
              int{kSupported} == CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
static_assert(int{kErrorOutOfMemory} == CUPTI_ERROR_OUT_OF_MEMORY &&
              int{kErrorNotSupported} == CUPTI_ERROR_NOT_SUPPORTED &&
              int{kErrorVirtualNoPrivileges} == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);

}  // namespace nl::capture::cupti::pm
#endif
#endif
