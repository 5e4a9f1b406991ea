// SPDX-License-Identifier: Apache-2.0
#include "import/importer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "base/secrets.h"
#include "base/sha256.h"
#include "base/sha256_tree.h"
#include "base/utf8.h"
#include "import/document_builder.h"
#include "import/read/file_name.h"

namespace nl {

namespace {

const CounterInfo kSecretHeader{"secret_not_stored", Severity::kNotice,
                                "Value whose name looks like a secret",
                                "Its value was replaced; rotate it if the trace was shared"};

const CounterInfo kCutStream{"truncated_stream", Severity::kDataLoss, "Compressed file that ends too early",
                             "Everything before the cut is here; fetch or record it again for the rest"};

// Gives the sniffed bytes again before the rest.
class SniffedSource final : public ByteSource {
 public:
  explicit SniffedSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}

  Result<std::string_view> Sniff() {
    head_.resize(kSniffBytes);
    NL_ASSIGN(const size_t n, inner_->Read(head_.data(), head_.size()));
    head_.resize(n);
    return std::string_view(head_);
  }
  Result<size_t> Read(char* to, size_t size) override {
    const size_t n = std::min(size, head_.size() - given_);
    std::copy_n(head_.data() + given_, n, to);
    given_ += n;
    if (n == size) return n;
    NL_ASSIGN(const size_t more, inner_->Read(to + n, size - n));
    return n + more;
  }
  int64_t bytes_read() const override { return inner_->bytes_read(); }
  int64_t bytes_total() const override { return inner_->bytes_total(); }
  std::string HashHex() override { return inner_->HashHex(); }
  const std::string& name() const override { return inner_->name(); }
  bool was_cut() const override { return inner_->was_cut(); }
  bool is_plain_file() const override { return inner_->is_plain_file(); }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::string head_;
  size_t given_ = 0;
};

// Gives the rows of processes a rank, where the adapter knows none.
class RankedSink final : public EventSink {
 public:
  RankedSink(EventSink& inner, int64_t rank) : inner_(inner), rank_(static_cast<int32_t>(rank)) {}

  StringPool& strings() override { return inner_.strings(); }
  int64_t rows(Table table) const override { return inner_.rows(table); }
  void Append(EventBatch& batch) override {
    for (int32_t& rank : batch.process.rank) rank = IsNull(rank) ? rank_ : rank;
    inner_.Append(batch);
  }
  Result<bool> EncodeOne() override { return inner_.EncodeOne(); }
  Status Flush() override { return inner_.Flush(); }
  Status SetLate(Table table, const char* column, std::span<const int64_t> values) override {
    return inner_.SetLate(table, column, values);
  }
  Status Finish() override { return inner_.Finish(); }

