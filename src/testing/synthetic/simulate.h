// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: runs the scripts of a program and writes what a profiler would have recorded.
// Discrete events in time order: a host thread takes its time for each instruction; work
// starts when its launch has reached the device, what is before it on its stream is done
// and the event it waits for has happened; kernels of several streams share the device;
// a collective moves on when every device takes part; a waiting call returns when the work
// is done. Idle time and overlap follow from that.
// Thread rule: one thread. Ownership: refers to the program and the builder.

#include "testing/synthetic/machine.h"
#include "testing/synthetic/noise.h"

namespace nl::synthetic {

// Without a builder nothing is recorded: only the result is wanted.
Simulated Simulate(const Program& program, const NoiseLevel& noise, testing_analyze::RunBuilder* run);

}  // namespace nl::synthetic
