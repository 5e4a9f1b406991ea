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
#include "import/csv_records.h"

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
    int32_t last_device = NullOf<int32_t>::value;
    // The raw page has many values that do not change from kernel to kernel.
    std::string last;
    double last_value = 0;
  };
  Status TakeLine(const CsvRecord& record);
  bool BeginPage(const CsvRecord& record);
  bool TakeUnits(const CsvRecord& record);
  // False: no whole record.
  bool TakeRecord(const CsvRecord& record, Status& status);
  bool BeginLaunch(const CsvRecord& record, const char*& at);
  bool TakeDetails(const CsvRecord& record, const char* at, Status& status);
  bool TakeRaw(const CsvRecord& record, const char* at, Status& status);
  void TakeCell(Metric& metric, const CsvField& field, int64_t offset);
  void TakeFinding(int64_t offset);
  void DefineColumns();
  Metric MakeMetric(std::string_view section, std::string_view name, std::string_view unit, int64_t offset);
  const Metric& MetricOf(std::string_view section, std::string_view name, std::string_view unit,
                         int64_t offset);
  void PutMetric(const Metric& metric, std::optional<double> number, const CsvField& field, int64_t offset);
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
  std::vector<CsvField> fields_;     // of a record of the details page, behind the launch
  std::vector<Metric> columns_;      // of the raw page
  std::vector<std::string> units_;
  std::unordered_map<std::string, Metric> metrics_;  // of the details page
  std::string key_;
  std::vector<StringId> summed_;  // metrics already part of a sum, of the present kernel
  int64_t metrics_now_ = 0, metrics_before_ = 0;
};

}  // namespace nl::adapters::ncu
