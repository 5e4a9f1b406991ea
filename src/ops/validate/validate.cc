// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <unistd.h>
#include <cstdio>

#include "base/file_ops.h"
#include "base/terminal.h"
#include "model/schema.h"
#include "ops/open_store.h"

namespace nl::ops::validate {

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;

Result<std::string> ReadStandardInput() {
  std::string text;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return IoError("cannot read standard input");
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (static_cast<int64_t>(text.size()) > kMaxBytes) return Limit("standard input is larger than 1 GiB");
  }
}

class ValidateOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "validate";
    info.summary = "Check a run document against the schema; exit status 1 when it is not valid";
    info.choose_when = "for a run.json of your own making; neurolens schema run prints the schema itself";
    info.example = "neurolens validate run.json";
    info.reply_schema = SchemaFromText(R"({"type": "object", "required": ["file", "valid", "violations"],
      "properties": {"file": {"type": "string"}, "valid": {"type": "boolean"},
        "violations": {"type": "array", "items": {"type": "object", "required": ["pointer", "rule", "value", "message"],
          "properties": {"pointer": {"type": "string"}, "rule": {"type": "string"}, "value": {"type": "string"},
                         "message": {"type": "string"}}}}}})");
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("file", file_, "Run document, or - for standard input")
        .Path()
        .Positional()
        .Required()
        .LocalOnly();
  }

  Result<Reply> Run(OpContext&) override {
    NL_ASSIGN(const std::string text, file_ == "-" ? ReadStandardInput() : ReadWholeFile(file_, kMaxBytes));
    Result<Json> document = ParseJson(text);
    if (!document.ok()) return std::move(document.error()).At(file_, document.error().byte_offset);
    NL_ASSIGN(const std::vector<SchemaViolation> violations, ValidateRunDocument(*document));
    Reply reply;
    reply.json = {{"file", file_}, {"valid", violations.empty()}, {"violations", Json::array()}};
    for (const SchemaViolation& v : violations) {
      reply.json["violations"].push_back(
          {{"pointer", v.pointer}, {"rule", v.rule}, {"value", v.value}, {"message", v.message}});
    }
    reply.answer_is_no = !violations.empty();
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const std::string file = PrintableText(reply.json["file"].get<std::string>());
    const Json& violations = reply.json["violations"];
    if (violations.empty()) return fmt::format("{}: valid\n", file);
    std::string out = fmt::format("{}: not valid, {} violation{}\n", file, violations.size(),
                                  violations.size() == 1 ? "" : "s");
    for (const Json& v : violations) {
      const std::string pointer = v["pointer"].get<std::string>();
      out += fmt::format("{}\n", PrintableText(pointer.empty() ? "(whole document)" : pointer));
      for (const auto& [label, key] : {std::pair("rule", "rule"), std::pair("found", "value")}) {
        const std::string text = PrintableText(v[key].get<std::string>());
        out += fmt::format("  {:<6}{}\n", label, Wrap(text, style.width, 8));
      }
    }
    return out;
  }

 private:
  std::string file_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ValidateOp>(); }

}  // namespace nl::ops::validate
