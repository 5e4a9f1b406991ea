// SPDX-License-Identifier: Apache-2.0
// `neurolens export`: a stored run as files for other tools. (The folder cannot be called `export`,
// a C++ keyword, because its name is a namespace too.)

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

// Largest output for standard output, which is held in memory.
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

// Part of a file name: characters with a meaning to a shell or a file system become '-'.
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

struct ExportReply {
  std::string run_id, format;
  std::optional<std::string> path;
  int64_t bytes = 0;
  std::optional<std::map<std::string, int64_t>> counts;
  std::optional<std::vector<std::string>> files;
  Json document;
};
void Describe(Record<ExportReply>& r) {
  r.Name("ExportReply", "Reply of `neurolens export`");
  r.Field("run_id", &ExportReply::run_id, "The run");
  r.Field("format", &ExportReply::format, "Format that was written");
  r.Field("path", &ExportReply::path, "File or folder that was written; null: standard output");
  r.Field("bytes", &ExportReply::bytes, Unit::kBytes, "Size of what was written");
  r.Field("counts", &ExportReply::counts, "Contents of a trace by kind");
  r.Field("files", &ExportReply::files, "Files of a folder of tables");
  r.Field("document", &ExportReply::document, "The run document, for run-json without --out; else null");
}

class ExportOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "export";
    info.summary =
        "Write a run for other tools: run document, tables, Perfetto trace, or one bundle with everything";
    info.choose_when =
        "Choose it to open a run in another tool or to share it; `query RUN \"SELECT ...\" --out FILE` "
        "writes "
        "selected rows.";
    info.example = "neurolens export @latest --format perfetto --out run.pftrace";
    info.cost = Cost::kSeconds;
    info.reply = ReplyOf<ExportReply>();
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
    help += "bundle: one .zip that `import` restores";
    b.Add("run", run_, "The run: id, id prefix, @latest or tag").Run().Positional().Required();
    b.Add("format", format_, help).Choices(formats);
    b.Add("out", out_, "File or folder to write; - is standard output").Path().LocalOnly();
    b.Add("force", force_, "Overwrite existing files");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const auto store, OpenStore(context, Store::Mode::kReadOnly));
    NL_ASSIGN(const CatalogRun run, store->catalog().Resolve(run_));
    NL_ASSIGN(const std::string short_id, store->catalog().ShortId(run.run_id));
    ExportReply reply;
    reply.run_id = run.run_id;
    reply.format = format_;
    std::string raw;
    const std::string name = fmt::format("{}-{}", FileNamePart(run.model), short_id);
    if (format_ == "run-json") {
      NL_TRY(RunDocument(*store, run, reply, raw));
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
      NL_TRY(
          Write(reply, raw, [&](const ByteSink& sink) { return WriteBundle(*store, run, sink, options); }));
    } else {
      NL_TRY(Render(context, run, name, reply, raw));
    }
    Reply out = Reply::Of(std::move(reply));
    out.raw = std::move(raw);
    return out;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<ExportReply>();
    if (!reply.path) return "";  // an empty output on standard output
    std::string out = fmt::format("wrote {} ({})\n", *reply.path, HumanBytes(reply.bytes));
    if (reply.files) out += fmt::format("  {} tables\n", reply.files->size());
    if (reply.counts) out += CountsText(*reply.counts, style.width);
    if (reply.format == "perfetto")
      out += "  open it at https://ui.perfetto.dev (the file stays on this machine)\n";
    if (reply.format == "bundle") out += fmt::format("  restore it with: neurolens import {}\n", *reply.path);
    return out;
  }

 private:
  // "3 tracks, 1 slice": counts that are not 0, in words.
  static std::string CountsText(const std::map<std::string, int64_t>& counts, int width) {
    std::string text;
    for (const auto& [what, count] : counts) {
      if (count == 0) continue;
      std::string words = what;
      std::replace(words.begin(), words.end(), '_', ' ');
      if (count == 1 && words.back() == 's') words.pop_back();
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", HumanCount(count), words);
    }
    return text.empty() ? "" : fmt::format("  {}\n", Wrap(text, width, 2));
  }

  // Runs `produce` with a sink into --out, or into the reply for standard output.
  template <class Produce>
  Status Write(ExportReply& reply, std::string& raw, const Produce& produce) const {
    if (out_ == "-") {
      NL_TRY(produce([&raw](std::string_view bytes) -> Status {
        if (raw.size() + bytes.size() > kMaxStdoutBytes)
          return Limit("the output is larger than 1 GiB, the limit for standard output")
              .Hint("write it to a file: --out FILE");
        raw.append(bytes);
        return {};
      }));
      reply.bytes = static_cast<int64_t>(raw.size());
      return {};
    }
    NL_ASSIGN(TargetFile target, TargetFile::Create(out_, force_));
    NL_TRY(produce([&target](std::string_view bytes) { return target.Append(bytes); }));
    reply.bytes = static_cast<int64_t>(target.size_bytes());
    NL_TRY(target.Commit());
    reply.path = out_;
    return {};
  }

  Status RunDocument(Store& store, const CatalogRun& run, ExportReply& reply, std::string& raw) const {
    NL_ASSIGN(const std::string text,
              ReadWholeFile(fmt::format("{}/{}", store.RunPath(run.run_id), kRunDocumentFile)));
    if (!out_.empty() && out_ != "-")
      return Write(reply, raw, [&](const ByteSink& sink) { return sink(text); });
    NL_ASSIGN(reply.document, ParseJson(text));
    reply.bytes = static_cast<int64_t>(text.size());
    raw = text;
    return {};
  }

  Status Render(OpContext& context, const CatalogRun& run, const std::string& name, ExportReply& reply,
                std::string& raw) {
    const Renderer* renderer = FindRenderer(format_);
    if (renderer == nullptr) return Internal(fmt::format("no renderer {}", format_));
    if (out_.empty()) out_ = name + renderer->Info().extension;
    NL_ASSIGN(const OpenRun open, OpenSnapshot(context, run.run_id));
    SnapshotTables tables(*open.snapshot);
    RenderOptions options;
    options.cancelled = context.cancelled;
    return Write(reply, raw, [&](const ByteSink& sink) -> Status {
      NL_ASSIGN(const RenderCounts counts, renderer->Render(tables, options, sink));
      reply.counts.emplace();
      for (const auto& [what, count] : counts) (*reply.counts)[what] = count;
      return {};
    });
  }

  // The tables as a folder that appears complete or not at all. The tables of attachments get names beside
  // the run's own, so that kernel_metric*.parquet matches all of them.
  Status Tables(Store& store, const CatalogRun& run, ExportReply& reply) const {
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
    reply.files.emplace();
    for (const auto& [source, file] : files) {
      std::error_code ec;
      fs::copy_file(source, fs::path(target.path()) / file, ec);
      if (ec) return FileError("copy", source.string(), ec.value());
      reply.bytes += static_cast<int64_t>(fs::file_size(fs::path(target.path()) / file, ec));
      reply.files->push_back(file);
    }
    NL_TRY(target.Commit());
    reply.path = out_;
    return {};
  }

  std::string run_, format_ = "run-json", out_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ExportOp>(); }

}  // namespace nl::ops::export_run
