// SPDX-License-Identifier: Apache-2.0
#pragma once
// Journal: a file of records that survives a crash at any instant. A record is one line,
//
//   5f0c1a2b3c4d5e6f {"job_id":"...","state":"running",...}
//
// the CRC-64 of the JSON (16 hexadecimal digits), a space and the JSON. A line is written at once and synced
// before Append returns. A line that a crash cut, or that was damaged, does not match its checksum and is
// left out. The folder has a lock: one process at a time has the journal open; anyone may read it. Thread
// rule: one thread at a time; Read from any thread and process.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/file_ops.h"
#include "base/json.h"
#include "base/result.h"

namespace nl {

struct JournalContent {
  std::vector<Json> records;
  int64_t bad_lines = 0;  // left out, without a last line that has no end
  bool cut_end = false;   // the last line has no end: a write that did not finish
};

class Journal {
 public:
  // Makes the folder, and cuts off a last line without end. Limit when another process has the journal open
  // and does not close it within `wait`.
  static Result<std::unique_ptr<Journal>> Open(const std::string& folder,
                                               std::chrono::milliseconds wait = {});
  // What is in it; empty when there is none.
  static Result<JournalContent> Read(const std::string& folder);

  // Does a process have it open?
  static bool IsOpen(const std::string& folder);

  // The record is on the disk, or the journal is as it was before.
  Status Append(const Json& record);
  // Several records with one sync. A crash may keep the first of them only.
  Status AppendAll(const std::vector<Json>& records);
  // Replaces everything, at once or not at all.
  Status Rewrite(const std::vector<Json>& records);

  int64_t bytes() const { return bytes_; }

 private:
  Journal(std::string folder, UniqueFd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  Status AppendText(const std::string& text);
  Status OpenFile();
  Status DropCutEnd();

  std::string folder_;
  UniqueFd lock_, file_;
  int64_t bytes_ = 0;
};

// "5f0c1a2b3c4d5e6f {...}\n"
std::string JournalLine(const Json& record);

}  // namespace nl
