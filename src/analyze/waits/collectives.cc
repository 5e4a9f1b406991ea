// SPDX-License-Identifier: Apache-2.0
// Collectives across ranks: nobody leaves one before the last rank has come.

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyze/waits/path_graph.h"

namespace nl {

namespace {

// The members of one collective, a work item each. Empty edges when it is not clear who belongs to whom.
void AddCollective(const TimelineFacts& timeline, std::vector<uint32_t> members,
                   std::vector<PathGraph::Extra>& out, int64_t& impossible_edges) {
  const DeviceWork& work = timeline.work;
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  std::map<int32_t, int> ranks;
  uint32_t last = members[0];
  for (const uint32_t i : members) {
    if (++ranks[timeline.devices[work.device[i]].rank] > 1) return;  // one number, several kernels
    if (work.start_ns[i] > work.start_ns[last]) last = i;
  }
  for (const uint32_t i : members) {
    if (work.end_ns[i] > work.start_ns[last]) continue;
    ++impossible_edges;  // the clocks of the ranks disagree
    return;
  }
  for (const uint32_t i : members) {
    if (i != last)
      out.push_back({2 * last, 2 * i + 1, work.end_ns[i] - work.start_ns[last], EdgeKind::kCollective});
  }
}

}  // namespace

std::vector<PathGraph::Extra> FindCollectives(const TimelineFacts& timeline, const RunData& data,
                                              int64_t& impossible_edges) {
  std::vector<PathGraph::Extra> out;
  const CollectiveView& c = data.collective;
  const DeviceWork& work = timeline.work;
  if (timeline.devices.size() < 2 || c.owner_id.empty()) return out;
  // Sources note a collective at the kernel, at the op that launched it, or at both.
  std::unordered_map<uint32_t, uint32_t> work_of_kernel, work_of_op;
  for (uint32_t i = 0; i < work.size(); ++i) {
    if (work.work[i] != WorkClass::kCommunication) continue;
    work_of_kernel[work.row[i]] = i;
    if (work.op[i] != kNone) work_of_op[timeline.host.row[work.op[i]]] = i;
  }
  std::map<std::pair<StringId, int64_t>, std::vector<uint32_t>> groups;
  for (size_t i = 0; i < c.owner_id.size(); ++i) {
    if (IsNull(c.sequence[i]) || IsNull(c.group_name[i])) continue;
    const std::string_view owner = data.Text(c.owner[i]);
    if (owner != "kernel" && owner != "op") continue;
    const auto& rows = owner == "kernel" ? work_of_kernel : work_of_op;
    const auto it = rows.find(static_cast<uint32_t>(c.owner_id[i]));
    if (it != rows.end()) groups[{c.group_name[i], c.sequence[i]}].push_back(it->second);
  }
  for (const auto& [key, members] : groups) AddCollective(timeline, members, out, impossible_edges);
  return out;
}

}  // namespace nl
