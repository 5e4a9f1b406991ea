// SPDX-License-Identifier: Apache-2.0
// Calls of one group with one sequence number are one collective; without sequence numbers, the
// n-th calls of a group are, if every member made the same calls in the same order.

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>

#include "analyze/passes/ranks/match.h"

#include "base/ascii.h"

namespace nl {

namespace {

constexpr int64_t kNullInt = NullOf<int64_t>::value;
constexpr int64_t kMaxTimeNs = int64_t{1} << 61;  // the year 2043; sums of three must fit

// One member's part of a collective.
struct MemberCall {
  uint32_t member = 0, row = 0;
  int64_t start_ns = 0, end_ns = 0;
  StringId name = StringId::kNull, dtype = StringId::kNull;
  StringId group = StringId::kNull, ranks = StringId::kNull, description = StringId::kNull;
  int64_t sequence = kNullInt, in_elements = kNullInt, group_size = kNullInt;
};

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "_allgather_base", "all_reduce": letters only, lower case.
std::string Letters(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) out.push_back(ToLower(c));
  }
  return out;
}

bool EveryoneWaits(std::string_view letters) {
  for (const std::string_view word : {"allreduce", "allgather", "reducescatter", "alltoall", "barrier"}) {
    if (letters.find(word) != std::string_view::npos) return true;
  }
  return false;
}

bool IsPointToPoint(std::string_view letters) {
  return !EveryoneWaits(letters) &&
         (letters.find("send") != std::string_view::npos || letters.find("recv") != std::string_view::npos);
}

class Matcher {
 public:
  Matcher(const TimelineFacts& timeline, const RunData& data, RanksFacts& out)
      : t_(timeline), data_(data), out_(out) {}

  void Run() {
    IndexRows();
    FromKernels();
    if (calls_.empty()) FromOps();
    NumberMembers();
    if (out_.members.size() < 2) {
      out_.not_assessed = calls_.empty() ? "needs collectives, and the run has none"
                                         : "needs the files of two or more ranks; import their folder";
      return;
    }
    Split();
  }

 private:
  using Key = std::pair<StringId, StringId>;  // group, its ranks

  void IndexRows() {
    const CollectiveView& c = data_.collective;
    for (uint32_t i = 0; i < c.owner_id.size(); ++i) {
      const std::string_view owner = data_.Text(c.owner[i]);
      if (owner == "kernel") of_kernel_[static_cast<uint32_t>(c.owner_id[i])] = i;
      if (owner == "op") of_op_[static_cast<uint32_t>(c.owner_id[i])] = i;
    }
  }

  void Take(uint32_t row, MemberCall& call) const {
    const CollectiveView& c = data_.collective;
    const auto take = [row](auto& to, const auto& column) {
      if (IsNull(to) && row < column.size()) to = column[row];
    };
    take(call.name, c.name);
    take(call.dtype, c.dtype);
    take(call.group, c.group_name);
    take(call.ranks, c.group_ranks);
    take(call.description, c.group_description);
    take(call.sequence, c.sequence);
    take(call.in_elements, c.in_elements);
    take(call.group_size, c.group_size);
  }

  // Attributes recorded at the kernel, then at the op that launched it or an op around that.
  void FromKernels() {
    const DeviceWork& w = t_.work;
    for (uint32_t i = 0; i < w.size(); ++i) {
      if (w.work[i] != WorkClass::kCommunication || w.kind[i] != WorkKind::kKernel) continue;
      MemberCall call;
      call.row = w.row[i];
      call.start_ns = w.start_ns[i];
      call.end_ns = w.end_ns[i];
      if (const auto it = of_kernel_.find(w.row[i]); it != of_kernel_.end()) Take(it->second, call);
      uint32_t node = w.op[i];
      for (int level = 0; node != kNone && level < 8; ++level, node = t_.host.parent[node]) {
        if (t_.host.kind[node] != HostKind::kOp) continue;
        const auto it = of_op_.find(t_.host.row[node]);
        if (it == of_op_.end()) continue;
        Take(it->second, call);
        break;
      }
      if (IsNull(call.name)) call.name = w.name[i];
      Put(t_.devices[w.device[i]], call);
    }
  }

