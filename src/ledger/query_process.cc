// SPDX-License-Identifier: Apache-2.0
#include "ledger/query_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/utf8.h"
#include "ledger/run_files.h"

extern char** environ;

namespace nl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kReplyPollMs = 20;
constexpr double kGraceSeconds = 1;         // for the process to keep the time limit by itself
constexpr int kOutOfMemoryStatus = 77;      // exit status of a process that reached its memory limit
constexpr int64_t kOwnMemoryMb = 384;       // the engine's and ours beside what a query may use
constexpr int64_t kMemoryPerThreadMb = 16;  // stack and allocator arena
constexpr size_t kRowsPerFrame = 1024;
constexpr size_t kFrameBytes = size_t{4} << 20;  // a frame is sent when it has about this much

std::atomic<bool> use_process{false};

// ---- the two forms that cross the process border ----

Json RequestToJson(const QueryRequest& request) {
  Json runs = Json::array(), known = Json::array();
  for (const RunSource& run : request.runs) runs.push_back({run.label, run.directory, run.tables});
  for (const TableSchemaLite& table : request.options.known_tables)
    known.push_back({table.name, table.columns});
  return {{"runs", std::move(runs)},
          {"known_tables", std::move(known)},
          {"setup", request.options.trusted_setup},
          {"duckdb", request.options.duckdb_path},
          {"threads", request.options.threads},
          {"memory_mb", request.options.memory_limit_mb},
          {"sql", request.sql},
          {"max_rows", request.limits.max_rows},
          {"max_seconds", request.limits.max_seconds},
          {"refuse_more_rows", request.limits.refuse_more_rows},
          {"parquet_path", request.parquet_path}};
}

// The text comes from this same program.
QueryRequest RequestFromJson(const Json& json) {
  QueryRequest request;
  for (const Json& run : json["runs"]) request.runs.push_back({run[0], run[1], run[2]});
  for (const Json& table : json["known_tables"]) request.options.known_tables.push_back({table[0], table[1]});
  request.options.trusted_setup = json["setup"].get<std::vector<std::string>>();
  request.options.duckdb_path = json["duckdb"];
  request.options.threads = json["threads"];
  request.options.memory_limit_mb = json["memory_mb"];
  request.sql = json["sql"];
  request.limits.max_rows = json["max_rows"];
  request.limits.max_seconds = json["max_seconds"];
  request.limits.refuse_more_rows = json["refuse_more_rows"];
  request.parquet_path = json["parquet_path"];
  return request;
}

// Length and checksum of the bytes after it.
struct FrameHead {
  uint64_t bytes = 0;
  uint64_t checksum = 0;
};

Json ErrorToJson(const Error& error) {
  return {{"code", static_cast<int>(error.code)},
          {"message", error.message},
          {"file", error.file},
          {"offset", error.byte_offset},
          {"hint", error.hint}};
}

Error ErrorFromJson(const Json& json) {
  Error error;
  error.code =
      static_cast<ErrorCode>(std::clamp(json["code"].get<int>(), 0, static_cast<int>(ErrorCode::kInternal)));
  error.message = json["message"];
  error.file = json["file"];
  error.byte_offset = json["offset"];
  error.hint = json["hint"];
  return error;
}

// ---- running the SQL, in whichever process ----

size_t ApproximateBytes(const Json& cell, size_t enough) {
  if (cell.is_string()) return cell.get_ref<const std::string&>().size();
  if (!cell.is_structured()) return 8;
  size_t bytes = 2;
  for (const auto& item : cell.items()) {
    bytes += item.key().size() + ApproximateBytes(item.value(), enough);
    if (bytes > enough) break;
  }
  return bytes;
}

