// SPDX-License-Identifier: Apache-2.0
#include "import/adapter.h"
#include "import/adapters/xplane/details.h"
#include "import/read/protobuf_wire.h"
#include "testing/import_fixture.h"

namespace nl::adapters::xplane {
namespace {

using namespace std::string_literals;

TEST(XplaneDetails, CudaAndRocmKernels) {
  const KernelDetails cuda = ParseKernelDetails(
      "regs:168 static_shared:4 dynamic_shared:213220 grid:2,66,1 block:384,1,1 occ_pct:18.75");
  EXPECT_EQ(cuda.registers, 168);
  EXPECT_EQ(cuda.shared_bytes, 213224);
  EXPECT_EQ(cuda.grid[1], 66);
  EXPECT_EQ(cuda.block[0], 384);
  EXPECT_DOUBLE_EQ(cuda.occupancy_pct, 18.75);
  const KernelDetails rocm =
      ParseKernelDetails(" grid:4,64,1 block:256,1,1 private_mem:0 group_mem:8704 occ_pct:0");
  EXPECT_TRUE(IsNull(rocm.registers));
  EXPECT_EQ(rocm.shared_bytes, 8704);
  EXPECT_TRUE(IsNull(rocm.occupancy_pct)) << "ROCm writes 0 where it does not know";
  for (const char* text : {"", "grid:1,2", "grid:a,b,c regs:-1", "::", "regs:99999999999", "occ_pct:nan"}) {
    const KernelDetails none = ParseKernelDetails(text);
    EXPECT_TRUE(IsNull(none.grid[0])) << text;
    EXPECT_TRUE(IsNull(none.registers)) << text;
    EXPECT_TRUE(IsNull(none.occupancy_pct)) << text;
  }
}

TEST(XplaneDetails, CopiesByNameOrBySides) {
  const CopyDetails named =
      ParseCopyDetails("kind_src:pinned kind_dst:device size:64 dest:0 async:1", "MemcpyH2D");
  EXPECT_EQ(named.kind, "HtoD");
  EXPECT_EQ(named.src_memory, "Pinned");
  EXPECT_EQ(named.bytes, 64);
  EXPECT_EQ(ParseCopyDetails("kind_src:device kind_dst:pageable size:1", "copy").kind, "DtoH");
  EXPECT_EQ(ParseCopyDetails("kind:Unknown size:-4", "copy").kind, "");
  EXPECT_TRUE(IsNull(ParseCopyDetails("size:-4", "copy").bytes));
  EXPECT_EQ(ParseMemsetBytes("kind:unknown num_bytes:256 async:0"), 256);
}

TEST(XplaneDetection, KnowsPlanesAndNothingElse) {
  const Adapter& xplane = *FindAdapter("xplane");
  EXPECT_GT(xplane.Score("\x0a\x20\x12\x09/host:CPU\x1a\x10"s, ""), 50);
  EXPECT_GT(xplane.Score("\x0a\x0b\x12\x09/host:CPU"s, ""), 50);
  EXPECT_EQ(xplane.Score("\x0a\x0b\x12\x09/host:CPU"s.substr(0, 3), "a.xplane.pb"), 0);
  // Some other protobuf, and text that begins with a line break.
  EXPECT_LT(xplane.Score("\x0a\x05\x12\x03onnx"s, ""), 10);
  EXPECT_EQ(xplane.Score("\x0a\x05hello"s, "a.xplane.pb"), 0);
  EXPECT_EQ(xplane.Score("\n{\"traceEvents\": []}", ""), 0);
}

}  // namespace
}  // namespace nl::adapters::xplane
