// SPDX-License-Identifier: Apache-2.0
#pragma once
// PartTree: time by kind, by name, and by a name inside of that one. Rows of it sum to the whole at every
// level: what is too short to be listed is in a row "others".
// Thread rule: one thread. Ownership: owns its names.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/startup.h"

namespace nl::passes::startup {

class PartTree {
 public:
  void Add(StartupKind kind, std::string_view outer, std::string_view inner, int64_t ns);
  // Takes away `times` n-ths of another tree; parts become negative where that has more.
  void Subtract(const PartTree& other, int64_t times, int64_t n);
  int64_t total_ns() const;

  // Kinds with a time of more than `least_ns`, and names from `name_ns`. Of names of which some have less
  // than nothing, the largest that fit into their kind are listed.
  std::vector<StartupFacts::Part> Rows(int64_t least_ns, int64_t name_ns) const;

 private:
  struct Node {
    int64_t ns = 0;
    std::map<std::string, Node, std::less<>> inside;
  };
  static void Subtract(const Node& from, int64_t times, int64_t n, Node& to);
  static void AddRows(const Node& node, StartupKind kind, int32_t depth, int64_t name_ns,
                      std::vector<StartupFacts::Part>& out);
  std::map<StartupKind, Node> kinds_;
};

}  // namespace nl::passes::startup
