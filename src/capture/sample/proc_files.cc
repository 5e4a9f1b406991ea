// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

namespace nl::capture {

namespace {

std::string ProcPath(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

std::string TaskPath(pid_t pid, pid_t tid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + name;
}

std::vector<pid_t> Numbers(const std::string& folder) {
  std::vector<pid_t> out;
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return out;
  while (const dirent* entry = readdir(listing)) {
    char* end = nullptr;
    const long number = std::strtol(entry->d_name, &end, 10);
    if (end != entry->d_name && *end == '\0' && number > 0) out.push_back(static_cast<pid_t>(number));
  }
  closedir(listing);
  std::sort(out.begin(), out.end());
  return out;
}

// The next word of `text`, taken off its front.
std::string_view TakeWord(std::string_view& text) {
  const size_t from = std::min(text.find_first_not_of(" \t\n"), text.size());
  text.remove_prefix(from);
  const size_t length = std::min(text.find_first_of(" \t\n"), text.size());
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

template <class T>
bool ToNumber(std::string_view word, T& value, int base = 10) {
  if (base == 16 && word.substr(0, 2) == "0x") word.remove_prefix(2);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

std::string ReadSmallFile(const std::string& path, size_t max_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string out;
  char buffer[4096];
  while (out.size() < max_bytes) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return out;
}

std::vector<Mapping> ParseMappings(std::string_view text) {
  std::vector<Mapping> out;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    const std::string_view range = TakeWord(line), rights = TakeWord(line), offset = TakeWord(line);
    TakeWord(line);  // device
    TakeWord(line);  // inode
    const size_t dash = range.find('-');
    Mapping m;
    if (dash == std::string_view::npos || rights.size() < 3 ||
        !ToNumber(range.substr(0, dash), m.start, 16) || !ToNumber(range.substr(dash + 1), m.end, 16) ||
        !ToNumber(offset, m.file_offset, 16)) {
      continue;
    }
    m.executable = rights[2] == 'x';
    const size_t path = line.find_first_not_of(' ');
    if (path != std::string_view::npos) m.path = line.substr(path);
    out.push_back(std::move(m));
  }
  return out;
}

std::vector<Mapping> ReadMappings(pid_t pid) {
  return ParseMappings(ReadSmallFile(ProcPath(pid, "maps"), size_t{64} << 20));
}

const Mapping* FindMapping(const std::vector<Mapping>& mappings, uint64_t address) {
  auto after = std::upper_bound(mappings.begin(), mappings.end(), address,
                                [](uint64_t value, const Mapping& m) { return value < m.start; });
  if (after == mappings.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

std::vector<pid_t> ThreadsOf(pid_t pid) { return Numbers(ProcPath(pid, "task")); }

std::vector<pid_t> ProcessTree(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : Numbers("/proc")) {
    if (const std::optional<StatLine> stat = ReadStat(pid, pid)) children.emplace(stat->parent, pid);
  }
  std::vector<pid_t> out;
  if (access(ProcPath(root, "stat").c_str(), R_OK) == 0) out.push_back(root);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto [first, last] = children.equal_range(out[i]);
    for (auto it = first; it != last; ++it) out.push_back(it->second);
  }
  return out;
}

std::string ThreadName(pid_t pid, pid_t tid) {
  std::string name = ReadSmallFile(TaskPath(pid, tid, "comm"), 256);
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

std::vector<std::string> ArgumentsOf(pid_t pid) {
  const std::string text = ReadSmallFile(ProcPath(pid, "cmdline"), 1 << 20);
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string JsonList(const std::vector<std::string>& words) {
  std::string out = "[";
  for (const std::string& word : words) {
    out += out.size() > 1 ? ",\"" : "\"";
    for (const char c : word) {
      static constexpr char kHex[] = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20) {
        out += std::string("\\u00") + kHex[byte >> 4] + kHex[byte & 15];
      } else {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
      }
    }
    out += '"';
  }
  return out + "]";
}

std::optional<StatLine> ParseStat(std::string_view text) {
  const size_t close = text.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(close + 1);
  StatLine out;
  const std::string_view state = TakeWord(rest);
  if (state.size() != 1 || !ToNumber(TakeWord(rest), out.parent)) return std::nullopt;
  out.state = state[0];
  for (int i = 0; i < 9; ++i) TakeWord(rest);  // up to cmajflt
  uint64_t user = 0, system = 0;
  if (!ToNumber(TakeWord(rest), user) || !ToNumber(TakeWord(rest), system)) return std::nullopt;
  out.cpu_ticks = user + system;
  for (int i = 0; i < 6; ++i) TakeWord(rest);  // up to itrealvalue
  if (!ToNumber(TakeWord(rest), out.start_ticks)) return std::nullopt;
  return out;
}

std::optional<StatLine> ReadStat(pid_t pid, pid_t tid) {
  const std::string text = ReadSmallFile(TaskPath(pid, tid, "stat"), 4096);
  return ParseStat(text);
}

std::optional<WaitPlace> ParseWaitPlace(std::string_view text) {
  WaitPlace out;
  if (!ToNumber(TakeWord(text), out.call)) return std::nullopt;  // "running"
  if (out.call == -1) {                                          // blocked, but not in a call: a page fault
    if (!ToNumber(TakeWord(text), out.stack, 16) || !ToNumber(TakeWord(text), out.address, 16))
      return std::nullopt;
    return out;
  }
  if (!ToNumber(TakeWord(text), out.first_argument, 16)) return std::nullopt;
  for (int i = 0; i < 5; ++i) TakeWord(text);
  if (!ToNumber(TakeWord(text), out.stack, 16) || !ToNumber(TakeWord(text), out.address, 16))
    return std::nullopt;
  return out;
}

std::optional<WaitPlace> ReadWaitPlace(pid_t pid, pid_t tid, bool* runs) {
  const std::string text = ReadSmallFile(TaskPath(pid, tid, "syscall"), 512);
  if (runs != nullptr) *runs = text.rfind("running", 0) == 0;
  return ParseWaitPlace(text);
}

std::string CallName(int64_t call) {
  switch (call) {
    case -1: return "page fault";
    case SYS_futex: return "futex";
    case SYS_read: return "read";
    case SYS_write: return "write";
    case SYS_pread64: return "pread";
    case SYS_pwrite64: return "pwrite";
    case SYS_readv: return "readv";
    case SYS_writev: return "writev";
    case SYS_ppoll: return "poll";
    case SYS_pselect6: return "select";
    case SYS_epoll_pwait: return "epoll_wait";
    case SYS_recvfrom: return "recv";
    case SYS_recvmsg: return "recvmsg";
    case SYS_sendto: return "send";
    case SYS_sendmsg: return "sendmsg";
    case SYS_accept: return "accept";
    case SYS_accept4: return "accept";
    case SYS_connect: return "connect";
    case SYS_nanosleep: return "sleep";
    case SYS_clock_nanosleep: return "sleep";
    case SYS_wait4: return "wait for a process";
    case SYS_waitid: return "wait for a process";
    case SYS_ioctl: return "ioctl";
    case SYS_fsync: return "fsync";
    case SYS_fdatasync: return "fdatasync";
    case SYS_openat: return "open";
    case SYS_flock: return "flock";
    case SYS_rt_sigtimedwait: return "wait for a signal";
    case SYS_rt_sigsuspend: return "wait for a signal";
    case SYS_sched_yield: return "sched_yield";
    case SYS_munmap: return "munmap";
    case SYS_mmap: return "mmap";
    case SYS_madvise: return "madvise";
#ifdef SYS_poll
    case SYS_poll: return "poll";
    case SYS_select: return "select";
    case SYS_epoll_wait: return "epoll_wait";
    case SYS_pause: return "wait for a signal";
#endif
    default: return "call " + std::to_string(call);
  }
}

ThreadProbe::ThreadProbe(pid_t pid, pid_t tid, bool keep_open)
    : path_(TaskPath(pid, tid, "schedstat")), keep_open_(keep_open) {}

ThreadProbe::ThreadProbe(ThreadProbe&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      keep_open_(other.keep_open_),
      run_ns_(other.run_ns_),
      queued_ns_(other.queued_ns_),
      slices_(other.slices_) {}

ThreadProbe::~ThreadProbe() {
  if (fd_ >= 0) close(fd_);
}

ThreadProbe::Reading ThreadProbe::Take() {
  Reading out;
  if (fd_ < 0) fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    // No such file: the thread is gone, or the kernel keeps no such figures.
    const std::string stat = path_.substr(0, path_.rfind('/')) + "/stat";
    out.alive = access(stat.c_str(), R_OK) == 0;
    out.ran = true;
    out.has_schedstat = false;
    return out;
  }
  char buffer[128];
  const ssize_t got = pread(fd_, buffer, sizeof(buffer), 0);
  if (!keep_open_ || got <= 0) {
    close(fd_);
    fd_ = -1;
  }
  if (got <= 0) return out;
  std::string_view text(buffer, static_cast<size_t>(got));
  uint64_t run_ns = 0, queued_ns = 0, slices = 0;
  if (!ToNumber(TakeWord(text), run_ns) || !ToNumber(TakeWord(text), queued_ns) ||
      !ToNumber(TakeWord(text), slices))
    return out;
  out.alive = true;
  out.ran = run_ns != run_ns_ || slices != slices_;
  out.ran_ns = run_ns - run_ns_;
  out.queued_ns = queued_ns - queued_ns_;
  run_ns_ = run_ns;
  queued_ns_ = queued_ns;
  slices_ = slices;
  return out;
}

}  // namespace nl::capture
