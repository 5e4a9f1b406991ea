// SPDX-License-Identifier: Apache-2.0
// The rocprof adapter: recordings of AMD's profilers, as the JSON of rocprofv3, its set of CSV
// files, or the one table of rocprof v1 and v2. README.md in this folder explains the formats.

#include <algorithm>

#include "import/adapter.h"
#include "import/adapters/rocprof/csv_recording.h"
#include "import/adapters/rocprof/csv_span.h"
#include "import/adapters/rocprof/csv_table.h"
#include "import/adapters/rocprof/json_recording.h"
#include "import/adapters/rocprof/totals.h"
#include "import/read/whole_file.h"

namespace nl::adapters::rocprof {

namespace {

Error NoTimes(const std::string& path) {
  return InvalidInput("counters without times: the table has no BeginNs and EndNs")
      .At(path)
      .Hint("record with rocprof --timestamp on, or with rocprofv3");
}

// A table of dispatches whose columns say when each ran.
bool HasTimes(std::string_view head) {
  const std::string_view line = FirstLine(head);
  return line.find("BeginNs") != std::string_view::npos ||
         line.find("Start_Timestamp") != std::string_view::npos;
}

class RocprofAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"rocprof",
            1,
            "ROCm profiles: JSON and CSV of rocprofv3, tables of rocprof",
            "rocprofv3 --output-format json or csv, rocprof",
            {"_results.json", ".json", "_kernel_trace.csv", "_counter_collection.csv", ".csv"}};
  }

  int Score(std::string_view head, std::string_view) const override {
    if (LooksLikeJson(head)) return 95;
    return CsvPart(head).empty() ? 0 : 90;
  }

  // The CSV files of one recording stand beside each other; a JSON and a table of v1 are whole.
  FileRole Role(std::string_view head, std::string_view file_name) const override {
    FileRole role;
    role.part = CsvPart(head);
    if (role.part == "dispatches") role.part.clear();
    role.set = CsvSet(file_name);
    // A set has several files of sums, and of calls in some versions: distinguished by their names.
    const bool totals = role.part == "totals";
    if (totals || (role.part.ends_with("api") && !role.set.empty()))
      role.part += " in " + std::string(file_name);
    if (totals) role.set.clear();  // given alone it does not stand for the recording beside it
    return role;
  }

  Result<RecordingSpan> Span(const std::string& path, bool exact) const override {
    return CsvSpan(path, exact);
  }

  Status ImportParts(std::vector<ImportFile>& files) const override {
    if (files.size() == 1) return Import(files[0]);
    std::vector<std::string> heads(files.size());
    std::vector<std::unique_ptr<PeekedSource>> sources;
    std::vector<ImportFile> whole;
    for (size_t i = 0; i < files.size(); ++i) {
      NL_TRY(Peek(files[i], heads[i]));
      sources.push_back(std::make_unique<PeekedSource>(files[i].source, heads[i]));
    }
    for (size_t i = 0; i < files.size(); ++i) {
      ImportFile& f = files[i];
      whole.push_back({*sources[i], f.path, f.options, f.sink, f.facts, f.about, f.counters});
    }
    const auto is_totals = [](const std::string& head) { return CsvPart(head) == "totals"; };
    if (std::all_of(heads.begin(), heads.end(), is_totals)) return ImportTotals(whole);
    std::vector<std::pair<ImportFile*, std::string>> parts;
    for (size_t i = 0; i < files.size(); ++i) parts.emplace_back(&whole[i], CsvPart(heads[i]));
    return ImportCsv(parts);
  }

  Status Import(ImportFile& file) const override {
    std::string head;
    NL_TRY(Peek(file, head));
    const std::string part = CsvPart(head);
    if (part == "dispatches" && !HasTimes(head)) return NoTimes(file.path);
    if (!part.empty()) {
      PeekedSource source(file.source, std::move(head));
      ImportFile whole{source, file.path, file.options, file.sink, file.facts, file.about, file.counters};
      if (part != "totals") return ImportCsv({{&whole, part}});
      std::vector<ImportFile> totals{whole};
      return ImportTotals(totals);
    }
    PeekedSource source(file.source, std::move(head));
    ImportFile peeked{source, file.path, file.options, file.sink, file.facts, file.about, file.counters};
    NL_ASSIGN(const std::unique_ptr<WholeFile> whole, WholeFile::Open(peeked));
    NL_TRY(ImportJson(file, whole->path()));
    return whole->Finish();
  }

 private:
  // A source whose first bytes were read already.
  class PeekedSource final : public ByteSource {
   public:
    PeekedSource(ByteSource& inner, std::string head) : inner_(inner), head_(std::move(head)) {}
    Result<size_t> Read(char* to, size_t size) override {
      const size_t n = std::min(size, head_.size() - given_);
      std::copy_n(head_.data() + given_, n, to);
      given_ += n;
      if (n == size) return n;
      NL_ASSIGN(const size_t more, inner_.Read(to + n, size - n));
      return n + more;
    }
    int64_t bytes_read() const override { return inner_.bytes_read(); }
    int64_t bytes_total() const override { return inner_.bytes_total(); }
    std::string HashHex() override { return inner_.HashHex(); }
    const std::string& name() const override { return inner_.name(); }
    bool is_plain_file() const override { return inner_.is_plain_file(); }

   private:
    ByteSource& inner_;
    std::string head_;
    size_t given_ = 0;
  };

  static Status Peek(ImportFile& file, std::string& head) {
    head.resize(kSniffBytes);
    NL_ASSIGN(const size_t n, file.source.Read(head.data(), head.size()));
    head.resize(n);
    return {};
  }
};

}  // namespace

const Adapter& Describe() {
  static const RocprofAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::rocprof
