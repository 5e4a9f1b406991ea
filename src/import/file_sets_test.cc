// SPDX-License-Identifier: Apache-2.0
#include "import/file_sets.h"

#include "base/human.h"
#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::Gzip;
using testing_import::WriteText;
using PathList = std::vector<std::string>;

// Kernels have no process in their file; calls do.
std::string Kernels(const std::vector<int64_t>& starts) {
  std::string out = "\"Kind\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n";
  for (const int64_t start : starts)
    out += fmt::format("\"KERNEL_DISPATCH\",\"f(int, int)\",{},{}\n", start, start + 10);
  return out;
}
std::string Calls(const std::string& domain, int64_t process, const std::vector<int64_t>& starts) {
  std::string out = "\"Domain\",\"Function\",\"Process_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n";
  for (const int64_t start : starts)
    out += fmt::format("\"{}\",\"f\",{},{},{}\n", domain, process, start, start + 10);
  return out;
}
std::string Copies(int64_t start) {
  return fmt::format(
      "\"Kind\",\"Direction\",\"Start_Timestamp\",\"End_Timestamp\"\n\"MEMORY_COPY\",\"H2D\",{},{}\n", start,
      start + 10);
}
constexpr char kAgents[] = "\"Node_Id\",\"Agent_Type\",\"Name\"\n0,\"CPU\",\"host\"\n";
constexpr char kSums[] = "\"Name\",\"Calls\",\"TotalDurationNs\"\n\"hipMalloc\",1,5\n";

class FileSetsTest : public ::testing::Test {
 protected:
  std::string Put(const std::string& name, std::string_view text) {
    const std::string path = folder_.path() + "/" + name;
    WriteText(path, text);
    return path;
  }
  std::vector<PathList> Groups(const PathList& paths) {
    std::vector<PathList> out;
    for (const FileSet& set : GroupParts(paths)) out.push_back(set.paths);
    return out;
  }
  TempDir folder_ = *TempDir::Make("nl-sets-");
};

TEST_F(FileSetsTest, PartsOfTheSameRecordingAreTakenWithTheReason) {
  const std::string kernels = Put("9_kernel_trace.csv", Kernels({100, 200})),
                    calls = Put("9_hip_api_trace.csv", Calls("HIP_RUNTIME_API_EXT", 9, {50, 205})),
                    agents = Put("9_agent_info.csv", kAgents),
                    markers = Put("9_marker_api_trace.csv", Calls("MARKER_CORE_API", 9, {60}));
  Put("9_hip_api_stats.csv", kSums);  // they add nothing to the records
  const FileSet set = WithPartsBeside(kernels);
  EXPECT_EQ(set.paths, (PathList{kernels, agents, calls, markers}));
  ASSERT_EQ(set.siblings.size(), 3u);
  EXPECT_EQ(set.siblings[0].reason, "same name '9'");
  EXPECT_EQ(set.siblings[1].reason, "same name '9', overlapping clocks");
  EXPECT_EQ(set.siblings[2].reason, "same name '9', same process 9, overlapping clocks");
  for (const Sibling& s : set.siblings) EXPECT_TRUE(s.taken) << s.path;
}

TEST_F(FileSetsTest, PartsOfAnotherRecordingAreNotTakenWithTheReason) {
  const std::string calls = Put("9_hip_api_trace.csv", Calls("HIP_RUNTIME_API_EXT", 9, {100, 200})),
                    later = Put("9_memory_copy_trace.csv", Copies(3'600'000'000'000)),
                    other = Put("9_marker_api_trace.csv", Calls("MARKER_CORE_API", 8, {150}));
  const FileSet set = WithPartsBeside(calls);
  EXPECT_EQ(set.paths, PathList{calls});
  ASSERT_EQ(set.siblings.size(), 2u);
  EXPECT_EQ(set.siblings[0].path, other);
  EXPECT_EQ(set.siblings[0].reason, "of another process (8, not 9)");
  EXPECT_EQ(set.siblings[1].path, later);
  EXPECT_EQ(set.siblings[1].reason,
            "of another recording (" + HumanDurationNs(3'600'000'000'000 - 210) + " apart)");
  EXPECT_FALSE(set.siblings[0].taken || set.siblings[1].taken);
  EXPECT_EQ(Groups({calls, later, other}), (std::vector<PathList>{{calls}, {later}, {other}}));
}

TEST_F(FileSetsTest, ShortRecordingsMayHaveAGapBetweenParts) {
  const std::string kernels = Put("9_kernel_trace.csv", Kernels({1'000})),
                    calls = Put("9_hip_trace.csv", Calls("HIP_RUNTIME_API_EXT", 9, {900}));
  const FileSet set = WithPartsBeside(kernels);
  EXPECT_EQ(set.paths, (PathList{kernels, calls}));
  ASSERT_EQ(set.siblings.size(), 1u);
  EXPECT_EQ(set.siblings[0].reason, "same name '9', clocks 90 ns apart");
}

TEST_F(FileSetsTest, APartMayOverlapWithAnotherPartOnly) {
  // Copies at the beginning, kernels at the end, calls during both.
  const int64_t late = 60'000'000'000;
  const std::string kernels = Put("9_kernel_trace.csv", Kernels({late})),
                    copies = Put("9_memory_copy_trace.csv", Copies(100)),
                    calls = Put("9_hip_trace.csv", Calls("HIP_RUNTIME_API_EXT", 9, {100, late}));
  EXPECT_EQ(WithPartsBeside(kernels).paths, (PathList{kernels, calls, copies}));
  EXPECT_EQ(Groups({kernels, copies, calls}), (std::vector<PathList>{{kernels, calls, copies}}));
}

TEST_F(FileSetsTest, RecordsInTheMiddleOfAFileCount) {
  // Records are not in order of time: here only one far from both ends of its file is near the copy.
  std::vector<int64_t> starts(10'000, 100);
  starts[5'000] = 60'000'000'000;
  const std::string copies = Put("9_memory_copy_trace.csv", Copies(60'000'000'000)),
                    kernels = Put("9_kernel_trace.csv", Kernels(starts));
  EXPECT_EQ(WithPartsBeside(copies).paths, (PathList{copies, kernels}));
  const std::string packed = Put("8_kernel_trace.csv.gz", Gzip(Kernels(starts))),
                    others = Put("8_memory_copy_trace.csv", Copies(60'000'000'000));
  EXPECT_EQ(WithPartsBeside(packed).paths, (PathList{packed, others}));
}

TEST_F(FileSetsTest, ASecondFileOfTheSamePartIsNotTaken) {
  const std::string kernels = Put("9_kernel_trace.csv", Kernels({100}));
  Put("9_kernel_trace.csv.gz", Gzip(Kernels({100})));
  const FileSet set = WithPartsBeside(kernels);
  EXPECT_EQ(set.paths, PathList{kernels});
  ASSERT_EQ(set.siblings.size(), 1u);
  EXPECT_EQ(set.siblings[0].reason, "9_kernel_trace.csv is the kernel_trace of this recording");
}

}  // namespace
}  // namespace nl
