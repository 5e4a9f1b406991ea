// SPDX-License-Identifier: Apache-2.0
#include "program_fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/json.h"
#include "cli/cli.h"

namespace nl {

namespace {

// A run that has something of everything a comparison looks at.
constexpr const char* kOther =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 9, "args": {"External id": 1, "Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 3, "dur": 2, "args": {"correlation": 7, "External id": 1}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 6, "dur": 4, "args": {"External id": 1, "correlation": 7, "grid": [1, 2, 3], "block": [128, 1, 1], "device": 0, "stream": 7}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 11, "dur": 1, "args": {"device": 0, "stream": 7, "bytes": 64}}
]})json";

std::string Content(int fd) {
  std::string text(static_cast<size_t>(std::max<off_t>(0, lseek(fd, 0, SEEK_END))), '\0');
  const ssize_t n = pread(fd, text.data(), text.size(), 0);
  text.resize(n < 0 ? 0 : static_cast<size_t>(n));
  return text;
}

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

}  // namespace

Program::Program() : folder_(Must(TempDir::Make("neurolens-fuzz-"))) {
  const std::string path = PathOf("other.json");
  if (!WriteFileAtomically(path, kOther).ok()) std::exit(1);
  const std::vector<std::string> runs = Import(path, {});
  if (runs.size() != 1) std::exit(1);
  other_run_ = runs[0];
}

std::string Program::Call(std::vector<std::string> words, int& status) {
  static const int out = memfd_create("out", 0), err = memfd_create("err", 0);
  for (const int fd : {out, err}) {
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) std::exit(1);
  }
  words.insert(words.end(), {"--store", PathOf("store"), "--json"});
  CliHost host;
  host.ops = &AllOps();
  host.out_fd = out;
  host.err_fd = err;
  host.settings.directory = folder_.path();
  const std::string home = folder_.path();
  host.settings.environment = [&home](const char* name) -> const char* {
    return std::string(name) == "HOME" ? home.c_str() : nullptr;
  };
  status = RunCli(words, host);
  if (status == 4) {
    std::fprintf(stderr, "%s: %s\n", words[0].c_str(), Content(err).c_str());
    std::abort();
  }
  return Content(out);
}

std::vector<std::string> Program::Import(const std::string& path, const std::vector<std::string>& flags) {
  std::vector<std::string> words = {"import", path, "--only"}, runs;
  words.insert(words.end(), flags.begin(), flags.end());
  int status = 0;
  const Result<Json> reply = ParseJson(Call(words, status));
  if (status != 0 || !reply.ok()) return runs;
  for (const Json& run : reply->value("runs", Json::array())) runs.push_back(run.value("run_id", ""));
  return runs;
}

void Program::Explain(const std::string& path, const std::vector<std::string>& import_flags) {
  for (const std::string& run : Import(path, import_flags)) {
    if (run == other_run_) continue;
    int status = 0;
    Call({"report", run, "--out", PathOf("report")}, status);
    Call({"compare", run, "--", other_run_}, status);
    Call({"rm", run}, status);
  }
}

}  // namespace nl
