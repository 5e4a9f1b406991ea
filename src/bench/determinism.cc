// SPDX-License-Identifier: Apache-2.0
#include "bench/determinism.h"

#include <algorithm>

namespace nl::bench {

namespace {

constexpr std::string_view kPythonToggles[] = {"manual_seed",
                                               "random.seed",
                                               "use_deterministic_algorithms",
                                               "cudnn.deterministic",
                                               "cudnn.benchmark",
                                               "allow_tf32",
                                               "set_float32_matmul_precision",
                                               "set_num_threads",
                                               "CUBLAS_WORKSPACE_CONFIG",
                                               "PYTHONHASHSEED"};
constexpr std::string_view kCppToggles[] = {"srand(", ".seed(", "setenv(", "fesetround("};

size_t IndentOf(std::string_view line) {
  const size_t at = line.find_first_not_of(" \t");
  return at == std::string_view::npos ? line.size() : at;
}

bool IsBlank(std::string_view line) { return IndentOf(line) == line.size(); }

// Whether the comment of the line gives a reason.
bool IsAllowed(std::string_view line) {
  constexpr std::string_view kAllow = "allow_determinism:";
  const size_t at = line.find(kAllow);
  return at != std::string_view::npos &&
         line.find_first_not_of(" \t", at + kAllow.size()) != std::string_view::npos;
}

// Follows the text line by line and knows whether a line belongs to the timed function.
class TimedFunction {
 public:
  explicit TimedFunction(bool is_python) : is_python_(is_python) {}

  bool Has(std::string_view line) {
    if (!inside_) {
      inside_ = is_python_ ? line.find("def benchmark_fn") != std::string_view::npos
                           : line.find("void Run(") != std::string_view::npos;
      indent_ = IndentOf(line);
      depth_ = 0;
      if (!inside_ || is_python_) return false;
    } else if (is_python_) {
      if (IsBlank(line) || IndentOf(line) > indent_) return true;
      inside_ = false;
      return Has(line);
    }
    depth_ += std::count(line.begin(), line.end(), '{') - std::count(line.begin(), line.end(), '}');
    opened_ = opened_ || depth_ > 0;
    if (opened_ && depth_ <= 0) inside_ = opened_ = false;
    return true;
  }

 private:
  bool is_python_, inside_ = false, opened_ = false;
  size_t indent_ = 0;
  int64_t depth_ = 0;
};

}  // namespace

std::vector<Toggle> FindToggles(std::string_view text, bool is_python) {
  std::vector<Toggle> out;
  TimedFunction timed(is_python);
  int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!timed.Has(line) || IsAllowed(line)) continue;
    const std::string_view code = line.substr(0, line.find(is_python ? "#" : "//"));
    const auto look = [&](const auto& names) {
      for (const std::string_view name : names) {
        if (code.find(name) != std::string_view::npos) out.push_back({number, std::string(name)});
      }
    };
    if (is_python) {
      look(kPythonToggles);
    } else {
      look(kCppToggles);
    }
  }
  return out;
}

}  // namespace nl::bench
