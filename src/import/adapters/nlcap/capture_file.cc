// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nlcap/capture_file.h"

#include "base/utf8.h"

namespace nl::adapters::nlcap {

namespace {

constexpr int64_t kYearNs = int64_t{366} * 24 * 3600 * 1'000'000'000;
// Texts are numbered 1, 2, 3...; a number far beyond those seen is damage.
constexpr size_t kMostAhead = 1 << 16;

}  // namespace

uint32_t CaptureFile::StreamAt(uint64_t id) {
  const auto [it, added] = stream_at_.try_emplace(id, static_cast<uint32_t>(streams.size()));
  if (added) {
    streams.emplace_back();
    streams.back().id = id;
    // Until its first chunk says so: the number of the process is in the id.
    streams.back().file.pid = static_cast<uint32_t>(id >> 32);
  }
  return it->second;
}

capture::Chunk CaptureFile::ChunkAt(size_t offset) const {
  capture::Chunk chunk{};
  std::memcpy(&chunk.header, bytes_.data() + offset, sizeof chunk.header);
  chunk.payload = bytes_.substr(offset + sizeof chunk.header, chunk.header.payload_bytes);
  chunk.offset = offset;
  return chunk;
}

void CaptureFile::Index() {
  capture::ChunkReader reader(bytes_);
  capture::Chunk chunk;
  for (;;) {
    const auto at = static_cast<int64_t>(reader.offset());
    const capture::ChunkReader::Step step = reader.Next(chunk);
    if (step == capture::ChunkReader::Step::kEnd) break;
    if (step != capture::ChunkReader::Step::kChunk) {
      file.counters.Add(kDamagedChunk, at);
      continue;
    }
    const auto kind = static_cast<size_t>(chunk.header.kind);
    if (kind == 0 || kind > capture::kLastChunkKind) {
      file.counters.Add(kUnknownChunk, at);
      continue;
    }
    const uint32_t index = StreamAt(chunk.header.stream);
    Stream& stream = streams[index];
    if (chunk.header.kind == capture::ChunkKind::kString) TakeStrings(stream, chunk);
    if (chunk.header.kind == capture::ChunkKind::kEnd) stream.closed = true;
    chunks_[kind].push_back({chunk.offset, index});
  }
  for (const Stream& stream : streams) {
    if (!stream.closed) file.counters.Add(kNotClosed);
  }
}

void CaptureFile::CountUncalibrated() {
  using capture::ChunkKind;
  std::vector<bool> has_gpu(streams.size(), false);
  for (const ChunkKind kind : {ChunkKind::kKernel, ChunkKind::kMemcpy, ChunkKind::kMemset, ChunkKind::kSync,
                               ChunkKind::kApi, ChunkKind::kMemory, ChunkKind::kGraph}) {
    for (const Place& place : chunks_[static_cast<size_t>(kind)]) has_gpu[place.stream] = true;
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    if (has_gpu[i] && !streams[i].clock.calibrated()) file.counters.Add(kNoClock);
  }
}

void CaptureFile::TakeStrings(Stream& stream, const capture::Chunk& chunk) {
  bool fine = true;
  fine &= capture::ForEachString(chunk, [&](uint32_t number, std::string_view text) {
    if (number == 0 || number > stream.texts.size() + kMostAhead) {
      fine = false;
      return;
    }
    if (number >= stream.texts.size()) stream.texts.resize(number + 1);
    stream.texts[number] = text;
  });
  if (!fine) file.counters.Add(kBadRecord, static_cast<int64_t>(chunk.offset));
}

std::string_view CaptureFile::RawText(const Stream& stream, uint32_t number) const {
  return number < stream.texts.size() ? stream.texts[number] : std::string_view();
}

std::optional<std::string> CaptureFile::OwnText(const Stream& stream, uint32_t number) {
  if (number == 0) return std::nullopt;
  const std::string_view text = RawText(stream, number);
  if (text.data() == nullptr) {
    file.counters.Add(kMissingString);
    return std::nullopt;
  }
  if (IsUtf8(text)) return std::string(text);
  file.counters.Add(kBadUtf8);
  return ValidUtf8(text);
}

StringId CaptureFile::Text(Stream& stream, uint32_t number) {
  if (number < stream.in_run.size() && !IsNull(stream.in_run[number])) return stream.in_run[number];
  const std::optional<std::string> text = OwnText(stream, number);
  if (!text) return StringId::kNull;
  stream.in_run.resize(std::max(stream.in_run.size(), stream.texts.size()), StringId::kNull);
  return stream.in_run[number] = writer.strings().Add(*text);
}

std::optional<int64_t> CaptureFile::HostTime(const Stream& stream, int64_t monotonic_ns, int64_t place) {
  if (monotonic_ns > 0 && monotonic_ns < kMostNs / 2) {
    const int64_t ns = monotonic_ns + stream.shift_ns;
    if (ns > -kMostNs && ns < kMostNs) return ns;
  }
  file.counters.Add(kBadRecord, place);
  return std::nullopt;
}

std::optional<int64_t> CaptureFile::GpuTime(const Stream& stream, int64_t gpu_ns, int64_t place) {
  const std::optional<int64_t> host_ns = gpu_ns > 0 ? stream.clock.ToHost(gpu_ns) : std::nullopt;
  if (!host_ns) {
    file.counters.Add(kBadRecord, place);
    return std::nullopt;
  }
  return *host_ns + stream.shift_ns;
}

std::optional<CaptureFile::Span> CaptureFile::GpuSpan(const Stream& stream, int64_t start_ns, int64_t end_ns,
                                                      int64_t place) {
  const std::optional<int64_t> start = GpuTime(stream, start_ns, place);
  if (!start) return std::nullopt;
  Span span{*start, NullOf<int64_t>::value};
  if (end_ns == 0) {
    file.counters.Add(kNoEnd, place);
    return span;
  }
  const std::optional<int64_t> end = end_ns > 0 ? stream.clock.ToHost(end_ns) : std::nullopt;
  if (end && end_ns >= start_ns && *end + stream.shift_ns - *start <= kYearNs)
    span.dur_ns = std::max<int64_t>(0, *end + stream.shift_ns - *start);
  else
    file.counters.Add(kBadDuration, place);
  return span;
}

}  // namespace nl::adapters::nlcap
