// SPDX-License-Identifier: Apache-2.0
#include "bench/suite.h"

#include <fnmatch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "bench/determinism.h"

namespace nl::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBaseline = "baseline_";
constexpr std::string_view kOptimized = "optimized_";
const std::set<std::string>& IgnoredFolders() {
  static const std::set<std::string> names{".git",  "build",       "artifacts",   "venv",
                                           ".venv", "llm_patches", "__pycache__", "node_modules"};
  return names;
}

bool IsSource(const fs::path& path) {
  const std::string suffix = path.extension().string();
  return suffix == ".py" || suffix == ".cc" || suffix == ".cpp";
}

// Without the entry point a source is not a benchmark, whatever its name.
bool DefinesBenchmark(const std::string& text, bool is_python) {
  return text.find(is_python ? "def get_benchmark" : "NEUROLENS_BENCHMARK") != std::string::npos;
}

class Finder {
 public:
  explicit Finder(std::string root) { suite_.root = std::move(root); }

  Suite Find() {
    Visit(suite_.root, "");
    const auto key = [](const Target& t) { return std::tuple(t.group, t.name, t.variant.value_or("")); };
    std::sort(suite_.targets.begin(), suite_.targets.end(),
              [&](const Target& x, const Target& y) { return key(x) < key(y); });
    for (size_t i = 1; i < suite_.targets.size(); ++i) {
      if (key(suite_.targets[i]) == key(suite_.targets[i - 1]))
        Problem(SuiteProblemKind::kDuplicate, suite_.targets[i].optimized.file,
                fmt::format("{} is defined twice", suite_.targets[i].Label()));
    }
    return std::move(suite_);
  }

 private:
  void Problem(SuiteProblemKind kind, const std::string& file, std::string text) {
    suite_.problems.push_back({kind, file, std::move(text)});
  }

  void Visit(const fs::path& folder, const std::string& group) {
    std::vector<fs::path> entries;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      entries.push_back(entry.path());
    std::sort(entries.begin(), entries.end());
    std::map<std::string, fs::path> baselines;
    std::map<std::string, fs::path> optimized;
    for (const fs::path& path : entries) {
      const std::string name = path.filename().string();
      if (fs::is_directory(path, error)) {
        if (IgnoredFolders().count(name) == 0 && !fs::is_symlink(path, error))
          Visit(path, group.empty() ? name : group + "/" + name);
      } else if (name == "bench.yaml") {
        ReadYaml(path, group);
      } else if (IsSource(path)) {
        AddSource(path, baselines, optimized);
      }
    }
    Match(group, baselines, optimized);
  }

  void AddSource(const fs::path& path, std::map<std::string, fs::path>& baselines,
                 std::map<std::string, fs::path>& optimized) {
    const std::string stem = path.stem().string();
    const bool first = stem.rfind(kBaseline, 0) == 0;
    if (!first && stem.rfind(kOptimized, 0) != 0) return;
    const bool is_python = path.extension() == ".py";
    const Result<std::string> text = ReadWholeFile(path.string(), 16 << 20);
    if (!text.ok() || !DefinesBenchmark(*text, is_python)) {
      Problem(SuiteProblemKind::kNoBenchmark, path.string(),
              is_python ? "the file defines no get_benchmark()" : "the file has no NEUROLENS_BENCHMARK");
      return;
    }
    for (const Toggle& toggle : FindToggles(*text, is_python))
      Problem(SuiteProblemKind::kDeterminism, path.string(),
              fmt::format("line {}: {} inside the timed function; a comment \"allow_determinism: REASON\" "
                          "allows it",
                          toggle.line, toggle.name));
    auto& list = first ? baselines : optimized;
    const std::string name = stem.substr(first ? kBaseline.size() : kOptimized.size());
    if (!list.emplace(name, path).second)
      Problem(SuiteProblemKind::kDuplicate, path.string(),
              fmt::format("{} exists in another language too", stem));
  }

  // An optimized file belongs to the longest baseline name that it starts with.
  void Match(const std::string& group, const std::map<std::string, fs::path>& baselines,
             const std::map<std::string, fs::path>& optimized) {
    std::set<std::string> used;
    for (const auto& [name, path] : optimized) {
      std::string best;
      for (const auto& [base, base_path] : baselines) {
        const bool fits = name == base || name.rfind(base + "_", 0) == 0;
        if (fits && base.size() > best.size()) best = base;
      }
      if (best.empty()) {
        Problem(SuiteProblemKind::kOrphan, path.string(), "no baseline file belongs to it");
        continue;
      }
      used.insert(best);
      Target target;
      target.group = group.empty() ? "." : group;
      target.name = best;
      if (name != best) target.variant = name.substr(best.size() + 1);
      target.baseline.file = baselines.at(best).string();
      target.optimized.file = path.string();
      suite_.targets.push_back(std::move(target));
    }
    for (const auto& [name, path] : baselines) {
      if (used.count(name) == 0)
        Problem(SuiteProblemKind::kOrphan, path.string(), "no optimized file belongs to it");
    }
  }

  // The one place where yaml-cpp's exceptions are caught.
  void ReadYaml(const fs::path& path, const std::string& group) {
    try {
      const YAML::Node root = YAML::LoadFile(path.string());
      for (const YAML::Node& pair : root["pairs"]) AddPair(pair, path, group);
    } catch (const YAML::Exception& error) {
      Problem(SuiteProblemKind::kBadFile, path.string(), error.what());
    }
  }