 private:
  EventSink& inner_;
  int32_t rank_;
};

Result<std::unique_ptr<SniffedSource>> OpenSniffed(const std::string& path, std::string_view& head,
                                                   const std::atomic<bool>* cancelled, bool keep_cut,
                                                   const InputStream& input = {}) {
  NL_ASSIGN(std::unique_ptr<ByteSource> source, OpenByteSource(path, cancelled, keep_cut, input));
  auto sniffed = std::make_unique<SniffedSource>(std::move(source));
  NL_ASSIGN(head, sniffed->Sniff());
  if (head.empty()) return InvalidInput("the file is empty").At(path, 0);
  return sniffed;
}

Result<const Adapter*> ChooseAdapter(const std::string& format, std::string_view head,
                                     const std::string& path) {
  if (!format.empty()) {
    const Adapter* adapter = FindAdapter(format);
    if (adapter == nullptr)
      return InvalidInput(fmt::format("no format '{}'", format)).Hint("see neurolens formats");
    return adapter;
  }
  Result<const Adapter*> found = DetectAdapter(head, path);
  if (!found.ok()) return std::move(found).error().At(path, 0);
  return found;
}

// The file name without the compression's ending and the longest one the format is known by.
std::string StemOf(std::string_view name, const std::vector<std::string>& endings) {
  name = UnpackedName(name);
  size_t longest = 0;
  for (const std::string& ending : endings) {
    if (name.size() > ending.size() && name.ends_with(ending)) longest = std::max(longest, ending.size());
  }
  return std::string(name.substr(0, name.size() - longest));
}

void PutHeader(const Json& header, const std::string& file, EventSink& sink, EventBatch& batch) {
  StringPool& strings = sink.strings();
  for (const auto& [key, value] : header.items()) {
    ArgsRow arg;
    arg.owner = strings.Add("run");
    arg.owner_id = static_cast<RowId>(0);
    arg.key = strings.Add(file.empty() ? key : file + ":" + key);
    arg.value = strings.Add(DumpJson(value));
    batch.args.Add(arg);
  }
}

void PutLog(const CounterSet& counters, const std::string& file, EventSink& sink, EventBatch& batch) {
  StringPool& strings = sink.strings();
  // By name, then by place: the order in which threads met them is not a fact of the file.
  std::vector<CounterSet::Total> totals = counters.totals();
  std::sort(totals.begin(), totals.end(),
            [](const auto& a, const auto& b) { return std::strcmp(a.info->name, b.info->name) < 0; });
  std::vector<CounterSample> samples = counters.samples();
  std::stable_sort(samples.begin(), samples.end(), [](const CounterSample& a, const CounterSample& b) {
    return a.byte_offset < b.byte_offset;
  });
  for (const CounterSet::Total& total : totals) {
    int64_t shown = 0;
    const std::string meaning = MeaningOf(counters, *total.info);
    const auto put = [&](int64_t count, int64_t offset, const std::string& text) {
      ImportLogRow row;
      row.reason = strings.Add(total.info->name);
      row.severity = strings.Add(SeverityName(total.info->severity));
      row.count = count;
      row.file = strings.Add(file);
      if (offset >= 0) row.byte_offset = offset;
      if (!text.empty()) row.text = strings.Add(ValidUtf8(text));
      const bool speaks = *total.info->advice == '\0';
      if (speaks && !text.empty()) row.advice = row.text;
      if (!speaks) row.advice = strings.Add(fmt::format("{}. {}.", meaning, total.info->advice));
      batch.import_log.Add(row);
    };
    for (const CounterSample& sample : samples) {
      if (sample.info != total.info || (sample.byte_offset < 0 && sample.text.empty())) continue;
      put(1, sample.byte_offset, sample.text);
      ++shown;
    }
    if (total.count > shown) put(total.count - shown, -1, "");
  }
}

void PutFactTables(const RunFacts& facts, EventBatch& batch) {
  for (const auto& [key, stream] : facts.streams()) {
    StreamRow row;
    row.device = static_cast<int32_t>(key[0]);
    row.context = key[1];
    row.stream = key[2];
    row.thread_id = stream.thread;
    row.events = stream.events;
    batch.stream.Add(row);
  }
  for (const auto& [key, graph] : facts.graphs()) {
    GraphRow row;
    row.device = static_cast<int32_t>(key[0]);
    row.graph_id = key[1];
    row.kernels = graph.kernels;
    row.launches = static_cast<int64_t>(graph.launches.size());
    row.first_start_ns = graph.first_start_ns;
    batch.graph.Add(row);
  }
}

void PutStrings(EventSink& sink, EventBatch& batch) {
  const uint32_t size = sink.strings().size();
  for (uint32_t id = 0; id < size; ++id) batch.string.value.push_back(static_cast<StringId>(id));
}

Status EncodeAll(EventSink& sink, int threads) {
  NL_TRY(sink.Flush());
  const auto drain = [&sink]() -> Status {
    for (;;) {
      NL_ASSIGN(const bool more, sink.EncodeOne());
      if (!more) return {};
    }
  };
  const size_t count =
      threads > 0 ? static_cast<size_t>(threads) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<Status> statuses(count);
  std::vector<std::thread> workers;
  for (size_t i = 1; i < count; ++i) workers.emplace_back([&, i] { statuses[i] = drain(); });
  statuses[0] = drain();
  for (std::thread& worker : workers) worker.join();
  for (Status& status : statuses) NL_TRY(std::move(status));
  return {};
}

}  // namespace

