// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/human.h"
#include "base/terminal.h"

namespace nl {

namespace {

constexpr int64_t kSilentNs = 2'000'000'000;
constexpr int64_t kRefreshNs = 100'000'000;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int WidthOf(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// A lost progress line harms nobody.
void WriteQuietly(int fd, std::string_view text) {
  const ssize_t written = write(fd, text.data(), text.size());
  static_cast<void>(written);
}

}  // namespace

std::string ProgressText(std::string_view what, int64_t done_bytes, int64_t total_bytes, int64_t elapsed_ns,
                         int width) {
  std::string numbers;
  if (total_bytes > 0) {
    const double share =
        std::clamp(static_cast<double>(done_bytes) / static_cast<double>(total_bytes), 0.0, 1.0);
    numbers += fmt::format("  {:3.0f} %", std::min(99.0, share * 100));
  } else if (done_bytes > 0) {
    numbers += "  " + HumanBytes(done_bytes);
  }
  if (done_bytes > 0 && elapsed_ns > 0) {
    const double bytes_per_ns = static_cast<double>(done_bytes) / static_cast<double>(elapsed_ns);
    numbers += fmt::format("  {:.0f} MB/s", bytes_per_ns * 1e3);
    if (total_bytes > done_bytes) {
      const double left_s = static_cast<double>(total_bytes - done_bytes) / bytes_per_ns / 1e9;
      const auto seconds = static_cast<int64_t>(std::min(left_s, 359'999.0) + 0.5);
      numbers += seconds < 60 ? fmt::format("  {} s left", seconds)
                              : fmt::format("  {} left", HumanDurationNs(seconds * 1'000'000'000));
    }
  }
  // The last column stays free: a full line would wrap on some terminals.
  const int room = width - 1 - DisplayWidth(numbers);
  return CutMiddle(PrintableText(what), std::max(0, room)) + numbers;
}

ProgressLine::ProgressLine(int fd) : fd_(fd), begin_ns_(NowNs()), stage_ns_(begin_ns_) {}

void ProgressLine::Update(std::string_view what, int64_t done_bytes, int64_t total_bytes) {
  const int64_t now_ns = NowNs();
  const std::lock_guard lock(mutex_);
  // Counting began anew (the next stage): its speed is its own.
  if (done_bytes < last_done_bytes_) stage_ns_ = now_ns;
  last_done_bytes_ = done_bytes;
  if (now_ns - begin_ns_ < kSilentNs || now_ns - shown_ns_ < kRefreshNs) return;
  shown_ns_ = now_ns;
  visible_ = true;
  WriteQuietly(
      fd_, "\r" + ProgressText(what, done_bytes, total_bytes, now_ns - stage_ns_, WidthOf(fd_)) + "\x1b[K");
}

void ProgressLine::Clear() {
  const std::lock_guard lock(mutex_);
  if (visible_) WriteQuietly(fd_, "\r\x1b[K");
  visible_ = false;
}

}  // namespace nl
