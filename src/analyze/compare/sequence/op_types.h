// SPDX-License-Identifier: Apache-2.0
#pragma once
// Types of ops named after nodes of a model graph ("/layer1/conv1" is a Conv), from the run
// document. Two exports of one model may name its nodes differently, so such ops are paired
// by type and order.
// Thread rule: read-only once built. Ownership: refers to the run's document and strings.

#include <string_view>
#include <unordered_map>

#include "analyze/run_data.h"

namespace nl::compare {

class OpTypes {
 public:
  // The document lists the types of at most this many names; larger graphs are paired by name.
  static constexpr size_t kMostNames = 500;

  explicit OpTypes(const RunData& data);
  // Empty: the type is in the name.
  std::string_view Of(StringId name) const {
    const auto it = types_.find(static_cast<uint32_t>(name));
    return it == types_.end() ? std::string_view() : std::string_view(it->second);
  }

 private:
  std::unordered_map<uint32_t, std::string> types_;
};

}  // namespace nl::compare
