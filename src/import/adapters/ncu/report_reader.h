// SPDX-License-Identifier: Apache-2.0
#pragma once
// ReportReader: CSV pages of Nsight Compute (`ncu --csv --page details` or `--page raw`)
// into rows. Lines of the profiler (==PROF==) and of the program may stand anywhere, pages
// may follow each other in one file. One record of each page is explained in README.md.
// Thread rule: one thread (the writer encodes on others). Ownership: uses the ImportFile.

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/adapters/ncu/launches.h"
#include "import/read/csv_records.h"

namespace nl::adapters::ncu {

class ReportReader {
 public:
  explicit ReportReader(ImportFile& file) : file_(file), writer_(file), launches_(writer_, file) {}

  // Every record of a source. `findings_only`: its kernels are those read before, of which it
  // adds what the tool says, not the metrics again (the second page of one report).
  Status Read(ByteSource& source, bool findings_only = false);
  // Behind the last source.
  Status Finish();

 private:
  struct Metric {
    StringId section = StringId::kNull, name = StringId::kNull, unit = StringId::kNull;
    int exponent = 0;
    InputOf input;
    // Attributes of the device, which are the same in every row.
    bool of_device = false;
    std::string attribute;
  };
  // A column of the raw page: what each of its cells needs, in one cache line. Many cells do not change from
  // kernel to kernel: the last one is kept as written, with its quotes and its comma, so that two words are
  // compared instead of looking for the end of the field and reading the number.
  struct alignas(64) Cell {
    uint64_t written[2] = {}, mask[2] = {};
    double value = 0;
    StringId name = StringId::kNull, unit = StringId::kNull;
    int32_t last_device = NullOf<int32_t>::value;  // of an attribute of the device: whose it was
    int8_t exponent = 0;
    uint8_t bytes = 0;  // of `written`; 0: none is kept
    bool of_device = false, is_input = false;

    bool Repeats(const char* at, const char* end) const;
    void Keep(const char* from, const char* to);
  };
  Status TakeLine(const CsvRecord& record);
  bool BeginPage(const CsvRecord& record);
  bool TakeUnits(const CsvRecord& record);
  // False: no whole record.
  bool TakeRecord(const CsvRecord& record, Status& status);
  bool TakeUnescaped(const CsvRecord& record, Status& status);
  bool BeginLaunch(const CsvRecord& record, const char*& at);
  bool TakeDetails(const CsvRecord& record, const char* at, Status& status);
  bool TakeRaw(const CsvRecord& record, const char* at, Status& status);
  // A cell that differs from the one before.
  void TakeCell(size_t column, const CsvField& field, int64_t offset);
  void PutCell(size_t column, double value);
  void PutCells();
  void TakeFinding(int64_t offset);
  void DefineColumns();
  Metric MakeMetric(std::string_view section, std::string_view name, std::string_view unit, int64_t offset);
  const Metric& MetricOf(std::string_view section, std::string_view name, std::string_view unit,
                         int64_t offset);
  void PutMetric(const Metric& metric, std::optional<double> number, const CsvField& field, int64_t offset);
  void PutInput(const Metric& metric, double number);
  StringId TextOf(const CsvField& field, int64_t offset) {
    return launches_.Text(field.escaped ? Unescaped(field) : field.text, offset);
  }
  std::string_view FieldOf(Role role) const;
  Status Cut(const CsvRecord& record);
  void CompareLastKernels();

  ImportFile& file_;
  RowWriter writer_;
  Launches launches_;
  Page page_;
  bool has_page_ = false, units_due_ = false, findings_only_ = false, saw_page_ = false;
  std::string launch_text_;          // of the present kernel, as written
  std::vector<std::string> launch_;  // its fields
  std::vector<CsvField> fields_;     // of a record of the details page, after the launch
  std::vector<Metric> columns_;      // of the raw page
  std::vector<Cell> cells_;          // of each of them
  struct Row {                       // cells of the present kernel, until PutCells
    std::vector<StringId> name, unit;
    std::vector<double> value;
    std::vector<std::pair<size_t, StringId>> texts;  // place of those that are not numbers
    size_t size = 0;
  } row_;
  std::vector<std::string> units_;
  std::unordered_map<std::string, Metric> metrics_;  // of the details page
  std::string key_;
  std::vector<StringId> summed_;  // metrics already part of a sum, of the present kernel
  int64_t metrics_now_ = 0, metrics_before_ = 0;
};

}  // namespace nl::adapters::ncu
