// SPDX-License-Identifier: Apache-2.0
// Builds a large Kineto trace out of small recorded ones: their events are repeated in round robin, in the
// recorder's own text layout, with fresh ids and times. Each repetition bends time by a monotone map, so
// durations vary by a few percent while nesting, order and the ts of flows stay exact to the nanosecond.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

// What a variable piece of an event's text means. Ids of one kind share one number space over the whole
// output; ac2g flow ids are correlations, so both are kCorrelation.
enum Field : uint8_t {
  kNone,
  kTs,
  kDur,
  kBandwidth,
  kCorrelation,
  kExternalId,
  kRecordFunction,
  kEvIdx,
  kSequence,
  kPythonId,
  kForwardFlow,
  kFieldCount
};
constexpr Field kFirstId = kCorrelation;

struct Piece {
  std::string_view literal;  // the text before the variable
  Field field = kNone;
  int64_t value = 0;  // an id as recorded, or the bytes a bandwidth is computed from
};

struct Event {
  uint32_t first_piece = 0, piece_count = 0;
  int64_t start_ns = 0, end_ns = 0;
  bool metadata = false, kernel = false;
};

struct Source {
  std::string text;
  std::string_view header;
  std::vector<Piece> pieces;
  std::vector<Event> events;
  int64_t begin_ns = std::numeric_limits<int64_t>::max(), end_ns = 0;
  std::array<int64_t, kFieldCount> min_id, max_id;
};

struct Options {
  int64_t bytes = 0, events = 0, kernels = 0;
  std::string out;
  bool gz = false;
  std::vector<std::string> inputs;
};

constexpr int64_t kUnset = std::numeric_limits<int64_t>::max();
constexpr int64_t kGapNs = 2'000'000;
constexpr std::string_view kEventsKey = "\"traceEvents\": [\n";

bool ReadGz(const std::string& path, std::string* text) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  gzbuffer(file, 1 << 20);
  char block[1 << 16];
  int got = 0;
  while ((got = gzread(file, block, sizeof block)) > 0) text->append(block, static_cast<size_t>(got));
  return gzclose(file) == Z_OK && got == 0;
}

// "3843684100842.353" -> 3843684100842353; nothing when it is no plain decimal with at most 3 decimals.
std::optional<int64_t> MicrosToNs(std::string_view token) {
  const bool negative = !token.empty() && token[0] == '-';
  int64_t ns = 0;
  int decimals = -1;
  for (char c : token.substr(negative ? 1 : 0)) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (c < '0' || c > '9' || decimals == 3) return std::nullopt;
    ns = ns * 10 + (c - '0');
    if (decimals >= 0) ++decimals;
  }
  for (int i = std::max(decimals, 0); i < 3; ++i) ns *= 10;
  return negative ? -ns : ns;
}

Field FieldOf(std::string_view key, int depth) {
  if (depth == 1) {
    if (key == "ts") return kTs;
    if (key == "dur") return kDur;
    if (key == "id") return kCorrelation;
    return kNone;
  }
  if (depth != 2) return kNone;
  if (key == "correlation") return kCorrelation;
  if (key == "External id") return kExternalId;
  if (key == "Record function id") return kRecordFunction;
  if (key == "Ev Idx") return kEvIdx;
  if (key == "Sequence number") return kSequence;
  if (key == "Python id" || key == "Python parent id") return kPythonId;
  if (key == "memory bandwidth (GB/s)") return kBandwidth;
  return kNone;
}

// Reads one event's text ("  {\n ... \n  }") and appends its pieces to the source.
class Tokenizer {
 public:
  Tokenizer(Source* source, std::string_view text) : source_(source), text_(text) {}

