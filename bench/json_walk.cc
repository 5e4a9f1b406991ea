// SPDX-License-Identifier: Apache-2.0
// The opponent of the import marks: a bare simdjson On-Demand walk of a trace on T threads that extracts
// name, cat, ts, dur, pid, tid and args.correlation of every event and keeps nothing; and inflating alone
// with ISA-L. It is written to be as fast as it can be while still giving usable values (strings unescaped,
// numbers converted), so a ratio against it is an honest one.

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <simdjson.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace od = simdjson::ondemand;

constexpr std::string_view kEventsKey = "\"traceEvents\": [";
constexpr std::string_view kCut = "\n  },\n  {";

struct Options {
  std::string file;
  bool inflate = false, map = true;
  size_t threads = 2, chunk_bytes = 16 << 20, runs = 3;
};

// What a walk adds up, so that no value is optimised away; equal sums for every chunk size and thread count
// show that no event was lost at a cut.
struct Sums {
  uint64_t events = 0, text_bytes = 0, correlations = 0, time_us = 0;
  int64_t lanes = 0;

  void Add(const Sums& other) {
    events += other.events;
    text_bytes += other.text_bytes;
    correlations += other.correlations;
    time_us += other.time_us;
    lanes += other.lanes;
  }
};

double SecondsSince(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

// A file seen through a private mapping, or through pread with --read (6 % slower for 16 MB chunks on
// Neoverse-V1).
class File {
 public:
  ~File() {
    if (mapped_ != nullptr) munmap(mapped_, bytes_ + kSlack);
    if (fd_ >= 0) close(fd_);
  }
  bool Open(const std::string& path, bool map) {
    fd_ = open(path.c_str(), O_RDONLY);
    struct stat info {};
    if (fd_ < 0 || fstat(fd_, &info) != 0) return false;
    bytes_ = static_cast<size_t>(info.st_size);
    if (!map) return true;
    // The slack keeps simdjson's reads past the end inside the address range that is ours.
    void* room = mmap(nullptr, bytes_ + kSlack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    mapped_ = static_cast<char*>(room);
    return mmap(room, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd_, 0) != MAP_FAILED;
  }
  bool Read(char* to, size_t from, size_t count) const {
    while (count > 0) {
      const ssize_t got = pread(fd_, to, count, static_cast<off_t>(from));
      if (got <= 0) return false;
      to += got;
      from += static_cast<size_t>(got);
      count -= static_cast<size_t>(got);
    }
    return true;
  }
  size_t bytes() const { return bytes_; }
  char* mapped() const { return mapped_; }

 private:
  static constexpr size_t kSlack = 64 << 10;
  int fd_ = -1;
  size_t bytes_ = 0;
  char* mapped_ = nullptr;
};

struct Chunk {
  size_t from = 0, to = 0;  // from: the byte to become '['; to: the byte to become ']'
};

// Cuts the events at about every chunk_bytes, at the line break and comma between two events. A cut inside a
// string is impossible (raw line breaks are not JSON); one inside a nested object fails the walk, loudly.
bool FindChunks(const File& file, size_t chunk_bytes, std::vector<Chunk>* chunks) {
  std::string window(64 << 10, '\0');
  const auto look = [&](size_t at) {
    const size_t count = std::min(window.size(), file.bytes() - at);
    return file.Read(window.data(), at, count) ? std::string_view(window.data(), count) : std::string_view();
  };
  const size_t key = look(0).find(kEventsKey);
  const size_t tail_at = file.bytes() - std::min(file.bytes(), window.size());
  if (key == std::string_view::npos) return false;
  const size_t end = look(tail_at).rfind("\n  ]");
  if (end == std::string_view::npos) return false;
  const size_t last = tail_at + end + 3;
  size_t from = key + kEventsKey.size() - 1;
  while (from + chunk_bytes < last) {
    size_t at = from + chunk_bytes, hit = std::string_view::npos;
    while (at < last) {
      hit = look(at).find(kCut);
      if (hit != std::string_view::npos) break;
      at += window.size() - kCut.size();
    }
    if (hit == std::string_view::npos || at + hit >= last) break;
    chunks->push_back({from, at + hit + 4});
    from = at + hit + 5;
  }
  chunks->push_back({from, last});
  return true;
}

uint64_t LaneOf(od::value value, simdjson::error_code* error) {
  const char first = *value.raw_json_token().data();
  if (first == '"') {
    std::string_view text;
    *error = value.get_string().get(text);
    return text.size();
  }
  int64_t number = 0;
  *error = value.get_int64().get(number);
  return static_cast<uint64_t>(number);
}

// `raw` points behind the opening quote of a key inside a padded buffer, so reading past a shorter key is
// safe.
bool Is(const char* raw, std::string_view key_and_quote) {
  return std::memcmp(raw, key_and_quote.data(), key_and_quote.size()) == 0;
}

simdjson::error_code AddField(od::field& field, Sums* sums) {
  const char* key = field.key().raw();
  od::value value = field.value();
  simdjson::error_code error = simdjson::SUCCESS;
  if (Is(key, "ts\"") || Is(key, "dur\"")) {
    double us = 0;
    error = value.get_double().get(us);
    sums->time_us += static_cast<uint64_t>(static_cast<int64_t>(us));
  } else if (Is(key, "name\"") || Is(key, "cat\"")) {
    std::string_view text;
    error = value.get_string().get(text);
    sums->text_bytes += text.size();
  } else if (Is(key, "pid\"") || Is(key, "tid\"")) {
    sums->lanes += static_cast<int64_t>(LaneOf(value, &error));
  } else if (Is(key, "args\"")) {
    od::object args;
    error = value.get_object().get(args);
    if (error) return error;
    uint64_t correlation = 0;
    const simdjson::error_code found = args.find_field("correlation").get_uint64().get(correlation);
    if (found && found != simdjson::NO_SUCH_FIELD) return found;
    sums->correlations += correlation;
  }
  return error;
}

simdjson::error_code WalkChunk(od::parser& parser, simdjson::padded_string_view text, Sums* sums) {
  od::document document;
  od::array events;
  simdjson::error_code error = parser.iterate(text).get(document);
  if (!error) error = document.get_array().get(events);
  if (error) return error;
  for (auto element : events) {
    od::object event;
    error = element.get_object().get(event);
    if (error) return error;
    for (auto entry : event) {
      od::field field;
      error = std::move(entry).get(field);
      if (!error) error = AddField(field, sums);
      if (error) return error;
    }
    ++sums->events;
  }
  // Past the last token is where a rightly cut chunk ends.
  const char* rest = nullptr;
  return document.current_location().get(rest) ? simdjson::SUCCESS : simdjson::TAPE_ERROR;
}

bool Walk(const File& file, const Options& options, Sums* total) {
  std::vector<Chunk> chunks;
  if (!FindChunks(file, options.chunk_bytes, &chunks)) {
    fmt::print(stderr, "json_walk: no traceEvents in torch.profiler's layout\n");
    return false;
  }
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::vector<Sums> sums(options.threads);
  const auto work = [&](size_t thread) {
    od::parser parser;
    std::unique_ptr<char[]> buffer;
    size_t capacity = 0;
    Sums mine;
    for (size_t i = next++; i < chunks.size() && !failed; i = next++) {
      const size_t count = chunks[i].to + 1 - chunks[i].from;
      char* text = nullptr;
      if (file.mapped() != nullptr) {
        text = file.mapped() + chunks[i].from;
      } else {
        if (count + simdjson::SIMDJSON_PADDING > capacity) {
          capacity = (count + simdjson::SIMDJSON_PADDING) * 5 / 4;
          buffer.reset(new char[capacity]);
        }
        text = buffer.get();
        if (!file.Read(text, chunks[i].from, count)) failed = true;
      }
      text[0] = '[';
      text[count - 1] = ']';
      const simdjson::padded_string_view padded(text, count, count + simdjson::SIMDJSON_PADDING);
      const simdjson::error_code error = WalkChunk(parser, padded, &mine);
      if (!error) continue;
      fmt::print(stderr, "json_walk: bytes {}..{}: {}\n", chunks[i].from, chunks[i].to,
                 simdjson::error_message(error));
      failed = true;
    }
    sums[thread] = mine;
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < options.threads; ++i) threads.emplace_back(work, i);
  work(0);
  for (std::thread& thread : threads) thread.join();
  for (const Sums& mine : sums) total->Add(mine);
  return !failed;
}

int RunWalk(const Options& options) {
  double best_s = 0;
  size_t bytes = 0;
  Sums sums;
  for (size_t run = 0; run < options.runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    File file;
    if (!file.Open(options.file, options.map)) {
      fmt::print(stderr, "json_walk: {}: {}\n", options.file, std::strerror(errno));
      return 3;
    }
    sums = Sums();
    if (!Walk(file, options, &sums)) return 2;
    bytes = file.bytes();
    const double seconds = SecondsSince(start);
    best_s = run == 0 ? seconds : std::min(best_s, seconds);
  }
  fmt::print(
      "{{\"seconds\": {:.4f}, \"mb_per_s\": {:.1f}, \"bytes\": {}, \"events\": {}, \"threads\": {}, "
      "\"text_bytes\": {}, \"correlations\": {}, \"time_us\": {}, \"lanes\": {}}}\n",
      best_s, static_cast<double>(bytes) / best_s / 1e6, bytes, sums.events, options.threads, sums.text_bytes,
      sums.correlations, sums.time_us, sums.lanes);
  return 0;
}

// Inflates every member of a gzip file, discarding the output. Returns output bytes, or 0 on bad input.
size_t InflateOnce(const File& file) {
  constexpr size_t kBuffer = 1 << 20;
  std::vector<uint8_t> in(kBuffer), out(kBuffer);
  auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  size_t at = 0, total = 0;
  while (true) {
    if (state->avail_in == 0 && at < file.bytes()) {
      const size_t count = std::min(kBuffer, file.bytes() - at);
      if (!file.Read(reinterpret_cast<char*>(in.data()), at, count)) return 0;
      at += count;
      state->next_in = in.data();
      state->avail_in = static_cast<uint32_t>(count);
    }
    state->next_out = out.data();
    state->avail_out = kBuffer;
    if (isal_inflate(state.get()) != ISAL_DECOMP_OK) return 0;
    const size_t made = kBuffer - state->avail_out;
    total += made;
    if (state->block_state == ISAL_BLOCK_FINISH) {
      if (state->avail_in == 0 && at == file.bytes()) return total;
      isal_inflate_reset(state.get());
      state->crc_flag = ISAL_GZIP;
    } else if (made == 0 && state->avail_in == 0 && at == file.bytes()) {
      return 0;
    }
  }
}

int RunInflate(const Options& options) {
  double best_s = 0;
  size_t out_bytes = 0, in_bytes = 0;
  for (size_t run = 0; run < options.runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    File file;
    if (!file.Open(options.file, false)) {
      fmt::print(stderr, "json_walk: {}: {}\n", options.file, std::strerror(errno));
      return 3;
    }
    in_bytes = file.bytes();
    out_bytes = InflateOnce(file);
    if (out_bytes == 0) {
      fmt::print(stderr, "json_walk: {}: not a whole gzip file\n", options.file);
      return 2;
    }
    const double seconds = SecondsSince(start);
    best_s = run == 0 ? seconds : std::min(best_s, seconds);
  }
  fmt::print("{{\"seconds\": {:.4f}, \"mb_per_s\": {:.1f}, \"bytes\": {}, \"gz_bytes\": {}}}\n", best_s,
             static_cast<double>(out_bytes) / best_s / 1e6, out_bytes, in_bytes);
  return 0;
}

bool ParseOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto number = [&] { return i + 1 < argc ? static_cast<size_t>(std::atof(argv[++i])) : 0; };
    if (arg == "--inflate")
      options->inflate = true;
    else if (arg == "--read")
      options->map = false;
    else if (arg == "--threads")
      options->threads = number();
    else if (arg == "--chunk")
      options->chunk_bytes = number();
    else if (arg == "--runs")
      options->runs = number();
    else if (arg.substr(0, 2) == "--")
      return false;
    else
      options->file = arg;
  }
  return !options->file.empty() && options->threads > 0 && options->chunk_bytes > 0 && options->runs > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!ParseOptions(argc, argv, &options)) {
    fmt::print(stderr,
               "usage: json_walk [--threads N] [--chunk BYTES] [--runs N] [--read] TRACE.json\n"
               "       json_walk --inflate [--runs N] TRACE.json.gz\n");
    return 2;
  }
  return options.inflate ? RunInflate(options) : RunWalk(options);
}
