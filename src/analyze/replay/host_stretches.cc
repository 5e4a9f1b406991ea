// SPDX-License-Identifier: Apache-2.0
#include "analyze/replay/host_stretches.h"

#include <algorithm>

#include "analyze/copies.h"
#include "analyze/program/program.h"

namespace nl::replay {

namespace {

// Below it a copy fetches a value to look at, not data to work on. What comes back may be small: a token.
constexpr int64_t kFewestBytes = 4096;
// A copy of this much that host code follows is what the code works on.
constexpr int64_t kSurelyDataBytes = 65536;

// Device work by when its thread started it.
struct Start {
  int64_t at_ns;
  uint32_t work;
  bool is_copy;  // between host and device
};

class Finder {
 public:
  explicit Finder(const StepReplay& steps) : s_(steps), w_(steps.timeline().work) {
    starts_.resize(steps.timeline().threads.size());
    gaps_.resize(starts_.size());
    for (const uint32_t work : steps.works()) {
      const uint32_t launch = w_.launch[work];
      if (launch == kNone) continue;
      starts_[steps.ThreadOf(launch)].push_back(
          {steps.timeline().host.start_ns[launch], work, IsHostCopy(work)});
    }
    for (auto& list : starts_)
      std::sort(list.begin(), list.end(), [](const Start& a, const Start& b) { return a.at_ns < b.at_ns; });
    for (uint32_t g = 0; g < steps.gaps().size(); ++g) gaps_[steps.gaps()[g].thread].push_back(g);
  }

  std::vector<HostStretch> Find() {
    for (uint32_t thread = 0; thread < gaps_.size(); ++thread) {
      auto& list = gaps_[thread];
      std::stable_sort(list.begin(), list.end(),
                       [this](uint32_t a, uint32_t b) { return GapAt(a).start_ns < GapAt(b).start_ns; });
      for (size_t i = 0; i < list.size(); ++i) {
        if (i == 0 || !Continues(list[i - 1], list[i])) out_.emplace_back();
        out_.back().gaps.push_back(list[i]);
      }
    }
    for (HostStretch& stretch : out_) AddCopies(stretch);
    return std::move(out_);
  }

 private:
  const HostGap& GapAt(uint32_t g) const { return s_.gaps()[g]; }

  using Is = bool (*)(const RunData& data, uint32_t row);
  bool IsHostCopy(uint32_t work) const {
    const uint32_t row = w_.row[work];
    return w_.kind[work] == WorkKind::kMemcpy &&
           (IsCopyToDevice(s_.data(), row) || IsCopyToHost(s_.data(), row));
  }

  bool IsNamed(const HostGap& gap) const {
    if (gap.inside == kNone) return false;
    const StringId name = s_.timeline().host.name[gap.inside];
    return !IsNull(name) && !s_.data().Text(name).starts_with("nn.Module: ");
  }

  using At = std::vector<Start>::const_iterator;
  At FirstFrom(uint32_t thread, int64_t at_ns) const {
    return std::partition_point(starts_[thread].begin(), starts_[thread].end(),
                                [at_ns](const Start& s) { return s.at_ns < at_ns; });
  }

  bool Continues(uint32_t before, uint32_t after) const {
    const HostGap &a = GapAt(before), &b = GapAt(after);
    if (IsNamed(a) || IsNamed(b)) return false;
    return std::all_of(FirstFrom(a.thread, a.end_ns), FirstFrom(a.thread, b.start_ns),
                       [](const Start& start) { return start.is_copy; });
  }

  // Copies between the first and the last gap belong to the stretch. Those at its ends do when they carry
  // what it works with: the input and the result of an operator, data that leaves the device and comes back,
  // and what is large enough to be its input. What it sends to the device without an input may be any batch.
  void AddCopies(HostStretch& stretch) {
    const HostGap &first = GapAt(stretch.gaps.front()), &last = GapAt(stretch.gaps.back());
    if (IsNamed(first)) return;
    const auto& starts = starts_[first.thread];
    const At inside = FirstFrom(first.thread, first.start_ns), end = FirstFrom(first.thread, last.end_ns);
    At from = inside, to = end;
    while (from != starts.begin() && std::prev(from)->is_copy) --from;
    while (to != starts.end() && to->is_copy) ++to;
    const bool has_op = std::any_of(stretch.gaps.begin(), stretch.gaps.end(),
                                    [this](uint32_t g) { return GapAt(g).op != kNone; });
    const bool returns = Any(from, end, IsCopyToHost, kFewestBytes) && Any(inside, to, IsCopyToDevice, 0);
    for (At at = from; at != to; ++at) {
      const bool is_inside = at >= inside && at < end;
      const bool ends_known = has_op || returns;
      const bool is_input =
          at < inside && Carries(*at, IsCopyToHost, ends_known ? kFewestBytes : kSurelyDataBytes);
      const bool is_result = ends_known && at >= end && Carries(*at, IsCopyToDevice, 0);
      if (is_inside || is_input || is_result) Add(at->work, stretch);
    }
  }

  bool Carries(const Start& start, Is is, int64_t fewest_bytes) const {
    if (!is(s_.data(), w_.row[start.work])) return false;
    const int64_t bytes = s_.data().memcpy.bytes[w_.row[start.work]];
    return !IsNull(bytes) && bytes >= fewest_bytes;
  }
  bool Any(At from, At to, Is is, int64_t fewest_bytes) const {
    return std::any_of(from, to, [&](const Start& start) { return Carries(start, is, fewest_bytes); });
  }

  void Add(uint32_t work, HostStretch& stretch) const {
    const uint32_t row = w_.row[work];
    if (!IsPageableCopy(s_.data(), row)) return;
    const uint32_t caller = program::CallerOf(s_.timeline().host, w_.launch[work]);
    if (stretch.copies.empty() || stretch.copies.back() != caller) stretch.copies.push_back(caller);
    ++(IsCopyToDevice(s_.data(), row) ? stretch.to_device : stretch.to_host);
    if (!IsNull(s_.data().memcpy.bytes[row])) stretch.bytes += s_.data().memcpy.bytes[row];
  }

  const StepReplay& s_;
  const DeviceWork& w_;
  std::vector<std::vector<Start>> starts_;   // by thread, by time
  std::vector<std::vector<uint32_t>> gaps_;  // by thread
  std::vector<HostStretch> out_;
};

}  // namespace

std::vector<HostStretch> FindHostStretches(const StepReplay& steps) { return Finder(steps).Find(); }

}  // namespace nl::replay