  bool Run() {
    Event event;
    event.first_piece = static_cast<uint32_t>(source_->pieces.size());
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '{' || c == '[') ++depth_;
      if (c == '}' || c == ']') --depth_;
      if (c == '"' && !TakeString(&event)) return false;
    }
    source_->pieces.push_back({text_.substr(literal_from_), kNone, 0});
    event.piece_count = static_cast<uint32_t>(source_->pieces.size()) - event.first_piece;
    if (!FixDerived(&event)) return false;
    event.end_ns = event.start_ns + dur_ns_;
    if (!event.metadata) {
      source_->begin_ns = std::min(source_->begin_ns, event.start_ns);
      source_->end_ns = std::max(source_->end_ns, event.end_ns);
    }
    source_->events.push_back(event);
    return true;
  }

 private:
  // at_ stands on the opening quote; leaves it on the last character consumed.
  bool TakeString(Event* event) {
    const size_t from = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return false;
    const std::string_view word = text_.substr(from, at_ - from);
    if (at_ + 1 >= text_.size() || text_[at_ + 1] != ':') {
      if (depth_ == 1) TakeTopWord(word, event);
      return true;
    }
    last_key_ = word;
    size_t value = at_ + 2;
    while (value < text_.size() && text_[value] == ' ') ++value;
    size_t end = value;
    while (end < text_.size() && std::strchr("+-.0123456789eE", text_[end]) != nullptr) ++end;
    if (end == value) return true;
    return TakeNumber(FieldOf(word, depth_), word, value, end, event);
  }

  void TakeTopWord(std::string_view word, Event* event) {
    if (last_key_ == "ph") event->metadata = word == "M";
    if (last_key_ != "cat") return;
    event->kernel = word == "kernel";
    forward_flow_ = word == "fwdbwd";
  }

  bool TakeNumber(Field field, std::string_view key, size_t value, size_t end, Event* event) {
    const std::string_view token = text_.substr(value, end - value);
    if (key == "bytes") bytes_ = std::strtoll(std::string(token).c_str(), nullptr, 10);
    if (field == kNone) return true;
    Piece piece{text_.substr(literal_from_, value - literal_from_), field, 0};
    if (field == kTs || field == kDur) {
      const std::optional<int64_t> ns = MicrosToNs(token);
      if (!ns) return false;
      (field == kTs ? event->start_ns : dur_ns_) = *ns;
    } else if (field >= kFirstId) {
      piece.value = std::strtoll(std::string(token).c_str(), nullptr, 10);
      if (piece.value <= 0 && field == kRecordFunction) return true;  // 0 means "none" there
    }
    source_->pieces.push_back(piece);
    literal_from_ = end;
    at_ = end - 1;
    return true;
  }

  // "id" comes before "cat" in a flow event, so which id space it lives in is known only at its end.
  bool FixDerived(Event* event) {
    for (uint32_t i = 0; i < event->piece_count; ++i) {
      Piece& piece = source_->pieces[event->first_piece + i];
      if (piece.field == kBandwidth) piece.value = bytes_;
      if (piece.field == kCorrelation && forward_flow_) piece.field = kForwardFlow;
      if (piece.field < kFirstId) continue;
      source_->min_id[piece.field] = std::min(source_->min_id[piece.field], piece.value);
      source_->max_id[piece.field] = std::max(source_->max_id[piece.field], piece.value);
    }
    return depth_ == 0;
  }

  Source* source_;
  std::string_view text_, last_key_;
  size_t at_ = 0, literal_from_ = 0;
  int depth_ = 0;
  int64_t dur_ns_ = 0, bytes_ = 0;
  bool forward_flow_ = false;
};

// The recorder puts "  {" and "  }" alone on a line around every event, and JSON strings hold no raw line
// breaks, so cutting at lines is exact.
bool Load(const std::string& path, Source* source) {
  if (!ReadGz(path, &source->text)) return false;
  source->min_id.fill(kUnset);
  source->max_id.fill(0);
  const std::string_view text = source->text;
  const size_t key = text.find(kEventsKey);
  if (key == std::string_view::npos) return false;
  source->header = text.substr(0, key + kEventsKey.size());
  size_t at = key + kEventsKey.size();
  while (text.substr(at, 4) == "  {\n") {
    const size_t close = text.find("\n  }", at);
    if (close == std::string_view::npos) return false;
    if (!Tokenizer(source, text.substr(at, close + 4 - at)).Run()) return false;
    at = close + 4;
    if (text.substr(at, 2) == ",\n") at += 2;
  }
  return !source->events.empty();
}

class Output {
 public:
  bool Open(const std::string& path, bool gz) {
    fd_ = path == "-" ? STDOUT_FILENO : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    buffer_.resize(kCapacity);
    if (!gz || fd_ < 0) return fd_ >= 0;
    packed_.resize(kCapacity);
    gz_ = true;
    return deflateInit2(&stream_, 6, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK;
  }

  // A place for at least `want` bytes; Advance says how many were used.
  char* Reserve(size_t want) {
    if (used_ + want > buffer_.size()) Flush(Z_NO_FLUSH);
    if (want > buffer_.size()) buffer_.resize(want);
    return buffer_.data() + used_;
  }
  void Advance(size_t bytes) {
    used_ += bytes;
    total_ += bytes;
  }
  void Write(std::string_view text) {
    std::memcpy(Reserve(text.size()), text.data(), text.size());
    Advance(text.size());
  }
  bool Close() {
    Flush(Z_FINISH);
    if (gz_) deflateEnd(&stream_);
    return (fd_ == STDOUT_FILENO || close(fd_) == 0) && ok_;
  }
  int64_t total_bytes() const { return static_cast<int64_t>(total_); }
  bool ok() const { return ok_; }

 private:
  static constexpr size_t kCapacity = 4 << 20;

  void Flush(int mode) {
    if (!gz_) {
      Put(buffer_.data(), used_);
    } else {
      stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_in = static_cast<uInt>(used_);
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(packed_.data());
        stream_.avail_out = static_cast<uInt>(packed_.size());
        deflate(&stream_, mode);
        Put(packed_.data(), packed_.size() - stream_.avail_out);
      } while (stream_.avail_out == 0);
    }
    used_ = 0;
  }