std::string ContentSha256(const std::vector<SourceFile>& files) {
  if (files.size() == 1) return files[0].sha256;
  std::vector<std::string> hashes;
  for (const SourceFile& file : files) hashes.push_back(file.sha256);
  std::sort(hashes.begin(), hashes.end());
  return Sha256Hex(fmt::format("{}", fmt::join(hashes, "\n")));
}

namespace {

// One file of a request, open.
struct Opened {
  std::unique_ptr<SniffedSource> source;
  const Adapter* adapter = nullptr;
  FileRole role;
  SourceFacts about;
  CounterSet counters;
};

const CounterInfo kFactOutOfRange{
    "fact_out_of_range", Severity::kNotice,
    "A fact of the machine or the run that cannot be, such as a negative memory size; left out",
    "Nothing else is lost; the value is in import_log"};

// Makes what the source says of the run fit the run document; what does not is counted.
class FactBounds {
 public:
  explicit FactBounds(CounterSet& counters) : counters_(counters) {}

  void Apply(SourceFacts& about) {
    std::erase_if(about.devices, [&](const SourceFacts::Device& d) {
      return !Fits("device.index", static_cast<int64_t>(d.index), int64_t{0}, kMostAmount);
    });
    for (SourceFacts::Device& device : about.devices) {
      Bound("device.memory_bytes", device.memory_bytes);
      Bound("device.sm_count", device.sm_count);
    }
    Bound("host.cores", about.host.cores);
    Bound("host.memory_bytes", about.host.memory_bytes);
    Bound("rank", about.rank, 0, INT32_MAX);
    Bound("world_size", about.world_size, 1, INT32_MAX);
    Bound("exit_code", about.exit_code, -255, 255);
    std::erase_if(about.metrics, [&](const auto& metric) {
      return !Fits(metric.first, metric.second, 0.0, std::numeric_limits<double>::max());
    });
    if (about.clock) Apply(*about.clock);
    if (about.capture) Apply(*about.capture);
  }

 private:
  static constexpr double kLeast = std::numeric_limits<double>::lowest();

  void Apply(ClockFacts& clock) {
    BoundReal("clock.error_bound_ns", clock.error_bound_ns, 0);
    Bound("clock.causality_violations", clock.causality_violations);
    if (!clock.devices) return;
    std::erase_if(*clock.devices, [&](const DeviceClock& d) {
      return !Fits("clock.devices.index", d.index, int64_t{0}, kMostAmount);
    });
    for (DeviceClock& device : *clock.devices) {
      BoundReal("clock.offset_ns", device.offset_ns, kLeast);
      BoundReal("clock.drift_ppm", device.drift_ppm, kLeast);
      BoundReal("clock.error_bound_ns", device.error_bound_ns, 0);
      Bound("clock.samples", device.samples);
    }
  }
  void Apply(CaptureFacts& capture) {
    BoundReal("capture.overhead_pct", capture.overhead_pct, kLeast);
    BoundReal("capture.duty_cycle", capture.duty_cycle, 0, 1);
    Bound("capture.lost_records", capture.lost_records);
    Bound("capture.dropped_bytes", capture.dropped_bytes);
    Bound("capture.suspect_records", capture.suspect_records);
    if (!capture.pauses) return;
    std::erase_if(*capture.pauses, [&](const Interval& pause) {
      return !Fits("capture.pauses.start_ns", pause.start_ns, -kMostTime_ns, kMostTime_ns) ||
             !Fits("capture.pauses.end_ns", pause.end_ns, pause.start_ns, kMostTime_ns);
    });
  }
  template <class T>
  bool Fits(std::string_view what, T value, T least, T most) {
    if (value >= least && value <= most) return true;
    counters_.Add(kFactOutOfRange, -1, fmt::format("{}: {}", what, value));
    return false;
  }
  void Bound(const char* what, std::optional<int64_t>& value, int64_t least = 0, int64_t most = kMostAmount) {
    if (value && !Fits(what, *value, least, most)) value.reset();
  }
  void BoundReal(const char* what, std::optional<double>& value, double least,
                 double most = std::numeric_limits<double>::max()) {
    if (value && !Fits(what, *value, least, most)) value.reset();
  }

