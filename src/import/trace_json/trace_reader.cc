// SPDX-License-Identifier: Apache-2.0
#include "import/trace_json/trace_reader.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "import/trace_json/ordered_stage.h"

namespace nl::trace_json {

namespace {

constexpr size_t kMaxHeaderBytes = 64 << 20;
constexpr size_t kMaxTrailerBytes = 64 << 20;
constexpr size_t kMaxMendBytes = 2 << 20;    // of broken text that is worth a guess
constexpr size_t kMaxEventBytes = 16 << 20;  // a longer event is broken text
constexpr size_t kMaxLocalBytes = 48 << 20;  // of one worker's strings, before it starts again

// A piece of the event array, with padding after it.
struct Piece {
  int64_t index = 0;
  int64_t offset = 0;  // in the decompressed file
  std::vector<char> bytes;
  size_t size = 0;
  bool last = false;
};

struct ParseOutcome {
  const char* stopped = nullptr;  // first byte not consumed
  bool array_end = false;         // stopped after the closing bracket
  bool after_comma = false;       // the last thing consumed was a comma
  bool any_event = false;
};

// Where the event array starts in the text read so far.
struct ArrayStart {
  size_t at = 0;  // after the bracket
  bool found = false, bare = false;
  const char* error = nullptr;
};

ArrayStart FindArrayStart(std::string_view text, bool at_end) {
  ArrayStart out;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const char* p = begin;
  if (text.starts_with("\xef\xbb\xbf")) p += 3;
  p = SkipSpace(p, end);
  if (p >= end) {
    if (at_end) out.error = "the file is empty";
    return out;
  }
  if (*p == '[') {
    out = {static_cast<size_t>(p + 1 - begin), true, true, nullptr};
    return out;
  }
  if (*p != '{') {
    out.error = "neither a JSON object nor an array";
    return out;
  }
  ++p;
  for (;;) {
    p = SkipSpace(p, end);
    if (p < end && *p == ',') p = SkipSpace(p + 1, end);
    if (p >= end) break;
    if (*p == '}') {
      out.error = "a JSON object without traceEvents";
      return out;
    }
    if (*p != '"') {
      out.error = "broken JSON before traceEvents";
      return out;
    }
    JsonValue key, value;
    ++p;
    if (ScanString(p, end, key) != Scan::kOk) break;
    p = SkipSpace(p, end);
    if (p >= end) break;
    if (*p != ':') {
      out.error = "broken JSON before traceEvents";
      return out;
    }
    p = SkipSpace(p + 1, end);
    if (p >= end) break;
    if (key.text() == "traceEvents") {
      if (*p != '[') {
        out.error = "traceEvents is not an array";
        return out;
      }
      out = {static_cast<size_t>(p + 1 - begin), true, false, nullptr};
      return out;
    }
    const Scan scan = ScanValue(p, end, value);
    if (scan == Scan::kBad) {
      out.error = "broken JSON before traceEvents";
      return out;
    }
    if (scan == Scan::kNeedMore) break;
  }
  if (at_end) out.error = "the JSON ends before traceEvents";
  return out;
}

class Pipeline {
 public:
  Pipeline(ImportFile& file, const EventMapper& mapper)
      : file_(file),
        mapper_(mapper),
        ordered_(file.sink, file.facts),
        threads_(file.options.threads > 0 ? static_cast<size_t>(file.options.threads)
                                          : std::max<size_t>(1, std::thread::hardware_concurrency())) {}

  Result<TraceText> Run() {
    NL_TRY(ReadHeader());
    std::vector<std::thread> workers;
    for (size_t i = 0; i < threads_; ++i) workers.emplace_back([this] { WorkLoop(); });
    ReadLoop();
    for (std::thread& worker : workers) worker.join();
    if (failure_) return *std::move(failure_);
    NL_TRY(CheckEnd());
    ordered_.FinishFile(mapper_.Rank(text_));
    text_.events = ordered_.events();
    file_.counters.Merge(std::move(ordered_.counters()));
    return std::move(text_);
  }

