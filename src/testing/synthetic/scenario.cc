// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/scenario.h"

namespace nl::synthetic {

ThreadSpec Neighbour(double kernel_us) {
  ThreadSpec out;
  out.name = "other work";
  out.background = true;
  out.write = [kernel_us](int piece, Writer& w) {
    w.Enter("neighbour", piece, -1);
    w.stream = 40;
    w.Host("pause", 3 * kernel_us);
    Call c;
    c.site = "neighbour.kernel";
    c.work = {Kernel("void other_program::sweep_kernel<float, 256>(float*, int)", kernel_us, 64)};
    c.python_us = 4;
    w.Do(c);
    if (piece % 16 == 15) w.Api("neighbour.sync", "cudaStreamSynchronize", 3, Waits::kStream);
    return true;
  };
  return out;
}

Program MakeProgram(const Scenario& scenario) {
  Program out = scenario.model == Model::kLlm     ? LlmProgram(scenario.llm, scenario.recording)
                : scenario.model == Model::kTrain ? TrainProgram(scenario.train, scenario.recording)
                                                  : CnnProgram(scenario.cnn, scenario.recording);
  out.edits = scenario.edits;
  out.clock = scenario.clock;
  out.host_scale = scenario.host_scale;
  if (scenario.neighbour_us > 0) out.threads.push_back(Neighbour(scenario.neighbour_us));
  return out;
}

Scenario World(const std::string& name) {
  Scenario s;
  s.name = name;
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  Recording& r = s.recording;
  r.modules = r.python = has("modules");
  r.shapes = !has("noshape") && !has("nsys");
  r.ops = !has("nsys");
  r.labels = !has("plain") && (!has("nsys") || has("nvtx"));
  if (has("device")) {  // the host runs ahead of the device
    s.host_scale = 0.25;
    s.llm = {.layers = 6, .steps = 8, .batch = 32, .prompt = 512, .d = 4096, .heads = 32, .d_ff = 11008};
    s.train.d = 2048;
    s.cnn.batch = 256;
  }
  s.llm.ask_each_step = has("ask");
  s.llm.graph = has("graph");
  if (has("train") || has("ddp") || has("ranks")) s.model = Model::kTrain;
  if (has("cnn")) s.model = Model::kCnn;
  s.train.reduce = has("ddp") || has("ranks");
  if (has("ranks")) s.train.ranks = 2;
  return s;
}

std::string StageLabel(const Scenario& s, const std::string& stage) {
  if (!s.recording.labels || stage.empty()) return "";
  if (s.model == Model::kTrain) return stage == "optimizer" ? "Optimizer.step#AdamW.step" : "ProfilerStep";
  return stage;
}

}  // namespace nl::synthetic
