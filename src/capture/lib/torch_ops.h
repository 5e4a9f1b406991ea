// SPDX-License-Identifier: Apache-2.0
#pragma once
// TorchOps: a range per operator of PyTorch, by an observer of its RecordFunction. It needs no header of
// PyTorch: the functions are looked up in the libtorch_cpu.so that the program has loaded, and what they give
// is tried out with a few small operators (probe) before anything relies on it. Against PyTorch's own NVTX
// profiler it makes no text of numbers, runs beside the program's own profiler, sees all threads and may stop
// at any moment. Thread rule: any thread.

#include <cstdint>

namespace nl::capture {

// kShapes: names and shapes. kTurns: the first thousands with shapes, and then in turns some thousands with
// shapes and, fourteen times as long, nothing at all. kFull: names, shapes, and the functions of the backward
// pass with the number of their forward operator: PyTorch makes the name of each anew, which takes longer
// than all the rest. kPaused: nothing; after half a minute without another call, as after kShapes, turns
// begin, since the program may do something else by then.
enum class TorchDetail : int { kOff = 0, kNames = 1, kShapes = 2, kTurns = 3, kFull = 4, kPaused = 5 };

// Begins to look at what the operators of this thread give, recording nothing. False: no libtorch_cpu.so
// here, or without the functions that this takes.
bool BeginTorchProbe();
// Of the probe: `aten::mul` of two tensors [2, 3] with gradients, at least twice, was seen as it must be.
// From then on the observer may be used.
bool EndTorchProbe();

// False: not possible, and nothing has changed. Each change is recorded (ObservedRecord).
bool ObserveTorch(TorchDetail detail);

// Begins the next turn if it is time. By the writer thread.
void KeepTorchTurns(int64_t now_ns);
// ObservedOps as they are now; -1: the observer was never used.
int64_t ObservedOfTorch();

}  // namespace nl::capture
