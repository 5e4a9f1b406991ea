// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: a program to record, with everything about it that can be changed. Worlds are
// scenarios as people have them: launch-bound and device-bound, with much or little recorded.
// Thread rule: pure functions.

#include "testing/synthetic/cnn.h"
#include "testing/synthetic/llm.h"
#include "testing/synthetic/train.h"

namespace nl::synthetic {

enum class Model : uint8_t { kLlm, kTrain, kCnn };

struct Scenario {
  std::string name;
  Model model = Model::kLlm;
  LlmOptions llm;
  TrainOptions train;
  CnnOptions cnn;
  Recording recording;
  std::vector<Edit> edits;
  double clock = 1, host_scale = 1;
  double neighbour_us = 0;  // length of the kernels another thread runs on the same device; 0: there is none
};

// Kernels of another program on a stream of its own, until the first has ended.
ThreadSpec Neighbour(double kernel_us);

Program MakeProgram(const Scenario& scenario);

// What is recorded by torch.profiler with labels and shapes; each world changes some of it.
Scenario World(const std::string& name);

// The label that the calls of a stage carry in the comparison; "" where none was recorded.
std::string StageLabel(const Scenario& s, const std::string& stage);

}  // namespace nl::synthetic
