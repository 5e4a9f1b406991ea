// SPDX-License-Identifier: Apache-2.0
#include "timeline/strips.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "model/sampled_frame.h"
#include "model/string_pool.h"

namespace nl {

namespace {

constexpr size_t kBoxesPerCheck = 1 << 16;

// Of the gaps between samples; what a sample stands for when the source does not record it.
int64_t MedianGap(const std::vector<StripSample>& sorted) {
  std::vector<int64_t> gaps;
  for (size_t i = 1; i < sorted.size(); ++i) {
    const int64_t gap_ns = sorted[i].start_ns - sorted[i - 1].start_ns;
    if (gap_ns > 0) gaps.push_back(gap_ns);
  }
  if (gaps.empty()) return 0;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

// From the weight of each sample (0: not recorded) to the time it has: until the next one, where that comes
// within twice its weight, since timers are late; else its weight. What has none then is dropped.
void SetTimes(std::vector<StripSample>& samples) {
  std::sort(samples.begin(), samples.end(), [](const StripSample& a, const StripSample& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.row < b.row;
  });
  const int64_t usual_ns = MedianGap(samples);
  for (size_t i = 0; i < samples.size(); ++i) {
    StripSample& s = samples[i];
    if (s.dur_ns <= 0) s.dur_ns = usual_ns;
    if (i + 1 == samples.size()) continue;
    const int64_t gap_ns = samples[i + 1].start_ns - s.start_ns;
    if (gap_ns / 2 <= s.dur_ns) s.dur_ns = gap_ns;
  }
  std::erase_if(samples, [](const StripSample& s) { return s.dur_ns <= 0; });
}

size_t EntriesIn(const std::vector<BucketRow>& rows) {
  size_t out = 0;
  for (const BucketRow& row : rows) {
    for (unsigned level = row.base(); level <= row.top(); ++level)
      out += row.Buckets(level).size() + row.Spans(level).size();
  }
  return out;
}

}  // namespace

// The functions of stacks, text by text. A stack begins as the one before it for the most part, and frames
// repeat.
class FlameStrips::StackReader {
 public:
  explicit StackReader(const RunSpans& spans) : spans_(spans) {}

  const std::vector<StringId>& Read(std::string_view text) {
    const auto same = static_cast<size_t>(
        std::mismatch(text_.begin(), text_.end(), text.begin(), text.end()).second - text.begin());
    size_t kept = 0;
    while (kept < ends_.size() && ends_[kept] < same) ++kept;
    functions_.resize(kept);
    ends_.resize(kept);
    for (size_t at = kept == 0 ? 0 : ends_.back() + 1;
         at < text.size() && ends_.size() < FlameStrips::kMostDepths;) {
      const size_t end = std::min(text.find(';', at), text.size());
      functions_.push_back(FunctionOf(text.substr(at, end - at)));
      ends_.push_back(end);
      at = end + 1;
    }
    text_ = text;
    return functions_;
  }

 private:
  StringId FunctionOf(std::string_view frame) {
    const auto place = static_cast<size_t>(frames_.Add(frame));
    if (place == function_of_.size())
      function_of_.push_back(spans_.Intern(SpanTable::kCpuSample, FunctionText(frame)));
    return function_of_[place];
  }

