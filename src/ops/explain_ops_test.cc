// SPDX-License-Identifier: Apache-2.0
// critical-path, roofline and fingerprint over a stored run, through RunOp as every face does.
#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "base/terminal.h"
#include "ops/critical_path/reply.h"
#include "ops/open_store.h"
#include "ops/settings.h"
#include "testing/run_fixture.h"

namespace nl {
namespace {

using testing_runs::Must;

// 100 us of host, then a kernel of 300 us that a synchronisation waits for.
constexpr char kSynchronisedTrace[] =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0.000, "dur": 100.000, "args": {"External id": 1, "Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Concrete Inputs": ["", ""]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 90.000, "dur": 5.000, "args": {"External id": 1, "correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm_a", "pid": 0, "tid": 7, "ts": 100.000, "dur": 300.000, "args": {"External id": 1, "correlation": 7, "device": 0, "context": 1, "stream": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 110.000, "dur": 300.000, "args": {"correlation": 8}}
]})json";

class ExplainOpsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_ = Must(Settings::Load(
        {{{"store", dir_.path() + "/store"}}, [](const char*) { return nullptr; }, dir_.path()}));
    context_.settings = &settings_;
    const std::string file = dir_.path() + "/trace.json";
    ASSERT_TRUE(WriteFileAtomically(file, kSynchronisedTrace).ok());
    Must(Call("import", {{"paths", {file}}}));
  }
  Result<Reply> Call(const char* name, const Json& args) {
    op_ = MakeOp(name);
    return RunOp(*op_, args, context_);
  }
  std::string Text(const Reply& reply) {
    std::string text = op_->Text(reply, {80, false});
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      EXPECT_LE(DisplayWidth(text.substr(begin, end - begin)), 80) << text.substr(begin, end - begin);
      begin = end + 1;
    }
    return text;
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TempDir dir_ = Must(TempDir::Make("nl-ops-"));
  Settings settings_;
  OpContext context_;
  std::unique_ptr<Op> op_;
};

TEST_F(ExplainOpsTest, CriticalPathLeadsWithTheVerdictAndAnswersWhatIf) {
  const Reply reply =
      Must(Call("critical-path", {{"what_if", {"kernel:gemm*=0.5", "op:nothing=0", "host=2"}}}));
  const auto& r = reply.As<ops::critical_path::CriticalPathReply>();
  EXPECT_EQ(r.sums.wall_ns, 410000);
  EXPECT_EQ(r.sums.path_ns, 410000);
  EXPECT_EQ(r.bound_by.at(0).bound, PathBound::kKernel);
  EXPECT_DOUBLE_EQ(r.what_if.at(0).new_wall_ms, 0.26);
  EXPECT_EQ(r.what_if.at(1).matched, 0);
  EXPECT_GT(r.what_if.at(2).new_wall_ms, 0.41);
  const std::string text = Text(reply);
  EXPECT_EQ(text.rfind("73 % of the wall time is kernels", 0), 0u) << text;
  EXPECT_TRUE(Has(text, "at least 260.0"));
  EXPECT_TRUE(Has(text, "nothing in this run matches"));
}

TEST_F(ExplainOpsTest, ABadWhatIfIsRejected) {
  for (const char* bad : {"kernel:x", "kernel:x=", "kernel:x=fast", "=2", "host=-1", "everything=0.5"})
    EXPECT_EQ(Call("critical-path", {{"what_if", {bad}}}).error().code, ErrorCode::kInvalidInput) << bad;
}

TEST_F(ExplainOpsTest, RooflineNamesThePeaksItUsed) {
  const Reply reply = Must(Call("roofline", Json::object()));
  const Json document = reply.Document();
  ASSERT_EQ(document["points"].size(), 1u);
  EXPECT_DOUBLE_EQ(document["points"][0]["efficiency"], 2.0 * 4096 * 4096 * 4096 / 989e12 / 300e-6);
  EXPECT_TRUE(Has(Text(reply), "peaks of H200"));
  const Reply given = Must(Call("roofline", {{"peaks", "peak_tflops=2000,peak_dram_gbps=9999"}}));
  EXPECT_DOUBLE_EQ(given.Document()["points"][0]["efficiency"], 2.0 * 4096 * 4096 * 4096 / 2000e12 / 300e-6);
}

TEST_F(ExplainOpsTest, AFingerprintOfOneRunHasTheSameBytesEachTime) {
  const std::string a = dir_.path() + "/a.json", b = dir_.path() + "/b.json";
  const Reply reply = Must(Call("fingerprint", {{"out", a}}));
  EXPECT_TRUE(Has(Text(reply), "written to"));
  Must(Call("fingerprint", {{"out", b}}));
  EXPECT_EQ(Must(ReadWholeFile(a)), Must(ReadWholeFile(b)));
  EXPECT_EQ(Must(ParseJson(Must(ReadWholeFile(a)))), reply.Document());
}

}  // namespace
}  // namespace nl
