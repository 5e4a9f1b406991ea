// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/cases.h"

namespace nl::synthetic {

namespace {

class CaseList {
 public:
  std::vector<PairCase> Singles() {
    Kernels();
    Structure();
    Types();
    Host();
    Copies();
    Fusion();
    Whole();
    Training();
    Networks();
    Sizes();
    return std::move(out_);
  }

  std::vector<PairCase> Hidden() {
    using namespace plants;
    for (const char* world : {"llm", "llm modules", "llm plain", "nsys", "nsys nvtx", "llm noshape"}) {
      Add(world, KernelSlower({"decode_step", "mlp.gate"}, 2.5, "MLP", "aten::mm"));
      Add(world, KernelSlower({"decode_step", "attn.*"}, 1.5, "Attention", "aten::mm"));
      Add(world, Clock(1.2));
    }
    return std::move(out_);
  }

  std::vector<PairCase> Doubles() {
    using namespace plants;
    const LlmOptions o;
    const Plant item = ItemAdded({"decode_step", "sample.argmax"}, 4, "");
    const Plant copy = CopyAdded({"decode_step", "sample.argmax"}, "HtoD", true, 8, "");
    const Plant fused = NormFused("norm1", o, ""), graph = GraphAdded(), eager = EagerAttention();
    const Plant layout = LayoutCopy({"", "attn.o"}, {8, 32, 64}, 12, "Attention");
    const Plant added = KernelsAdded({"", "mlp.mul"}, 3, 4, "MLP"), upcast = MlpUpcast({}, o);
    const Plant malloc = Allocation({"decode_step", "mlp.gate"}, 60, "MLP");
    for (const char* world : {"llm", "llm modules", "llm plain"}) {
      Two(world, copy, added);
      Two(world, fused, layout);
      Two(world, upcast, copy);
      Two(world, eager, malloc);
      Two(world, layout, malloc);
      Two(world, added, eager);
    }
    const Where gate{"", "mlp.gate"};
    Two("llm device", KernelSlower(gate, 1.5, "MLP", "aten::mm"), eager);
    Two("llm device",
        KernelReplaced(gate, "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_64x3_tn", 1.6, "MLP",
                       "aten::mm"),
        layout);
    Two("llm device modules", KernelSlower({"", "attn.o"}, 2.5, "Attention", "aten::mm"), fused);
    Two("nsys nvtx", item, added);
    Two("train", PythonSlower({"forward", "norm2"}, 120, "Block", "aten::native_layer_norm"),
        KernelsAdded({"forward", "mlp.act"}, 4, 10, "Mlp"));
    return std::move(out_);
  }

 private:
  void Add(const std::string& world, Plant plant, std::vector<Cause> also = {}, bool both_ways = true) {
    plant.also.insert(plant.also.end(), also.begin(), also.end());
    for (const bool undo : {false, true}) {
      if (undo && !both_ways) continue;
      out_.push_back(
          {fmt::format("{}: {}{}", world, undo ? "without " : "", plant.name), World(world), {plant}, undo});
    }
  }
  void Two(const std::string& world, const Plant& x, const Plant& y) {
    out_.push_back({fmt::format("{}: {} + {}", world, x.name, y.name), World(world), {x, y}, false});
  }

