// SPDX-License-Identifier: Apache-2.0
#include "analyze/cost_model/peaks.h"

#include <gtest/gtest.h>

#include "base/file_ops.h"
#include "testing/run_builder.h"

namespace nl {
namespace {

std::optional<Peaks> Find(std::string_view name, const AnalysisOptions& options = {}) {
  const auto found = FindPeaks(name, options);
  EXPECT_TRUE(found.ok()) << found.error().ToString();
  return found.ok() ? *found : std::nullopt;
}

TEST(Peaks, TheShippedTableIsWholeAndEveryRowHasASource) {
  ASSERT_GE(AllPeaks().size(), 8u);
  for (const Peaks& p : AllPeaks()) {
    EXPECT_FALSE(p.source.empty()) << p.device;
    EXPECT_TRUE(p.dram_gbps && p.fp16_tflops && p.fp32_tflops && p.fp64_tflops && p.sm_count) << p.device;
  }
}

TEST(Peaks, DevicesAreFoundUnderTheNamesDriversUse) {
  struct Row {
    const char *name, *device;
    double bf16, dram;
  };
  for (const Row& r :
       {Row{"NVIDIA H200", "H200 SXM", 989, 4800}, Row{"NVIDIA H100 80GB HBM3", "H100 SXM", 989, 3350},
        Row{"NVIDIA H100 PCIe", "H100 PCIe", 756, 2000},
        Row{"NVIDIA A100-SXM4-80GB", "A100 SXM 80GB", 312, 2039}, Row{"NVIDIA L40S", "L40S", 362, 864},
        Row{"NVIDIA B200", "B200", 2250, 8000}, Row{"NVIDIA GeForce RTX 4090", "RTX 4090", 165, 1008},
        Row{"NVIDIA H100 NVL", "H100 NVL", 835, 3900},
        Row{"NVIDIA A100-PG509-200", "A100 PG509-200", 312, 1555},
        Row{"AMD Instinct MI250X", "MI250X (one of two dies)", 191.5, 1638},
        Row{"AMD Instinct MI300X", "MI300X", 1307, 5300}}) {
    const auto p = Find(r.name);
    ASSERT_TRUE(p) << r.name;
    EXPECT_EQ(p->device, r.device);
    EXPECT_EQ(p->bf16_tflops, r.bf16);
    EXPECT_EQ(p->dram_gbps, r.dram);
  }
}

TEST(Peaks, AnUnknownDeviceHasNone) {
  for (const char* name : {"", "NVIDIA", "NVIDIA H", "NVIDIA GeForce RTX 4090 Laptop GPU", "H2000"})
    EXPECT_FALSE(Find(name)) << name;
}

TEST(Peaks, DtypesGoBySeveralSpellings) {
  const auto p = Find("NVIDIA H200");
  EXPECT_EQ(p->TflopsFor("c10::BFloat16"), 989);
  EXPECT_EQ(p->TflopsFor("float"), 67);
  EXPECT_EQ(p->TflopsFor("tf32"), 495);
  EXPECT_EQ(p->TflopsFor("torch.float8_e4m3fn"), 1979);
  EXPECT_EQ(p->TflopsFor("double"), 34);
  EXPECT_EQ(p->TflopsFor("mixed"), std::nullopt);
  EXPECT_EQ(p->TflopsFor("int64"), std::nullopt);
  EXPECT_EQ(DtypeBytes("c10::Half"), 2);
  EXPECT_EQ(DtypeBytes("unknown"), std::nullopt);
}

TEST(Peaks, TheCommandLineWinsAndSaysSo) {
  AnalysisOptions options;
  options.peaks = {{"peak_dram_gbps", 4000}, {"peak_tflops", 800}, {"fp32_tflops", 60}};
  const auto known = Find("NVIDIA H200", options);
  EXPECT_EQ(known->dram_gbps, 4000);
  EXPECT_EQ(known->bf16_tflops, 800);
  EXPECT_EQ(known->fp32_tflops, 60);
  EXPECT_EQ(known->sm_count, 132);
  EXPECT_EQ(known->source.rfind("--peaks; else NVIDIA H200 datasheet", 0), 0u) << known->source;
  const auto unknown = Find("Thing 1", options);
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->source, "--peaks");
  EXPECT_EQ(unknown->sm_count, std::nullopt);
  options.peaks = {{"peak_gflops", 1}};
  EXPECT_FALSE(FindPeaks("NVIDIA H200", options).ok());
}

TEST(Peaks, AUsersFileComesBeforeTheTableAndIsReadStrictly) {
  auto dir = TempDir::Make("peaks");
  ASSERT_TRUE(dir.ok());
  AnalysisOptions options;
  options.peaks_file = dir->path() + "/p.yaml";
  ASSERT_TRUE(
      WriteFileAtomically(options.peaks_file,
                          "devices:\n- {device: NVIDIA H200, source: measured here, dram_gbps: 4200}\n")
          .ok());
  const auto p = Find("NVIDIA H200", options);
  EXPECT_EQ(p->dram_gbps, 4200);
  EXPECT_EQ(p->bf16_tflops, std::nullopt) << "a device is taken whole, not mixed";
  EXPECT_EQ(p->source, "measured here");
  const auto refused = [](const char* text) { return ParsePeaksTable(text, "f.yaml"); };
  EXPECT_EQ(refused("devices:\n- {device: X, source: s, dram_gbps: -1}").error().message,
            "f.yaml:2: 'dram_gbps' must be a number above 0");
  EXPECT_EQ(refused("devices:\n- {device: X, source: s, tops: 1}").error().message,
            "f.yaml:2: 'tops' is not a peak");
  EXPECT_FALSE(refused("devices:\n- {device: X, dram_gbps: 1}").ok()) << "without a source";
  EXPECT_FALSE(refused("[1, 2").ok());
  EXPECT_FALSE(refused("").ok());
}

TEST(Peaks, AMeasuredCeilingInTheRunDocumentIsPreferred) {
  testing_analyze::RunBuilder run;
  run.Device(0, "NVIDIA H200");
  run.document() = {
      {"hardware",
       {{"devices", Json::array({{{"index", 0},
                                  {"peaks", {{"source", "micro-benchmark"}, {"peak_dram_gbps", 4300}}}}})}}}};
  Analysis analysis = run.Finish();
  const auto p = PeaksOfDevice(analysis.data(), 0, {});
  ASSERT_TRUE(p.ok() && *p);
  EXPECT_EQ((*p)->dram_gbps, 4300);
  EXPECT_EQ((*p)->bf16_tflops, 989);
  EXPECT_EQ((*p)->source.rfind("run document: micro-benchmark; else ", 0), 0u);
  EXPECT_EQ(DeviceNameOf(analysis.data(), 3), "NVIDIA H200") << "all listed devices are that";
}

MeasuredPeaks MeasuredH200(int64_t unix_ns, double read_gbps) {
  MeasuredPeaks out;
  out.kind = "gpu";
  out.id = "GPU-1";
  out.name = "NVIDIA H200";
  out.driver_version = "580.95";
  out.unix_ns = unix_ns;
  out.measured_at = "2026-11-18T08:00:00Z";
  out.figures = {{"dram_read", "GB/s", read_gbps, {}, {}, 15, {}, {}},
                 {"dram_copy", "GB/s", 3900, {}, {}, 15, {}, {}},
                 {"tensor_bf16", "TFLOP/s", 700, {}, {}, 15, {}, {}},
                 {"tensor_fp8", "TFLOP/s", std::nullopt, {}, {}, 0, {}, "no cuBLASLt"}};
  return out;
}

TEST(Peaks, MeasuredFiguresReplaceTheDatasheetOnlyWhereTheUserChoosesThem) {
  AnalysisOptions options;
  options.measured = {MeasuredH200(1, 4500), MeasuredH200(3, 4600), MeasuredH200(2, 4700)};
  EXPECT_EQ(Find("NVIDIA H200", options)->dram_gbps, 4800);
  EXPECT_EQ(Find("NVIDIA H200", options)->kind, PeakKind::kDatasheet);
  const auto beside = MeasuredPeaksFor("H200", options);
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->dram_gbps, 4600) << "the latest measurement, the highest of read and copy";
  EXPECT_EQ(beside->fp8_tflops, std::nullopt);
  EXPECT_FALSE(MeasuredPeaksFor("NVIDIA H100", options));
  EXPECT_FALSE(MeasuredPeaksFor("", options));
  options.peak_choice = PeakChoice::kMeasured;
  options.peaks = {{"fp32_tflops", 60}};
  const auto chosen = Find("NVIDIA H200", options);
  EXPECT_EQ(chosen->dram_gbps, 4600);
  EXPECT_EQ(chosen->bf16_tflops, 700);
  EXPECT_EQ(chosen->fp8_tflops, 1979) << "not measured: the datasheet's";
  EXPECT_EQ(chosen->fp32_tflops, 60);
  EXPECT_EQ(
      chosen->source.rfind("--peaks; else measured on GPU-1 with driver 580.95, 2026-11-18; else NVIDIA", 0),
      0u)
      << chosen->source;
  const auto unknown = FindPeaks("NVIDIA H100 80GB HBM3", options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

TEST(Peaks, AMeasurementSurvivesItsDocument) {
  const MeasuredPeaks device = MeasuredH200(1'700'000'000'000'000'000, 4500);
  const auto read = ReadPeakDocument(WritePeakDocument(device), "d");
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  ASSERT_EQ(read->devices.size(), 1u);
  EXPECT_EQ(read->devices[0].Value("dram_read"), 4500);
  EXPECT_EQ(read->devices[0].Find("tensor_fp8")->reason, "no cuBLASLt");
  EXPECT_EQ(read->devices[0].unix_ns, device.unix_ns);
}

TEST(Peaks, ADeviceThatIsNotListedHasANameOnlyWhenAllListedAreAlike) {
  testing_analyze::RunBuilder run;
  run.Device(0, "NVIDIA H200");
  run.Device(1, "NVIDIA L40S");
  Analysis analysis = run.Finish();
  EXPECT_EQ(DeviceNameOf(analysis.data(), 1), "NVIDIA L40S");
  EXPECT_EQ(DeviceNameOf(analysis.data(), 2), "");
  EXPECT_FALSE(*PeaksOfDevice(analysis.data(), 2, {}));
}

}  // namespace
}  // namespace nl
