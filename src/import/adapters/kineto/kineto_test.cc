// SPDX-License-Identifier: Apache-2.0
#include "import/adapter.h"

#include <memory>

#include "testing/import_fixture.h"

namespace nl {
namespace {

using testing_import::TextSink;
using testing_import::TraceFile;

class KinetoTest : public ::testing::Test {
 protected:
  // Imports a trace with this header and these events.
  ImportResult Import(const std::string& header, const std::string& events) {
    const TraceFile file("{" + header + "\"traceEvents\": [" + events + "]}");
    ImportRequest request;
    request.paths = {file.path()};
    request.format = "kineto";
    sink_ = std::make_unique<TextSink>();
    Result<ImportResult> result = ImportFiles(request, *sink_);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
    return result.ok() ? *std::move(result) : ImportResult();
  }
  static std::string Op(const std::string& args = "") {
    return R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":2,"args":{)" + args +
           "}}";
  }
  static std::string Kernel(const std::string& args, const std::string& place = R"("pid":0,"tid":7)") {
    return R"({"ph":"X","cat":"kernel","name":"gemm",)" + place + R"(,"ts":3,"dur":4,"args":{)" + args + "}}";
  }
  std::string Row(Table table, size_t i = 0) {
    return sink_->RowsOf(table).size() > i ? sink_->RowsOf(table)[i] : "(none)";
  }
  bool Has(Table table, const std::string& part) { return Row(table).find(part) != std::string::npos; }

  std::unique_ptr<TextSink> sink_;
};

TEST_F(KinetoTest, HeaderBecomesMachineAndSoftware) {
  const ImportResult r = Import(
      R"("schemaVersion":1,"cuda_runtime_version":12040,"cupti_version":22,"deviceProperties":[{"id":1,"name":"GPU B","totalGlobalMem":1000,"numSms":132,"computeMajor":9,"computeMinor":0,"warpSize":32}],)",
      Op());
  EXPECT_EQ(r.document.software.cuda_version, "12.4");
  EXPECT_EQ(r.document.software.cupti_version, "22");
  EXPECT_EQ(r.document.hardware.vendor, "nvidia");
  ASSERT_EQ(r.document.hardware.devices.size(), 1u);
  EXPECT_EQ(r.document.hardware.devices[0].index, 1);
  EXPECT_EQ(r.document.hardware.devices[0].compute_capability, "9.0");
  EXPECT_TRUE(Has(Table::kDevice, "device=1 name='GPU B' memory_bytes=1000 sm_count=132 "))
      << Row(Table::kDevice);
}

TEST_F(KinetoTest, VendorIsToldByWhatTheFileSays) {
  EXPECT_EQ(Import("", Op()).document.hardware.vendor, "cpu");
  EXPECT_EQ(Import("", Kernel(R"("device":0)")).document.hardware.vendor, "nvidia");
  EXPECT_EQ(Import(R"("roctracer_version":4,)", Kernel(R"("device":0)")).document.hardware.vendor, "amd");
  EXPECT_EQ(Import(R"("deviceProperties":[{"id":0,"name":"AMD Instinct MI300X"}],)", Kernel(""))
                .document.hardware.vendor,
            "amd");
}

TEST_F(KinetoTest, HostileHeadersAreHarmless) {
  for (const char* header :
       {R"("deviceProperties":5,)", R"("deviceProperties":[1,null,{}],)",
        R"("deviceProperties":[{"id":"x","name":3}],)", R"("distributedInfo":[],)",
        R"("distributedInfo":{"rank":"one"},)", R"("cuda_runtime_version":"x",)",
        R"("cuda_runtime_version":99999999999999999999,)", R"("baseTimeNanoseconds":1.5,)"})
    EXPECT_EQ(Import(header, Op()).ops, 1) << header;
}

TEST_F(KinetoTest, DeviceAndStreamOfOldFilesStandInPidAndTid) {
  Import("", Kernel(R"("correlation":1)", R"("pid":2,"tid":9)"));
  EXPECT_TRUE(Has(Table::kKernel, "device=2 ")) << Row(Table::kKernel);
  EXPECT_TRUE(Has(Table::kKernel, "stream=9 "));
}

TEST_F(KinetoTest, ArgumentsOutsideTheirColumnStayInArgs) {
  Import(
      "",
      Kernel(
          R"("device":4294967296,"grid":[1,2],"block":[1,2,3,4],"registers per thread":"x","priority":-5,"context":1.5)"));
  EXPECT_TRUE(Has(Table::kKernel, "priority=-5 "));
  EXPECT_FALSE(Has(Table::kKernel, "grid_x") || Has(Table::kKernel, "block_x") ||
               Has(Table::kKernel, "context="))
      << Row(Table::kKernel);
  EXPECT_EQ(sink_->rows(Table::kArgs), 5);
}

TEST_F(KinetoTest, CopiesNameTheirDirectionAndMemories) {
  const std::pair<const char*, const char*> copies[] = {
      {"Memcpy HtoD (Pinned -> Device)", "kind='HtoD' src_memory='Pinned' dst_memory='Device' "},
      {"Memcpy DtoD (Device -> Device)", "kind='DtoD' src_memory='Device' dst_memory='Device' "},
      {"CopyDeviceToHost", "kind='DtoH' "},
      {"Memcpy PtoP (Device -> Device)", "kind='PtoP' src_memory='Device' dst_memory='Device' "}};
  std::string events;
  for (const auto& [name, expected] : copies)
    events += (events.empty() ? "" : ",") + std::string(R"({"ph":"X","cat":"gpu_memcpy","name":")") + name +
              R"(","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0}})";
  Import("", events);
  for (size_t i = 0; i < std::size(copies); ++i)
    EXPECT_NE(Row(Table::kMemcpy, i).find(copies[i].second), std::string::npos) << Row(Table::kMemcpy, i);
}

TEST_F(KinetoTest, UnknownCategoriesAreRangesWithTheirCategory) {
  Import(
      "",
      R"({"ph":"X","cat":"overhead","name":"Activity Buffer Request","pid":-1,"tid":0,"ts":1,"dur":2,"args":{"x":1}})");
  EXPECT_TRUE(Has(Table::kRange, "name='Activity Buffer Request' category='overhead' kind='span' "))
      << Row(Table::kRange);
  EXPECT_TRUE(Has(Table::kArgs, "owner='range' owner_id=0 key='x' value='1' "));
}

TEST_F(KinetoTest, GraphsAreCountedByTheirLaunches) {
  std::string events;
  for (int launch = 0; launch < 3; ++launch) {
    for (int node = 0; node < 4; ++node)
      events +=
          (events.empty() ? "" : ",") +
          Kernel(fmt::format(R"("device":0,"stream":7,"correlation":{},"graph id":9,"graph node id":{})",
                             launch, node));
  }
  Import("", events);
  EXPECT_TRUE(Has(Table::kGraph, "graph_id=9 device=0 launches=3 kernels=12 ")) << Row(Table::kGraph);
  EXPECT_TRUE(Has(Table::kStream, "device=0 stream=7 ")) << Row(Table::kStream);
}

TEST_F(KinetoTest, PrecisionIsThatOfTheMatrixWork) {
  EXPECT_EQ(Import("", Op(R"("Input type":["c10::BFloat16","c10::BFloat16"],"Input Dims":[[2,3],[3,4]])"))
                .document.software.precision,
            "bf16");
  EXPECT_EQ(Import("", Op(R"("Input type":["long int"])")).document.software.precision, "unknown");
}

}  // namespace
}  // namespace nl