  const RunSpans& spans_;
  std::string text_;
  std::vector<StringId> functions_;
  std::vector<size_t> ends_;  // of the frames in text_
  StringPool frames_;
  std::vector<StringId> function_of_;  // by id in frames_
};

Result<std::unique_ptr<FlameStrips>> FlameStrips::Read(const RunSpans& spans,
                                                       const std::atomic<bool>* cancelled) {
  std::unique_ptr<FlameStrips> out(new FlameStrips(spans));
  const ParquetReader* file = spans.file(SpanTable::kCpuSample);
  if (file == nullptr || file->rows() > UINT32_MAX) return out;
  std::vector<std::vector<StripSample>> by_thread(static_cast<size_t>(spans.threads()) + 1);
  StackReader reader(spans);
  for (size_t g = 0; g < file->groups(); ++g) {
    if (cancelled != nullptr && cancelled->load()) return Cancelled();
    NL_TRY(out->ReadGroup(*file, g, reader, by_thread));
  }
  for (size_t t = 0; t < by_thread.size(); ++t) {
    SetTimes(by_thread[t]);
    FlameStrip strip;
    strip.thread = t == 0 ? NullOf<int64_t>::value : static_cast<int64_t>(t) - 1;
    for (const StripSample& s : by_thread[t])
      strip.depths = std::max(strip.depths, static_cast<uint32_t>(out->Frames(s.stack).size()));
    strip.samples = std::move(by_thread[t]);
    if (strip.depths > 0) out->strips_.push_back(std::move(strip));
  }
  return out;
}

Status FlameStrips::ReadGroup(const ParquetReader& file, size_t group, StackReader& reader,
                              std::vector<std::vector<StripSample>>& by_thread) {
  std::vector<int64_t> start, thread, weight;
  CodedTexts stacks;
  NL_TRY(file.ReadInts(group, file.Column("start_ns"), start));
  NL_TRY(file.ReadInts(group, file.Column("thread_id"), thread));
  NL_TRY(file.ReadTexts(group, file.Column("stack"), stacks));
  if (const int column = file.Column("weight_ns"); column >= 0)
    NL_TRY(file.ReadInts(group, column, weight));
  else
    weight.assign(start.size(), 0);
  // Equal texts of two row groups get two places: boxes compare functions.
  std::vector<uint32_t> stack_of;
  for (const std::string_view text : stacks.distinct) stack_of.push_back(AddStack(reader.Read(text)));
  for (size_t i = 0; i < start.size(); ++i) {
    if (IsNull(start[i]) || stacks.codes[i] == CodedTexts::kNull) continue;
    const int64_t place = IsNull(thread[i]) ? 0 : thread[i] + 1;
    if (place < 0 || static_cast<size_t>(place) >= by_thread.size() || start[i] < -kMostTime_ns ||
        start[i] > kMostTime_ns)
      return InvalidInput(fmt::format("{} has a thread or time that is not possible", file.path()));
    const int64_t weight_ns = IsNull(weight[i]) ? 0 : std::clamp<int64_t>(weight[i], 0, kMostTime_ns);
    by_thread[static_cast<size_t>(place)].push_back(
        {start[i] - spans_.zero_ns(), weight_ns,
         static_cast<uint32_t>(file.first_row(group) + static_cast<int64_t>(i)), stack_of[stacks.codes[i]]});
  }
  return {};
}

uint32_t FlameStrips::AddStack(const std::vector<StringId>& frames) {
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  ends_.push_back(frames_.size());
  return static_cast<uint32_t>(ends_.size() - 1);
}

std::span<const StringId> FlameStrips::Frames(uint32_t stack) const {
  const size_t from = stack == 0 ? 0 : ends_[stack - 1];
  return std::span(frames_).subspan(from, ends_[stack] - from);
}

std::optional<size_t> FlameStrips::StripOf(int64_t thread) const {
  const auto it = std::find_if(strips_.begin(), strips_.end(),
                               [thread](const FlameStrip& strip) { return strip.thread == thread; });
  if (it == strips_.end()) return std::nullopt;
  return static_cast<size_t>(it - strips_.begin());
}

size_t FlameStrips::Bytes() const {
  size_t out = frames_.size() * sizeof(StringId) + ends_.size() * sizeof(size_t);
  for (const FlameStrip& strip : strips_) out += strip.samples.size() * sizeof(StripSample);
  return out;
}

// Whether sample `sample` has the frames of the one before it down to `depth`, without a gap between them.
bool FlameStrips::Continues(const FlameStrip& strip, size_t sample, size_t depth) const {
  const StripSample &a = strip.samples[sample - 1], &b = strip.samples[sample];
  if (a.end_ns() != b.start_ns) return false;
  const std::span<const StringId> x = Frames(a.stack), y = Frames(b.stack);
  return depth < x.size() && depth < y.size() &&
         (a.stack == b.stack ||
          std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(depth) + 1, y.begin()));
}

// Calls take(depth, box) for every box of the samples [first, last); those of a depth come by time.
template <class Take>
void FlameStrips::EachBox(const FlameStrip& strip, size_t first, size_t last, const Take& take) const {
  std::vector<size_t> open;  // by depth: the first sample of the box
  const auto close = [&](size_t depths, size_t before) {
    for (size_t depth = depths; depth < open.size(); ++depth) {
      const int64_t start_ns = strip.samples[open[depth]].start_ns;
      take(depth, Box{start_ns, strip.samples[before - 1].end_ns() - start_ns, open[depth], before - 1});
    }
    open.resize(std::min(depths, open.size()));
  };
  for (size_t i = first; i < last; ++i) {
    const StripSample& s = strip.samples[i];
    const std::span<const StringId> frames = Frames(s.stack);
    size_t same = 0;
    if (i > first && strip.samples[i - 1].end_ns() == s.start_ns) {
      const std::span<const StringId> before = Frames(strip.samples[i - 1].stack);
      same = static_cast<size_t>(
          std::mismatch(before.begin(), before.end(), frames.begin(), frames.end()).second - frames.begin());
    }
    close(same, i);
    open.resize(frames.size(), i);
  }
  close(0, last);
}

Span FlameStrips::SpanOf(const FlameStrip& strip, size_t depth, const Box& box) const {
  const StripSample& s = strip.samples[box.first];
  return {box.start_ns, box.dur_ns, OwnerOf(SpanTable::kCpuSample, s.row), Frames(s.stack)[depth]};
}

Result<std::vector<BucketRow>> FlameStrips::Rows(size_t strip, unsigned top,
                                                 const std::atomic<bool>* cancelled,
                                                 size_t most_entries) const {
  const FlameStrip& of = strips_[strip];
  const StringPool& strings = spans_.strings();
  std::vector<BucketRow> rows;
  for (uint32_t depth = 0; depth < of.depths; ++depth) rows.emplace_back(0, top);
  const auto keep_few = [&] {
    while (EntriesIn(rows) > most_entries && rows.front().base() + 1 < top) {
      for (BucketRow& row : rows) row.RaiseBase(strings);
    }
  };
  size_t boxes = 0;
  bool stopped = false;
  EachBox(of, 0, of.samples.size(), [&](size_t depth, const Box& box) {
    if (stopped) return;
    rows[depth].Add(SpanOf(of, depth, box), strings);
    if (++boxes % kBoxesPerCheck != 0) return;
    stopped = cancelled != nullptr && cancelled->load();
    keep_few();
  });
  if (stopped) return Cancelled();
  keep_few();
  for (BucketRow& row : rows) row.Finish(strings);
  return rows;
}

// The window is read with a margin: a box that reaches beyond it is long enough to be among the rows.
std::vector<BucketRow> FlameStrips::CloseRows(size_t strip, const std::vector<BucketRow>& rows,
                                              unsigned level, int64_t from_ns, int64_t to_ns) const {
  const FlameStrip& of = strips_[strip];
  const unsigned base = rows.front().base();
  const int64_t margin_ns = ExactFromNs(base);
  const auto& samples = of.samples;
  const auto at = [&samples](auto it) { return static_cast<size_t>(it - samples.begin()); };
  // With one sample more at both ends; boxes that have it are not complete here.
  const size_t inside = at(std::partition_point(samples.begin(), samples.end(), [&](const StripSample& s) {
    return s.end_ns() <= from_ns - margin_ns;
  }));
  const size_t beyond = at(std::partition_point(
      samples.begin(), samples.end(), [&](const StripSample& s) { return s.start_ns < to_ns + margin_ns; }));
  std::vector<std::vector<Span>> spans(of.depths);
  EachBox(of, inside - (inside > 0 ? 1 : 0), std::min(beyond + 1, samples.size()),
          [&](size_t depth, const Box& box) {
            if (box.first < inside || box.last >= beyond || FirstLevel(box.dur_ns) > base) return;
            const Span span = SpanOf(of, depth, box);
            if (Reaches(span, from_ns, to_ns)) spans[depth].push_back(span);
          });
  std::vector<BucketRow> out;
  for (uint32_t depth = 0; depth < of.depths; ++depth) {
    EachListed(rows[depth], base, from_ns, to_ns, [&](const Span& s) { spans[depth].push_back(s); });
    std::sort(spans[depth].begin(), spans[depth].end(), DrawnBefore);
    BucketRow& row = out.emplace_back(level, level);
    for (const Span& span : spans[depth]) row.Add(span, spans_.strings());
    row.Finish(spans_.strings());
  }
  return out;
}

std::optional<StripBox> FlameStrips::BoxOf(size_t strip, int64_t row, int64_t depth) const {
  const FlameStrip& of = strips_[strip];
  const auto it = std::find_if(of.samples.begin(), of.samples.end(),
                               [row](const StripSample& s) { return s.row == row; });
  if (it == of.samples.end() || depth < 0 || static_cast<size_t>(depth) >= Frames(it->stack).size())
    return std::nullopt;
  size_t first = static_cast<size_t>(it - of.samples.begin()), last = first;
  while (first > 0 && Continues(of, first, static_cast<size_t>(depth))) --first;
  while (last + 1 < of.samples.size() && Continues(of, last + 1, static_cast<size_t>(depth))) ++last;
  StripBox out{depth, of.samples[first].start_ns, of.samples[last].end_ns() - of.samples[first].start_ns,
               static_cast<int64_t>(last - first) + 1, 0};
  for (size_t i = first; i <= last; ++i)
    out.self_samples += Frames(of.samples[i].stack).size() == static_cast<size_t>(depth) + 1 ? 1 : 0;
  return out;
}

}  // namespace nl