  void Put(const char* from, size_t bytes) {
    while (ok_ && bytes > 0) {
      const ssize_t put = write(fd_, from, bytes);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) {
        ok_ = false;
        return;
      }
      from += put;
      bytes -= static_cast<size_t>(put);
    }
  }

  int fd_ = -1;
  bool gz_ = false, ok_ = true;
  std::vector<char> buffer_, packed_;
  size_t used_ = 0, total_ = 0;
  z_stream stream_{};
};

// Monotone map of recorded time to output time: every 64 us stretch gets its own slope of 0.97..1.03.
class TimeBend {
 public:
  void Reset(int64_t from_ns, int64_t length_ns, int64_t to_ns, uint64_t* random) {
    from_ns_ = from_ns;
    length_ns_ = length_ns;
    const size_t stretches = static_cast<size_t>(length_ns >> kShift) + 2;
    at_ns_.resize(stretches);
    slope_.resize(stretches);
    int64_t at = to_ns;
    for (size_t i = 0; i < stretches; ++i) {
      *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
      const auto wobble = static_cast<int64_t>((*random >> 33) % 62'915);  // 0 .. 0.06 in 2^-20
      at_ns_[i] = at;
      slope_[i] = (1 << 20) - 31'457 + wobble;
      at += (slope_[i] << kShift) >> 20;
    }
  }
  int64_t operator()(int64_t ns) const {
    const int64_t relative = std::clamp<int64_t>(ns - from_ns_, 0, length_ns_);  // metadata may lie outside
    const auto stretch = static_cast<size_t>(relative >> kShift);
    return at_ns_[stretch] + (((relative & ((1 << kShift) - 1)) * slope_[stretch]) >> 20);
  }

 private:
  static constexpr int kShift = 16;
  int64_t from_ns_ = 0, length_ns_ = 0;
  std::vector<int64_t> at_ns_, slope_;
};

char* PutInt(char* to, int64_t value) {
  const fmt::format_int text(value);
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

char* PutMicros(char* to, int64_t ns) {
  to = PutInt(to, ns / 1000);
  const int rest = static_cast<int>(ns % 1000);
  to[0] = '.';
  to[1] = static_cast<char>('0' + rest / 100);
  to[2] = static_cast<char>('0' + rest / 10 % 10);
  to[3] = static_cast<char>('0' + rest % 10);
  return to + 4;
}

class Builder {
 public:
  Builder(const Options& options, std::vector<Source>& sources, Output* out)
      : options_(options), sources_(sources), out_(out), now_ns_(sources[0].begin_ns) {
    next_id_.fill(1);
  }

  bool Run() {
    out_->Write(sources_[0].header);
    for (size_t turn = 0; !Done() && out_->ok(); ++turn) {
      const int64_t before = written_;
      Repeat(sources_[turn % sources_.size()]);
      empty_turns_ = written_ == before ? empty_turns_ + 1 : 0;
      if (empty_turns_ >= sources_.size()) {
        fmt::print(stderr, "make_trace: the inputs hold no such events\n");
        return false;
      }
    }
    for (const Source& source : sources_) {
      bend_.Reset(source.begin_ns, source.end_ns - source.begin_ns, sources_[0].begin_ns, &random_);
      for (const Event& event : source.events) {
        if (event.metadata) Emit(source, event);
      }
    }
    const std::string_view path = options_.out;
    const std::string_view name = path.substr(path.find_last_of('/') + 1);
    out_->Write(fmt::format("\n  ],\n  \"traceName\": \"{}\"\n}}", name == "-" ? "stdin.json" : name));
    return out_->ok();
  }
  int64_t written() const { return written_; }

 private:
  bool Done() const {
    if (options_.kernels > 0) return written_ >= options_.kernels;
    if (options_.events > 0) return written_ >= options_.events;
    return out_->total_bytes() >= options_.bytes;
  }

  // Whole repetitions only when counting bytes (no dangling flows); exactly N when counting events.
  void Repeat(const Source& source) {
    for (int field = kFirstId; field < kFieldCount; ++field) {
      shift_[field] = source.min_id[field] == kUnset ? 0 : next_id_[field] - source.min_id[field];
    }
    const int64_t length_ns = source.end_ns - source.begin_ns;
    bend_.Reset(source.begin_ns, length_ns, now_ns_, &random_);
    for (const Event& event : source.events) {
      if (event.metadata || (options_.kernels > 0 && !event.kernel)) continue;
      Emit(source, event);
      ++written_;
      if (options_.bytes == 0 && Done()) return;
    }
    now_ns_ = bend_(source.end_ns) + kGapNs;
    for (int field = kFirstId; field < kFieldCount; ++field) {
      if (source.min_id[field] != kUnset) next_id_[field] = source.max_id[field] + shift_[field] + 1;
    }
  }

  void Emit(const Source& source, const Event& event) {
    const int64_t start_ns = bend_(event.start_ns);
    const int64_t dur_ns = bend_(event.end_ns) - start_ns;
    if (any_) out_->Write(",\n");
    any_ = true;
    for (uint32_t i = 0; i < event.piece_count; ++i) {
      const Piece& piece = source.pieces[event.first_piece + i];
      char* const from = out_->Reserve(piece.literal.size() + 64);
      std::memcpy(from, piece.literal.data(), piece.literal.size());
      char* to = from + piece.literal.size();
      switch (piece.field) {
        case kNone: break;
        case kTs: to = PutMicros(to, start_ns); break;
        case kDur: to = PutMicros(to, dur_ns); break;
        case kBandwidth:
          to = fmt::format_to(to, "{}", dur_ns == 0 ? 0.0 : static_cast<double>(piece.value) / dur_ns);
          break;
        default: to = PutInt(to, piece.value + shift_[piece.field]);
      }
      out_->Advance(static_cast<size_t>(to - from));
    }
  }

  const Options& options_;
  std::vector<Source>& sources_;
  Output* out_;
  TimeBend bend_;
  std::array<int64_t, kFieldCount> next_id_, shift_{};
  int64_t now_ns_, written_ = 0;
  size_t empty_turns_ = 0;
  uint64_t random_ = 0x9E3779B97F4A7C15ULL;
  bool any_ = false;
};

bool ParseOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const bool has_value = i + 1 < argc;
    if (arg == "--gz")
      options->gz = true;
    else if (arg == "--out" && has_value)
      options->out = argv[++i];
    else if (arg == "--bytes" && has_value)
      options->bytes = static_cast<int64_t>(std::atof(argv[++i]));
    else if (arg == "--events" && has_value)
      options->events = static_cast<int64_t>(std::atof(argv[++i]));
    else if (arg == "--kernels" && has_value)
      options->kernels = static_cast<int64_t>(std::atof(argv[++i]));
    else if (arg.substr(0, 2) == "--")
      return false;
    else
      options->inputs.emplace_back(arg);
  }
  const int goals = (options->bytes > 0) + (options->events > 0) + (options->kernels > 0);
  return goals == 1 && !options->out.empty() && !options->inputs.empty();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!ParseOptions(argc, argv, &options)) {
    fmt::print(
        stderr,
        "usage: make_trace (--bytes N | --events N | --kernels N) --out FILE|- [--gz] TRACE.json[.gz]...\n"
        "example: make_trace --bytes 1e9 --out big.json data/h200/base.json.gz data/h200/compile.json.gz\n");
    return 2;
  }
  std::vector<Source> sources(options.inputs.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    if (Load(options.inputs[i], &sources[i])) continue;
    fmt::print(stderr, "make_trace: {}: not a readable trace in torch.profiler's layout\n",
               options.inputs[i]);
    return 2;
  }
  Output out;
  if (!out.Open(options.out, options.gz)) {
    fmt::print(stderr, "make_trace: {}: {}\n", options.out, std::strerror(errno));
    return 3;
  }
  Builder builder(options, sources, &out);
  const bool built = builder.Run();
  if (!out.Close() || !built) {
    fmt::print(stderr, "make_trace: {} was not written whole\n", options.out);
    return 3;
  }
  fmt::print(stderr, "{}: {} events besides metadata, {} bytes of JSON\n", options.out, builder.written(),
             out.total_bytes());
  return 0;
}
