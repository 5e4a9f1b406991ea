// SPDX-License-Identifier: Apache-2.0
// `neurolens import`: files, folders of ranks or standard input become runs.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "import/file_sets.h"
#include "import/importer.h"
#include "import/rank_groups.h"
#include "import/read/byte_source.h"
#include "ledger/bundle.h"
#include "ledger/run_tables.h"
#include "model/schema.h"
#include "ops/allowed_roots.h"
#include "ops/import/attach.h"
#include "ops/import/folder.h"
#include "ops/import/reply.h"
#include "ops/open_store.h"
#include "ops/settings.h"
#include "report/text_table.h"

namespace nl::ops::import {

namespace {

using Group = FileGroup;

constexpr char kBundleAdapter[] = "bundle";

std::vector<ImportedOp> TopOps(const RunDocument& doc, size_t limit) {
  std::map<std::string, std::pair<int64_t, double>> by_name;  // calls, device ms
  for (const TimelineOp& op : doc.timeline) {
    auto& [calls, ms] = by_name[op.op_name];
    calls += op.metrics && op.metrics->calls ? *op.metrics->calls : 1;
    for (const TimelineKernel& k : op.kernels) ms += k.duration_ms;
  }
  std::vector<std::pair<std::string, std::pair<int64_t, double>>> order(by_name.begin(), by_name.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.second > b.second.second; });
  std::vector<ImportedOp> out;
  for (size_t i = 0; i < std::min(limit, order.size()) && order[i].second.second > 0; ++i)
    out.push_back({order[i].first, order[i].second.first, order[i].second.second});
  return out;
}

// One line for each reason with the files it holds for.
std::string SiblingsText(const ImportedRun& run) {
  std::vector<std::pair<const ImportSibling*, std::vector<std::string>>> lines;
  for (const ImportSibling& s : run.siblings) {
    auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& l) {
      return l.first->taken == s.taken && l.first->reason == s.reason;
    });
    if (line == lines.end()) line = lines.insert(lines.end(), {&s, {}});
    line->second.push_back(PrintableText(std::filesystem::path(s.file).filename().string()));
  }
  std::string out;
  for (const auto& [first, files] : lines)
    out += fmt::format("  {} {}: {}\n", first->taken ? "with" : "without", fmt::join(files, ", "),
                       first->reason);
  return out;
}

std::vector<ImportCounter> CountersOf(const CounterSet& counters) {
  std::vector<ImportCounter> out;
  for (const CounterSet::Total& total : counters.totals()) {
    out.push_back({std::string(total.info->name), std::string(SeverityName(total.info->severity)),
                   total.count, MeaningOf(counters, *total.info), std::string(total.info->advice)});
  }
  return out;
}

// A path as replies have it: what a face received has the name that its client gave.
std::string ShownPath(const OpContext& context, const std::string& path) {
  if (path == "-" && context.input != nullptr) return context.input->name;
  const bool received = !context.received.empty() && path.starts_with(context.received + "/");
  return received ? path.substr(context.received.size() + 1) : path;
}

std::vector<std::string> ShownPaths(const OpContext& context, const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) out.push_back(ShownPath(context, path));
  return out;
}

std::vector<ImportSibling> SiblingsOf(const OpContext& context, const Group& group) {
  std::vector<ImportSibling> out;
  for (const Sibling& s : group.siblings) out.push_back({ShownPath(context, s.path), s.taken, s.reason});
  return out;
}

class ImportOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "import";
    info.summary = "Read profiles into the store: files, folders of ranks, or - for standard input";
    info.choose_when =
        "Choose it for a profile that another tool wrote. The format is detected from the content; .gz and "
        ".zst "
        "files are read directly.";
    info.example = "neurolens import trace.json.gz --tag machine=h200";
    info.cost = Cost::kSeconds;
    info.writes = true;
    info.repeatable = true;
    info.reply = ReplyOf<ImportReply>();
    info.role = ServerRole::kUpload;
    info.tool.place = 14;
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("paths", paths_, "Profiles to import: files, folders, or - for standard input")
        .Positional()
        .Required()
        .Path();
    b.Add("format", format_, "Adapter to use instead of the one detected (see `neurolens formats`)");
    b.Add("model", model_, "Name of the model that ran; otherwise taken from the file name");
    b.Add("tag", tags_, "Tag for the new runs").KeyValue();
    b.Add("allow_truncated", allow_truncated_, "Import a truncated file: keep its complete events");
    b.Add("attach", attach_,
          "Add the counters of the file to this run, kernel by kernel, instead of making a run")
        .Run();
    b.Add("join", join_,
          "With --attach: launch_order joins executions one to one, in order; same_kernel gives the counters "
          "of a report with a few executions to all of the same name, grid and block")
        .Choices({"launch_order", "same_kernel"});
    b.Add("apart", apart_, "Make one run per file of a folder, even if the files are ranks of one run");
    b.Add("only", only_,
          "Import the named files alone, without other parts of their recording that are in the same folder");
    b.Add("force", force_, "Import again even if the store already holds the same bytes");
  }

  Result<Reply> Run(OpContext& context) override {
    TextMap tags;
    for (const std::string& tag : tags_) {
      const size_t equals = tag.find('=');
      if (equals == std::string::npos || equals == 0)
        return InvalidInput(fmt::format("'{}' is not a tag; write KEY=VALUE", tag));
      tags[tag.substr(0, equals)] = tag.substr(equals + 1);
    }
    NL_TRY(ResolvePaths(context));
    NL_ASSIGN(const std::unique_ptr<Store> store, OpenStore(context, Store::Mode::kReadWrite));
    ImportReply out;
    NL_ASSIGN(const std::vector<Group> groups, Groups(store->catalog(), out.skipped));
    if (!attach_.empty()) {
      if (groups.size() != 1) return InvalidInput("--attach takes one file");
      NL_ASSIGN(out.attached,
                AttachFile(context, *store, attach_, Request(context, groups[0]),
                           join_ == "same_kernel" ? AttachJoin::kSameKernel : AttachJoin::kLaunchOrder));
      out.attached->files = ShownPaths(context, groups[0].paths);
      return Reply::Of(std::move(out));
    }
    std::vector<Error> problems;
    for (const Group& group : groups) {
      Result<ImportedRun> run = ImportGroup(context, *store, group, tags);
      if (run.ok()) {
        out.runs.push_back(*std::move(run));
        continue;
      }
      // One bad file among several does not stop the others; alone, it is the answer.
      const ErrorCode code = run.error().code;
      if (groups.size() == 1 || code == ErrorCode::kCancelled || code == ErrorCode::kIo)
        return std::move(run).error();
      out.errors.push_back(
          {ShownPaths(context, group.paths), std::string(ErrorCodeName(code)), run.error().ToString()});
      problems.push_back(std::move(run).error());
    }
    if (out.runs.empty()) return std::move(problems.front());
    Reply reply = Reply::Of(std::move(out));
    reply.problems = std::move(problems);
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<ImportReply>();
    std::string out;
    if (reply.attached) out += AttachedText(*reply.attached, style.width);
    out += reply.runs.size() == 1 ? RunText(reply.runs[0]) : RunsText(reply.runs, style);
    return out + TallyText(reply, style.width);
  }

 private:
  // "imported 3 runs; 1 is already in the store; skipped 4 files: 3 are not profiles, ...", of more than one.
  static std::string TallyText(const ImportReply& reply, int width) {
    const auto known = std::count_if(reply.runs.begin(), reply.runs.end(),
                                     [](const ImportedRun& run) { return run.duplicate; });
    const auto fresh = static_cast<int64_t>(reply.runs.size()) - known;
    if (reply.runs.size() + reply.errors.size() < 2 && reply.skipped.empty()) return "";
    std::string out = fmt::format("imported {}", Counted(fresh, "run"));
    if (known > 0) out += fmt::format(", {} already in the store", Counted(known, "run"));
    if (!reply.errors.empty())
      out += fmt::format(", {} failed", Counted(static_cast<int64_t>(reply.errors.size()), "file"));
    if (!reply.skipped.empty()) {
      std::map<std::string, int64_t> reasons;
      for (const ImportSkipped& s : reply.skipped) ++reasons[s.reason];
      out += fmt::format(", skipped {}:", Counted(static_cast<int64_t>(reply.skipped.size()), "item"));
      for (const auto& [reason, count] : reasons)
        out +=
            fmt::format("{} {} ({})", reason == reasons.begin()->first ? "" : ",", reason, HumanCount(count));
    }
    return Wrap(out, width, 2) + "\n";
  }

  // A remote caller names files below the allowed roots only. What it sent is not named by it.
  Status ResolvePaths(const OpContext& context) {
    if (!context.remote || !context.received.empty() || context.input != nullptr) return {};
    for (std::string& path : paths_) {
      NL_ASSIGN(path, ResolveAllowed(context.roots, path));
    }
    may_read_ = [roots = context.roots](const std::string& path) { return roots->Contains(path); };
    for (const std::string& path : paths_) {
      if (IsDirectory(path) && IsCaptureFolder(path)) NL_TRY(CheckCapture(path));
    }
    return {};
  }

  // A capture is read as a whole: one link that leads elsewhere is too many.
  Status CheckCapture(const std::string& folder) const {
    namespace fs = std::filesystem;
    std::error_code code;
    for (fs::recursive_directory_iterator it(folder, code), end; it != end && !code; it.increment(code)) {
      if (!may_read_(it->path().string()))
        return Forbidden("the capture has a link that leads out of the folders that the server allows")
            .At(it->path().string());
    }
    if (code) return IoError(fmt::format("cannot list {}", folder), code.value());
    return {};
  }

  // What is asked for as runs: parts of one run given together, or found beside the one given, are one.
  Result<std::vector<Group>> Groups(Catalog& catalog, std::vector<ImportSkipped>& skipped) const {
    std::vector<Group> groups;
    std::vector<std::string> files;
    for (const std::string& path : paths_) {
      if (path == "-" || !IsDirectory(path) || IsCaptureFolder(path)) {
        files.push_back(path);
        continue;
      }
      NL_ASSIGN(std::vector<Group> found, GroupsOfFolder(path, apart_, may_read_, catalog, skipped));
      std::move(found.begin(), found.end(), std::back_inserter(groups));
    }
    for (FileSet& set : GroupParts(files)) {
      if (set.paths.size() == 1 && format_.empty() && !only_) set = WithPartsBeside(set.paths[0], may_read_);
      groups.push_back({std::move(set.paths), {}, std::move(set.siblings)});
    }
    return groups;
  }

  // The stored run with these bytes, when a look at size and hash says so cheaply.
  Result<std::optional<std::string>> FindDuplicate(Store& store, const Group& group) const {
    if (force_) return std::optional<std::string>();
    std::vector<SourceFile> files;
    int64_t total = 0;
    for (const std::string& path : group.paths) {
      const int64_t bytes = path == "-" ? -1 : StoredBytes(path);
      if (bytes < 0) return std::optional<std::string>();
      files.push_back({path, bytes, ""});
      total += bytes;
    }
    NL_ASSIGN(const std::vector<CatalogRun> runs, store.catalog().List({}));
    if (std::none_of(runs.begin(), runs.end(),
                     [&](const CatalogRun& run) { return run.source_bytes == total; })) {
      return std::optional<std::string>();
    }
    // Runs stored by version 0.1 have the plain hash.
    for (const HashKind kind : {HashKind::kTree, HashKind::kPlain}) {
      for (SourceFile& file : files) {
        NL_ASSIGN(file.sha256, StoredHash(file.name, kind));
      }
      NL_ASSIGN(const std::optional<CatalogRun> found, store.catalog().FindByContent(ContentSha256(files)));
      if (found) return std::optional(found->run_id);
    }
    return std::optional<std::string>();
  }

  // Buffers are in proportion to the row groups and the pieces of text.
  static double MemoryShare(const OpContext& context) {
    return static_cast<double>(std::max<int64_t>(context.settings->GetInt("import_memory_mb"), 32)) / 512;
  }

  ImportRequest Request(const OpContext& context, const Group& group) const {
    ImportRequest request;
    request.paths = group.paths;
    request.name_ranks = group.ranks;
    request.format = format_;
    request.model_name = model_;
    request.options.threads = static_cast<int>(context.settings->GetInt("threads"));
    request.options.chunk_bytes = static_cast<size_t>(std::min(1.0, MemoryShare(context)) *
                                                      static_cast<double>(request.options.chunk_bytes));
    request.options.allow_truncated = allow_truncated_;
    request.options.cancelled = context.cancelled;
    if (context.input != nullptr) request.options.input = *context.input;
    if (context.progress) {
      const std::string what = "importing " + std::filesystem::path(group.paths.front()).filename().string();
      request.options.progress = [&context, what](int64_t done, int64_t total) {
        context.progress(what, done, std::max<int64_t>(total, 0));
      };
    }
    return request;
  }

  Result<ImportedRun> ImportGroup(OpContext& context, Store& store, const Group& group,
                                  const TextMap& tags) const {
    if (format_.empty() && group.paths.size() == 1 && LooksLikeBundle(group.paths[0]))
      return ImportBundle(context, store, group, tags);
    NL_ASSIGN(const std::optional<std::string> duplicate, FindDuplicate(store, group));
    if (duplicate) {
      for (const auto& [key, value] : tags) NL_TRY(store.catalog().SetTag(*duplicate, key, value));
      ImportedRun run;
      run.run_id = *duplicate;
      run.duplicate = true;
      run.files = ShownPaths(context, group.paths);
      run.siblings = SiblingsOf(context, group);
      return run;
    }
    const auto began = std::chrono::steady_clock::now();
    NL_ASSIGN(StagedRun staged, store.Stage());
    const double memory = MemoryShare(context);
    RunTables tables(staged.path(), static_cast<size_t>(std::min(4.0, memory) * RunTables::kRowsPerGroup));
    NL_ASSIGN(ImportResult result, ImportFiles(Request(context, group), tables));
    return CommitRun(context, store, std::move(staged), tables, result, tags, began, group);
  }

  // A bundle is a run already: it keeps its id, its tags and its bytes.
  static Result<ImportedRun> ImportBundle(OpContext& context, Store& store, const Group& group,
                                          const TextMap& tags) {
    BundleOptions options;
    options.cancelled = context.cancelled;
    if (context.progress) {
      options.progress = [&context](int64_t done, int64_t total) {
        context.progress("restoring", done, total);
      };
    }
    NL_ASSIGN(const CommitOutcome outcome, RestoreBundle(store, group.paths[0], options));
    for (const auto& [key, value] : tags) NL_TRY(store.catalog().SetTag(outcome.run_id, key, value));
    ImportedRun run;
    run.run_id = outcome.run_id;
    run.duplicate = outcome.duplicate;
    run.files = ShownPaths(context, group.paths);
    run.adapter = kBundleAdapter;
    return run;
  }

  Result<ImportedRun> CommitRun(const OpContext& context, Store& store, StagedRun staged,
                                const RunTables& tables, ImportResult& result, const TextMap& tags,
                                std::chrono::steady_clock::time_point began, const Group& group) const {
    const int64_t now_ns = UnixNowNs();
    RunDocument& doc = result.document;
    doc.run_id = NewUuidV7();
    doc.created_at = Rfc3339Utc(now_ns);
    if (!tags.empty()) doc.tags = tags;
    NL_ASSIGN(const std::string text, SerializeValid(doc));
    NL_TRY(WriteFileAtomically(staged.path() + "/" + kRunDocumentFile, text));
    CatalogRun row = CatalogRow(result, now_ns, tags);
    NL_ASSIGN(const CommitOutcome outcome, store.Commit(std::move(staged), row, tables.checksums()));
    NL_ASSIGN(const std::optional<CatalogRun> stored, store.catalog().Find(outcome.run_id));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    ImportedRun run;
    run.run_id = outcome.run_id;
    run.duplicate = outcome.duplicate;
    run.files = ShownPaths(context, group.paths);
    run.siblings = SiblingsOf(context, group);
    run.adapter = doc.source.adapter;
    run.events = result.events;
    run.source_bytes = result.source_bytes;
    run.stored_bytes = stored ? stored->stored_bytes : 0;
    run.seconds = seconds;
    run.wall_ms = doc.summary.total_duration_ms;
    for (const RankFacts& rank : doc.ranks.value_or(std::vector<RankFacts>()))
      run.ranks.push_back({rank.rank, rank.file});
    if (doc.ranks)
      run.ranks_from = group.ranks.empty() ? ImportRanksFrom::kContent : ImportRanksFrom::kFileNames;
    run.gpu_utilization = doc.summary.Metric("gpu_utilization");
    if (doc.clock) run.clock = doc.clock->source;
    run.device = row.device;
    run.precision = row.precision;
    run.top_bottleneck = doc.summary.top_bottleneck;
    run.top_ops = TopOps(doc, 5);
    for (const ImportResult::TableRows& t : result.tables) run.tables[t.table] = t.rows;
    run.counters = CountersOf(result.counters);
    return run;
  }

  CatalogRun CatalogRow(const ImportResult& result, int64_t now_ns, const TextMap& tags) const {
    const RunDocument& doc = result.document;
    CatalogRun row;
    row.run_id = doc.run_id;
    row.created_at_ns = now_ns;
    row.backend = doc.software.backend;
    row.model = doc.model.name.value_or("");
    row.device_count = static_cast<int64_t>(doc.hardware.devices.size());
    if (!doc.hardware.devices.empty()) row.device = doc.hardware.devices[0].name.value_or("");
    row.precision = doc.software.precision;
    row.adapter = doc.source.adapter;
    row.tool = doc.source.tool.value_or("");
    row.source_name = doc.source.files[0].name;
    row.source_bytes = result.source_bytes;
    row.content_sha256 = force_ ? "" : result.content_sha256;
    row.wall_ns = result.wall_ns;
    row.event_count = result.events;
    row.op_count = result.ops;
    row.kernel_count = result.kernels;
    row.lost_records = result.counters.Count(Severity::kDataLoss);
    row.schema_version = kRunSchemaVersion;
    row.tags = tags;
    return row;
  }

  static std::string FilesText(const ImportedRun& run) {
    std::string file = PrintableText(std::filesystem::path(run.files[0]).filename().string());
    if (run.files.size() > 1) file += fmt::format(" and {} more", run.files.size() - 1);
    return file;
  }

  static bool IsWithoutTimeline(const ImportedRun& run) { return run.clock == kClockOfOrder; }

  // Several runs: a line each, then what is to be said of single ones.
  static std::string RunsText(const std::vector<ImportedRun>& runs, const TextStyle& style) {
    if (runs.empty()) return "";
    TextTable table({{"RUN", Align::kLeft, false},
                     {"FILE", Align::kLeft, true, 12},
                     {"WALL", Align::kRight, false},
                     {"GPU BUSY", Align::kRight, false}});
    std::string remarks;
    for (const ImportedRun& run : runs) {
      std::string wall = run.duplicate ? "in store" : run.wall_ms ? HumanMs(*run.wall_ms) : "-";
      if (IsWithoutTimeline(run)) wall = "no timeline";
      table.AddRow({run.run_id, FilesText(run), std::move(wall),
                    run.gpu_utilization ? HumanPercent(*run.gpu_utilization, 1) : "-"});
      if (const std::string text = SiblingsText(run) + RanksText(run) + CountersText(run); !text.empty())
        remarks += fmt::format("{}\n{}", FilesText(run), text);
    }
    return table.Render(style.width, style.color) + remarks;
  }

  static std::string RanksText(const ImportedRun& run) {
    if (run.ranks.size() < 2) return "";
    return fmt::format("  {} ranks, from the {}\n", run.ranks.size(),
                       run.ranks_from == ImportRanksFrom::kContent
                           ? "content of the files"
                           : "file names (--apart makes one run per file)");
  }

  static std::string RunText(const ImportedRun& run) {
    const std::string file = FilesText(run);
    if (run.duplicate)
      return fmt::format("{}  {} (the same bytes are already in the store)\n{}", run.run_id, file,
                         SiblingsText(run));
    if (run.adapter == kBundleAdapter) return fmt::format("{}  {} (restored unchanged)\n", run.run_id, file);
    const auto bytes = run.source_bytes.value_or(0);
    const double seconds = run.seconds.value_or(0);
    std::string out = fmt::format("{}  {}\n{}", run.run_id, file, SiblingsText(run));
    out += fmt::format("  {}, {} in {:.2f} s ({:.0f} MB/s), stored as {}\n",
                       Counted(run.events.value_or(0), "event"), HumanBytes(bytes), seconds,
                       static_cast<double>(bytes) / 1e6 / seconds, HumanBytes(run.stored_bytes.value_or(0)));
    return out + RanksText(run) + WorkText(run) + CountersText(run);
  }

  static std::string WorkText(const ImportedRun& run) {
    const bool no_timeline = IsWithoutTimeline(run);
    const std::string busy = no_timeline ? "durations only, no timeline"
                             : !run.gpu_utilization
                                 ? "no device work"
                                 : fmt::format("device busy {:.1f} %", 100 * *run.gpu_utilization);
    const std::string device = run.device.value_or("");
    std::string out =
        fmt::format("  {} {}, {}{}\n", no_timeline ? "sum" : "wall", HumanMs(run.wall_ms.value_or(0)), busy,
                    device.empty() ? "" : ", " + device);
    if (run.top_bottleneck) out += fmt::format("  top kernel  {}\n", *run.top_bottleneck);
    for (const ImportedOp& op : run.top_ops)
      out += fmt::format("  {:>10}  {} ({})\n", HumanMs(op.gpu_ms), op.name, Counted(op.calls, "call"));
    return out;
  }

  static std::string CountersText(const ImportedRun& run) {
    std::string out;
    for (const ImportCounter& c : run.counters) {
      if (c.severity == SeverityName(Severity::kInfo)) continue;
      out += fmt::format("  {}: {} {} - {}\n", c.severity, HumanCount(c.count), c.name, c.meaning);
    }
    return out;
  }

  std::vector<std::string> paths_, tags_;
  std::string format_, model_, attach_, join_ = "launch_order";
  bool allow_truncated_ = false, apart_ = false, force_ = false, only_ = false;
  MayRead may_read_;  // empty: everything
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ImportOp>(); }

}  // namespace nl::ops::import
