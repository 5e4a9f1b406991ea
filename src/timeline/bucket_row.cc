// SPDX-License-Identifier: Apache-2.0
#include "timeline/bucket_row.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace nl {

void Nesting::Drop(int64_t start_ns) {
  while (size_ > 0 && running_[size_ - 1].end_ns <= start_ns) --size_;
  if (size_ == 0 || running_[size_ - 1].first_end_ns > start_ns) return;
  // Spans that do not nest: one below the last has ended.
  const size_t before = std::exchange(size_, 0);
  for (size_t i = 0; i < before; ++i) {
    if (const int64_t end_ns = running_[i].end_ns; end_ns > start_ns) Push(end_ns);
  }
}

uint32_t Nesting::Depth(int64_t start_ns, int64_t dur_ns) {
  Drop(start_ns);
  if (size_ == 0) return 0;
  const int64_t middle_ns = start_ns + dur_ns / 2;
  if (running_[size_ - 1].first_end_ns > middle_ns) return static_cast<uint32_t>(size_);
  return static_cast<uint32_t>(std::count_if(running_.data(), running_.data() + size_,
                                             [middle_ns](const Running& r) { return r.end_ns > middle_ns; }));
}

void Nesting::Push(int64_t end_ns) {
  if (size_ == running_.size()) running_.resize(std::max<size_t>(2 * size_, 16));
  const int64_t first_end_ns = size_ == 0 ? end_ns : std::min(end_ns, running_[size_ - 1].first_end_ns);
  running_[size_++] = {end_ns, first_end_ns};
}

void NameSums::Add(StringId name, int64_t time_ns, uint32_t count) {
  if (slots_.empty()) {
    for (Entry& entry : entries_) {
      if (entry.name != name) continue;
      entry.time_ns += time_ns;
      entry.count += count;
      return;
    }
    entries_.push_back({name, count, time_ns});
    if (entries_.size() > kScanned) Index();
    return;
  }
  const size_t mask = slots_.size() - 1;
  size_t at = static_cast<uint32_t>(name) * 0x9e3779b1u & mask;
  while (slots_[at] != 0 && entries_[slots_[at] - 1].name != name) at = (at + 1) & mask;
  if (slots_[at] != 0) {
    entries_[slots_[at] - 1].time_ns += time_ns;
    entries_[slots_[at] - 1].count += count;
    return;
  }
  entries_.push_back({name, count, time_ns});
  slots_[at] = static_cast<uint32_t>(entries_.size());
  if (entries_.size() * 2 > slots_.size()) Index();
}

