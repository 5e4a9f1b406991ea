// SPDX-License-Identifier: Apache-2.0
#include "import/rows/join_kernels.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "model/kernel_name.h"

namespace nl {

namespace {

using Launch = std::array<int32_t, 6>;  // grid, block

// Kernels of one name in the run, in the order they ran.
struct Group {
  std::map<Launch, std::vector<size_t>> by_launch;
  std::vector<size_t> all;
  bool launches_known = true;
};

Launch LaunchOf(const KernelColumns& k, size_t row) {
  return {k.grid_x[row], k.grid_y[row], k.grid_z[row], k.block_x[row], k.block_y[row], k.block_z[row]};
}
bool Known(const Launch& launch) {
  return std::none_of(launch.begin(), launch.end(), [](int32_t v) { return IsNull(v); });
}
std::string SizeText(int32_t x, int32_t y, int32_t z) {
  return IsNull(x) ? std::string() : fmt::format("({}, {}, {})", x, y, z);
}
std::string LaunchText(const Launch& l) {
  return fmt::format("{} x {}", SizeText(l[0], l[1], l[2]), SizeText(l[3], l[4], l[5]));
}

// Names are normalised once each.
class PlainNames {
 public:
  explicit PlainNames(const StringPool& strings) : strings_(strings) {}
  const KernelName& Of(StringId id) {
    const auto [it, added] = names_.try_emplace(static_cast<uint32_t>(id));
    if (added) it->second = ParseKernelName(strings_.Text(id));
    return it->second;
  }

 private:
  const StringPool& strings_;
  std::unordered_map<uint32_t, KernelName> names_;
};

std::vector<size_t> InOrder(const KernelColumns& k) {
  std::vector<size_t> order(k.name.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return k.start_ns[a] < k.start_ns[b]; });
  return order;
}

class Joiner {
 public:
  Joiner(const KernelList& run, const KernelList& other)
      : run_(run), other_(other), run_names_(run.strings), other_names_(other.strings) {}

  KernelJoin Join() {
    GroupRun();
    taken_.assign(run_.columns.name.size(), false);
    for (const size_t row : InOrder(other_.columns)) Place(row);
    return Finish();
  }

  SameKernelJoin JoinSame() {
    GroupRun();
    // Those of the second recording that stand for the same executions of the run.
    std::map<const std::vector<size_t>*, std::vector<size_t>> samples;
    for (const size_t row : InOrder(other_.columns)) {
      const std::vector<size_t>* candidates = CandidatesOf(row);
      if (candidates != nullptr) samples[candidates].push_back(row);
    }
    SameKernelJoin out;
    out.other_row.assign(run_.columns.name.size(), -1);
    for (const auto& [candidates, rows] : samples) {
      for (const size_t run_row : *candidates)
        out.other_row[run_row] =
            static_cast<int64_t>(Nearest(rows, other_.columns, DurationOf(run_.columns, run_row)));
      for (const size_t row : rows) {
        out_.run_row[row] =
            static_cast<int64_t>(Nearest(*candidates, run_.columns, DurationOf(other_.columns, row)));
        ++out_.matched;
      }
    }
    static_cast<KernelJoin&>(out) = Finish();
    return out;
  }

 private:
  void GroupRun() {
    for (const size_t row : InOrder(run_.columns)) {
      Group& group = groups_[run_names_.Of(run_.columns.name[row]).normalized];
      const Launch launch = LaunchOf(run_.columns, row);
      group.by_launch[launch].push_back(row);
      group.all.push_back(row);
      group.launches_known = group.launches_known && Known(launch);
    }
    out_.run_row.assign(other_.columns.name.size(), -1);
  }

  KernelJoin Finish() {
    for (auto& [key, unmatched] : unmatched_) out_.unmatched.push_back(std::move(unmatched));
    std::stable_sort(out_.unmatched.begin(), out_.unmatched.end(),
                     [](const auto& a, const auto& b) { return a.executions > b.executions; });
    return std::move(out_);
  }

  static double DurationOf(const KernelColumns& columns, size_t row) {
    const int64_t ns = columns.dur_ns[row];
    return IsNull(ns) || ns < 1 ? 1 : static_cast<double>(ns);
  }

