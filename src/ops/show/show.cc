// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ops/open_store.h"
#include "report/text_table.h"

namespace nl::ops::show {

namespace {

constexpr int64_t kMaxLogRows = 100;
// Parts of run.json worth a screen; the timeline stays with `export --format run-json`.
constexpr const char* kDocumentParts[] = {"hardware", "software", "model", "source", "summary",
                                          "clock",    "capture",  "ranks", "notes",  "config"};

std::string TextOf(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || object[key].is_null()) return "";
  return object[key].is_string() ? object[key].get<std::string>() : DumpJson(object[key]);
}

const Json& PartOf(const Json& object, const char* key) {
  static const Json nothing;
  return object.is_object() && object.contains(key) ? object[key] : nothing;
}

class ShowOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "show";
    info.summary = "What a run is: where it comes from, what ran on what, what was lost, its tables";
    info.choose_when = "to see what is known about one run; summary RUN tells where its time went";
    info.example = "neurolens show @latest";
    info.reply_schema = SchemaFromText(R"({"type": "object",
      "required": ["run", "path", "document", "tables", "import_log"], "properties": {
      "run": {}, "path": {"type": "string"}, "document": {"type": "object"},
      "tables": {"type": "array", "items": {"type": "object", "required": ["name", "rows", "bytes"], "properties": {
        "name": {"type": "string"}, "rows": {"type": ["integer", "null"]}, "bytes": {"type": "integer"}}}},
      "import_log": {"type": "array", "items": {"type": "object", "required": ["reason", "severity", "count"],
        "properties": {"reason": {"type": "string"}, "severity": {"type": "string"}, "count": {"type": "integer"},
                       "advice": {"type": ["string", "null"]}}}},
      "warnings": {"type": "array", "items": {"type": "string"}}}})");
    info.reply_schema["properties"]["run"] = CatalogRunSchema();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("run", run_, "The run: id, id prefix, @latest or tag").Run().Positional().Required();
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(auto store, OpenStore(context, Store::Mode::kReadOnly));
    NL_ASSIGN(CatalogRun run, store->catalog().Resolve(run_));
    const std::string folder = store->RunPath(run.run_id);
    Reply reply;
    reply.json = {{"run", CatalogRunToJson(run)}, {"path", folder}, {"document", Json::object()}};
    reply.json["tables"] = Json::array();
    reply.json["import_log"] = Json::array();
    reply.json["warnings"] = Json::array();
    ReadDocument(folder, reply.json);
    ListTables(folder, reply.json["tables"]);
    if (Status status = CountRows(context, *store, run, folder, reply.json); !status.ok()) {
      if (status.error().code == ErrorCode::kCancelled) return std::move(status).error();
      reply.json["warnings"].push_back(status.error().ToString());
    }
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& json = reply.json;
    std::string out = Facts(json["run"], json["document"]);
    out += Losses(json["import_log"], json["run"]);
    TextTable table(
        {{"TABLE", Align::kLeft, true}, {"ROWS", Align::kRight, false}, {"STORED", Align::kRight, false}});
    for (const Json& row : json["tables"]) {
      table.AddRow({row["name"].get<std::string>(),
                    row["rows"].is_null() ? "?" : HumanCount(row["rows"].get<int64_t>()),
                    HumanBytes(row["bytes"].get<int64_t>())});
    }
    out += "\n" + table.Render(style.width, style.color);
    for (const Json& warning : json["warnings"])
      out += fmt::format("warning: {}\n", PrintableText(warning.get<std::string>(), Keep::kLines));
    return out;
  }

 private:
  static void ReadDocument(const std::string& folder, Json& reply) {
    Result<std::string> text = ReadWholeFile(fmt::format("{}/{}", folder, kRunDocumentFile));
    Result<Json> document = text.ok() ? ParseJson(*text) : Result<Json>(text.error());
    if (!document.ok() || !document->is_object()) {
      const std::string why = document.ok() ? "not an object" : document.error().message;
      reply["warnings"].push_back(fmt::format("run.json cannot be read: {}; try neurolens doctor", why));
      return;
    }
    for (const char* part : kDocumentParts) {
      if (document->contains(part)) reply["document"][part] = (*document)[part];
    }
  }

  static void ListTables(const std::string& folder, Json& tables) {
    for (const std::string& name : TablesIn(folder)) {
      std::error_code ec;
      const uintmax_t bytes = std::filesystem::file_size(fmt::format("{}/{}.parquet", folder, name), ec);
      tables.push_back({{"name", name}, {"rows", nullptr}, {"bytes", ec ? 0 : bytes}});
    }
  }

  static Status CountRows(const OpContext& context, Store& store, const CatalogRun& run,
                          const std::string& folder, Json& reply) {
    if (reply["tables"].empty()) return {};
    NL_ASSIGN(auto session, OpenSql(context, store, {run}));
    SqlLimits limits = SettingsLimits(context);
    limits.max_rows = kMaxLogRows;
    for (Json& table : reply["tables"]) {
      std::error_code ec;
      const std::string file =
          fmt::format("{}/{}.parquet", std::filesystem::absolute(folder, ec).lexically_normal().string(),
                      table["name"].get<std::string>());
      Result<SqlTable> counted = session->QueryTable(
          fmt::format("SELECT num_rows FROM parquet_file_metadata({})", SqlQuote(file)), limits);
      if (!counted.ok()) {
        reply["warnings"].push_back(
            fmt::format("{}: {}", table["name"].get<std::string>(), counted.error().message));
      } else if (!counted->rows.empty()) {
        table["rows"] = counted->rows[0][0];
      }
    }
    NL_ASSIGN(SqlTable log,
              session->QueryTable(
                  "SELECT reason, any_value(severity), CAST(sum(count) AS BIGINT), any_value(advice) "
                  "FROM import_log GROUP BY reason ORDER BY 3 DESC, 1",
                  limits));
    for (const Json& row : log.rows) {
      reply["import_log"].push_back(
          {{"reason", row[0]}, {"severity", row[1]}, {"count", row[2]}, {"advice", row[3]}});
    }
    return {};
  }

  static std::string Line(const char* label, const std::string& text) {
    return text.empty() ? "" : fmt::format("{:<10}{}\n", label, PrintableText(text));
  }

  static std::string Facts(const Json& run, const Json& document) {
    const Json& software = PartOf(document, "software");
    const Json& source = PartOf(document, "source");
    std::string tags;
    for (const auto& [key, value] : run["tags"].items()) {
      tags += fmt::format("{}{}={}", tags.empty() ? "" : "  ", key, value.get<std::string>());
    }
    const auto devices = run["device_count"].get<int64_t>();
    std::string device = devices == 0 ? "no device (CPU only)" : TextOf(run, "device");
    if (devices > 1) device = fmt::format("{} x {}", devices, device);
    const std::string backend = fmt::format("{} {}  {}", TextOf(run, "backend"), TextOf(software, "version"),
                                            TextOf(run, "precision"));
    const std::string origin = fmt::format("{} ({}), read by {} {}", TextOf(run, "source_name"),
                                           HumanBytes(run["source_bytes"].get<int64_t>()),
                                           TextOf(run, "adapter"), TextOf(source, "adapter_version"));
    const std::string size = fmt::format(
        "{} wall, {} ops, {} kernels, {} events", HumanDurationNs(run["wall_ns"].get<int64_t>()),
        HumanCount(run["op_count"].get<int64_t>()), HumanCount(run["kernel_count"].get<int64_t>()),
        HumanCount(run["event_count"].get<int64_t>()));
    return Line("run", TextOf(run, "run_id")) +
           Line("created", ShortTime(run["created_at_ns"].get<int64_t>()) + " UTC") +
           Line("model", TextOf(run, "model")) + Line("backend", backend) + Line("device", device) +
           Line("source", origin) + Line("tool", Tool(source, run)) + Line("ran", size) + Line("tags", tags) +
           Line("stored", HumanBytes(run["stored_bytes"].get<int64_t>()));
  }

  static std::string Tool(const Json& source, const Json& run) {
    const std::string version = TextOf(source, "tool_version");
    return TextOf(run, "tool") + (version.empty() ? "" : " " + version);
  }

  static std::string Losses(const Json& log, const Json& run) {
    const auto lost = run["lost_records"].get<int64_t>();
    std::string out = Line("lost", lost == 0 ? "nothing" : fmt::format("{} records", HumanCount(lost)));
    for (const Json& entry : log) {
      out += fmt::format("  {:<9} {} x {}", TextOf(entry, "severity"),
                         HumanCount(entry["count"].get<int64_t>()), PrintableText(TextOf(entry, "reason")));
      const std::string advice = PrintableText(TextOf(entry, "advice"));
      out += advice.empty() ? "\n" : fmt::format(": {}\n", advice);
    }
    return out;
  }

  std::string run_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ShowOp>(); }

}  // namespace nl::ops::show
