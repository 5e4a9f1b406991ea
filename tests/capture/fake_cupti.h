// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CUPTI without a GPU: libfake_cupti.so has the functions our library takes from the real
// one and makes records of work that a test program says it does (the fake_ functions). It
// can also behave badly; FAKE_CUPTI is a list of words with commas:
//   taken          another profiler has the subscriber
//   old            records as CUDA 10 wrote them (Kernel4, Memcpy, Synchronization)
//   drop=N         says that N records were dropped with every buffer
//   disorder       kernels are delivered newest first
//   early          kernels start before the call that launched them
//   endless        kernels have no end (still running)
//   unknown        records of a kind nobody knows between the others
//   huge           kernel names of 20,000 characters
//   stuck          walking the records points out of the buffer
//   refuse=KIND    that kind cannot be enabled
//   drift=PPM      the GPU clock runs that much too fast
//   slow_context=MS   a first context takes that long after cuInit
//   version=N      of CUPTI
//   stays          does not leave the process (cuptiFinalize fails)
//   slow_finalize=MS  takes that long to leave
//   racing         calls under way may leave records behind when it leaves
//   taken_later    once it has left, another profiler has the subscriber
//   hold           keeps its records until a flush that is forced
//   refuse_call=ID that runtime call cannot be watched
//   call_fails     every call returns 2
// and of PM sampling (fake_pm.cc):
//   pm_unsupported pm_denied pm_denied_late pm_busy     cannot be had: the device, the rights (asked
//                  at once, or only when it begins), another tool
//   pm_unknown     has no L2 hit rate;  pm_nothing: no metric at all
//   pm_fit=N       one pass holds N metrics
//   pm_sysclk      only counts cycles
//   pm_overflow=N  the Nth reading finds that the buffer has overflowed
//   pm_broken=N    readings fail after the Nth
//   pm_gap=N       after N samples, three are missing
// Thread rule: the fake_ functions from any thread.

#include <cstdint>

extern "C" {
void fake_cuda_init();  // calls the callbacks of cuInit and of a first context
void fake_launch(const char* kernel, uint32_t stream, int64_t duration_ns);
void fake_launch_as(const char* kernel, const int32_t* grid, const int32_t* block, int64_t duration_ns);
void fake_make_graph();  // instantiates one
void fake_graph_launch(const char* kernel, uint32_t nodes, int64_t duration_ns);
void fake_memcpy(int kind, uint64_t bytes, bool pinned);
void fake_memset(uint64_t bytes);
void fake_malloc(uint64_t bytes);
void fake_synchronize();
void fake_synchronize_stream(uint32_t stream);
void fake_question();  // a call that is not on the list: cudaGetDevice
void fake_context_destroy();
bool fake_watched();         // every CUDA call has callbacks
int64_t fake_finalized();    // how often CUPTI has left the process
int64_t fake_bursts_read();  // how often samples of counters were decoded
int64_t fake_pm_objects();   // of PM sampling, made and not given back
int64_t fake_launches();     // kernels launched, recorded or not
int64_t fake_clock_reads();  // how often the GPU clock was asked for
int64_t fake_busy_ns();      // for so long from now the device has work
int64_t fake_nvml_reads();   // in libfake_nvml.so: how often the SM clock was asked for
}