  CounterSet& counters_;
};

// What every file leaves behind once its rows are read.
void Conclude(Opened& file, bool alone, EventSink& sink, EventBatch& tail, ImportResult& result) {
  FactBounds(file.counters).Apply(file.about);
  if (file.source->was_cut()) file.counters.Add(kCutStream);
  std::vector<std::string> hidden;
  HideSecrets(file.about.header, hidden);
  HideSecretArguments(file.about.command, hidden);
  // Processes and ranks repeat their environment: a name is said once.
  for (const std::string& name : std::set<std::string>(hidden.begin(), hidden.end()))
    file.counters.Add(kSecretHeader, -1, name);
  PutHeader(file.about.header, alone ? "" : file.source->name(), sink, tail);
  PutLog(file.counters, file.source->name(), sink, tail);
  result.document.source.files.push_back(
      {file.source->name(), file.source->bytes_read(), file.source->HashHex(), Sha256Tree::kName});
  result.source_bytes += file.source->bytes_read();
  result.counters.Merge(std::move(file.counters));
  const bool named = !file.role.set.empty() && file.role.set != FileRole::kFolder;
  file.about.file_stem = named ? file.role.set : StemOf(file.source->name(), file.adapter->Info().name_hints);
}

Result<Opened> OpenFile(const ImportRequest& request, const std::string& path) {
  Opened out;
  std::string_view head;
  const ImportOptions& options = request.options;
  NL_ASSIGN(out.source, OpenSniffed(path, head, options.cancelled, options.allow_truncated, options.input));
  NL_ASSIGN(out.adapter, ChooseAdapter(request.format, head, path));
  out.role = out.adapter->Role(head, out.source->name());
  return out;
}

Error NotOneRun(const Adapter& a, const Adapter& b, const std::string& path) {
  return InvalidInput(fmt::format("a file of {} and one of {} are not one run", a.Info().name, b.Info().name))
      .At(path);
}

// All files at once: each is one part of the run, or of one rank of it. `paths` are theirs.
Status ImportTogether(const ImportRequest& request, std::span<const std::string> paths,
                      std::vector<Opened>& files, RunFacts& facts, EventSink& sink) {
  std::vector<ImportFile> parts;
  for (size_t i = 0; i < files.size(); ++i) {
    Opened& file = files[i];
    if (file.adapter != files[0].adapter) return NotOneRun(*files[0].adapter, *file.adapter, paths[i]);
    for (size_t k = 0; k < i; ++k) {
      if (files[k].role.part != file.role.part) continue;
      return InvalidInput(fmt::format("two files are the {} of one run, {} is the other", file.role.part,
                                      files[k].source->name()))
          .At(paths[i]);
    }
    parts.push_back({*file.source, paths[i], request.options, sink, facts, file.about, file.counters});
  }
  return files[0].adapter->ImportParts(parts);
}

// Is the next file of another rank?
bool EndsRank(const ImportRequest& request, size_t i) {
  return i + 1 >= request.name_ranks.size() || request.name_ranks[i + 1] != request.name_ranks[i];
}

// What is known once all files are read; then every table but that of strings has its rows.
void AppendFacts(RunFacts& facts, EventSink& sink, EventBatch& tail, ImportResult& result) {
  facts.UseSamplesWithoutDevices();
  PutFactTables(facts, tail);
  sink.Append(tail);
  tail.Clear();
  for (size_t i = 0; i < EventBatch::kTables; ++i) {
    const auto table = static_cast<Table>(i);
    if (table == Table::kString) continue;
    if (sink.rows(table) > 0) result.tables.push_back({kAllTables[i]->name, sink.rows(table)});
  }
}

}  // namespace

