// SPDX-License-Identifier: Apache-2.0
// Every operation that only reads, called without any face, gives what the command line prints.
// tests/suites/faces.py compares the command line with the other faces.
#include <cstdio>
#include <map>
#include <regex>

#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "cli/cli.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;

// Two steps, so that what is asked of windows, ranges and names has an answer.
constexpr char kTrace[] =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0.000, "dur": 500.000, "args": {}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 500.000, "dur": 500.000, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0.000, "dur": 100.000, "args": {"External id": 1, "Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Concrete Inputs": ["", ""]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 90.000, "dur": 5.000, "args": {"External id": 1, "correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm_a", "pid": 0, "tid": 7, "ts": 100.000, "dur": 300.000, "args": {"External id": 1, "correlation": 7, "device": 0, "context": 1, "stream": 7}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 500.000, "dur": 100.000, "args": {"External id": 2, "Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Concrete Inputs": ["", ""]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 590.000, "dur": 5.000, "args": {"External id": 2, "correlation": 8}},
{"ph": "X", "cat": "kernel", "name": "gemm_a", "pid": 0, "tid": 7, "ts": 600.000, "dur": 300.000, "args": {"External id": 2, "correlation": 8, "device": 0, "context": 1, "stream": 7}}
]})json";

struct Asked {
  Json args = Json::object();
  std::vector<std::string> words;
};

// What operations are asked that need more than the default run.
const std::map<std::string, Asked>& Special() {
  static const std::map<std::string, Asked> special = {
      {"compare", {{{"a", {"@latest"}}, {"b", {"@latest"}}}, {"@latest", "--", "@latest"}}},
      {"gate",
       {{{"baseline", {"@latest"}}, {"candidate", {"@latest"}}, {"allow_different", true}},
        {"--baseline", "@latest", "--candidate", "@latest", "--allow-different"}}},
      {"predict", {{{"config", "gpt2"}, {"device", "h100"}}, {"--config", "gpt2", "--device", "h100"}}},
      {"query", {{{"args", {"SELECT name, dur_ns FROM kernel"}}}, {"SELECT name, dur_ns FROM kernel"}}},
      {"schema", {{{"what", "run"}}, {"run"}}},
      {"show", {{{"run", "@latest"}}, {"@latest"}}},
      {"timeline-event", {{{"run", "@latest"}, {"table", "kernel"}, {"id", 1}}, {"@latest", "kernel", "1"}}},
      {"timeline-find", {{{"run", "@latest"}, {"text", "gemm"}}, {"@latest", "gemm"}}},
  };
  return special;
}

std::string WithoutTimes(const std::string& text) {
  static const std::regex times("\"(elapsed_ms|seconds|memory_available_bytes)\": [-+0-9.e]+");
  return std::regex_replace(text, times, "\"$1\": 0");
}

bool IsAsked(const Op& op, const std::vector<ParamInfo>& params) {
  const OpInfo info = op.Info();
  if (info.local || info.hidden || (info.writes && !info.writes_by_import)) return false;
  for (const ParamInfo& param : params) {
    if (param.required && param.local_only) return false;
  }
  return true;
}

TEST(DirectCall, EveryReadingOperationGivesWhatTheCommandLinePrints) {
  const TempDir folder = Must(TempDir::Make("nl-direct-"));
  const std::string store = folder.path() + "/store", trace = folder.path() + "/trace.json";
  ASSERT_TRUE(WriteFileAtomically(trace, kTrace).ok());
  const auto environment = [](const char*) -> const char* { return nullptr; };
  const Settings settings = Must(Settings::Load({{{"store", store}}, environment, folder.path()}));
  OpContext context;
  context.settings = &settings;
  Must(RunOp(*MakeOp("import"), {{"paths", {trace}}}, context));
  CliHost host;
  host.ops = &AllOps();
  host.settings.directory = folder.path();
  host.settings.environment = environment;
  int asked = 0, answered = 0;
  for (const OpEntry& entry : AllOps()) {
    const std::unique_ptr<Op> op = entry.make();
    ParamBinder binder;
    op->Bind(binder);
    if (!IsAsked(*op, binder.params())) continue;
    const auto special = Special().find(std::string(entry.name));
    const Asked what = special == Special().end() ? Asked{} : special->second;
    const Result<Reply> direct = RunOp(*entry.make(), what.args, context);
    std::vector<std::string> words{"--store", store, "--json", std::string(entry.name)};
    words.insert(words.end(), what.words.begin(), what.words.end());
    FILE* out = std::tmpfile();
    host.out_fd = host.err_fd = fileno(out);
    const int status = RunCli(words, host);
    std::rewind(out);
    std::string printed;
    for (int c; (c = std::fgetc(out)) != EOF;) printed += static_cast<char>(c);
    std::fclose(out);
    ++asked;
    if (!direct.ok()) {
      EXPECT_NE(status, 0) << entry.name;
      EXPECT_NE(printed.find(direct.error().message), std::string::npos) << entry.name << ": " << printed;
      continue;
    }
    EXPECT_EQ(WithoutTimes(printed), WithoutTimes(direct->JsonText(2) + "\n")) << entry.name;
    ++answered;
  }
  EXPECT_GT(asked, 40);
  EXPECT_GT(answered, 35);
}

}  // namespace
}  // namespace nl
