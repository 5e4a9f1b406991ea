// SPDX-License-Identifier: Apache-2.0
#include "analyze/rules/rule.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "analyze/features/features.h"
#include "analyze/rules/engine.h"

namespace nl {
namespace {

const char* kWhole =
    "rules:\n"
    "  - id: mine\n"
    "    scope: run\n"
    "    where: run.wall_ms > 1\n"
    "    message: 'wall {run.wall_ms:ms}'\n"
    "    suggest: [one, two, three]\n";

TEST(Rules, EveryShippedRuleHasATitleAndThreeSuggestions) {
  const auto set = RuleSet::Shipped();
  ASSERT_TRUE(set.ok()) << set.error().ToString();
  for (const char* id : {"memory_bound_low_ai",
                         "low_occupancy",
                         "poor_l2_locality",
                         "warp_divergence",
                         "regression_op_latency",
                         "host_bound_launch",
                         "gpu_idle",
                         "many_tiny_ops",
                         "memcpy_dominates",
                         "pageable_transfer",
                         "sync_in_loop",
                         "alloc_churn",
                         "tensor_core_unused",
                         "wide_type",
                         "fp32_in_mixed",
                         "unfused_elementwise",
                         "layout_copies",
                         "attention_unfused",
                         "graph_candidate",
                         "no_overlap",
                         "hot_kernel",
                         "compute_bound_kernel",
                         "memory_bound_kernel",
                         "register_spill",
                         "bank_conflicts",
                         "uncoalesced",
                         "stall_memory",
                         "stall_sync",
                         "stall_dependency",
                         "stall_contention",
                         "clock_throttled",
                         "profiler_overhead",
                         "data_loss"}) {
    const Rule* rule = set->Find(id);
    ASSERT_NE(rule, nullptr) << id;
    EXPECT_GE(rule->suggest.size(), 3u) << id;
    EXPECT_FALSE(rule->title.empty()) << id;
    for (const std::string& other : rule->covered_by)
      EXPECT_NE(set->Find(other), nullptr) << id << " " << other;
  }
}

TEST(Rules, AnErrorHasLineAndColumn) {
  const struct {
    std::string yaml;
    const char* message;
  } cases[] = {
      {"rules:\n  - id: a\n    scope: run\n    where: 'run.wall_ms >'\n    message: m\n    suggest: [1, 2, "
       "3]\n",
       "f.yaml:4: 'where', column 14: expected a value, found the end"},
      {"rules:\n  - id: a\n    scope: run\n    where: [1, 'run.wal_ms > 1']\n    message: m\n    suggest: "
       "[1, 2, 3]\n",
       "f.yaml:4: 'where', column 1: unknown name 'run.wal_ms'; did you mean 'run.wall_ms'?"},
      {"rules:\n  - id: a\n    scope: run\n    where: {all: [1], any: ['1 >']}\n    message: m\n    suggest: "
       "[1, 2, 3]\n",
       "f.yaml:4: 'where', column 4"},
      {"rules:\n  - id: a\n    scope: run\n    where: op.share > 1\n    message: m\n    suggest: [1, 2, 3]\n",
       "f.yaml:4: 'where', column 1: 'op.share' is not available in scope run"},
      {"rules:\n  - id: a\n    scope: op\n    where: op.name > 1\n    message: m\n    suggest: [1, 2, 3]\n",
       "f.yaml:4: 'where', column 1: 'op.name' is text"},
      {"rules:\n  - id: a\n    scope: run\n    where: 1\n    message: 'x {run.wall}'\n    suggest: [1, 2, "
       "3]\n",
       "f.yaml:5: 'message', column 4: unknown name 'run.wall'"},
      {"rules:\n  - id: a\n    scope: run\n    where: 1\n    message: 'x {run.wall_ms:zz}'\n    suggest: [1, "
       "2, 3]\n",
       "f.yaml:5: 'message', column 4: unknown format 'zz'"},
      {"rules:\n  - id: a\n    scope: run\n    where: 1\n    message: 'x {oops'\n    suggest: [1, 2, 3]\n",
       "f.yaml:5: 'message', column 3: '{' without '}'"},
      {"rules:\n  - id: a\n    scope: run\n    where: 1\n    message: m\n    suggest: [1, 2]\n",
       "f.yaml:6: rule 'a' needs at least 3 suggestions"},
      {"rules:\n  - id: a\n    scope: run\n    where: 1\n    message: m\n",
       "f.yaml:2: rule 'a' needs 'suggest'"},
      {"rules:\n  - id: a\n    scope: run\n    wher: 1\n", "f.yaml:4: unknown key 'wher'"},
      {"rules:\n  - id: a\n    scope: all\n    where: 1\n    message: m\n    suggest: [1, 2, 3]\n",
       "f.yaml:3: unknown scope 'all'"},
      {"rules:\n  - id: A b\n", "f.yaml:2: invalid rule id 'A b'"},
      {"rules:\n  - id: hot_kernel\n    severity: worst\n", "f.yaml:3: unknown severity 'worst'"},
      {"rules:\n  - id: hot_kernel\n    params: {min_share: much}\n", "f.yaml:3: parameter 'min_share'"},
      {"rules:\n  - id: hot_kernel\n    needs: [luck]\n", "f.yaml:3: unknown data 'luck' in 'needs'"},
      {"rules:\n  - id: hot_kernel\n    scope: run\n", "is not available in scope run"},
      {"rules:\n  - id: hot_kernel\n  - id: hot_kernel\n", "f.yaml:3: duplicate rule 'hot_kernel'"},
      {"rules: 3\n", "f.yaml:1: 'rules' must be a list"},
      {"- 3\n", "f.yaml:1: a rule must be a mapping"},
      {"3\n", "f.yaml:1: expected 'rules:'"},
      {"rule: []\n", "f.yaml:1: unknown key 'rule'"},
      {"version: 2\n", "f.yaml:1: unsupported version"},
      {"rules: [\n", "not valid YAML"},
      {"bottleneck_rules:\n  - name: x\n    condition: h2d_time / total_tim > 0.3\n    suggestion: s\n",
       "f.yaml:3: 'condition', column 12: unknown name 'total_tim'"},
      {"bottleneck_rules:\n  - name: x\n    suggestion: s\n", "f.yaml:2: a rule needs 'condition'"},
  };
  for (const auto& c : cases) {
    RuleSet set = *RuleSet::Shipped();
    const size_t before = set.rules().size();
    const Status status = set.AddText(std::string(kWhole) + "", "g.yaml");
    ASSERT_TRUE(status.ok()) << status.error().ToString();
    const Status bad = set.AddText(c.yaml, "f.yaml");
    ASSERT_FALSE(bad.ok()) << c.yaml;
    EXPECT_EQ(bad.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(bad.error().message.find(c.message), std::string::npos) << bad.error().message << "\n"
                                                                      << c.yaml;
    EXPECT_EQ(set.rules().size(), before + 1) << "a bad file does not change the rules";
  }
}

TEST(Rules, AFileWithOneBadRuleAddsNone) {
  RuleSet set;
  const Status status = set.AddText(std::string(kWhole) + "  - id: other\n    scope: run\n", "f.yaml");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(set.Find("mine"), nullptr);
}

TEST(Rules, AnExistingRuleIsOverriddenByKey) {
  RuleSet set = *RuleSet::Shipped();
  const size_t before = set.rules().size();
  ASSERT_TRUE(
      set.AddText("- id: hot_kernel\n  params: {min_share: 0.5}\n- id: gpu_idle\n  enabled: false\n", "f")
          .ok());
  EXPECT_EQ(set.rules().size(), before);
  EXPECT_EQ(set.Find("hot_kernel")->params.at("min_share"), 0.5);
  EXPECT_GE(set.Find("hot_kernel")->suggest.size(), 3u);
  EXPECT_EQ(set.Find("hot_kernel")->source, "f:1");
  EXPECT_FALSE(set.Find("gpu_idle")->enabled);
}

TEST(Rules, TheShortFormIsRead) {
  RuleSet set;
  const Status status = set.AddText(
      "bottleneck_rules:\n  - name: H2D heavy\n    condition: \"h2d_time / total_time > 0.3\"\n"
      "    suggestion: pin {memory}\n    confidence_weight: 0.8\n",
      "f.yaml");
  ASSERT_TRUE(status.ok()) << status.error().ToString();
  Features features;
  features.run.numbers = {{"run.h2d_ms", 40}, {"run.wall_ms", 100}};
  RuleResults results = ApplyRules(set, features);
  ASSERT_EQ(results.findings.size(), 1u);
  EXPECT_EQ(results.findings[0].rule, "h2d_heavy");
  EXPECT_EQ(results.findings[0].suggestions, std::vector<std::string>{"pin {memory}"});
  EXPECT_DOUBLE_EQ(*results.findings[0].score, 2 * 40 * 0.8);
  features.run.numbers["run.h2d_ms"] = 20;
  EXPECT_TRUE(ApplyRules(set, features).findings.empty());
  features.run.numbers.erase("run.h2d_ms");
  results = ApplyRules(set, features);
  EXPECT_TRUE(results.findings.empty());
  ASSERT_EQ(results.not_assessed.size(), 1u);
  EXPECT_EQ(results.not_assessed[0].needs, std::vector<std::string>{"run.h2d_ms"});
}

TEST(Rules, TemplatesFormatValues) {
  TextProblem problem;
  const auto text = TextTemplate::Parse(
      "{{{op.name}}} {x:.2f} {x:pct} {x:ms} {x:us} {n:count} {n:bytes} {x} {none:ms}", problem);
  ASSERT_TRUE(text) << problem.message;
  const RuleNames names{[](const std::string& name) -> std::optional<double> {
                          if (name == "x") return 0.25;
                          if (name == "n") return 12345;
                          return std::nullopt;
                        },
                        [](const std::string& name) -> std::optional<std::string> {
                          return name == "op.name" ? std::optional<std::string>("mm") : std::nullopt;
                        }};
  EXPECT_EQ(text->Render(names), "{mm} 0.25 25.0 % 250.0 µs 250 ns 12,345 12.3 kB 0.25 unknown");
}

TEST(Rules, PartsWithoutTheirValueAreLeftOut) {
  TextProblem problem;
  const auto text =
      TextTemplate::Parse("{op.name}[[ in {op.module}]] has {n:count copy}[[ of {none:ms}]].", problem);
  ASSERT_TRUE(text) << problem.message;
  std::string module;
  double calls = 1;
  const RuleNames names{[&](const std::string& name) -> std::optional<double> {
                          return name == "n" ? std::optional(calls) : std::nullopt;
                        },
                        [&](const std::string& name) -> std::optional<std::string> {
                          if (name == "op.name") return "mm";
                          return name == "op.module" ? std::optional(module) : std::nullopt;
                        }};
  EXPECT_EQ(text->Render(names), "mm has 1 copy.");
  module = "MLP";
  calls = 2;
  EXPECT_EQ(text->Render(names), "mm in MLP has 2 copies.");
  EXPECT_FALSE(TextTemplate::Parse("a [[ {n}", problem));
  EXPECT_FALSE(TextTemplate::Parse("a ]]", problem));
  EXPECT_FALSE(TextTemplate::Parse("{n:counts}", problem));
}

TEST(Rules, ASuggestionAboutSomethingUnknownIsNotMade) {
  RuleSet set;
  ASSERT_TRUE(
      set.AddText("rules:\n  - id: r\n    scope: run\n    severity: low\n    where: 'true'\n    message: m\n"
                  "    suggest: ['start with {run.launch_op}', 'b', 'c[[ of {run.model}]]']\n",
                  "f")
          .ok());
  Features features;
  ASSERT_EQ(ApplyRules(set, features).findings.size(), 1u);
  EXPECT_EQ(ApplyRules(set, features).findings[0].suggestions, (std::vector<std::string>{"b", "c"}));
  features.run.texts["run.launch_op"] = "aten::mm";
  EXPECT_EQ(ApplyRules(set, features).findings[0].suggestions[0], "start with aten::mm");
}

TEST(Rules, ACostIsCountedByOneFindingOnly) {
  RuleSet set;
  const std::string rest = "    message: m\n    suggest: [1, 2, 3]\n    impact: run.device_idle_ms\n";
  ASSERT_TRUE(set.AddText("rules:\n  - id: cause\n    scope: run\n    severity: low\n    where: 'true'\n" +
                              rest +
                              "  - id: symptom\n    scope: run\n    severity: high\n    where: 'true'\n    "
                              "covered_by: [cause]\n" +
                              rest,
                          "f")
                  .ok());
  Features features;
  features.run.numbers = {{"run.device_idle_ms", 10}};
  const RuleResults results = ApplyRules(set, features);
  ASSERT_EQ(results.findings.size(), 2u);
  EXPECT_EQ(results.findings[0].rule, "cause");
  EXPECT_EQ(results.findings[0].score, 10);
  EXPECT_EQ(results.findings[1].impact_ms, 0);
  EXPECT_EQ(results.findings[1].cost_ms, 10);
  EXPECT_EQ(results.findings[1].counted_in, std::vector<std::string>{"cause"});
}

TEST(Rules, TheProjectFileIsFoundInParentDirectories) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / "nl_rules_project";
  fs::remove_all(root);
  fs::create_directories(root / "a" / "b");
  EXPECT_EQ(FindProjectRules((root / "a" / "b").string()).find(root.string()), std::string::npos);
  std::ofstream(root / ".neurolens_rules.yaml") << "rules: []\n";
  EXPECT_EQ(FindProjectRules((root / "a" / "b").string()), (root / ".neurolens_rules.yaml").string());
  fs::create_directories(root / "a" / ".git");
  EXPECT_EQ(FindProjectRules((root / "a" / "b").string()), "") << "not above the work tree";
  fs::remove_all(root);
}

TEST(Rules, FeatureNamesAreUnique) {
  std::set<std::string_view> seen;
  for (const FeatureInfo& f : FeatureNames()) EXPECT_TRUE(seen.insert(f.name).second) << f.name;
}

}  // namespace
}  // namespace nl
