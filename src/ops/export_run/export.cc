// SPDX-License-Identifier: Apache-2.0
// `neurolens export`: a stored run as files for others. (The folder is not called export:
// that is a keyword of C++ and the folder names a namespace.)

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/terminal.h"
#include "ledger/attachments.h"
#include "ledger/bundle.h"
#include "ops/export_run/target_file.h"
#include "ops/open_snapshot.h"
#include "report/renderer.h"

namespace nl::ops::export_run {

namespace {

namespace fs = std::filesystem;

// What a reply may carry in memory; larger outputs need a file.
constexpr size_t kMaxStdoutBytes = size_t{1} << 30;

class SnapshotTables final : public TableReader {
 public:
  explicit SnapshotTables(Snapshot& snapshot) : snapshot_(snapshot) {}
  Status Load(ColumnSet& to, std::initializer_list<const char*> columns) override {
    return snapshot_.Load(to, columns);
  }
  const StringPool& strings() const override { return snapshot_.strings(); }

 private:
  Snapshot& snapshot_;
};

const Renderer* FindRenderer(const std::string& name) {
  for (const RendererFn describe : AllRenderers()) {
    if (describe().Info().name == name) return &describe();
  }
  return nullptr;
}

// Part of a file name: what could mean something to a shell or a file system becomes '-'.
std::string FileNamePart(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 60)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '_' || (c == '.' && !out.empty());
    if (plain || (!out.empty() && out.back() != '-')) out += plain ? c : '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "run" : out;
}

class ExportOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "export";
    info.summary = "Write a run for others: its document, tables, a Perfetto trace, or all as one bundle";
    info.choose_when =
        "to look at a run in another tool or to hand it on; query RUN \"SELECT ...\" --out writes chosen "
        "rows";
    info.example = "neurolens export @latest --format perfetto --out run.pftrace";
    info.cost = Cost::kSeconds;
    info.reply_schema =
        SchemaFromText(R"({"type": "object", "required": ["run_id", "format", "path", "bytes"],
      "properties": {"run_id": {"type": "string"}, "format": {"type": "string"},
        "path": {"type": ["string", "null"], "description": "null: written to standard output"},
        "bytes": {"type": "integer"},
        "counts": {"type": "object", "description": "what the trace holds", "additionalProperties": {"type": "integer"}},
        "files": {"type": "array", "items": {"type": "string"}},
        "document": {"type": "object", "description": "run-json without --out: the run document"}}})");
    return info;
  }

  void Bind(ParamBinder& b) override {
    std::vector<std::string> formats = {"run-json", "parquet"};
    std::string help = "run-json: the run document; parquet: a folder of tables; ";
    for (const RendererFn describe : AllRenderers()) {
      const RendererInfo info = describe().Info();
      formats.push_back(info.name);
      help += fmt::format("{}: {}; ", info.name, info.summary);
    }
    formats.push_back("bundle");
    help += "bundle: one .zip that import takes back";
    b.Add("run", run_, "The run: id, id prefix, @latest or tag").Run().Positional().Required();
    b.Add("format", format_, help).Choices(formats);
    b.Add("out", out_, "File or folder to write; - is standard output").Path().LocalOnly();
    b.Add("force", force_, "Replace what is there already");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const auto store, OpenStore(context, Store::Mode::kReadOnly));
    NL_ASSIGN(const CatalogRun run, store->catalog().Resolve(run_));
    NL_ASSIGN(const std::string short_id, store->catalog().ShortId(run.run_id));
    Reply reply;
    reply.json = {{"run_id", run.run_id}, {"format", format_}, {"path", nullptr}, {"bytes", 0}};
    const std::string name = fmt::format("{}-{}", FileNamePart(run.model), short_id);
    if (format_ == "run-json") {
      NL_TRY(RunDocument(*store, run, reply));
    } else if (format_ == "parquet") {
      if (out_.empty()) out_ = short_id + "-parquet";
      NL_TRY(Tables(*store, run, reply));
    } else if (format_ == "bundle") {
      if (out_.empty()) out_ = name + ".zip";
      BundleOptions options;
      options.cancelled = context.cancelled;
      if (context.progress) {
        options.progress = [&context](int64_t done, int64_t total) {
          context.progress("bundling", done, total);
        };
      }
      NL_TRY(Write(reply, [&](const ByteSink& sink) { return WriteBundle(*store, run, sink, options); }));
    } else {
      NL_TRY(Render(context, run, name, reply));
    }
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& json = reply.json;
    if (json["path"].is_null()) return "";  // an empty output on standard output
    std::string out = fmt::format("wrote {} ({})\n", json["path"].get<std::string>(),
                                  HumanBytes(json["bytes"].get<int64_t>()));
    if (json.contains("files")) out += fmt::format("  {} tables\n", json["files"].size());
    std::string counts;
    if (json.contains("counts")) {
      for (const auto& [what, count] : json["counts"].items()) {
        if (count == 0) continue;
        std::string words = what;
        std::replace(words.begin(), words.end(), '_', ' ');
        if (count == 1 && words.back() == 's') words.pop_back();
        counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", HumanCount(count.get<int64_t>()), words);
      }
      if (!counts.empty()) out += fmt::format("  {}\n", Wrap(counts, style.width, 2));
    }
    if (json["format"] == "perfetto")
      out += "  open it at https://ui.perfetto.dev (it stays on this machine)\n";
    if (json["format"] == "bundle")
      out += fmt::format("  take it back with: neurolens import {}\n", json["path"].get<std::string>());
    return out;
  }

 private:
  // Runs `produce` with a sink into --out, or into the reply for standard output.
  template <class Produce>
  Status Write(Reply& reply, const Produce& produce) const {
    if (out_ == "-") {
      NL_TRY(produce([&reply](std::string_view bytes) -> Status {
        if (reply.raw.size() + bytes.size() > kMaxStdoutBytes)
          return Limit("more than 1 GiB is not written to standard output").Hint("give a file: --out FILE");
        reply.raw.append(bytes);
        return {};
      }));
      reply.json["bytes"] = reply.raw.size();
      return {};
    }
    NL_ASSIGN(TargetFile target, TargetFile::Create(out_, force_));
    NL_TRY(produce([&target](std::string_view bytes) { return target.Append(bytes); }));
    reply.json["bytes"] = target.size_bytes();
    NL_TRY(target.Commit());
    reply.json["path"] = out_;
    return {};
  }

  Status RunDocument(Store& store, const CatalogRun& run, Reply& reply) const {
    NL_ASSIGN(const std::string text,
              ReadWholeFile(fmt::format("{}/{}", store.RunPath(run.run_id), kRunDocumentFile)));
    if (!out_.empty() && out_ != "-") return Write(reply, [&](const ByteSink& sink) { return sink(text); });
    NL_ASSIGN(reply.json["document"], ParseJson(text));
    reply.json["bytes"] = text.size();
    reply.raw = text;
    return {};
  }

  Status Render(OpContext& context, const CatalogRun& run, const std::string& name, Reply& reply) {
    const Renderer* renderer = FindRenderer(format_);
    if (renderer == nullptr) return Internal(fmt::format("no renderer {}", format_));
    if (out_.empty()) out_ = name + renderer->Info().extension;
    NL_ASSIGN(const OpenRun open, OpenSnapshot(context, run.run_id));
    SnapshotTables tables(*open.snapshot);
    RenderOptions options;
    options.cancelled = context.cancelled;
    return Write(reply, [&](const ByteSink& sink) -> Status {
      NL_ASSIGN(const RenderCounts counts, renderer->Render(tables, options, sink));
      for (const auto& [what, count] : counts) reply.json["counts"][what] = count;
      return {};
    });
  }

  // The tables as a folder: whole under its name, or not there. Those of attachments stand beside the run's
  // own, so that kernel_metric*.parquet is all of them.
  Status Tables(Store& store, const CatalogRun& run, Reply& reply) const {
    if (out_ == "-") return InvalidInput("--format parquet writes a folder, not standard output");
    const std::string from = store.RunPath(run.run_id);
    std::vector<std::pair<fs::path, std::string>> files;  // from, name there
    for (const std::string& table : TablesIn(from))
      files.emplace_back(fs::path(from) / (table + ".parquet"), table + ".parquet");
    int number = 0;
    for (const std::string& folder : AttachmentFolders(from)) {
      ++number;
      for (const std::string& table : TablesIn(folder))
        files.emplace_back(fs::path(folder) / (table + ".parquet"),
                           fmt::format("{}.attached_{}.parquet", table, number));
    }
    NL_ASSIGN(TargetFolder target, TargetFolder::Create(out_, force_));
    reply.json["files"] = Json::array();
    int64_t bytes = 0;
    for (const auto& [source, file] : files) {
      std::error_code ec;
      fs::copy_file(source, fs::path(target.path()) / file, ec);
      if (ec) return FileError("copy", source.string(), ec.value());
      bytes += static_cast<int64_t>(fs::file_size(fs::path(target.path()) / file, ec));
      reply.json["files"].push_back(file);
    }
    NL_TRY(target.Commit());
    reply.json["path"] = out_;
    reply.json["bytes"] = bytes;
    return {};
  }

  std::string run_, format_ = "run-json", out_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ExportOp>(); }

}  // namespace nl::ops::export_run
