// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/version.h"
#include "import/adapter.h"
#include "ops/op.h"

namespace nl::embedded {
extern const std::string_view kNotice;  // NOTICE
}

namespace nl::ops::version {

namespace {

std::string Compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string Architecture() {
#if defined(__aarch64__)
  return "aarch64";
#elif defined(__x86_64__)
  return "x86_64";
#else
  return "other";
#endif
}

struct VersionReply {
  std::string version;
  std::optional<std::string> commit;
  std::string build_type, compiler, architecture;
  int64_t adapters = 0;
  std::string duckdb;
  std::optional<std::string> licences;
};
void Describe(Record<VersionReply>& r) {
  r.Name("VersionReply", "Reply of `neurolens version`");
  r.Field("version", &VersionReply::version, "Version of the program");
  r.Field("commit", &VersionReply::commit, "Commit it was built from");
  r.Field("build_type", &VersionReply::build_type, "Build type of CMake");
  r.Field("compiler", &VersionReply::compiler, "Compiler and its version");
  r.Field("architecture", &VersionReply::architecture, "Processor architecture");
  r.Field("adapters", &VersionReply::adapters, "Formats that this build imports");
  r.Field("duckdb", &VersionReply::duckdb, "Pinned release of DuckDB");
  r.Field("licences", &VersionReply::licences, "Third-party software in the program, with its licences");
}

class VersionOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "version";
    info.summary = "Print the version, the commit and how the program was built";
    info.choose_when = "Choose it for a bug report, or to see which DuckDB release this build uses.";
    info.example = "neurolens version";
    info.reply = ReplyOf<VersionReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("licences", licences_, "Print the licences of the third-party software in the program");
  }

  Result<Reply> Run(OpContext&) override {
    VersionReply reply;
    reply.version = kVersion;
    if (!kGitCommit.empty()) reply.commit = kGitCommit;
    reply.build_type = kBuildType;
    reply.compiler = Compiler();
    reply.architecture = Architecture();
    reply.adapters = static_cast<int64_t>(AllAdapters().size());
    reply.duckdb = kDuckDbVersion;
    if (licences_) reply.licences = embedded::kNotice;
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle&) const override {
    const auto& r = any.As<VersionReply>();
    if (r.licences) return *r.licences;
    return fmt::format(
        "neurolens {}{}\nbuilt      {}, {}, {}\nimports    {} formats\nduckdb     {} (pinned)\n", r.version,
        r.commit ? fmt::format(" ({})", *r.commit) : "", r.build_type, r.compiler, r.architecture, r.adapters,
        r.duckdb);
  }

 private:
  bool licences_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<VersionOp>(); }

}  // namespace nl::ops::version
