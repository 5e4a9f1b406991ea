// SPDX-License-Identifier: Apache-2.0
#pragma once
// ReadAhead: the pieces of a ByteSource, read (and so decompressed and hashed) by a thread of
// its own while the caller works on those before. For readers of one thread.
// Thread rule: one thread asks. Ownership: uses the caller's source until its end; nobody else
// may read from it meanwhile.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "import/read/byte_source.h"

namespace nl {

class ReadAhead {
 public:
  ReadAhead(ByteSource& source, size_t piece_bytes);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The next piece; false at the end. `to` is taken back as room for later ones.
  Result<bool> Next(std::string& to);

 private:
  static constexpr size_t kAhead = 3;
  void Loop();

  ByteSource& source_;
  const size_t piece_bytes_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::string> ready_;
  std::vector<std::string> spare_;
  bool ended_ = false, stop_ = false;
  std::optional<Error> failure_;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace nl