  // A run without a device (gloo): the calls themselves.
  void FromOps() {
    for (const auto& [op, row] : of_op_) {
      if (op >= data_.op.start_ns.size() || IsNull(data_.op.dur_ns[op])) continue;
      MemberCall call;
      call.row = op;
      call.start_ns = data_.op.start_ns[op];
      call.end_ns = call.start_ns + data_.op.dur_ns[op];
      Take(row, call);
      if (IsNull(call.name)) call.name = data_.op.name[op];
      Put({RankOfThread(data_.op.thread_id[op]), NullOf<int32_t>::value}, call);
    }
    out_.host_times = !calls_.empty();
  }

  int32_t RankOfThread(ThreadId thread) const {
    const auto row = static_cast<size_t>(thread);
    if (IsNull(thread) || row >= data_.thread.process_id.size()) return NullOf<int32_t>::value;
    const auto process = static_cast<size_t>(data_.thread.process_id[row]);
    return process < data_.process.rank.size() ? data_.process.rank[process] : NullOf<int32_t>::value;
  }

  void Put(DeviceKey key, const MemberCall& call) {
    if (std::max(std::abs(call.start_ns), std::abs(call.end_ns)) > kMaxTimeNs)
      return Miss("without a valid start time", 1);
    calls_.push_back(call);
    owners_.push_back(key);
  }

  // Ranks where any is known, else devices.
  void NumberMembers() {
    std::set<int32_t> ranks, devices;
    for (const int32_t rank : data_.process.rank) {
      if (!IsNull(rank)) ranks.insert(rank);
    }
    out_.by_rank = !ranks.empty();
    for (const DeviceKey& key : owners_) devices.insert(key.device);
    for (const int32_t number : out_.by_rank ? ranks : devices) {
      RanksFacts::Member& member = out_.members.emplace_back();
      (out_.by_rank ? member.rank : member.device) = number;
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      const int32_t number = out_.by_rank ? owners_[i].rank : owners_[i].device;
      const auto it = std::find_if(out_.members.begin(), out_.members.end(), [&](const auto& m) {
        return (out_.by_rank ? m.rank : m.device) == number;
      });
      calls_[i].member = it == out_.members.end() ? kNone : static_cast<uint32_t>(it - out_.members.begin());
    }
  }

  void Miss(const char* why, int64_t count) {
    if (count == 0) return;
    const auto it = std::find_if(out_.unmatched.begin(), out_.unmatched.end(),
                                 [why](const RanksFacts::Unmatched& u) { return u.why == why; });
    if (it != out_.unmatched.end())
      it->count += count;
    else
      out_.unmatched.push_back({why, count});
  }

  void Split() {
    std::map<Key, std::vector<MemberCall>> numbered, ordered;
    int64_t direct = 0, nobody = 0;
    for (const MemberCall& call : calls_) {
      if (call.member == kNone)
        ++nobody;
      else if (IsPointToPoint(Letters(data_.Text(call.name))))
        ++direct;
      else
        (IsNull(call.sequence) ? ordered : numbered)[{call.group, call.ranks}].push_back(call);
    }
    Miss("in a process without a rank", nobody);
    Miss("point-to-point sends and receives", direct);
    for (auto& [key, calls] : numbered) BySequence(calls);
    for (auto& [key, calls] : ordered) ByOrder(calls);
    if (out_.collectives.empty() && out_.not_assessed.empty())
      out_.not_assessed = "needs collectives with at least two members; none could be matched";
  }

  uint32_t AddGroup(const MemberCall& call, bool by_sequence) {
    RanksFacts::Group& group = out_.groups.emplace_back();
    if (!IsNull(call.group)) group.name = data_.Text(call.group);
    if (!IsNull(call.ranks)) group.ranks = data_.Text(call.ranks);
    if (!IsNull(call.description)) group.description = data_.Text(call.description);
    if (!IsNull(call.group_size)) group.size = call.group_size;
    group.by_sequence = by_sequence;
    group.last_by_member.assign(out_.members.size(), 0);
    return static_cast<uint32_t>(out_.groups.size() - 1);
  }

