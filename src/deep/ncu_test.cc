// SPDX-License-Identifier: Apache-2.0
// Names for Nsight Compute, its command line and its log.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "deep/ncu_command.h"
#include "deep/ncu_name.h"

namespace nl::deep {
namespace {

bool Matches(const std::string& regex, const std::string& name) {
  return std::regex_search(name, std::regex(regex, std::regex::ECMAScript));
}

// The value after an option; "" when it is not there.
std::string ValueOf(const std::vector<std::string>& command, const std::string& option) {
  const auto found = std::find(command.begin(), command.end(), option);
  return found == command.end() || found + 1 == command.end() ? "" : found[1];
}

DeepPlan TwoKernels() {
  DeepPlan plan;
  plan.launch_numbers = {3, 17};
  for (const char* name : {"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", "void scale<float, 4>(float*)"}) {
    PlanKernel kernel;
    kernel.name = name;
    kernel.ncu_regex = NcuRegex(name);
    plan.kernels.push_back(kernel);
  }
  return plan;
}

TEST(NcuName, AKernelIsFoundByItsFunctionInEitherSpelling) {
  const std::string regex = NcuRegex(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, "
      "std::array<char*, 2ul> >(int, at::native::CUDAFunctorOnSelf_add<float>, std::array<char*, 2ul>)");
  EXPECT_EQ(regex, "vectorized_elementwise_kernel");
  const std::string filter = Alternation({regex, NcuRegex("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT")});
  EXPECT_TRUE(Matches(filter,
                      "void at::vectorized_elementwise_kernel<(int)4, at::CUDAFunctorOnSelf_add<float>, "
                      "std::array<char *, 2>>(int, T2, T3)"));
  EXPECT_TRUE(Matches(filter, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"));
  EXPECT_TRUE(Matches(filter, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT(Params)"));
  EXPECT_FALSE(Matches(filter, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT2"));
  EXPECT_FALSE(Matches(filter, "void at::elementwise_kernel<(int)128, (int)4>(T1)")) << "a part of a word";
}

TEST(NcuName, NoColonBecauseItSeparatesPartsOfAnId) {
  for (const char* name : {"void a::b::c<d::e<f::g>, 3>(int)", "x::y", "(anonymous namespace)::k<int>"})
    EXPECT_EQ(NcuRegex(name).find(':'), std::string::npos) << name;
}

TEST(NcuName, AnAlternationHasEveryExpressionOnce) {
  EXPECT_EQ(Alternation({"b", "a", "b"}), "\\b(a|b)\\b");
  EXPECT_EQ(Alternation({"a", "operator[(][)]"}), "\\b(a)\\b|operator[(][)]");
  EXPECT_EQ(Alternation({}), "");
}

TEST(NcuCommand, OneRunWithOneFilterAndTheLaunchToMeasure) {
  NcuOptions options;
  options.ncu = "/opt/ncu";
  options.report = "out/report.ncu-rep";
  options.log = "out/ncu.log";
  const DeepPlan plan = TwoKernels();
  const std::vector<std::string> command = NcuCommand(plan, options, {"./program", "--steps", "3"});
  EXPECT_EQ(command.front(), "/opt/ncu");
  EXPECT_EQ(ValueOf(command, "--kernel-name-base"), "function");
  EXPECT_EQ(ValueOf(command, "--filter-mode"), "per-launch-config");
  EXPECT_EQ(ValueOf(command, "--replay-mode"), "kernel");
  EXPECT_EQ(ValueOf(command, "--clock-control"), "none");
  EXPECT_EQ(ValueOf(command, "--export"), "out/report.ncu-rep");
  EXPECT_EQ(ValueOf(command, "--nvtx-include"), "");
  EXPECT_EQ(std::count(command.begin(), command.end(), "--kernel-id"), 1) << "ncu refuses a second one";
  EXPECT_EQ(ValueOf(command, "--kernel-id"),
            "::regex:\\b(nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT|scale)\\b:^(3|17)$");
  EXPECT_EQ(std::vector<std::string>(command.end() - 3, command.end()),
            (std::vector<std::string>{"./program", "--steps", "3"}));
}

TEST(NcuCommand, ARangeIsMeasuredAsAWhole) {
  NcuOptions options;
  options.replay = "range";
  options.nvtx_range = "LLM@prefill";
  const std::vector<std::string> command = NcuCommand(TwoKernels(), options, {"./program"});
  EXPECT_EQ(ValueOf(command, "--kernel-id"), "") << "ncu refuses names with ranges";
  EXPECT_EQ(ValueOf(command, "--nvtx-include"), "LLM\\@prefill/");
  options.range_is_push_pop = false;
  EXPECT_EQ(ValueOf(NcuCommand(TwoKernels(), options, {"./program"}), "--nvtx-include"), "LLM\\@prefill");
}

TEST(NcuLog, ResultsPermissionAndKernelsThatWereThere) {
  const NcuLog done = ReadNcuLog(
      "==PROF== Connected to process 7\n==PROF== Profiling \"a\" - 0: 0%....100% - 38 passes\n"
      "==PROF== Profiling \"b\" - 1: 0%....100% - 38 passes\n");
  EXPECT_EQ(done.profiled, 2);
  EXPECT_FALSE(done.no_permission);
  EXPECT_TRUE(ReadNcuLog("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n").no_permission);
  const NcuLog none = ReadNcuLog(
      "==WARNING== No kernels were profiled.\nAvailable Kernels:\n\t1. alpha(float *, int)\n 2. beta\nend\n"
      "3. not of the list\n");
  EXPECT_EQ(none.profiled, 0);
  EXPECT_EQ(none.available, (std::vector<std::string>{"alpha(float *, int)", "beta"}));
}

}  // namespace
}  // namespace nl::deep