 private:
  // ---- the reading thread ----
  Status ReadHeader() {
    for (bool at_end = false;;) {
      const size_t before = pending_.size();
      const size_t want = std::max<size_t>(file_.options.chunk_bytes, 1);
      pending_.resize(before + want);
      NL_ASSIGN(const size_t n, file_.source.Read(pending_.data() + before, want));
      pending_.resize(before + n);
      at_end = n < want;
      pending_.append(kPadding, '\0');
      const ArrayStart start = FindArrayStart({pending_.data(), pending_.size() - kPadding}, at_end);
      pending_.resize(pending_.size() - kPadding);
      if (start.error != nullptr) {
        return InvalidInput(fmt::format("not a trace: {}", start.error))
            .At(file_.path, static_cast<int64_t>(start.at));
      }
      if (start.found) {
        text_.bare_array = start.bare;
        text_.header = pending_.substr(0, start.at);
        offset_ = static_cast<int64_t>(start.at);
        pending_.erase(0, start.at);
        source_ended_ = at_end;
        return {};
      }
      if (pending_.size() > kMaxHeaderBytes) {
        return InvalidInput("not a trace: no traceEvents in the first 64 MB").At(file_.path, 0);
      }
    }
  }

  void ReadLoop() {
    int64_t index = 0;
    while (!Stopped()) {
      if (file_.options.Cancelled()) return Fail(Cancelled());
      Piece piece;
      piece.index = index++;
      piece.offset = offset_;
      if (Status status = FillPiece(piece); !status.ok()) return Fail(std::move(status).error());
      offset_ += static_cast<int64_t>(piece.size);
      if (file_.options.progress)
        file_.options.progress(file_.source.bytes_read(), file_.source.bytes_total());
      const bool last = piece.last;
      if (!Push(std::move(piece)) || last) break;
    }
    std::lock_guard lock(mutex_);
    reading_done_ = true;
    changed_.notify_all();
  }

  // One piece: what was left over, then fresh text up to the last event boundary.
  Status FillPiece(Piece& piece) {
    const size_t want = std::max<size_t>(file_.options.chunk_bytes, 1);
    piece.bytes = TakeBuffer();
    piece.bytes.resize(std::max(want, pending_.size()) + kPadding);
    std::memcpy(piece.bytes.data(), pending_.data(), pending_.size());
    size_t size = pending_.size();
    if (!source_ended_ && size < want) {
      NL_ASSIGN(const size_t n, file_.source.Read(piece.bytes.data() + size, want - size));
      source_ended_ = n < want - size;
      size += n;
    }
    pending_.clear();
    const char* begin = piece.bytes.data();
    if (!source_ended_) {
      if (const char* cut = FindLastEventStart(begin, begin + size); cut != nullptr) {
        pending_.assign(cut, begin + size);
        size = static_cast<size_t>(cut - begin);
      }
    }
    piece.size = size;
    std::memset(piece.bytes.data() + size, 0, kPadding);
    piece.last = source_ended_ && pending_.empty();
    return {};
  }

  std::vector<char> TakeBuffer() {
    std::lock_guard lock(mutex_);
    if (spare_.empty()) return {};
    std::vector<char> buffer = std::move(spare_.back());
    spare_.pop_back();
    return buffer;
  }