// A cell that is too long becomes the beginning of its text.
bool CutCell(Json& cell, size_t* bytes) {
  *bytes = ApproximateBytes(cell, kMaxCellBytes);
  if (*bytes <= kMaxCellBytes) return false;
  std::string text = cell.is_string() ? std::move(cell.get_ref<std::string&>()) : DumpJson(cell);
  size_t end = std::min(text.size(), kMaxCellBytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  *bytes = end;
  cell = std::move(text);
  return true;
}

using SendRows = std::function<Status(Json rows)>;

Result<QueryAnswer> Execute(const QueryRequest& request, const SendRows& send) {
  NL_ASSIGN(const std::unique_ptr<SqlSession> session, SqlSession::Open(request.runs, request.options));
  QueryAnswer answer;
  if (!request.parquet_path.empty()) {
    NL_ASSIGN(SqlOutcome outcome, session->QueryToParquet(request.sql, request.limits, request.parquet_path));
    answer.table.columns = std::move(outcome.columns);
    answer.table.truncated = outcome.truncated;
    answer.rows = outcome.rows;
    return answer;
  }
  Json rows = Json::array();
  size_t bytes = 0;
  const auto take = [&](const SqlOutcome& so_far, const SqlChunk& chunk) -> Status {
    for (uint64_t row = 0; row < chunk.rows(); ++row) {
      Json cells = Json::array();
      for (uint64_t i = 0; i < so_far.columns.size(); ++i) {
        size_t cell_bytes = 0;
        cells.push_back(chunk.Cell(i, row));
        answer.cut_cells += CutCell(cells.back(), &cell_bytes) ? 1 : 0;
        bytes += cell_bytes;
      }
      rows.push_back(std::move(cells));
      if (rows.size() < kRowsPerFrame && bytes < kFrameBytes) continue;
      NL_TRY(send(std::exchange(rows, Json::array())));
      bytes = 0;
    }
    return {};
  };
  NL_ASSIGN(SqlOutcome outcome, session->Query(request.sql, request.limits, take));
  if (!rows.empty()) NL_TRY(send(std::move(rows)));
  answer.table.columns = std::move(outcome.columns);
  answer.table.truncated = outcome.truncated;
  answer.rows = outcome.rows;
  return answer;
}

Result<QueryAnswer> RunInPlace(const QueryRequest& request) {
  Json all = Json::array();
  NL_ASSIGN(QueryAnswer answer, Execute(request, [&](Json rows) -> Status {
              for (Json& row : rows) all.push_back(std::move(row));
              return {};
            }));
  answer.table.rows = std::move(all);
  return answer;
}

// ---- the process that answers ----

Status SendFrame(const Json& json) {
  const std::vector<uint8_t> body = Json::to_msgpack(json);
  FrameHead head{body.size(), Checksum(0, {reinterpret_cast<const char*>(body.data()), body.size()})};
  const auto write_all = [](const void* data, size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t count = ::write(STDOUT_FILENO, at, size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      at += count;
      size -= static_cast<size_t>(count);
    }
    return true;
  };
  if (write_all(&head, sizeof head) && write_all(body.data(), body.size())) return {};
  return IoError("cannot answer");
}

void Lower(int resource, uint64_t value) {
  struct rlimit limit {};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_max = limit.rlim_cur;
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

int64_t ThreadsOf(const QueryRequest& request) {
  return request.options.threads > 0 ? request.options.threads
                                     : std::max<int64_t>(1, std::thread::hardware_concurrency());
}

void LowerLimits(const QueryRequest& request) {
  const int64_t threads = ThreadsOf(request);
  const int64_t memory_mb = request.options.memory_limit_mb + kOwnMemoryMb + threads * kMemoryPerThreadMb;
  Lower(RLIMIT_DATA, static_cast<uint64_t>(memory_mb) << 20);
  Lower(RLIMIT_CORE, 0);
  if (request.limits.max_seconds > 0)
    Lower(RLIMIT_CPU, static_cast<uint64_t>(std::ceil(request.limits.max_seconds + kGraceSeconds) *
                                            static_cast<double>(threads)));
}

// ---- the process that asks ----

Result<UniqueFd> RequestFile(const QueryRequest& request) {
  UniqueFd fd(::memfd_create("neurolens-query", MFD_CLOEXEC));
  if (!fd.valid()) return IoError("cannot hand over the query");
  const std::vector<uint8_t> bytes = Json::to_msgpack(RequestToJson(request));
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(fd.get(), bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return IoError("cannot hand over the query");
    at += static_cast<size_t>(count);
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// A started process; at the end of this object it is killed, if need be, and waited for.
class Child {
 public:
  ~Child() { Stop(); }
  Status Start(int request_fd, int reply_fd) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, request_fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, reply_fd, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, number);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::string program = "neurolens", argument = kQueryProcessArgument;
    char* arguments[] = {program.data(), argument.data(), nullptr};
    const int failed = ::posix_spawn(&pid_, "/proc/self/exe", &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failed == 0) return {};
    pid_ = -1;
    return IoError("cannot start the process for the query", failed);
  }
  // The wait status; kills first unless the process ended by itself already.
  int Stop(bool kill = true) {
    if (pid_ < 0) return status_;
    if (kill) ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status_;
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

class Conversation {
 public:
  explicit Conversation(const QueryRequest& request)
      : request_(request), max_bytes_(request.options.memory_limit_mb << 20) {}

  Result<QueryAnswer> Run() {
    NL_ASSIGN(const UniqueFd file, RequestFile(request_));
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return IoError("cannot make a pipe");
    const UniqueFd read_end(ends[0]);
    UniqueFd write_end(ends[1]);
    const auto begin = Clock::now();
    NL_TRY(child_.Start(file.get(), write_end.get()));
    write_end = UniqueFd();
    answer_.table.rows = Json::array();
    for (;;) {
      NL_ASSIGN(const bool more, Receive(read_end.get()));
      if (done_) {
        child_.Stop(false);
        return std::move(answer_);
      }
      if (!more) return Ended(child_.Stop(false));
      if (request_.limits.cancelled != nullptr && request_.limits.cancelled->load()) return Cancelled();
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (request_.limits.max_seconds > 0 && seconds > request_.limits.max_seconds + kGraceSeconds)
        return TooLong("s");
    }
  }

 private:
  // Waits a moment for more of the answer; false: there will be none.
  Result<bool> Receive(int fd) {
    struct pollfd ready {
      fd, POLLIN, 0
    };
    const int count = ::poll(&ready, 1, kReplyPollMs);
    if (count == 0 || (count < 0 && errno == EINTR)) return true;
    const size_t at = bytes_.size();
    bytes_.resize(at + (size_t{256} << 10));
    const ssize_t got = ::read(fd, bytes_.data() + at, bytes_.size() - at);
    bytes_.resize(at + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno != EINTR) return IoError("cannot read the answer of the query");
    received_bytes_ += std::max<ssize_t>(got, 0);
    if (received_bytes_ > max_bytes_)
      return Limit(fmt::format("the answer is larger than {} MB", request_.options.memory_limit_mb))
          .Hint("raise query_memory_mb, select less, or write it with --format parquet");
    NL_TRY(TakeFrames());
    return got != 0;
  }

  Status TakeFrames() {
    size_t at = 0;
    FrameHead head;
    while (!done_ && bytes_.size() - at >= sizeof head) {
      std::memcpy(&head, bytes_.data() + at, sizeof head);
      if (head.bytes > static_cast<uint64_t>(max_bytes_)) return Garbled();
      if (bytes_.size() - at - sizeof head < head.bytes) break;
      const std::string_view body(bytes_.data() + at + sizeof head, head.bytes);
      at += sizeof head + head.bytes;
      if (Checksum(0, body) != head.checksum) return Garbled();
      NL_TRY(TakeFrame(Json::from_msgpack(body, true, false)));
    }
    bytes_.erase(0, at);
    return {};
  }

  Status TakeFrame(Json frame) {
    if (frame.is_array()) {
      for (Json& row : frame) answer_.table.rows.push_back(std::move(row));
      return {};
    }
    if (!frame.is_object()) return Garbled();
    if (frame.contains("error")) return ErrorFromJson(frame["error"]);
    for (const Json& column : frame["columns"]) answer_.table.columns.push_back({column[0], column[1]});
    answer_.table.truncated = frame["truncated"];
    answer_.rows = frame["rows"];
    answer_.cut_cells = frame["cut_cells"];
    done_ = true;
    return {};
  }

  static Error Garbled() { return Internal("the query process sent an answer that cannot be read"); }

  Error TooLong(const char* unit) const {
    return IoError(fmt::format("the query was stopped after {:g} {}", request_.limits.max_seconds, unit), 0)
        .Hint("give it more with --timeout, or select less");
  }

  // Why the process ended before its answer was complete.
  Error Ended(int status) const {
    if (request_.limits.cancelled != nullptr && request_.limits.cancelled->load()) return Cancelled();
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal == SIGXCPU) return TooLong("s of processor time per thread");
    if (signal == SIGINT || signal == SIGTERM) return Cancelled();
    const std::string limit = fmt::format("the memory limit of {} MB", request_.options.memory_limit_mb);
    const bool memory = WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryStatus;
    return IoError(memory ? fmt::format("the query was stopped at {}", limit)
                          : fmt::format("the query process ended with {} {}; it had {}",
                                        signal != 0 ? "signal" : "status",
                                        signal != 0 ? signal : WEXITSTATUS(status), limit),
                   0)
        .Hint("raise query_memory_mb, or select less");
  }

  const QueryRequest& request_;
  const int64_t max_bytes_;
  Child child_;
  std::string bytes_;
  int64_t received_bytes_ = 0;
  QueryAnswer answer_;
  bool done_ = false;
};

}  // namespace

void UseQueryProcess() { use_process = true; }

Result<QueryAnswer> RunQuery(const QueryRequest& request) {
  return use_process ? Conversation(request).Run() : RunInPlace(request);
}

int ServeQuery() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string text;
  char block[64 << 10];
  for (ssize_t got = 0; (got = ::read(STDIN_FILENO, block, sizeof block)) > 0;)
    text.append(block, static_cast<size_t>(got));
  const Json json = Json::from_msgpack(text, true, false);
  if (!json.is_object()) return 2;
  const QueryRequest request = RequestFromJson(json);
  LowerLimits(request);
  std::set_new_handler([] { ::_exit(kOutOfMemoryStatus); });
  const Result<QueryAnswer> answer = Execute(request, [](Json rows) { return SendFrame(rows); });
  if (!answer.ok()) {
    SendFrame({{"error", ErrorToJson(answer.error())}}).ok();
    ::_exit(0);
  }
  Json columns = Json::array();
  for (const SqlColumn& column : answer->table.columns) columns.push_back({column.name, column.type});
  SendFrame({{"columns", std::move(columns)},
             {"truncated", answer->table.truncated},
             {"rows", answer->rows},
             {"cut_cells", answer->cut_cells}})
      .ok();
  ::_exit(0);  // nothing is left to save, and ending the engine's threads takes time
}

}  // namespace nl