void NameSums::Index() {
  slots_.assign(std::max<size_t>(std::bit_ceil(entries_.size() * 4), 64), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t at = static_cast<uint32_t>(entries_[i].name) * 0x9e3779b1u & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

void NameSums::AddAll(const NameSums& other) {
  for (const Entry& entry : other.entries_) Add(entry.name, entry.time_ns, entry.count);
}

void NameSums::Clear() {
  entries_.clear();
  slots_.clear();
}

StringId NameSums::Top(const StringPool& strings) const {
  const Entry* top = nullptr;
  for (const Entry& e : entries_) {
    if (top == nullptr || e.time_ns > top->time_ns || (e.time_ns == top->time_ns && e.count > top->count) ||
        (e.time_ns == top->time_ns && e.count == top->count &&
         strings.Text(e.name) < strings.Text(top->name)))
      top = &e;
  }
  return top == nullptr ? StringId::kNull : top->name;
}

BucketRow::Sums& BucketRow::At(size_t level, int64_t index) {
  Open& open = open_[level];
  if (index == open.now.index) return open.now;
  NL_CHECK(index == open.now.index + 1);
  return open.next;
}

void BucketRow::Add(const Span& span, const StringPool& strings) {
  Advance(span.start_ns, strings);
  const unsigned first = FirstLevel(span.dur_ns);
  const int64_t from_ns = std::max(span.start_ns, covered_ns_), end_ns = span.end_ns();
  covered_ns_ = std::max(covered_ns_, end_ns);
  if (first > base_) {
    const unsigned place = std::min(first - 1, top_) - base_;
    spans_[place].push_back(span);
    longest_[place] = std::max(longest_[place], span.dur_ns);
  }
  if (first > top_) return;
  const unsigned level = std::max(first, base_);
  const size_t at = level - base_;
  Sums& now = open_[at].now;
  ++now.count;
  now.longest_ns = std::max(now.longest_ns, span.dur_ns);
  const int64_t boundary_ns = (now.index + 1) << (2 * level);
  const int64_t here_ns = std::max<int64_t>(std::min(end_ns, boundary_ns) - from_ns, 0);
  now.busy_ns += here_ns;
  now.names.Add(span.name, here_ns, 1);
  const int64_t beyond_ns = end_ns - std::max(from_ns, boundary_ns);
  if (beyond_ns <= 0) return;
  open_[at].next.busy_ns += beyond_ns;
  open_[at].next.names.Add(span.name, beyond_ns, 0);
}

// Closes the buckets that end before a span starts, from the lowest level up, since each adds to the next.
void BucketRow::Advance(int64_t start_ns, const StringPool& strings) {
  if (!begun_) {
    begun_ = true;
    for (size_t i = 0; i < open_.size(); ++i)
      open_[i].now.index = BucketOf(start_ns, base_ + static_cast<unsigned>(i));
    return;
  }
  for (size_t i = 0; i < open_.size(); ++i) {
    Open& open = open_[i];
    const int64_t index = BucketOf(start_ns, base_ + static_cast<unsigned>(i));
    if (index == open.now.index) return;
    Close(i, open.now, strings);
    open.next.index = open.now.index + 1;
    std::swap(open.now, open.next);
    if (open.now.index == index) continue;
    Close(i, open.now, strings);
    open.now.index = index;
  }
}

// Notes a bucket and adds it to the one of the level above. Leaves it empty.
void BucketRow::Close(size_t level, Sums& sums, const StringPool& strings) {
  if (sums.names.empty()) return;
  levels_[level].push_back({sums.index, sums.busy_ns, sums.longest_ns, sums.count, sums.names.Top(strings)});
  if (level + 1 < open_.size()) {
    Sums& above = At(level + 1, sums.index >> 2);
    above.busy_ns += sums.busy_ns;
    above.longest_ns = std::max(above.longest_ns, sums.longest_ns);
    above.count += sums.count;
    above.names.AddAll(sums.names);
  }
  sums.busy_ns = sums.longest_ns = 0;
  sums.count = 0;
  sums.names.Clear();
}

void BucketRow::Finish(const StringPool& strings) {
  for (size_t i = 0; i < open_.size(); ++i) {
    const int64_t index = open_[i].now.index;
    Close(i, open_[i].now, strings);
    open_[i].next.index = index + 1;
    Close(i, open_[i].next, strings);
  }
}

void BucketRow::RaiseBase(const StringPool& strings) {
  NL_CHECK(base_ < top_);
  const int64_t index = open_[0].now.index;
  Close(0, open_[0].now, strings);
  open_[0].next.index = index + 1;
  Close(0, open_[0].next, strings);
  open_.erase(open_.begin());
  levels_.erase(levels_.begin());
  spans_.erase(spans_.begin());
  longest_.erase(longest_.begin());
  ++base_;
}

void BucketRow::FillUpper() {
  for (size_t i = 0; i < spans_.size(); ++i) {
    longest_[i] = 0;
    for (const Span& span : spans_[i]) longest_[i] = std::max(longest_[i], span.dur_ns);
  }
  for (size_t i = 1; i < levels_.size(); ++i) {
    std::vector<Bucket>& upper = levels_[i];
    auto at = upper.begin();  // what is added comes by index
    const auto add = [&upper, &at](int64_t index, uint32_t count, int64_t longest_ns) {
      while (at != upper.end() && at->index < index) ++at;
      if (at == upper.end() || at->index != index) return;
      at->count += count;
      at->longest_ns = std::max(at->longest_ns, longest_ns);
    };
    for (Bucket& bucket : upper) bucket.count = 0, bucket.longest_ns = 0;
    for (const Bucket& lower : levels_[i - 1]) add(lower.index >> 2, lower.count, lower.longest_ns);
    at = upper.begin();
    for (const Span& span : spans_[i - 1])
      add(BucketOf(span.start_ns, base_ + static_cast<unsigned>(i)), 1, span.dur_ns);
  }
}

}  // namespace nl
