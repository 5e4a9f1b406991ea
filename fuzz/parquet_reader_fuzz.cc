// SPDX-License-Identifier: Apache-2.0
// The reader of the timeline's Parquet files: any bytes are refused or read. What is read has as many values
// as the row group has rows, and texts are inside of what was read.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "ledger/parquet_reader.h"

namespace {

using namespace nl;

constexpr int64_t kMostRows = 1 << 20;  // a file may claim any number; those of runs have 131,072 a group
constexpr size_t kMostGroups = 16;

void Require(bool kept) {
  if (!kept) std::abort();
}

void ReadColumn(const ParquetReader& file, size_t group, int column) {
  const auto rows = static_cast<size_t>(file.rows(group));
  std::vector<int64_t> ints;
  if (file.ReadInts(group, column, ints).ok()) Require(ints.size() == rows);
  std::vector<double> numbers;
  if (file.ReadDoubles(group, column, numbers).ok()) Require(numbers.size() == rows);
  CodedTexts texts;
  if (!file.ReadTexts(group, column, texts).ok()) return;
  Require(texts.codes.size() == rows);
  for (const uint32_t code : texts.codes) Require(code == CodedTexts::kNull || code < texts.distinct.size());
  size_t bytes = 0;
  for (const std::string_view text : texts.distinct) bytes += std::string(text).size();
  Require(bytes <= texts.bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int memory = memfd_create("parquet", MFD_CLOEXEC);
  if (memory < 0 || write(memory, data, size) != static_cast<ssize_t>(size)) std::abort();
  const Result<std::unique_ptr<ParquetReader>> file =
      ParquetReader::Open("/proc/self/fd/" + std::to_string(memory));
  if (file.ok()) {
    // Columns by the names of runs' tables: the reader has no list of them.
    for (const char* name :
         {"id", "thread_id", "start_ns", "dur_ns", "name", "value", "process_id", "stream"}) {
      const int column = (*file)->Column(name);
      for (size_t group = 0; column >= 0 && group < (*file)->groups() && group < kMostGroups; ++group) {
        if ((*file)->rows(group) <= kMostRows) ReadColumn(**file, group, column);
      }
    }
  }
  close(memory);
  return 0;
}
