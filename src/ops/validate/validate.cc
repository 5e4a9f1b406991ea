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

struct ValidateViolation {
  std::string pointer, rule, value, message;
};
void Describe(Record<ValidateViolation>& r) {
  r.Name("ValidateViolation", "A value that the schema does not allow");
  r.Field("pointer", &ValidateViolation::pointer, "JSON pointer of the value; empty: the whole document");
  r.Field("rule", &ValidateViolation::rule, "Rule of the schema that it breaks");
  r.Field("value", &ValidateViolation::value, "The value as JSON, at most 80 characters");
  r.Field("message", &ValidateViolation::message, "One sentence for people");
}

struct ValidateReply {
  std::string file;
  bool valid = false;
  std::vector<ValidateViolation> violations;
};
void Describe(Record<ValidateReply>& r) {
  r.Name("ValidateReply", "Reply of `neurolens validate`");
  r.Field("file", &ValidateReply::file, "The document; - is standard input");
  r.Field("valid", &ValidateReply::valid, "It follows the schema");
  r.Field("violations", &ValidateReply::violations, "Every value that does not");
}

class ValidateOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "validate";
    info.summary = "Check a run document against the schema; exit status 1 when it is not valid";
    info.choose_when =
        "Choose it for a run.json that your own software writes; `schema run` prints the schema.";
    info.example = "neurolens validate run.json";
    info.reply = ReplyOf<ValidateReply>();
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
    ValidateReply out;
    out.file = file_;
    out.valid = violations.empty();
    for (const SchemaViolation& v : violations)
      out.violations.push_back({v.pointer, v.rule, v.value, v.message});
    Reply reply = Reply::Of(std::move(out));
    reply.answer_is_no = !violations.empty();
    return reply;
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<ValidateReply>();
    const std::string file = PrintableText(reply.file);
    if (reply.valid) return fmt::format("{}: valid\n", file);
    std::string out = fmt::format("{}: not valid, {} violation{}\n", file, reply.violations.size(),
                                  reply.violations.size() == 1 ? "" : "s");
    for (const ValidateViolation& v : reply.violations) {
      out += fmt::format("{}\n", PrintableText(v.pointer.empty() ? "(whole document)" : v.pointer));
      for (const auto& [label, text] : {std::pair("rule", &v.rule), std::pair("found", &v.value)})
        out += fmt::format("  {:<6}{}\n", label, Wrap(PrintableText(*text), style.width, 8));
    }
    return out;
  }

 private:
  std::string file_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ValidateOp>(); }

}  // namespace nl::ops::validate
