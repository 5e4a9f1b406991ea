// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/terminal.h"
#include "import/adapter.h"
#include "ledger/bundle.h"
#include "ops/open_store.h"

namespace nl::ops::formats {

namespace {

struct FormatEntry {
  std::string name;
  int64_t version = 0;
  std::string reads, produced_by;
  std::vector<std::string> names;
  bool adapter = false;
};
void Describe(Record<FormatEntry>& r) {
  r.Name("FormatEntry", "A format that `import` reads");
  r.Field("name", &FormatEntry::name, "Name, as run documents give it");
  r.Field("version", &FormatEntry::version, "Version of the reader; raised when its rows change");
  r.Field("reads", &FormatEntry::reads, "What it reads");
  r.Field("produced_by", &FormatEntry::produced_by, "Tools that write it");
  r.Field("names", &FormatEntry::names, "Usual endings of file names");
  r.Field("adapter", &FormatEntry::adapter, "`import --format` accepts the name");
}

struct FormatsReply {
  std::vector<FormatEntry> formats;
};
void Describe(Record<FormatsReply>& r) {
  r.Name("FormatsReply", "Reply of `neurolens formats`");
  r.Field("formats", &FormatsReply::formats, "Every format");
}

FormatEntry EntryOf(const AdapterInfo& info) {
  return {info.name, info.version, info.summary, info.produced_by, info.name_hints, true};
}

class FormatsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "formats";
    info.summary = "List the formats that `import` reads";
    info.choose_when =
        "Choose it to see whether a profile can be imported, and which values --format accepts.";
    info.example = "neurolens formats";
    info.reply = ReplyOf<FormatsReply>();
    return info;
  }

  void Bind(ParamBinder&) override {}

  Result<Reply> Run(OpContext&) override {
    FormatsReply reply;
    for (const AdapterFn describe : AllAdapters()) reply.formats.push_back(EntryOf(describe().Info()));
    reply.formats.push_back({"bundle",
                             kBundleVersion,
                             "A complete run from another store, restored unchanged",
                             "neurolens export --format bundle",
                             {".zip"},
                             false});
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    std::string out;
    for (const FormatEntry& format : any.As<FormatsReply>().formats) {
      out += fmt::format("{} (version {})\n", format.name, format.version);
      const auto line = [&](const char* label, const std::string& text) {
        out += fmt::format("  {:<7}{}\n", label, Wrap(text, style.width, 9));
      };
      line("reads", format.reads);
      line("from", format.produced_by);
      line("files", fmt::format("{}", fmt::join(format.names, " ")));
    }
    return out +
           Wrap(
               "The format is detected from the content, not from the file name; .gz and .zst files are read "
               "directly.",
               style.width, 0) +
           "\n";
  }
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<FormatsOp>(); }

}  // namespace nl::ops::formats
