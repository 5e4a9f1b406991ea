// SPDX-License-Identifier: Apache-2.0
#pragma once
// LiveView: what a recording shows while it runs, as text: how busy the devices are, what runs most,
// how much is launched and lost. Numbers come from the control page, names from the chunks written so
// far. Makes text only; where it goes is the caller's.
// Thread rule: one thread.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/control.h"

namespace nl::capture {

// Kernels in the files of a capture that is still being written.
class LiveKernels {
 public:
  struct Total {
    uint64_t calls = 0;
    int64_t time_ns = 0;
  };
  // Reads what was added to the files since the last call.
  void Read(const std::string& directory);
  // By time, largest first.
  std::vector<std::pair<std::string, Total>> Top(size_t count) const;

 private:
  struct File {
    uint64_t offset = 0;
    std::unordered_map<uint32_t, std::string> names;
  };
  void ReadFile(const std::string& path, File& file);

  std::map<std::string, File> files_;
  std::map<std::string, Total> kernels_;
};

class LiveView {
 public:
  // One line: for logs and pipes.
  std::string Line(const ControlBlock& control, int64_t now_ns);
  // A screen of at most `rows` lines of `width` columns; the caller clears the screen.
  std::string Screen(const ControlBlock& control, const std::string& directory, int64_t now_ns, int width,
                     int rows);

 private:
  struct Sums {
    uint64_t processes = 0, recording = 0, kernels = 0, api_calls = 0, copies = 0, ranges = 0, lost = 0,
             bytes = 0;
    int64_t kernel_ns = 0, start_ns = 0;
    bool has_gpu = false;
  };
  struct Rates {
    double busy = 0, kernels_per_s = 0, bytes_per_s = 0;
  };
  static Sums Add(const ControlBlock& control);
  Rates Since(const Sums& now, int64_t now_ns);

  LiveKernels kernels_;
  Sums last_;
  int64_t last_ns_ = 0, first_ns_ = 0;
};

// For LaunchOptions::watch: refreshes a screen when `fd` is a terminal, writes a line every two seconds
// when it is not.
std::function<void(const ControlBlock& control, const std::string& directory)> WatchOn(int fd);

}  // namespace nl::capture
