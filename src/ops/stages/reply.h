// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens stages`.

#include <string>

#include "analyze/facts/stages.h"

namespace nl::ops::stages {

struct StagesReply : StagesSection {
  std::string run_id;
};
inline void Describe(Record<StagesReply>& r) {
  r.Name("StagesReply", "Reply of `neurolens stages`");
  r.Field("run_id", &StagesReply::run_id, "The run");
  r.Base<StagesSection>();
}

}  // namespace nl::ops::stages
