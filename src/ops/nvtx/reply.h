// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reply of `neurolens nvtx check`.

#include <optional>
#include <string>
#include <vector>

#include "base/record.h"

namespace nl::ops::nvtx {

struct NvtxLabel {
  std::string label;
  int64_t count = 0;
  std::string standard_form;
  bool is_standard = false, by_framework = false;
  std::optional<std::string> llm_stage, llm_sub_stage;
};
inline void Describe(Record<NvtxLabel>& r) {
  r.Name("NvtxLabel", "One label of the run");
  r.Field("label", &NvtxLabel::label, "The label as recorded");
  r.Field("count", &NvtxLabel::count, "Ranges with this label");
  r.Field("standard_form", &NvtxLabel::standard_form, "The label as the taxonomy spells it");
  r.Field("is_standard", &NvtxLabel::is_standard, "The label is in standard form");
  r.Field("by_framework", &NvtxLabel::by_framework, "The framework sets this label, not the program");
  r.Field("llm_stage", &NvtxLabel::llm_stage, "Stage that an LLM@ label names");
  r.Field("llm_sub_stage", &NvtxLabel::llm_sub_stage, "Sub-stage that an LLM@ label names");
}

struct NvtxReply {
  std::string run_id;
  bool standard = true;
  int64_t labels_total = 0, not_standard = 0;
  std::vector<NvtxLabel> labels;
};
inline void Describe(Record<NvtxReply>& r) {
  r.Name("NvtxReply", "Reply of `neurolens nvtx check`");
  r.Field("run_id", &NvtxReply::run_id, "The run");
  r.Field("standard", &NvtxReply::standard, "Every label is standard or set by the framework");
  r.Field("labels_total", &NvtxReply::labels_total, "Different labels");
  r.Field("not_standard", &NvtxReply::not_standard, "Labels that are neither");
  r.Field("labels", &NvtxReply::labels, "Labels, most frequent first");
}

}  // namespace nl::ops::nvtx
