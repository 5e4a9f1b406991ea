// SPDX-License-Identifier: Apache-2.0
#pragma once
// MeasurePeaks: what the devices of this machine really reach: its GPUs through the driver (gpu_bench.h)
// and its CPU (cpu.cc). `neurolens peaks measure` and the program `neurolens-peaks` run it. It allocates up
// to 8 GiB on a GPU and uses the devices fully: nothing else should run on them.
// Never part of the library that is loaded into recorded programs.
// Thread rule: one thread; the CPU's part starts and joins threads of its own.

#include <string>

#include "capture/peaks/figures.h"

namespace nl::capture {

// `options.now_ns` empty: the monotonic clock.
PeakMeasurement MeasurePeaks(PeakOptions options);

// Triad bandwidth (as STREAM counts it) and multiply-adds, with all cores that this process may use.
void MeasureCpu(const PeakOptions& options, int64_t deadline_ns, PeakMeasurement& to);

// The measurement as one JSON document; schema in docs/peaks.md.
std::string PeaksJson(const PeakMeasurement& measurement);

}  // namespace nl::capture
