// SPDX-License-Identifier: Apache-2.0
// `neurolens export`: a stored run as files for other tools. (The folder cannot be called `export`,
// a C++ keyword, because its name is a namespace too.)

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/terminal.h"
#include "ops/export_run/stored_run.h"
#include "ops/export_run/target_file.h"
#include "ops/find_run.h"

namespace nl::ops::export_run {

namespace {

namespace fs = std::filesystem;

// Largest output for standard output, which is held in memory.
constexpr size_t kMaxStdoutBytes = size_t{1} << 30;

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
    info.local = true;
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
    std::vector<std::string> formats;
    std::string help;
    for (const RendererFn describe : AllRenderers()) {
      const RendererInfo info = describe().Info();
      formats.push_back(info.name);
      help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", info.name, info.summary);
    }
    b.Add("run", run_, "The run: id, id prefix, @latest, tag or model name").Run().Positional().Required();
    b.Add("format", format_, help).Choices(formats);
    b.Add("out", out_, "File or folder to write; - is standard output").Path();
    b.Add("force", force_, "Overwrite existing files");
  }

  Result<Reply> Run(OpContext& context) override {
    NL_ASSIGN(const FoundRun found, FindRun(context, run_));
    const auto& [store, run, in_use] = found;
    NL_ASSIGN(const std::string short_id, store->catalog().ShortId(run.run_id));
    const Renderer* renderer = FindRenderer(format_);
    if (renderer == nullptr) return Internal(fmt::format("no renderer {}", format_));
    const RendererInfo info = renderer->Info();
    asked_for_stdout_ = out_ == "-";
    if (out_.empty()) out_ = DefaultOut(info, FileNamePart(run.model), short_id);
    NL_TRY(CheckTerminal(info));
    ExportReply reply;
    reply.run_id = run.run_id;
    reply.format = format_;
    std::string raw;
    StoredRun source(context, *store, run);
    const auto render = [&](const RenderTarget& target) {
      return Render(*renderer, source, context, target, reply);
    };
    NL_TRY(info.is_folder ? WriteFolder(render, reply) : WriteFile(render, reply, raw));
    if (info.is_document && !reply.path) {
      NL_ASSIGN(reply.document, ParseJson(raw));
    }
    Reply out = Reply::Of(std::move(reply));
    out.raw = std::move(raw);
    return out;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<ExportReply>();
    if (!reply.path) return "";  // an empty output on standard output
    std::string out = fmt::format("wrote {} ({})\n", *reply.path, HumanBytes(reply.bytes));
    if (reply.files)
      out += fmt::format("  {}\n", Counted(static_cast<int64_t>(reply.files->size()), "table"));
    if (reply.counts) out += CountsText(*reply.counts, style.width);
    const Renderer* renderer = FindRenderer(reply.format);
    if (renderer == nullptr || renderer->Info().next_step.empty()) return out;
    std::string next_step = renderer->Info().next_step;
    if (const size_t at = next_step.find("PATH"); at != std::string::npos)
      next_step.replace(at, 4, *reply.path);
    out += fmt::format("  {}\n", next_step);
    return out;
  }

 private:
  // A document of many pages, or bytes that are not text, is not for a screen.
  Status CheckTerminal(const RendererInfo& info) const {
    if (out_ != "-" || info.is_folder || !IsTerminal(STDOUT_FILENO)) return {};
    if (info.is_document && asked_for_stdout_) return {};
    return InvalidInput(fmt::format("--format {} would fill the terminal", format_))
        .Hint(info.is_document ? "write a file with --out run.json, or print it with --out -"
                               : fmt::format("write a file with --out NAME{}", info.extension));
  }

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

  static std::string DefaultOut(const RendererInfo& info, const std::string& model,
                                const std::string& short_id) {
    if (info.extension.empty()) return "-";
    return (info.is_folder ? short_id : fmt::format("{}-{}", model, short_id)) + info.extension;
  }

  static Status Render(const Renderer& renderer, StoredRun& run, OpContext& context,
                       const RenderTarget& target, ExportReply& reply) {
    RenderOptions options;
    options.cancelled = context.cancelled;
    if (context.progress) {
      options.progress = [&context](int64_t done, int64_t total) {
        context.progress("exporting", done, total);
      };
    }
    NL_ASSIGN(const RenderCounts counts, renderer.Render(run, options, target));
    if (!counts.empty()) reply.counts.emplace(counts.begin(), counts.end());
    return {};
  }

  // To --out, or into the reply for standard output.
  template <class Produce>
  Status WriteFile(const Produce& produce, ExportReply& reply, std::string& raw) const {
    if (out_ == "-") {
      const auto append = [&raw](std::string_view bytes) -> Status {
        if (raw.size() + bytes.size() > kMaxStdoutBytes)
          return Limit("the output is larger than 1 GiB, the limit for standard output")
              .Hint("write it to a file: --out FILE");
        raw.append(bytes);
        return {};
      };
      NL_TRY(produce(RenderTarget{append, {}}));
      reply.bytes = static_cast<int64_t>(raw.size());
      return {};
    }
    NL_ASSIGN(TargetFile target, TargetFile::Create(out_, force_));
    NL_TRY(produce(RenderTarget{[&target](std::string_view bytes) { return target.Append(bytes); }, {}}));
    reply.bytes = static_cast<int64_t>(target.size_bytes());
    NL_TRY(target.Commit());
    reply.path = out_;
    return {};
  }

  // A folder that appears complete or not at all.
  template <class Produce>
  Status WriteFolder(const Produce& produce, ExportReply& reply) const {
    if (out_ == "-")
      return InvalidInput(fmt::format("--format {} writes a folder, not standard output", format_));
    NL_ASSIGN(TargetFolder target, TargetFolder::Create(out_, force_));
    reply.files.emplace();
    const auto copy = [&](const RunReader::File& file) -> Status {
      const fs::path to = fs::path(target.path()) / file.name;
      std::error_code ec;
      fs::copy_file(file.path, to, ec);
      if (ec) return FileError("copy", file.path, ec.value());
      reply.bytes += static_cast<int64_t>(fs::file_size(to, ec));
      reply.files->push_back(file.name);
      return {};
    };
    NL_TRY(produce(RenderTarget{{}, copy}));
    NL_TRY(target.Commit());
    reply.path = out_;
    return {};
  }

  std::string run_, format_ = "run-json", out_;
  bool force_ = false, asked_for_stdout_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ExportOp>(); }

}  // namespace nl::ops::export_run
