// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the sources of features.h share: each fills its part of the features from the program.
// Thread rule: pure functions.

#include <vector>

#include "analyze/facts/roofline.h"
#include "analyze/features/features.h"
#include "analyze/program/program.h"

namespace nl::replay {
class StepReplay;
}

namespace nl::features {

using namespace nl::program;

// Fill their part of the features.
// Attention, fp32 islands, chains, layout copies. Names the leaves' inferred blocks, so it
// comes first; returns the shares that are 0 for every operator not named.
std::vector<const char*> AddPatterns(Program& program, Features& out);
// Only the names of the blocks: MLP and attention, where no module was recorded.
void InferBlocks(Program& program);
void AddSites(const Program& program, Features& out);  // sync, copy, allocation callers; op call sites
void AddDevice(const Program& program, const IdleFacts& idle,
               Features& out);  // busy and idle, launches, copies, repeats
void AddKernels(const Program& program, Features& out);
void AddStages(const Program& program, Features& out);
void AddNodes(const Program& program, Features& out);      // a model of ONNX Runtime on the CPU
void ToMeanDevice(const Program& program, Features& out);  // comes last
// From other facts, after ComputeFeatures.
void AddGaps(const replay::StepReplay& steps, Features& out);  // host code of the steady steps
void AddRoofline(const RooflineFacts& roofline, const RunData& data, Features& out);
void AddTensorCores(const RooflineFacts& roofline, const TimelineFacts& timeline, Features& out);

}  // namespace nl::features
