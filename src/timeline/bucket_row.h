// SPDX-License-Identifier: Apache-2.0
#pragma once
// From the spans of a lane to what a timeline draws: Nesting gives each span its depth, BucketRow makes the
// buckets of every level of one depth and the list of spans that are long enough to be drawn themselves.
// Both take spans in the order of DrawnBefore. docs/timeline.md defines depth and buckets.
// Thread rule: one thread per object.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/string_pool.h"
#include "timeline/span.h"

namespace nl {

// Depth of a span: how many spans before it, in drawing order, still run at its middle. For spans that nest
// this is the number of spans around it; a child that ends after its parent by a rounding error does not
// push the next sibling down. It depends on spans that meet the span only, so a part of a lane is enough.
class Nesting {
 public:
  uint32_t Depth(int64_t start_ns, int64_t dur_ns);
  // Takes part in the depth of later spans.
  void Push(int64_t end_ns);

 private:
  struct Running {
    int64_t end_ns, first_end_ns;  // the first end of this one and those below
  };
  void Drop(int64_t start_ns);
  std::vector<Running> running_;  // a stack of size_; what lies above is free
  size_t size_ = 0;
};

struct Bucket {
  int64_t index = 0;  // it covers [index * 4^level, (index + 1) * 4^level)
  int64_t busy_ns = 0, longest_ns = 0;
  uint32_t count = 0;
  StringId top = StringId::kNull;
};

// Time and count by name, of one bucket.
class NameSums {
 public:
  struct Entry {
    StringId name;
    uint32_t count;
    int64_t time_ns;
  };
  void Add(StringId name, int64_t time_ns, uint32_t count);
  void AddAll(const NameSums& other);
  bool empty() const { return entries_.empty(); }
  void Clear();
  // Most time, then most spans, then the first by text.
  StringId Top(const StringPool& strings) const;

 private:
  static constexpr size_t kScanned = 8;  // more are found through slots_
  void Index();
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // place in entries_ + 1; 0: free
};

class BucketRow {
 public:
  BucketRow(unsigned base, unsigned top)
      : base_(base), top_(top), open_(top - base + 1), levels_(top - base + 1) {}

  void Add(const Span& span, const StringPool& strings);
  void Finish(const StringPool& strings);
  // Gives up the lowest level: its buckets, and the spans that are listed for it alone.
  void RaiseBase(const StringPool& strings);

  unsigned base() const { return base_; }
  unsigned top() const { return top_; }
  // By index. `level` is in [base, top].
  const std::vector<Bucket>& Buckets(unsigned level) const { return levels_[level - base_]; }
  // Spans that are in the buckets of no level below `level` + 1: dur_ns in [4^level / 2, 4^(level+1) / 2), in
  // drawing order; the top level has all that are longer too.
  const std::vector<Span>& Spans(unsigned level) const { return spans_[level - base_]; }
  size_t lowest_size() const { return levels_.front().size() + spans_.front().size(); }
  std::vector<Bucket>& MutableBuckets(unsigned level) { return levels_[level - base_]; }  // for loading
  std::vector<Span>& MutableSpans(unsigned level) { return spans_[level - base_]; }
  int64_t longest_ns(unsigned level) const { return longest_[level - base_]; }
  // After loading: counts and longest spans of the levels above the base follow from the level below and its
  // spans; also measures the spans.
  void FillUpper();

 private:
  struct Sums {
    int64_t index = 0, busy_ns = 0, longest_ns = 0;
    uint32_t count = 0;
    NameSums names;
  };
  struct Open {  // the bucket in which spans start now, and the next, into which they reach
    Sums now, next;
  };
  void Advance(int64_t start_ns, const StringPool& strings);
  void Close(size_t level, Sums& sums, const StringPool& strings);
  Sums& At(size_t level, int64_t index);

  unsigned base_, top_;
  bool begun_ = false;
  int64_t covered_ns_ = INT64_MIN;  // until here the row is covered
  std::vector<Open> open_;
  std::vector<std::vector<Bucket>> levels_;
  std::vector<std::vector<Span>> spans_ = std::vector<std::vector<Span>>(levels_.size());
  std::vector<int64_t> longest_ = std::vector<int64_t>(levels_.size(), 0);
};

// Calls `take` for every listed span of `level` and above that reaches into [from, to).
template <class Take>
void EachListed(const BucketRow& row, unsigned level, int64_t from_ns, int64_t to_ns, const Take& take) {
  for (unsigned k = std::max(level, row.base()); k <= row.top(); ++k) {
    const std::vector<Span>& spans = row.Spans(k);
    const int64_t earliest_ns = from_ns - row.longest_ns(k);
    auto it = std::lower_bound(spans.begin(), spans.end(), earliest_ns,
                               [](const Span& span, int64_t at_ns) { return span.start_ns < at_ns; });
    for (; it != spans.end() && it->start_ns < to_ns; ++it) {
      if (Reaches(*it, from_ns, to_ns)) take(*it);
    }
  }
}

}  // namespace nl
