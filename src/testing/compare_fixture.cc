// SPDX-License-Identifier: Apache-2.0
#include "testing/compare_fixture.h"

#include <cmath>
#include <limits>

namespace nl::testing_compare {

const std::vector<std::string>& HostileNames() {
  static const std::vector<std::string> names = {"a|b|c `code` *x* [y](z) ~s~",
                                                 "<script>window.hacked=1</script>",
                                                 "</script><img src=x onerror=window.hacked=2>",
                                                 "new\nline\r\ttab \x1b[31m",
                                                 "\u2028 \u2029 \u202e",
                                                 "# head\n- item\n| |\n---",
                                                 "</details>",
                                                 std::string(100'000, 'k'),
                                                 "\\",
                                                 "\xff\xfe not utf-8",
                                                 "<!-- --> ]]> &lt;b&gt; $x$",
                                                 "カーネル<T>::operator()(int) const"};
  return names;
}

Contribution Of(Cause cause, double a_ms, double b_ms, bool significant) {
  Contribution c;
  c.cause = cause;
  c.a_ms = a_ms;
  c.b_ms = b_ms;
  c.speed_effect_ms = b_ms - a_ms;
  c.structural = c.significant = significant;
  c.confidence = significant ? 1 : 0;
  c.count_a = c.count_b = 12;
  return c;
}

void Close(Comparison& c, double rest_ms) {
  c.contributions.push_back(Of(Cause::kNoise, rest_ms, rest_ms, false));
  for (const Contribution& x : c.contributions) {
    c.wall_a_ms += x.a_ms;
    c.wall_b_ms += x.b_ms;
  }
  double explained = 0;
  for (const Contribution& x : c.contributions) explained += x.delta_ms();
  c.residual_ms = c.delta_ms() - explained;
}

Comparison Usual() {
  Comparison c;
  c.run_a = "run-a";
  c.run_b = "run-b";
  c.similarity = 0.97;
  c.matched_share_a = 1;
  c.matched_share_b = 0.9;
  c.contributions = {Of(Cause::kSyncAdded, 0, 18), Of(Cause::kKernelReplaced, 10, 6),
                     Of(Cause::kCopyAdded, 0, 2)};
  c.contributions[0].stage = "decode_step";
  c.contributions[0].module = "layers.*.mlp";
  c.contributions[0].op = "aten::item";
  c.contributions[1].kernel_a = "cutlass_x";
  c.contributions[1].kernel_b = "nvjet_y";
  c.contributions[2].detail = "HtoD pageable";
  c.contributions[0].parts = {{"aten::item", "", "", "", "", "added", 0, 12, 0, 17},
                              {"aten::eq", "", "k", "", "", "added", 0, 12, 0, 1}};
  c.contributions[0].evidence_b = {{"api_call", 7, "cudaStreamSynchronize", 1.5, "ms"}};
  Close(c, 80);
  c.contributions.back().b_ms += 0.5;
  c.wall_b_ms += 0.5;
  c.busy_a_ms = 20;
  c.busy_b_ms = 25;
  c.verdict.verdict = VerdictClass::kRegressed;
  c.verdict.confidence = 0.99;
  c.verdict.p_value = 0.002;
  c.verdict.basis = CompareVerdict::Basis::kChange;
  c.verdict.change_ms = 16.5;
  c.comparability = {{"batch size", "1", "4", "times are per token"}, {"driver", "", "555.42", ""}};
  c.normalised_by = "token";
  c.normal_a_ms = 1.5;
  c.shifts = {{"decode_step", "", "aten::mm", "aten::addmm", 3}};
  c.by_kernel = {{"gemm", 10, 10, 60, 66, 20, 25}, {"", 0, 2, 0, 1, 0, 1}};
  c.by_op = c.by_kernel;
  c.timeline.names = {"gemm", "copy"};
  c.timeline.a = {{0, 1, 0, -1, 0}, {2, 1, 1, 1, -1}};
  c.timeline.b = {{0, 2, 0, -1, 0}, {3, 1, 1, 0, -1}};
  return c;
}

Comparison Hostile(size_t count) {
  Comparison c = Usual();
  c.contributions.clear();
  c.wall_a_ms = c.wall_b_ms = 0;
  const auto& names = HostileNames();
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = names[i % names.size()];
    Contribution x =
        Of(static_cast<Cause>(i % 24), i % 3 == 0 ? 5.0 : 1.0, 3.0 + static_cast<double>(i), i % 2 == 0);
    x.detail = x.stage = x.module = x.op = x.kernel_a = x.kernel_b = x.shapes_a = name;
    x.parts = {{name, name, name, name, "", name, 1, 2, 3, 4}};
    x.evidence_a = {{name, 1, name, std::numeric_limits<double>::quiet_NaN(), name}};
    c.contributions.push_back(std::move(x));
  }
  Close(c, 10);
  c.run_a = c.run_b = c.normalised_by = c.work_text = names[1];
  c.verdict.basis = CompareVerdict::Basis::kOnlyWork;  // its sentence holds work_text
  c.comparability = {{names[0], names[1], names[2], names[3]}};
  c.shifts = {{names[4], names[5], names[6], names[7], 3}};
  c.by_kernel.clear();
  for (const std::string& name : names) c.by_kernel.push_back({name, 1, 2, 1, 2, 1, 1});
  c.by_op = c.by_module = c.by_stage = c.by_kernel;
  c.timeline.names = names;
  return c;
}

Comparison Empty() { return {}; }

Comparison OneSide() {
  Comparison c;
  c.contributions = {Of(Cause::kKernelsAdded, 0, 5)};
  Close(c, 0);
  c.similarity = c.drift = std::nan("");
  return c;
}

}  // namespace nl::testing_compare
