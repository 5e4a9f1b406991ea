// SPDX-License-Identifier: Apache-2.0
#pragma once
// Agents: the processors of a recording, and which device number an agent's id stands for.
// JSON names agents by handle, CSV as "Agent 4" (or 4), "GPU-0" or "CPU-1", rocprof v1 by
// the number of the GPU.
// Thread rule: one thread.

#include <map>
#include <optional>
#include <string_view>

#include "import/adapter.h"
#include "import/rows/row_writer.h"

namespace nl::adapters::rocprof {

struct AgentPlace {
  bool known = false;  // described by the recording
  bool is_gpu = true;
  int32_t device = NullOf<int32_t>::value;
};

class Agents {
 public:
  // An object of "agents" in JSON; a row of agent_info.csv as an object with its columns in lower case.
  void Add(const Json& agent);
  bool empty() const { return list_.empty(); }

  AgentPlace ByHandle(int64_t handle) const;
  // As the CSV files spell it; an id without a description is taken as the device's number.
  AgentPlace ByText(std::string_view text) const;

  // Rows of the GPUs, and the facts about machine and devices.
  void Put(EventBatch& batch, StringPool& strings, SourceFacts& about) const;

 private:
  struct Agent {
    Json json;
    bool is_gpu = false;
    int32_t index = 0;  // among its kind
    std::optional<int64_t> handle, node, logical;
  };
  AgentPlace PlaceOf(const Agent& agent) const { return {true, agent.is_gpu, agent.index}; }
  void PutGpu(const Agent& agent, EventBatch& batch, StringPool& strings, SourceFacts& about) const;
  std::vector<Agent> list_;
  int32_t gpus_ = 0, cpus_ = 0;
};

}  // namespace nl::adapters::rocprof