  void AddCollective(uint32_t group, int64_t sequence, const std::vector<MemberCall>& calls) {
    RanksFacts::Collective& c = out_.collectives.emplace_back();
    c.group = group;
    c.sequence = sequence;
    c.name = calls[0].name;
    c.dtype = calls[0].dtype;
    c.in_elements = calls[0].in_elements;
    c.everyone_waits = EveryoneWaits(Letters(data_.Text(c.name)));
    for (const MemberCall& call : calls)
      c.arrivals.push_back({call.member, call.row, call.start_ns, call.end_ns, call.start_ns, call.end_ns});
    const std::optional<int64_t>& size = out_.groups[group].size;
    out_.groups[group].incomplete += size && static_cast<int64_t>(calls.size()) < *size;
  }

  // Several kernels may have one number (coalesced calls): match the n-th of each member and name.
  void BySequence(std::vector<MemberCall>& calls) {
    std::stable_sort(calls.begin(), calls.end(),
                     [](const MemberCall& a, const MemberCall& b) { return a.start_ns < b.start_ns; });
    std::map<std::tuple<int64_t, StringId, int>, std::vector<MemberCall>> sets;
    std::map<std::tuple<int64_t, StringId, uint32_t>, int> seen;
    for (const MemberCall& call : calls)
      sets[{call.sequence, call.name, seen[{call.sequence, call.name, call.member}]++}].push_back(call);
    int64_t alone = 0;
    uint32_t group = kNone;
    for (auto& [key, set] : sets) {
      if (set.size() < 2) {
        ++alone;
        continue;
      }
      if (group == kNone) group = AddGroup(set[0], true);
      std::sort(set.begin(), set.end(),
                [](const MemberCall& a, const MemberCall& b) { return a.member < b.member; });
      AddCollective(group, std::get<0>(key), set);
    }
    Miss("recorded by only one member", alone);
  }

  void ByOrder(std::vector<MemberCall>& calls) {
    std::stable_sort(calls.begin(), calls.end(), [](const MemberCall& a, const MemberCall& b) {
      return std::tie(a.member, a.start_ns) < std::tie(b.member, b.start_ns);
    });
    std::vector<std::vector<MemberCall>> lists;
    for (const MemberCall& call : calls) {
      if (lists.empty() || lists.back()[0].member != call.member) lists.emplace_back();
      lists.back().push_back(call);
    }
    if (lists.size() < 2) return Miss("recorded by only one member", static_cast<int64_t>(calls.size()));
    for (const auto& list : lists) {
      const bool same = list.size() == lists[0].size() &&
                        std::equal(list.begin(), list.end(), lists[0].begin(),
                                   [](const MemberCall& a, const MemberCall& b) { return a.name == b.name; });
      if (!same)
        return Miss("without sequence numbers, and members differ in the number or order of calls",
                    static_cast<int64_t>(calls.size()));
    }
    const uint32_t group = AddGroup(lists[0][0], false);
    for (size_t i = 0; i < lists[0].size(); ++i) {
      std::vector<MemberCall> set;
      for (const auto& list : lists) set.push_back(list[i]);
      AddCollective(group, static_cast<int64_t>(i), set);
    }
  }

  const TimelineFacts& t_;
  const RunData& data_;
  RanksFacts& out_;
  std::unordered_map<uint32_t, uint32_t> of_kernel_, of_op_;  // row of the event -> row of collective
  std::vector<MemberCall> calls_;
  std::vector<DeviceKey> owners_;
};

}  // namespace

void MatchCollectives(const TimelineFacts& timeline, const RunData& data, RanksFacts& out) {
  Matcher(timeline, data, out).Run();
}

}  // namespace nl