  // The row whose duration is nearest by ratio; the first of equals.
  static size_t Nearest(const std::vector<size_t>& rows, const KernelColumns& columns, double ns) {
    size_t best = rows.front();
    double best_ratio = std::numeric_limits<double>::infinity();
    for (const size_t row : rows) {
      const double own = DurationOf(columns, row);
      const double ratio = std::max(own / ns, ns / own);
      if (ratio >= best_ratio) continue;
      best = row;
      best_ratio = ratio;
    }
    return best;
  }

  // Executions of the run that a row of the second recording may be; null, and noted, when there are none.
  const std::vector<size_t>* CandidatesOf(size_t row) {
    const KernelName& name = other_names_.Of(other_.columns.name[row]);
    const Launch launch = LaunchOf(other_.columns, row);
    const auto group = groups_.find(name.normalized);
    if (group == groups_.end()) {
      Fail(row, name, launch, JoinFailure::kNoSuchKernel, nullptr);
      return nullptr;
    }
    if (!Known(launch) || !group->second.launches_known) return &group->second.all;
    const auto same = group->second.by_launch.find(launch);
    if (same == group->second.by_launch.end()) {
      Fail(row, name, launch, JoinFailure::kOtherLaunch, &group->second);
      return nullptr;
    }
    return &same->second;
  }

  void Place(size_t row) {
    const std::vector<size_t>* candidates = CandidatesOf(row);
    if (candidates == nullptr) return;
    size_t& next = next_of_[candidates];
    // Ways with and without a launch may both lead to one kernel of the run.
    while (next < candidates->size() && taken_[(*candidates)[next]]) ++next;
    if (next == candidates->size())
      return Fail(row, other_names_.Of(other_.columns.name[row]), LaunchOf(other_.columns, row),
                  JoinFailure::kFewerExecutions, nullptr);
    const size_t to = (*candidates)[next++];
    taken_[to] = true;
    out_.run_row[row] = static_cast<int64_t>(to);
    ++out_.matched;
  }

  void Fail(size_t, const KernelName& name, const Launch& launch, JoinFailure why, const Group* group) {
    auto [it, added] = unmatched_.try_emplace({static_cast<int>(why), name.normalized, launch});
    KernelJoin::Unmatched& to = it->second;
    ++to.executions;
    if (!added) return;
    to.why = why;
    to.kernel = name.short_name;
    to.grid = SizeText(launch[0], launch[1], launch[2]);
    to.block = SizeText(launch[3], launch[4], launch[5]);
    if (group == nullptr) return;
    constexpr size_t kShown = 3;
    size_t shown = 0;
    for (const auto& [l, rows] : group->by_launch) {
      if (shown++ == kShown) break;
      to.instead += (to.instead.empty() ? "" : ", ") + LaunchText(l);
    }
    if (group->by_launch.size() > kShown)
      to.instead += fmt::format(" and {} more", group->by_launch.size() - kShown);
  }

  const KernelList &run_, &other_;
  PlainNames run_names_, other_names_;
  std::unordered_map<std::string, Group> groups_;
  std::unordered_map<const std::vector<size_t>*, size_t> next_of_;
  std::vector<bool> taken_;
  std::map<std::tuple<int, std::string, Launch>, KernelJoin::Unmatched> unmatched_;
  KernelJoin out_;
};

}  // namespace

const char* JoinFailureName(JoinFailure failure) {
  switch (failure) {
    case JoinFailure::kNoSuchKernel: return "no_such_kernel";
    case JoinFailure::kOtherLaunch: return "other_launch";
    case JoinFailure::kFewerExecutions: return "fewer_executions";
  }
  return "";
}

const char* JoinFailureMeaning(JoinFailure failure) {
  switch (failure) {
    case JoinFailure::kNoSuchKernel: return "the run has no kernel of this name";
    case JoinFailure::kOtherLaunch: return "the run launches it with another grid or block";
    case JoinFailure::kFewerExecutions: return "the run executes it less often";
  }
  return "";
}

KernelJoin JoinKernels(const KernelList& run, const KernelList& other) { return Joiner(run, other).Join(); }

SameKernelJoin JoinSameKernels(const KernelList& run, const KernelList& other) {
  return Joiner(run, other).JoinSame();
}

}  // namespace nl
