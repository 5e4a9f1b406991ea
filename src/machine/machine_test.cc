// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "machine/cuda.h"
#include "machine/health.h"
#include "machine/python.h"
#include "machine/root_files.h"

namespace nl::machine {
namespace {

TEST(Cuda, DriverFilesAreUnderstood) {
  EXPECT_EQ(
      DriverVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"),
      "580.95.05");
  EXPECT_EQ(DriverVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue\n"), "470.57.02");
  EXPECT_EQ(DriverVersion(""), "");
  EXPECT_TRUE(CountersForAdminsOnly("Foo: 1\nRmProfilingAdminOnly: 1\n"));
  EXPECT_FALSE(CountersForAdminsOnly("Foo: 1\nRmProfilingAdminOnly: 0\n"));
  EXPECT_TRUE(CountersForAdminsOnly("Foo: 1\n")) << "not said: the driver's default";
}

TEST(Versions, CompareByNumbersAndNotByText) {
  EXPECT_LT(CompareVersions("2.9.0", "2.10.0"), 0);
  EXPECT_EQ(CompareVersions("2.6", "2.6.0"), 0);
  EXPECT_EQ(CompareVersions("2.6.0+cu124", "2.6.0"), 0);
  EXPECT_LT(CompareVersions("2.6.0rc1", "2.6.0"), 0);
  EXPECT_EQ(CompareVersions("2.6.0.post1", "2.6.0"), 0);
  EXPECT_LT(CompareVersions("525.60.11", "525.60.13"), 0);
}

TEST(Versions, SpecifiersOfPackages) {
  EXPECT_TRUE(VersionFits("3.2.0", "==3.2.0"));
  EXPECT_FALSE(VersionFits("3.1.0", "==3.2.0"));
  EXPECT_TRUE(VersionFits("2.6.0+cu124", "==2.6.0"));
  EXPECT_FALSE(VersionFits("2.6.0+cu124", "==2.6.0+cpu"));
  EXPECT_TRUE(VersionFits("1.26.4", ">=1.17,<2"));
  EXPECT_FALSE(VersionFits("2.1.0", ">=1.17,<2"));
  EXPECT_TRUE(VersionFits("4.51.3", "==4.51.*"));
  EXPECT_FALSE(VersionFits("4.52.0", "==4.51.*"));
  EXPECT_TRUE(VersionFits("4.52.0", "!=4.51.*"));
  EXPECT_TRUE(VersionFits("1.4.9", "~=1.4.2"));
  EXPECT_FALSE(VersionFits("1.5.0", "~=1.4.2"));
}

TEST(Files, ValuesAndLists) {
  EXPECT_EQ(ValueOf("model name\t: A B\nflags : x\n", "model name"), "A B");
  EXPECT_EQ(ValueOf("NAME=x\nPRETTY_NAME=\"Debian 12\"\n", "PRETTY_NAME", '='), "Debian 12");
  EXPECT_EQ(ValueOf("a: 1\n", "b"), std::nullopt);
  EXPECT_EQ(CpuList("0-2,8"), (std::set<int64_t>{0, 1, 2, 8}));
  EXPECT_TRUE(CpuList("").empty());
}

TEST(Health, OldestDriverIsByMajorVersion) {
  EXPECT_EQ(OldestDriver("12.8"), "525");
  EXPECT_EQ(OldestDriver("13.0.88"), "580");
  EXPECT_EQ(OldestDriver("11"), "450.80.02");
  EXPECT_EQ(OldestDriver("10.1.243"), "418.39") << "before CUDA 11 each minor version has its own";
  EXPECT_EQ(OldestDriver("10.2"), "440.33");
  EXPECT_EQ(OldestDriver("1"), "");
  EXPECT_EQ(OldestDriver("130.1"), "");
  EXPECT_EQ(OldestDriver("99.0"), "");
}

}  // namespace
}  // namespace nl::machine