  bool Push(Piece piece) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.size() < threads_ + 24 || stopped_; });
    if (stopped_) return false;
    queue_.push_back(std::move(piece));
    changed_.notify_all();
    return true;
  }

  // ---- the parsing threads ----
  void WorkLoop() {
    Worker worker(mapper_.arg_keys());
    Piece piece;
    while (Pop(piece)) {
      const ParseOutcome outcome = Parse(worker, piece.bytes.data(), piece.size, piece.offset, piece.last);
      if (!Deliver(worker, piece, outcome)) return;
      for (;;) {
        Result<bool> encoded = file_.sink.EncodeOne();
        if (!encoded.ok()) return Fail(std::move(encoded).error());
        if (!*encoded) break;
      }
      if (worker.strings.bytes() > kMaxLocalBytes) worker.ForgetStrings();
    }
  }

  bool Pop(Piece& piece) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty() || reading_done_ || stopped_; });
    if (stopped_ || queue_.empty()) return false;
    piece = std::move(queue_.front());
    queue_.pop_front();
    changed_.notify_all();
    return true;
  }

  // Parses events until the text, the array or this thread's luck ends. `last`: nothing follows the text.
  ParseOutcome Parse(Worker& worker, const char* begin, size_t size, int64_t offset, bool last) {
    ParseOutcome out;
    const char* p = begin;
    const char* end = begin + size;
    const char* next = nullptr;  // event start after the last bad one; searched once, not for each bad one
    bool next_known = false;
    for (;;) {
      while (p < end && (IsSpace(*p) || *p == ',')) out.after_comma |= *p++ == ',';
      out.stopped = p;
      if (p >= end) return out;
      if (*p == ']') {
        out.stopped = p + 1;
        out.array_end = true;
        return out;
      }
      const char* event_begin = p;
      const TraceEvent* event = nullptr;
      const Scan scan = *p == '{' ? worker.reader.Next(p, end, event) : Scan::kBad;
      const bool may_grow = size - static_cast<size_t>(event_begin - begin) < kMaxEventBytes;
      if (scan == Scan::kNeedMore && may_grow) return out;
      if (scan == Scan::kOk) {
        const_cast<TraceEvent*>(event)->offset = offset + (event_begin - begin);
        mapper_.Map(*event, worker);
      } else {
        // What is wrong is judged from all its text, so that the answer does not depend on the cuts.
        if (!next_known || (next != nullptr && next <= event_begin)) next = FindEventStart(event_begin, end);
        next_known = true;
        if (next == nullptr && !last && may_grow) return out;
        p = Recover(worker, event_begin, end, next, offset + (event_begin - begin));
      }
      for (const StringId text : worker.strings.TakeBadUtf8())
        worker.bad_utf8.emplace_back(text, offset + (event_begin - begin));
      out.any_event = true;
      out.after_comma = false;
    }
  }

  // Text at p is not an event: mends it if it can, else counts it; returns where to go on.
  // `next` is where the next event starts, if one does.
  const char* Recover(Worker& worker, const char* p, const char* end, const char* next, int64_t offset) {
    std::string_view text(p, static_cast<size_t>((next != nullptr ? next : end) - p));
    std::string mended;
    size_t event_size = text.size();
    if (*p == '{' && text.size() <= kMaxMendBytes) mended = MendEvent(text, event_size);
    // Behind the last event the bracket and what follows do not belong to it.
    if (next == nullptr) text = text.substr(0, *p == '{' ? event_size : std::max<size_t>(1, text.find(']')));
    if (!mended.empty()) {
      mended.append(kPadding, '\0');
      const char* q = mended.data();
      EventScanner scanner(mapper_.arg_keys());
      TraceEvent event;
      if (scanner.Next(q, mended.data() + mended.size() - kPadding, event) == Scan::kOk) {
        event.offset = offset;
        worker.counters.Add(kMendedEvent, offset, text);
        mapper_.Map(event, worker);
        return p + text.size();
      }
    }
    worker.counters.Add(kBadEvent, offset, text);
    return p + text.size();
  }

  // ---- the ordered gate ----
  bool Deliver(Worker& worker, Piece& piece, ParseOutcome outcome) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_index_ == piece.index || stopped_; });
    if (stopped_) return false;
    lock.unlock();  // the turn is ours until next_index_ moves
    Status status = TakeInOrder(worker, piece, outcome);
    lock.lock();
    ++next_index_;
    if (spare_.size() < threads_ + 25) spare_.push_back(std::move(piece.bytes));
    lock.unlock();
    changed_.notify_all();
    if (!status.ok()) {
      Fail(std::move(status).error());
      return false;
    }
    return true;
  }

  Status TakeInOrder(Worker& worker, Piece& piece, ParseOutcome outcome) {
    if (array_ended_) {
      worker.Discard();
      return KeepTrailer({piece.bytes.data(), piece.size}, piece.offset);
    }
    const char* begin = piece.bytes.data();
    size_t size = piece.size;
    int64_t offset = piece.offset;
    std::string joined;
    if (!carry_.empty()) {
      // The piece before ended inside an event, so this one began inside it: parse both as one.
      worker.Discard();
      offset -= static_cast<int64_t>(carry_.size());
      joined = std::move(carry_);
      carry_.clear();
      joined.append(begin, size);
      begin = joined.data();
      size = joined.size();
      joined.append(kPadding, '\0');
      begin = joined.data();
      outcome = Parse(worker, begin, size, offset, piece.last);
    }
    const size_t consumed = static_cast<size_t>(outcome.stopped - begin);
    if (outcome.any_event || worker.events > 0) any_event_ = true;
    after_comma_ = outcome.after_comma || (after_comma_ && !outcome.any_event && size > 0);
    NL_TRY(CheckFirst(worker, offset + static_cast<int64_t>(size)));
    ordered_.Take(worker);
    if (outcome.array_end) {
      array_ended_ = true;
      if (after_comma_) ordered_.counters().Add(kTrailingComma, offset + static_cast<int64_t>(consumed));
      return KeepTrailer({begin + consumed, size - consumed}, offset + static_cast<int64_t>(consumed));
    }
    carry_.assign(begin + consumed, size - consumed);
    carry_offset_ = offset + static_cast<int64_t>(consumed);
    return {};
  }

  // A file whose first megabytes hold no event at all is not a trace, however long it is.
  Status CheckFirst(const Worker& worker, int64_t read_bytes) {
    good_events_ += worker.events;
    if (good_events_ > 0) return {};
    if (!first_bad_ && worker.counters.Count("bad_event") > 0) first_bad_ = worker.counters.samples().front();
    return first_bad_ && read_bytes > static_cast<int64_t>(kMaxEventBytes) ? NotATrace() : Status();
  }

  Error NotATrace() const {
    std::string found;
    for (const char c : first_bad_->text.substr(0, 20)) found += c >= ' ' && c < 0x7f ? c : '.';
    return InvalidInput(fmt::format("not a trace: expected an event object, found '{}'", found))
        .At(file_.path, first_bad_->byte_offset);
  }

  Status KeepTrailer(std::string_view text, int64_t offset) {
    if (text_.trailer.size() + text.size() > kMaxTrailerBytes) {
      return InvalidInput("over 64 MB of text after the event array").At(file_.path, offset);
    }
    text_.trailer.append(text);
    return {};
  }

  // After all pieces: is the file whole?
  Status CheckEnd() {
    if (good_events_ == 0 && first_bad_) return NotATrace();
    if (array_ended_) {
      const size_t brace = text_.trailer.find_last_not_of(" \n\r\t");
      const bool closed = text_.bare_array || (brace != std::string::npos && text_.trailer[brace] == '}');
      return closed ? Status() : Truncated(offset_, "the closing brace of the trace object");
    }
    if (!carry_.empty()) return Truncated(carry_offset_, "the rest of this event");
    if (text_.bare_array && good_events_ > 0) {
      ordered_.counters().Add(kMissingArrayEnd, offset_);
      return {};
    }
    return Truncated(offset_, "the end of the event array");
  }

  Status Truncated(int64_t offset, std::string_view expected) {
    if (file_.options.allow_truncated && good_events_ > 0) {
      ordered_.counters().Add(kTruncated, offset, carry_);
      return {};
    }
    return InvalidInput(fmt::format("the file is truncated: it ends where {} should be", expected))
        .At(file_.path, offset)
        .Hint(good_events_ > 0 ? "import --allow-truncated keeps the events before the cut"
                               : "the file has no complete event");
  }

  bool Stopped() {
    std::lock_guard lock(mutex_);
    return stopped_;
  }

  void Fail(Error error) {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(error);
    stopped_ = true;
    reading_done_ = true;
    changed_.notify_all();
  }

  ImportFile& file_;
  const EventMapper& mapper_;
  OrderedStage ordered_;  // after the gate
  const size_t threads_;
  TraceText text_;

  // The reading thread's own.
  std::string pending_;
  int64_t offset_ = 0;
  bool source_ended_ = false;

  // Behind the gate (whoever's turn it is).
  std::string carry_;
  int64_t carry_offset_ = 0, good_events_ = 0;
  std::optional<CounterSample> first_bad_;
  bool array_ended_ = false, after_comma_ = false, any_event_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Piece> queue_;
  std::vector<std::vector<char>> spare_;
  int64_t next_index_ = 0;
  bool reading_done_ = false, stopped_ = false;
  std::optional<Error> failure_;
};

}  // namespace

