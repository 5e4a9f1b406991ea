// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the stages of a run are: its LLM@ labels, else the labels of a serving engine, else the forwards of
// the model, else the period of the kernel sequence. The last two only where something shows that text is
// generated. Thread rule: pure functions.

#include <string>
#include <vector>

#include "analyze/passes/stages/forwards.h"

namespace nl::passes::stages {

struct StageSpan {
  int64_t start_ns = 0, end_ns = 0;  // on the host; on the device when `on_device`
  int32_t process = -1;              // -1: not known
  ThreadId thread = ThreadId::kNull;
  uint32_t range_row = kNone;
  bool on_device = false;  // work belongs to it by its time on the device
};
struct FoundStage {
  std::string name, parent;
  std::vector<StageSpan> spans;  // by start
};
struct FoundStages {
  std::string source, reason;
  bool inferred = false;
  bool by_engine = false;  // the labels are those of a serving engine
  std::vector<FoundStage>
      stages;  // request, prefill, decode_all, decode_step, each followed by its sub-stages
  std::vector<Forward> forwards;  // from the labels of a serving engine, by thread and time
};

int32_t ProcessOf(const RunData& data, ThreadId thread);

FoundStages FindStages(const RunData& data, const TimelineFacts& timeline,
                       const std::vector<Forward>& forwards);

}  // namespace nl::passes::stages
