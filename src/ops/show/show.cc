// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/sha256_tree.h"
#include "base/terminal.h"
#include "import/read/byte_source.h"
#include "ledger/attachments.h"
#include "ledger/parquet_reader.h"
#include "ledger/run_files.h"
#include "ledger/sql_values.h"
#include "ops/find_run.h"
#include "ops/open_store.h"
#include "report/text_table.h"

namespace nl::ops::show {

namespace {

constexpr int64_t kMaxLogRows = 100;
// Parts of run.json that fit a screen; `export --format run-json` gives the timeline too.
constexpr const char* kDocumentParts[] = {"hardware", "software", "model", "source", "summary", "clock",
                                          "capture",  "ranks",    "notes", "config", "system"};

std::string TextOf(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || object[key].is_null()) return "";
  return object[key].is_string() ? object[key].get<std::string>() : DumpJson(object[key]);
}

const Json& PartOf(const Json& object, const char* key) {
  static const Json nothing;
  return object.is_object() && object.contains(key) ? object[key] : nothing;
}

struct ShowTable {
  std::string name;
  std::optional<int64_t> rows;
  int64_t bytes = 0;
};
void Describe(Record<ShowTable>& r) {
  r.Name("ShowTable", "A table of a run");
  r.Field("name", &ShowTable::name, "Name in SQL");
  r.Field("rows", &ShowTable::rows, "Rows; null: the file cannot be read");
  r.Field("bytes", &ShowTable::bytes, Unit::kBytes, "Size of its file");
}

struct ShowLogEntry {
  std::string reason, severity;
  int64_t count = 0;
  std::optional<std::string> advice;
};
void Describe(Record<ShowLogEntry>& r) {
  r.Name("ShowLogEntry", "Records of the source that had the same defect");
  r.Field("reason", &ShowLogEntry::reason, "Name of the defect");
  r.Field("severity", &ShowLogEntry::severity, "info, notice, data_loss or error");
  r.Field("count", &ShowLogEntry::count, "Records");
  r.Field("advice", &ShowLogEntry::advice, "What to do about it");
}

struct ShowSource {
  std::string file;
  int64_t bytes = 0;
  std::string sha256;
  std::optional<std::string> matches;
};
void Describe(Record<ShowSource>& r) {
  r.Name("ShowSource", "A file compared with the inputs of a run");
  r.Field("file", &ShowSource::file, "Path of the file");
  r.Field("bytes", &ShowSource::bytes, Unit::kBytes, "Size of the file");
  r.Field("sha256", &ShowSource::sha256, "Plain SHA-256 of the file, as sha256sum prints it");
  r.Field("matches", &ShowSource::matches, "Input of the run with the same bytes; null: none");
}

struct ShowReply {
  CatalogRun run;
  std::string path;
  Json document = Json::object();
  std::vector<ShowTable> tables;
  std::vector<ShowLogEntry> import_log;
  std::vector<ShowSource> sources;
  std::vector<std::string> warnings;
};
void Describe(Record<ShowReply>& r) {
  r.Name("ShowReply", "Reply of `neurolens show`");
  r.Field("run", &ShowReply::run, "The run as the catalog lists it");
  r.Field("path", &ShowReply::path, "Folder of the run");
  r.Field("document", &ShowReply::document, "Parts of run.json (docs/run_document.md), without the timeline");
  r.Field("tables", &ShowReply::tables, "Its tables");
  r.Field("import_log", &ShowReply::import_log, "Defects found by the import, most frequent first");
  r.Field("sources", &ShowReply::sources, "The files of --source");
  r.Field("warnings", &ShowReply::warnings, "Files of the run that cannot be read");
}

class ShowOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "show";
    info.summary = "Show the details of a run: source, model, device, lost records and tables";
    info.choose_when = "Choose it to see what is known about one run; `summary` shows where its time went.";
    info.example = "neurolens show @latest";
    info.reply = ReplyOf<ShowReply>();
    info.role = ServerRole::kRun;
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("run", run_, "The run: id, id prefix, @latest, tag or model name")
        .Run()
        .Positional()
        .Required();
    binder.Add("source", sources_, "Compare this file with the inputs of the run, and give its plain SHA-256")
        .Path();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const FoundRun found, FindRun(context, run_));
    const CatalogRun& run = found.run;
    const std::string folder = found.store->RunPath(run.run_id);
    ShowReply reply;
    reply.run = run;
    reply.path = folder;
    ReadDocument(folder, reply);
    NL_TRY(CompareSources(reply));
    ListTables(folder, reply.tables);
    if (Status status = CountRows(context, *found.store, folder, reply); !status.ok()) {
      if (status.error().code == ErrorCode::kCancelled) return std::move(status).error();
      reply.warnings.push_back(status.error().ToString());
    }
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<ShowReply>();
    std::string out = Facts(reply.run, reply.document);
    out += Losses(reply) + SourcesText(reply.sources);
    TextTable table(
        {{"TABLE", Align::kLeft, true}, {"ROWS", Align::kRight, false}, {"STORED", Align::kRight, false}});
    for (const ShowTable& t : reply.tables)
      table.AddRow({t.name, t.rows ? HumanCount(*t.rows) : "?", HumanBytes(t.bytes)});
    out += "\n" + table.Render(style.width, style.color);
    for (const std::string& warning : reply.warnings)
      out += fmt::format("warning: {}\n", PrintableText(warning, Keep::kLines));
    return out;
  }

 private:
  static void ReadDocument(const std::string& folder, ShowReply& reply) {
    Result<std::string> text = ReadRunFile(folder, kRunDocumentFile);
    Result<Json> document = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
    if (!document.ok() || !document->is_object()) {
      const std::string why = document.ok() ? "not an object" : document.error().message;
      reply.warnings.push_back(fmt::format("cannot read run.json: {}; run `neurolens doctor`", why));
      return;
    }
    for (const char* part : kDocumentParts) {
      if (document->contains(part)) reply.document[part] = (*document)[part];
    }
  }

  static void ListTables(const std::string& folder, std::vector<ShowTable>& tables) {
    for (const std::string& name : TablesIn(folder)) {
      std::error_code ec;
      const uintmax_t bytes = std::filesystem::file_size(fmt::format("{}/{}.parquet", folder, name), ec);
      tables.push_back({name, std::nullopt, ec ? 0 : static_cast<int64_t>(bytes)});
    }
  }

  static Status CountRows(const OpContext& context, Store& store, const std::string& folder,
                          ShowReply& reply) {
    VerifyOptions verify;
    verify.cancelled = context.cancelled;
    NL_ASSIGN(const RunFilesReport report, VerifyRunFolder(folder, verify));
    if (!report.defects.empty()) return DamagedRun(reply.run.run_id, report.defects[0]);
    // From the footers of the files: starting an engine takes longer than reading all of them.
    for (ShowTable& table : reply.tables) {
      const auto file = ParquetReader::Open(fmt::format("{}/{}.parquet", folder, table.name));
      if (file.ok()) table.rows = (*file)->rows();
      if (!file.ok()) reply.warnings.push_back(fmt::format("{}: {}", table.name, file.error().message));
    }
    // Every page about a run asks for this, and most runs have no log.
    if (!PathExists(folder + "/import_log.parquet") &&
        !PathExists(fmt::format("{}/{}", folder, kAttachedFolder)))
      return {};
    return ReadLog(context, store, reply);
  }

  static Status ReadLog(const OpContext& context, Store& store, ShowReply& reply) {
    NL_ASSIGN(auto session, OpenSql(context, store, {reply.run}));
    SqlLimits limits = SettingsLimits(context);
    limits.max_rows = kMaxLogRows;
    NL_ASSIGN(SqlTable log,
              session->QueryTable(
                  "SELECT reason, any_value(severity), CAST(sum(count) AS BIGINT), any_value(advice) "
                  "FROM import_log GROUP BY reason ORDER BY 3 DESC, 1",
                  limits));
    for (const Json& row : log.rows) {
      ShowLogEntry entry{CellText(row[0]), CellText(row[1]), 0, {}};
      if (row[2].is_number_integer()) entry.count = row[2].get<int64_t>();
      if (row[3].is_string()) entry.advice = row[3].get<std::string>();
      reply.import_log.push_back(std::move(entry));
    }
    return {};
  }

  static std::string Line(const char* label, const std::string& text) {
    return text.empty() ? "" : fmt::format("{:<10}{}\n", label, PrintableText(text));
  }

  static std::string Facts(const CatalogRun& run, const Json& document) {
    const Json& software = PartOf(document, "software");
    const Json& source = PartOf(document, "source");
    std::string tags;
    for (const auto& [key, value] : run.tags)
      tags += fmt::format("{}{}={}", tags.empty() ? "" : "  ", key, value);
    std::string device = run.device;
    if (device.empty()) {
      const bool has_device = run.device_count > 0 || run.kernel_count > 0;
      device = !has_device            ? "none (CPU only)"
               : run.device_count > 1 ? fmt::format("{} devices, not named by the source", run.device_count)
                                      : "not named by the source";
    } else if (run.device_count > 1) {
      device = fmt::format("{} x {}", run.device_count, device);
    }
    const std::string backend =
        fmt::format("{} {}  {}", run.backend, TextOf(software, "version"), run.precision);
    const std::string origin =
        fmt::format("{} ({}), read by {} {}", run.source_name, HumanBytes(run.source_bytes), run.adapter,
                    TextOf(source, "adapter_version"));
    const std::string size =
        fmt::format("{} wall, {}, {}, {}", HumanDurationNs(run.wall_ns), Counted(run.op_count, "op"),
                    Counted(run.kernel_count, "kernel"), Counted(run.event_count, "event"));
    return Line("run", run.run_id) + Line("created", ShortTime(run.created_at_ns) + " UTC") +
           Line("model", run.model) + Line("backend", backend) + Line("device", device) +
           Line("source", origin) + Line("tool", Tool(source, run)) + Line("recorded", size) +
           Machine(PartOf(document, "system"), software) + Line("tags", tags) +
           Line("stored", HumanBytes(run.stored_bytes));
  }

  // The machine when it was recorded (SystemReply in docs/replies.md), and what about it needed care.
  static std::string Machine(const Json& system, const Json& software) {
    if (!system.is_object()) return "";
    const Json& host = PartOf(system, "host");
    std::string machine = TextOf(PartOf(host, "cpu"), "model");
    const auto add = [&machine](std::string_view before, const std::string& text) {
      if (!text.empty()) machine += fmt::format("{}{}{}", machine.empty() ? "" : ", ", before, text);
    };
    add("", TextOf(host, "os"));
    add("in ", TextOf(host, "container"));
    add("driver ", TextOf(PartOf(system, "cuda"), "driver"));
    std::string packages;
    if (const Json& frameworks = PartOf(software, "frameworks"); frameworks.is_object()) {
      for (const auto& [name, version] : frameworks.items())
        packages +=
            fmt::format("{}{} {}", packages.empty() ? "" : ", ", name, TextOf(frameworks, name.c_str()));
    }
    std::string out = Line("machine", machine) + Line("packages", packages);
    for (const Json& check : PartOf(system, "health").is_array() ? PartOf(system, "health") : Json::array()) {
      const std::string state = TextOf(check, "state");
      if (state == "warning" || state == "problem") out += Line(state.c_str(), TextOf(check, "text"));
    }
    return out;
  }

  static std::string Tool(const Json& source, const CatalogRun& run) {
    const std::string version = TextOf(source, "tool_version");
    return run.tool + (version.empty() ? "" : " " + version);
  }

  static std::string Losses(const ShowReply& reply) {
    const int64_t lost = reply.run.lost_records;
    std::string out = Line("lost", lost == 0 ? "nothing" : Counted(lost, "record"));
    for (const ShowLogEntry& entry : reply.import_log) {
      out += fmt::format("  {:<9} {} x {}", entry.severity, HumanCount(entry.count),
                         PrintableText(entry.reason));
      out += entry.advice ? fmt::format(": {}\n", PrintableText(*entry.advice)) : "\n";
    }
    return out;
  }

  // Which input of the run each file is, by its bytes (docs/identity.md).
  Status CompareSources(ShowReply& reply) const {
    const Json& inputs = PartOf(PartOf(reply.document, "source"), "files");
    for (const std::string& path : sources_) {
      ShowSource source{path, StoredBytes(path), "", std::nullopt};
      NL_ASSIGN(source.sha256, StoredHash(path, HashKind::kPlain));
      NL_ASSIGN(const std::string tree, StoredHash(path, HashKind::kTree));
      for (const Json& input : inputs.is_array() ? inputs : Json::array()) {
        const bool plain = TextOf(input, "hash") != Sha256Tree::kName;
        if (TextOf(input, "sha256") == (plain ? source.sha256 : tree)) source.matches = TextOf(input, "name");
      }
      reply.sources.push_back(std::move(source));
    }
    return {};
  }

  static std::string SourcesText(const std::vector<ShowSource>& sources) {
    std::string out;
    for (const ShowSource& s : sources) {
      out += fmt::format(
          "{}: {}\n  sha256 {}\n", PrintableText(s.file),
          s.matches ? "same bytes as input " + PrintableText(*s.matches) : "not an input of this run",
          s.sha256);
    }
    return out;
  }

  std::string run_;
  std::vector<std::string> sources_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ShowOp>(); }

}  // namespace nl::ops::show