Result<ImportResult> ImportFiles(const ImportRequest& request, EventSink& sink) {
  ImportResult result;
  RunFacts facts;
  std::vector<SourceFacts> about;
  bool rank_from_name = false;
  EventBatch tail;  // rows made once per run
  const bool alone = request.paths.size() == 1;
  std::vector<Opened> opened;  // a file, or the parts of a run or rank
  std::vector<std::string> rank_files;
  const Adapter* adapter = nullptr;
  for (size_t i = 0, first = 0; i < request.paths.size(); ++i) {
    NL_ASSIGN(Opened next, OpenFile(request, request.paths[i]));
    const bool named = i < request.name_ranks.size();
    const bool is_part = !next.role.part.empty() || !opened.empty();
    if (is_part && !about.empty() && !named) return NotOneRun(*adapter, *next.adapter, request.paths[i]);
    opened.push_back(std::move(next));
    if (is_part && i + 1 < request.paths.size() && !(named && EndsRank(request, i))) continue;
    const std::span<const std::string> paths(request.paths.data() + first, opened.size());
    RankedSink ranked(sink, named ? request.name_ranks[i] : 0);
    EventSink& to = named ? static_cast<EventSink&>(ranked) : sink;
    Opened& front = opened.front();
    if (is_part) {
      NL_TRY(ImportTogether(request, paths, opened, facts, to));
    } else {
      ImportFile file{*front.source, paths[0], request.options, to, facts, front.about, front.counters};
      NL_TRY(front.adapter->Import(file));
    }
    if (named && !front.about.rank) {
      front.about.rank = request.name_ranks[i];
      rank_from_name = true;
    }
    // Written out before the links are resolved, so that the two do not need memory at once.
    NL_TRY(EncodeAll(sink, request.options.threads));
    facts.ResolveLinks(front.counters);
    rank_files.push_back(front.source->name());
    for (Opened& part : opened) Conclude(part, alone, sink, tail, result);
    adapter = front.adapter;
    about.push_back(std::move(front.about));
    opened.clear();
    first = i + 1;
  }
  const int64_t without_span = sink.rows(Table::kRange) + sink.rows(Table::kCounterSample) +
                               sink.rows(Table::kKernelMetric) + sink.rows(Table::kCpuSample) +
                               sink.rows(Table::kMemoryEvent);
  if (facts.empty() && without_span == 0) {
    return InvalidInput("the file has no events").At(request.paths[0]);
  }
  AppendFacts(facts, sink, tail, result);
  result.document.source.adapter = adapter->Info().name;
  result.document.source.adapter_version = std::to_string(adapter->Info().version);
  DescribeRun(facts, about, request.model_name, sink, result);
  for (size_t i = 0; result.document.ranks && i < rank_files.size(); ++i)
    (*result.document.ranks)[i].file = rank_files[i];
  if (rank_from_name) {
    if (!result.document.notes) result.document.notes.emplace();
    result.document.notes->push_back("ranks taken from the file names");
  }
  PutStrings(sink, tail);
  sink.Append(tail);
  NL_TRY(EncodeAll(sink, request.options.threads));
  NL_TRY(facts.WriteLinks(sink));
  NL_TRY(sink.Finish());
  result.content_sha256 = ContentSha256(result.document.source.files);
  return result;
}

std::string MeaningOf(const CounterSet& counters, const CounterInfo& info) {
  constexpr size_t kMostNames = 5, kLongestName = 80;
  std::set<std::string> names;
  for (const CounterSample& sample : counters.samples()) {
    if (sample.info == &info && sample.byte_offset < 0 && !sample.text.empty() &&
        sample.text.size() <= kLongestName)
      names.insert(ValidUtf8(sample.text));
  }
  std::string out = info.meaning;
  size_t shown = 0;
  for (const std::string& name : names) {
    if (++shown > kMostNames) return out + ", ...";
    out += (shown == 1 ? ": " : ", ") + name;
  }
  return out;
}

Result<RankHint> PeekRank(const std::string& path) {
  std::string_view head;
  NL_ASSIGN(std::unique_ptr<SniffedSource> source, OpenSniffed(path, head, nullptr, true));
  NL_ASSIGN(const Adapter* adapter, ChooseAdapter("", head, path));
  RankHint hint = adapter->PeekRank(head);
  hint.adapter = adapter->Info().name;
  return hint;
}

Result<FileRole> PeekRole(const std::string& path) {
  std::error_code code;  // a pipe can be read once only
  if (!std::filesystem::is_regular_file(path, code)) return FileRole{};
  std::string_view head;
  NL_ASSIGN(std::unique_ptr<SniffedSource> source, OpenSniffed(path, head, nullptr, true));
  NL_ASSIGN(const Adapter* adapter, ChooseAdapter("", head, path));
  FileRole role = adapter->Role(head, source->name());
  role.adapter = adapter->Info().name;
  return role;
}

}  // namespace nl
