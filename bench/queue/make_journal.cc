// SPDX-License-Identifier: Apache-2.0
// make_queue_journal FROM TO N: writes the journal of a queue with N entries into the folder TO, each with
// the records of the one entry of the journal in the folder FROM. What bench/queue/measure.py replays.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/journal.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: make_queue_journal FROM TO N\n");
    return 2;
  }
  const nl::Result<nl::JournalContent> one = nl::Journal::Read(argv[1]);
  if (!one.ok() || one->records.empty()) {
    std::fprintf(stderr, "make_queue_journal: no journal in %s\n", argv[1]);
    return 1;
  }
  std::string text;
  const long entries = std::atol(argv[3]);
  for (long i = 0; i < entries; ++i) {
    for (nl::Json record : one->records) {
      const std::string id = fmt::format("{:08x}{}", i, record["entry"].get<std::string>().substr(8));
      record["entry"] = id;
      if (record["set"].contains("entry_id")) record["set"]["entry_id"] = id;
      text += nl::JournalLine(record);
    }
  }
  const nl::Status written = nl::MakeDirectories(argv[2]);
  if (!written.ok() || !nl::WriteFileAtomically(std::string(argv[2]) + "/journal", text).ok()) return 1;
  std::printf("%zu\n", one->records.size());
  return 0;
}
