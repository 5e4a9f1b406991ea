// SPDX-License-Identifier: Apache-2.0
#pragma once
// ProgressLine: one line on stderr, rewritten in place, for work that takes long:
// what, percent, MB/s and the time left. Nothing is shown for work under two
// seconds, and the line is gone when the work ends.
// Thread rule: Update may be called from any thread.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace nl {

// The text of the line, at most `width` columns; `total_bytes` 0: unknown.
std::string ProgressText(std::string_view what, int64_t done_bytes, int64_t total_bytes, int64_t elapsed_ns,
                         int width);

class ProgressLine {
 public:
  explicit ProgressLine(int fd);
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Update(std::string_view what, int64_t done_bytes, int64_t total_bytes);
  void Clear();

 private:
  const int fd_;
  const int64_t begin_ns_;
  std::mutex mutex_;
  int64_t shown_ns_ = 0;
  int64_t stage_ns_ = 0;  // when the present count of bytes began
  int64_t last_done_bytes_ = 0;
  bool visible_ = false;
};

}  // namespace nl