  void Kernels() {
    using namespace plants;
    const std::string cutlass =
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_64x3_tn_align8>("
        "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_64x3_tn_align8::Params)";
    for (const char* world :
         {"llm device", "llm device modules", "llm device plain", "nsys device", "nsys nvtx device"}) {
      Add(world, KernelSlower({"", "mlp.gate"}, 1.3, "MLP", "aten::mm"));
      Add(world, KernelSlower({"", "attn.sdpa"}, 2, "Attention", "aten::_cudnn_attention_forward"));
      Add(world, KernelReplaced({"", "mlp.down"}, cutlass, 1.5, "MLP", "aten::mm"));
    }
    Add("llm device", KernelSlower({"decode_step", "lm_head"}, 1.5, "", "aten::mm"));
    Add("llm device", KernelSlower({"prefill", "mlp.down"}, 1.4, "MLP", "aten::mm"));
    Add("llm device modules", KernelSlower({"", "mlp.up", -1, 2}, 3, "MLP", "aten::mm"));
    Add("llm device", KernelReplaced({"decode_step", "lm_head"}, cutlass, 1.4, "", "aten::mm"));
    Add("llm device", KernelReplaced({"prefill", "attn.q"}, cutlass, 2, "Attention", "aten::mm"));
    Add("nsys device", KernelReplaced({"", "mlp.act"}, "triton_poi_fused_silu_0", 3, "MLP", "aten::silu"));
  }

  void Structure() {
    using namespace plants;
    for (const char* world :
         {"llm", "llm modules", "llm plain", "llm noshape", "nsys", "nsys nvtx", "llm ask"}) {
      Add(world, KernelsAdded({"", "mlp.mul"}, 2, 3, "MLP"));
      Add(world, KernelsAdded({"decode_step", "sample.argmax"}, 12, 6, ""));
    }
    Add("llm", KernelsAdded({"", "residual1", -1, 3}, 6, 5, ""));
    Add("llm", CallsDropped({"", "attn.rope_k.*"}, "Attention", "aten::neg"));
    Add("llm modules", CallsDropped({"", "residual2"}, "Layer", "aten::add"));
    Add("llm device", KernelsAdded({"prefill", "mlp.act"}, 2, 60, "MLP"));
    Add("llm device", LayoutCopy({"", "attn.sdpa"}, {32, 32, 128, 128}, 40, "Attention"));
    for (const char* world : {"llm", "llm modules", "llm plain"})
      Add(world, LayoutCopy({"", "attn.sdpa"}, {8, 32, 1, 64}, 9, "Attention"));
    Add("llm", LayoutCopy({"decode_step", "lm_head"}, {8, 32000}, 20, ""));
    Add("llm device", ShapeChanged({"", "attn.sdpa"}, "[[32,32,1,128],[32,8,2048,128],[32,8,2048,128]]", 2.2,
                                   "Attention", "aten::_cudnn_attention_forward"));
    Add("llm device modules",
        ShapeChanged({"decode_step", "lm_head"}, "[[32,4096],[4096,64000]]", 2, "", "aten::mm"));
  }

  void Types() {
    using namespace plants;
    for (const char* world : {"llm", "llm modules", "llm plain", "llm device"}) {
      Add(world, MlpUpcast({}, World(world).llm));
      Add(world, MlpUpcast({"decode_step", "", -1, -1}, World(world).llm));
    }
    Add("llm device", DtypeChanged({"", "mlp.*"}, "c10::Half", 1.3, "MLP", "aten::mm"));
    Add("llm device modules", DtypeChanged({"", "mlp.gate"}, "c10::Float8_e4m3fn", 0.6, "MLP", "aten::mm"));
    Add("llm device", DtypeChanged({"decode_step", "lm_head"}, "c10::Float8_e4m3fn", 0.6, "", "aten::mm"));
    const Plant all{"the whole model in fp32",
                    Cause::kDtypeChanged,
                    Cause::kDtypeChanged,
                    {Cause::kPrecisionUpcast},
                    "",
                    "",
                    "",
                    [](Scenario& s) { s.llm.type = Type::kFloat; }};
    Add("llm device", all);
    Add("llm device modules", all);
  }

  void Host() {
    using namespace plants;
    for (const char* world : {"llm", "llm modules", "llm plain", "llm noshape"}) {
      Add(world, HostOpSlower({"", "attn.sdpa"}, 80, "Attention", "aten::_cudnn_attention_forward"));
      Add(world, PythonSlower({"", "mlp.gate"}, 90, "MLP", "aten::mm"));
      Add(world, PythonSlower({"decode_step", "sample.argmax"}, 900, "", "aten::argmax"));
    }
    for (const char* world : {"nsys", "nsys nvtx"}) Add(world, PythonSlower({"", "mlp.gate"}, 90, "", ""));
    for (const char* world : {"llm", "llm modules", "llm plain", "nsys", "nsys nvtx", "llm device"}) {
      Add(world, Allocation({"decode_step", "mlp.gate"}, 80, "MLP"));
      Add(world, Allocation({"decode_step", "embed"}, 400, ""));
    }
    for (const char* world : {"llm", "llm modules", "llm plain", "nsys", "nsys nvtx"}) {
      Add(world, SyncAdded({"decode_step", "mlp.down"}, ""));
      Add(world, ItemAdded({"decode_step", "sample.argmax"}, 8, ""));
    }
    Add("llm device", SyncAdded({"", "mlp.down"}, ""));
    Add("llm device", ItemAdded({"", "attn.o"}, 1, ""));
  }

  void Copies() {
    using namespace plants;
    const Where end{"decode_step", "sample.argmax"};
    for (const char* world : {"llm", "llm modules", "llm plain", "nsys", "nsys nvtx", "llm device"}) {
      Add(world, CopyAdded(end, "HtoD", true, 8, ""));
      Add(world, CopyAdded(end, "HtoD", false, 64, ""));
      Add(world, CopyAdded(end, "DtoH", true, 4, ""));
    }
    Add("llm device", CopyAdded({"", "attn.sdpa"}, "DtoD", false, 60, "Attention"));
    Add("llm", CopyAdded({"", "attn.sdpa", -1, 2}, "HtoD", true, 2, "Attention"));
    Add("llm modules", CopyAdded({"", "mlp.up"}, "HtoD", false, 6, "MLP"));
  }

  void Fusion() {
    using namespace plants;
    for (const char* world :
         {"llm", "llm modules", "llm plain", "llm noshape", "nsys", "nsys nvtx", "llm device"}) {
      Add(world, NormFused("norm1", World(world).llm, ""));
      Add(world, ActivationFused(""));
      Add(world, EagerAttention());
    }
    Add("llm", NormFused("norm2", World("llm").llm, "decode_step"));
    Add("llm device", OtherAttention(2.5));
    Add("nsys device", OtherAttention(2.5));
    for (const char* world : {"llm", "llm modules", "nsys nvtx", "nsys", "llm plain"})
      Add(world, GraphAdded());
  }

  void Whole() {
    using namespace plants;
    for (const char* world : {"llm device", "nsys device", "cnn device", "train device"}) {
      Add(world, Clock(1.15));
      Add(world, Clock(0.9), {}, false);
      Add(world, Contention(40));
    }
    for (const char* world : {"llm device", "llm device plain"}) {
      Add(world, WorkChanged("batch 32 to 48", [](Scenario& s) { s.llm.batch = 48; }));
      Add(world, WorkChanged("prompt 512 to 768", [](Scenario& s) { s.llm.prompt = 768; }));
      Add(world, WorkChanged("layers 6 to 8", [](Scenario& s) { s.llm.layers = 8; }));
      Add(world, WorkChanged("steps 8 to 11", [](Scenario& s) { s.llm.steps = 11; }));
    }
    for (const char* world : {"llm", "llm modules", "nsys nvtx"}) {
      Add(world, WorkChanged("layers 8 to 10", [](Scenario& s) { s.llm.layers = 10; }));
      Add(world, WorkChanged("steps 12 to 16", [](Scenario& s) { s.llm.steps = 16; }));
    }
    Add("graph llm", WorkChanged("steps 12 to 16", [](Scenario& s) { s.llm.steps = 16; }));
    Add("graph llm", KernelSlower({"decode_step", "mlp.gate"}, 1.6, "", ""));
    Add("graph llm", KernelsAdded({"decode_step", "mlp.mul"}, 2, 3, ""));
  }

  void Training() {
    using namespace plants;
    for (const char* world : {"train device", "ddp device", "ranks device"}) {
      Add(world, KernelSlower({"", "mlp.up"}, 1.6, "Mlp", "aten::mm"));
      Add(world, KernelsAdded({"forward", "mlp.act"}, 2, 60, "Mlp"));
      Add(world,
          KernelSlower({"backward", "bwd.attn.sdpa"}, 4, "", "aten::_flash_attention_forward_backward"));
    }
    for (const char* world : {"train", "train modules", "ddp"}) {
      Add(world, PythonSlower({"forward", "norm2"}, 150, "Block", "aten::native_layer_norm"));
      Add(world, SyncAdded({"forward", "residual2"}, ""));
      Add(world, Allocation({"forward", "mlp.up"}, 250, "Mlp"));
      Add(world, CopyAdded({"forward", "embed"}, "HtoD", true, 12, ""));
    }
    Plant fused{"the optimizer fused",
                Cause::kFusionGained,
                Cause::kFusionLost,
                {},
                "optimizer",
                "",
                "",
                [](Scenario& s) { s.train.fused_optimizer = true; }};
    Add("train", fused);
    Add("train device", fused);
    Add("train", WorkChanged("steps 5 to 7", [](Scenario& s) { s.train.steps = 7; }));
    Add("train device", WorkChanged("batch 8 to 12", [](Scenario& s) { s.train.batch = 12; }));
    Add("ddp device", KernelSlower({"backward", "reduce.bucket"}, 4, "", "c10d::allreduce_"));
  }

  void Networks() {
    using namespace plants;
    for (const char* world : {"cnn device", "cnn device plain", "cnn device modules"}) {
      Add(world, KernelSlower({"", "conv2.conv"}, 1.4, "Bottleneck", "aten::cudnn_convolution"));
      Add(world, LayoutCopy({"", "conv1.conv"}, {256, 64, 56, 56}, 120, "Bottleneck"));
      Add(world, KernelReplaced({"", "conv3.conv"},
                                "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_"
                                "tilesize128x64x32_stage5_warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn",
                                1.7, "Bottleneck", "aten::cudnn_convolution"));
      Add(world, WorkChanged("batch 256 to 320", [](Scenario& s) { s.cnn.batch = 320; }));
    }
    Add("cnn", CopyAdded({"", "fc"}, "HtoD", true, 8, ""));
    Add("cnn", KernelsAdded({"", "residual"}, 2, 5, "Bottleneck"));
    Add("cnn", SyncAdded({"", "residual"}, ""));
    Add("cnn", WorkChanged("steps 10 to 13", [](Scenario& s) { s.cnn.steps = 13; }));
  }

  // One plant in several sizes, down to one per cent of the wall.
  void Sizes() {
    using namespace plants;
    for (const double factor : {1.15, 1.5, 3.0})
      Add("llm device", KernelSlower({"", "mlp.down"}, factor, "MLP", "aten::mm"));
    for (const double factor : {1.25, 3.0})
      Add("cnn device", KernelSlower({"", "residual"}, factor, "Bottleneck", "aten::add_"));
    for (const int count : {1, 4}) {
      Add("llm", KernelsAdded({"", "residual1"}, count, 2, ""));
      Add("llm modules", KernelsAdded({"decode_step", "attn.o"}, count, 4, "Attention"));
    }
    Add("llm", KernelsAdded({"decode_step", "sample.argmax"}, 1, 300, ""));
    Add("llm plain", KernelsAdded({"", "norm2.scale", -1, 5}, 8, 4, ""));
    for (const double us : {40.0, 200.0}) {
      Add("llm", HostOpSlower({"", "attn.o"}, us, "Attention", "aten::mm"));
      Add("llm modules", PythonSlower({"decode_step", "norm1.cast"}, us, "RMSNorm", "aten::copy_"));
    }
    Add("llm", PythonSlower({"decode_step", "embed"}, 400, "", "aten::index_select"));
    for (const double us : {20.0, 300.0})
      Add("llm modules", Allocation({"decode_step", "attn.q"}, us, "Attention"));
    for (const double megabytes : {1.0, 40.0}) {
      Add("llm", CopyAdded({"decode_step", "sample.argmax"}, "HtoD", true, megabytes, ""));
      Add("llm modules", CopyAdded({"decode_step", "sample.argmax"}, "DtoH", true, megabytes, ""));
    }
    for (const int count : {1, 3}) Add("llm modules", ItemAdded({"decode_step", "mlp.down"}, count, ""));
    for (const double us : {5.0, 60.0})
      Add("llm modules", LayoutCopy({"decode_step", "attn.q"}, {8, 32, 1, 64}, us, "Attention"));
    for (const double factor : {1.06, 1.4}) Add("llm device plain", Clock(factor));
  }

  std::vector<PairCase> out_;
};

}  // namespace

std::vector<PairCase> SingleCases() { return CaseList().Singles(); }

std::vector<PairCase> HiddenCases() { return CaseList().Hidden(); }

std::vector<PairCase> DoubleCases() { return CaseList().Doubles(); }

std::vector<std::string> RepeatWorlds() {
  return {"llm",          "llm modules",  "llm plain", "llm noshape", "nsys",  "nsys nvtx",
          "llm device",   "nsys device",  "llm ask",   "graph llm",   "train", "ddp",
          "train device", "ranks device", "cnn",       "cnn device"};
}

}  // namespace nl::synthetic
