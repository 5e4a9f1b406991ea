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

class VersionOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "version";
    info.summary = "Print the version, the commit and how the program was built.";
    info.choose_when = "Take it for a bug report, or to see which DuckDB release this build was pinned to.";
    info.example = "neurolens version";
    const Json text{{"type", "string"}};
    info.reply_schema = Json{
        {"type", "object"},
        {"required", {"version", "commit", "build_type", "compiler", "architecture", "adapters", "duckdb"}},
        {"properties",
         {{"version", text},
          {"commit", {{"type", {"string", "null"}}}},
          {"build_type", text},
          {"compiler", text},
          {"architecture", text},
          {"adapters", {{"type", "integer"}, {"description", "formats this build imports"}}},
          {"duckdb", {{"type", "string"}, {"description", "pinned release"}}},
          {"licences",
           {{"type", "string"}, {"description", "third-party software inside, with its licences"}}}}}};
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("licences", licences_, "Print the licences of the software inside.");
  }

  Result<Reply> Run(OpContext&) override {
    Reply reply;
    reply.json = Json{{"version", kVersion},
                      {"commit", kGitCommit.empty() ? Json() : Json(kGitCommit)},
                      {"build_type", kBuildType},
                      {"compiler", Compiler()},
                      {"architecture", Architecture()},
                      {"adapters", AllAdapters().size()},
                      {"duckdb", kDuckDbVersion}};
    if (licences_) reply.json["licences"] = embedded::kNotice;
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle&) const override {
    const Json& j = reply.json;
    if (j.contains("licences")) return j["licences"].get<std::string>();
    const auto text = [&](const char* key) { return j[key].is_string() ? j[key].get<std::string>() : ""; };
    std::string out = "neurolens " + text("version");
    if (!text("commit").empty()) out += fmt::format(" ({})", text("commit"));
    out +=
        fmt::format("\nbuilt      {}, {}, {}\n", text("build_type"), text("compiler"), text("architecture"));
    out += fmt::format("imports    {} formats\nduckdb     {} (pinned)\n", j["adapters"].get<int64_t>(),
                       text("duckdb"));
    return out;
  }

 private:
  bool licences_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<VersionOp>(); }

}  // namespace nl::ops::version