  // "memory", or {memory: 1.5}.
  std::string ReadGoal(const YAML::Node& node, Target& target) {
    if (!node) return "";
    const bool has_ratio = node.IsMap() && node.size() == 1;
    if (!has_ratio && !node.IsScalar())
      return "goal is speed, memory or throughput, or one of them with a ratio";
    const std::string name = has_ratio ? node.begin()->first.as<std::string>() : node.as<std::string>();
    const std::span<const std::string_view> names = NamesOf(Goal());
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return fmt::format("the goal {} is not known: speed, memory or throughput", name);
    target.goal = static_cast<Goal>(found - names.begin());
    if (!has_ratio) return "";
    target.goal_ratio = node.begin()->second.as<double>();
    return *target.goal_ratio > 0 && *target.goal_ratio < 1e6 ? "" : "the ratio of a goal is above 0";
  }

  // Work of one execution of each side, for the goal throughput.
  std::string ReadItems(const YAML::Node& node, Target& target) {
    if (!node)
      return target.goal == Goal::kThroughput ? "the goal throughput needs items: {baseline: N, optimized: N}"
                                              : "";
    if (!node.IsMap() || !node["baseline"] || !node["optimized"]) return "items needs baseline and optimized";
    const double baseline = node["baseline"].as<double>(), optimized = node["optimized"].as<double>();
    if (!(baseline > 0) || !(optimized > 0) || baseline > 1e18 || optimized > 1e18)
      return "items are above 0";
    target.items_ratio = optimized / baseline;
    return "";
  }

  void AddPair(const YAML::Node& pair, const fs::path& path, const std::string& group) {
    Target target;
    target.group = group.empty() ? "." : group;
    target.name = pair["name"].as<std::string>("");
    target.baseline.command = pair["baseline"].as<std::string>("");
    if (const YAML::Node allow = pair["allow"]) {
      for (const auto& entry : allow)
        target.allow[entry.first.as<std::string>()] = entry.second.as<std::string>();
    }
    target.tolerance = pair["tolerance"].as<double>(0);
    for (const std::string& wrong : {ReadGoal(pair["goal"], target), ReadItems(pair["items"], target)}) {
      if (!wrong.empty()) {
        Problem(SuiteProblemKind::kBadFile, path.string(), fmt::format("{}: {}", target.name, wrong));
        return;
      }
    }
    for (const YAML::Node& input : pair["inputs"]) {
      target.inputs.push_back((path.parent_path() / input.as<std::string>()).string());
      if (!fs::exists(target.inputs.back()))
        Problem(SuiteProblemKind::kBadFile, path.string(),
                fmt::format("the input {} is missing", input.as<std::string>()));
    }
    if (const YAML::Node environment = pair["environment"]) {
      for (const auto& entry : environment)
        target.environment.push_back(entry.first.as<std::string>() + "=" + entry.second.as<std::string>());
    }
    const YAML::Node optimized = pair["optimized"];
    if (target.name.empty() || target.baseline.command.empty() || !optimized) {
      Problem(SuiteProblemKind::kBadFile, path.string(), "a pair needs name, baseline and optimized");
      return;
    }
    if (optimized.IsScalar()) {
      target.optimized.command = optimized.as<std::string>();
      suite_.targets.push_back(target);
      return;
    }
    for (const auto& entry : optimized) {
      target.variant = entry.first.as<std::string>();
      target.optimized.command = entry.second.as<std::string>();
      suite_.targets.push_back(target);
    }
  }

  Suite suite_;
};

bool Fits(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool IsChosen(const Target& target, const std::string& word) {
  if (word == "all") return true;
  const size_t colon = word.rfind(':');
  if (!Fits(word.substr(0, colon), target.group)) return false;
  if (colon == std::string::npos) return true;
  std::string names = word.substr(colon + 1);
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    const std::string name = names.substr(0, comma);
    const std::string whole = target.variant ? target.name + "_" + *target.variant : target.name;
    if (Fits(name, target.name) || Fits(name, whole)) return true;
    names.erase(0, comma + 1);
  }
  return false;
}

}  // namespace

std::string Target::Label() const {
  return variant ? fmt::format("{}:{}_{}", group, name, *variant) : fmt::format("{}:{}", group, name);
}

std::span<const std::string_view> NamesOf(Goal) {
  static constexpr std::string_view kNames[] = {"speed", "memory", "throughput"};
  return kNames;
}

std::span<const std::string_view> NamesOf(SuiteProblemKind) {
  static constexpr std::string_view kNames[] = {"orphan",   "duplicate",   "no_benchmark",
                                                "bad_file", "determinism", "expectation"};
  return kNames;
}

void Describe(Record<SuiteProblem>& r) {
  r.Name("SuiteProblem", "What is wrong with a suite");
  r.Field(
      "kind", &SuiteProblem::kind,
      "orphan, duplicate, no_benchmark, bad_file, determinism (a seed or a switch is set inside the timed "
      "function) or expectation (a recorded expectation cannot be right)");
  r.Field("file", &SuiteProblem::file, "The file");
  r.Field("text", &SuiteProblem::text, "What is wrong");
}

Result<Suite> FindSuite(const std::string& root) {
  if (!IsDirectory(root)) return NotFound(fmt::format("no such folder: {}", root));
  return Finder(root).Find();
}

Result<std::vector<Target>> ChooseTargets(const Suite& suite, const std::vector<std::string>& words) {
  std::vector<Target> out;
  for (const std::string& word : words) {
    const size_t before = out.size();
    bool any = false;
    for (const Target& target : suite.targets) {
      if (!IsChosen(target, word)) continue;
      any = true;
      const bool listed = std::any_of(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(before),
                                      [&](const Target& t) { return t.Label() == target.Label(); });
      if (!listed) out.push_back(target);
    }
    if (!any)
      return InvalidInput(fmt::format("no target matches '{}'", word))
          .Hint("`neurolens bench ls` lists them; a target is GROUP or GROUP:NAME");
  }
  return out;
}

}  // namespace nl::bench