Result<TraceText> ReadTrace(ImportFile& file, const EventMapper& mapper) {
  return Pipeline(file, mapper).Run();
}

TraceHead LookAtHead(std::string_view head) {
  std::string padded(head);
  padded.append(kPadding, '\0');
  const ArrayStart start = FindArrayStart({padded.data(), head.size()}, false);
  TraceHead out;
  const char* first =
      SkipSpace(padded.data() + (head.starts_with("\xef\xbb\xbf") ? 3 : 0), padded.data() + head.size());
  out.is_json = *first == '{' || *first == '[';
  out.is_trace = start.found;
  out.bare_array = start.bare;
  if (start.found) out.first_events = head.substr(start.at);
  return out;
}

Json HeaderJson(const TraceText& text, CounterSet& counters) {
  Json header = Json::object();
  if (text.bare_array) {
    if (text.trailer.find_first_not_of(" \n\r\t") != std::string::npos) counters.Add(kBadTrailer);
    return header;
  }
  // `{"a": 1, "traceEvents": [` + `], "b": 2}`: close the array we took out, parse, drop it.
  Result<Json> whole = ParseJson(text.header + "]" + (text.trailer.empty() ? "}" : text.trailer));
  if (!whole.ok()) whole = ParseJson(text.header + "]}");
  if (!whole.ok()) {
    counters.Add(kBadTrailer);
    return header;
  }
  if (!whole->is_object()) return header;
  for (auto& [key, value] : whole->items()) {
    if (key != "traceEvents")
      header[key] = std::move(value);
    else if (!value.empty())
      counters.Add(kSecondArray);
  }
  return header;
}

}  // namespace nl::trace_json
