// SPDX-License-Identifier: Apache-2.0
#include "timeline/find.h"

#include <algorithm>

namespace nl {

namespace {

class Finder {
 public:
  Finder(const Timeline& timeline, const FindRequest& request, const std::atomic<bool>* cancelled)
      : timeline_(timeline), spans_(timeline.spans()), request_(request), cancelled_(cancelled) {}

  Result<Found> Find() {
    std::vector<char> has(spans_.groups().size(), 0);
    for (size_t g = 0; g < has.size(); ++g) {
      if (cancelled_ != nullptr && cancelled_->load()) return Cancelled();
      NL_ASSIGN(const int64_t count, Count(g));
      has[g] = count > 0;
    }
    NL_TRY(FindNext(has));
    NL_TRY(FindPrevious(has));
    for (size_t i = 0; i < count_.size(); ++i) {
      if (count_[i] == 0) continue;
      out_.names.push_back({static_cast<StringId>(i), count_[i]});
      out_.total += count_[i];
    }
    std::sort(out_.names.begin(), out_.names.end(), [this](const FoundName& a, const FoundName& b) {
      return a.count != b.count ? a.count > b.count
                                : spans_.strings().Text(a.name) < spans_.strings().Text(b.name);
    });
    return std::move(out_);
  }

 private:
  bool Matches(StringId name) {
    const auto i = static_cast<size_t>(name);
    if (i >= verdict_.size()) verdict_.resize(std::max(i + 1, verdict_.size() * 2), kUnknown);
    if (verdict_[i] == kUnknown) verdict_[i] = request_.matches(spans_.NameOf(name)) ? kYes : kNo;
    return verdict_[i] == kYes;
  }
  static size_t RowIn(const RunSpans::Group& group, const Span& span) {
    return static_cast<size_t>(span.row() - group.first_row);
  }
  bool Wanted(LaneSlot slot) const { return request_.slots.empty() || request_.slots[slot] != 0; }

  bool Matches(StringId name, size_t row) { return by_row_.empty() ? Matches(name) : by_row_[row] != 0; }

  // CPU samples match by any frame of their stacks.
  Status MatchStacks(const RunSpans::Group& group) {
    by_row_.clear();
    if (group.table != SpanTable::kCpuSample) return {};
    CodedTexts stacks;
    NL_TRY(spans_.ReadTexts(group.table, group.group, stacks));
    std::vector<char> matches(stacks.distinct.size());
    for (size_t i = 0; i < matches.size(); ++i) matches[i] = request_.matches(stacks.distinct[i]) ? 1 : 0;
    for (const uint32_t code : stacks.codes) by_row_.push_back(code == CodedTexts::kNull ? 0 : matches[code]);
    return {};
  }

  void CountName(StringId name) {
    const auto i = static_cast<size_t>(name);
    if (i >= count_.size()) count_.resize(std::max(i + 1, count_.size() * 2), 0);
    ++count_[i];
  }

  // Without lanes the names are enough, unless rows without a time would be counted too.
  Result<int64_t> Count(size_t g) {
    const RunSpans::Group& group = spans_.groups()[g];
    NL_TRY(MatchStacks(group));
    int64_t found = 0;
    const auto count = [&](StringId name, size_t row) {
      if (!Matches(name, row)) return;
      CountName(name);
      ++found;
    };
    if (request_.slots.empty() && spans_.AllTimed(g)) {
      NL_ASSIGN(const std::vector<StringId> names, spans_.ReadNames(group.table, group.group));
      for (size_t row = 0; row < names.size(); ++row) count(names[row], row);
      return found;
    }
    NL_ASSIGN(const std::vector<LaneSpans> lanes, spans_.Read(g));
    for (const LaneSpans& lane : lanes) {
      if (!Wanted(lane.slot)) continue;
      for (const Span& span : lane.spans) count(span.name, RowIn(group, span));
    }
    return found;
  }

  template <class Take>
  Status EachMatch(size_t g, const Take& take) {
    if (cancelled_ != nullptr && cancelled_->load()) return Cancelled();
    const RunSpans::Group& group = spans_.groups()[g];
    NL_TRY(MatchStacks(group));
    NL_ASSIGN(const auto lanes, timeline_.Group(g));
    for (const LaneSpans& lane : *lanes) {
      if (!Wanted(lane.slot)) continue;
      for (const Span& span : lane.spans) {
        if (Matches(span.name, RowIn(group, span))) take(FoundSpan{span, lane.slot});
      }
    }
    return {};
  }

  // Groups are by their first start: no later one can hold a nearer span once enough are found.
  Status FindNext(const std::vector<char>& has) {
    const auto nearer = [](const FoundSpan& a, const FoundSpan& b) { return DrawnBefore(a.span, b.span); };
    for (size_t g = 0; g < has.size(); ++g) {
      if (out_.next.size() >= request_.limit &&
          (request_.limit == 0 || spans_.groups()[g].first_start_ns > out_.next.back().span.start_ns))
        break;
      if (has[g] == 0 || spans_.LastStart(g) < request_.from_ns) continue;
      NL_TRY(EachMatch(g, [&](const FoundSpan& found) {
        if (found.span.start_ns >= request_.from_ns) out_.next.push_back(found);
      }));
      Keep(out_.next, nearer);
    }
    return {};
  }

  Status FindPrevious(const std::vector<char>& has) {
    const auto nearer = [](const FoundSpan& a, const FoundSpan& b) { return DrawnBefore(b.span, a.span); };
    std::vector<size_t> order;
    for (size_t g = 0; g < has.size(); ++g) {
      if (has[g] != 0 && spans_.groups()[g].first_start_ns < request_.from_ns) order.push_back(g);
    }
    std::stable_sort(order.begin(), order.end(),
                     [this](size_t a, size_t b) { return spans_.LastStart(a) > spans_.LastStart(b); });
    for (const size_t g : order) {
      if (out_.previous.size() >= request_.limit &&
          (request_.limit == 0 || spans_.LastStart(g) < out_.previous.back().span.start_ns))
        break;
      NL_TRY(EachMatch(g, [&](const FoundSpan& found) {
        if (found.span.start_ns < request_.from_ns) out_.previous.push_back(found);
      }));
      Keep(out_.previous, nearer);
    }
    return {};
  }

  template <class Nearer>
  void Keep(std::vector<FoundSpan>& found, const Nearer& nearer) const {
    std::sort(found.begin(), found.end(), nearer);
    if (found.size() > request_.limit) found.resize(request_.limit);
  }

  static constexpr char kUnknown = 0, kYes = 1, kNo = 2;
  const Timeline& timeline_;
  const RunSpans& spans_;
  const FindRequest& request_;
  const std::atomic<bool>* cancelled_;
  std::vector<char> verdict_;   // by name
  std::vector<int64_t> count_;  // by name
  std::vector<char> by_row_;    // of the row group at hand, when that is of CPU samples
  Found out_;
};

}  // namespace

Result<Found> FindSpans(const Timeline& timeline, const FindRequest& request,
                        const std::atomic<bool>* cancelled) {
  return Finder(timeline, request, cancelled).Find();
}

}  // namespace nl
