// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/plants.h"

namespace nl::synthetic::plants {

Edit Change(const Where& where, const std::function<void(Call&)>& change) {
  Edit e;
  e.where = where;
  e.change = change;
  return e;
}

Edit After(const Where& where, const std::function<void(Writer&)>& after) {
  Edit e;
  e.where = where;
  e.after = after;
  return e;
}

Edit Before(const Where& where, const std::function<void(Writer&)>& before) {
  Edit e;
  e.where = where;
  e.before = before;
  return e;
}

Edit Drop(const Where& where) {
  Edit e;
  e.where = where;
  e.drop = true;
  return e;
}

std::function<void(Scenario&)> Adds(const std::vector<Edit>& edits) {
  return [edits](Scenario& s) { s.edits.insert(s.edits.end(), edits.begin(), edits.end()); };
}

Plant KernelSlower(const Where& where, double factor, const std::string& module, const std::string& op) {
  return {fmt::format("kernel x{} at {}", factor, where.site),
          Cause::kKernelSlower,
          Cause::kKernelFaster,
          {},
          where.stage,
          module,
          op,
          Adds({Change(where, [factor](Call& c) {
            for (Work& w : c.work) w.us *= factor;
          })})};
}

Plant KernelReplaced(const Where& where, const std::string& kernel, double factor, const std::string& module,
                     const std::string& op) {
  return {fmt::format("kernel replaced x{} at {}", factor, where.site),
          Cause::kKernelReplaced,
          Cause::kKernelReplaced,
          {},
          where.stage,
          module,
          op,
          Adds({Change(where, [=](Call& c) {
            for (Work& w : c.work) w.name = kernel, w.us *= factor;
          })})};
}

Plant KernelsAdded(const Where& where, int count, double us, const std::string& module) {
  return {fmt::format("{} kernels of {} us after {}", count, us, where.site),
          Cause::kKernelsAdded,
          Cause::kKernelsRemoved,
          {},
          where.stage,
          module,
          "aten::clamp",
          Adds({After(where, [=](Writer& w) {
            for (int i = 0; i < count; ++i) {
              Call c = Pointwise("plant.clamp", "aten::clamp", "clamp_scalar", Type::kBf16, {{1 << 20}});
              c.work[0].us = us;
              w.Do(c);
            }
          })})};
}

Plant CallsDropped(const Where& where, const std::string& module, const std::string& op) {
  return {fmt::format("{} left out", where.site),
          Cause::kKernelsRemoved,
          Cause::kKernelsAdded,
          {},
          where.stage,
          module,
          op,
          Adds({Drop(where)})};
}

Plant ShapeChanged(const Where& where, const std::string& dims, double factor, const std::string& module,
                   const std::string& op) {
  return {fmt::format("other shape x{} at {}", factor, where.site),
          Cause::kShapeChanged,
          Cause::kShapeChanged,
          {},
          where.stage,
          module,
          op,
          Adds({Change(where, [=](Call& c) {
            c.dims = dims;
            for (Work& w : c.work) w.us *= factor, w.grid *= 2;
          })})};
}

Plant DtypeChanged(const Where& where, const std::string& type, double factor, const std::string& module,
                   const std::string& op) {
  return {fmt::format("{} x{} at {}", type, factor, where.site),
          Cause::kDtypeChanged,
          Cause::kDtypeChanged,
          {},
          where.stage,
          module,
          op,
          Adds({Change(where, [=](Call& c) {
            c.types = TypesText({type, type});
            for (Work& w : c.work) {
              w.us *= factor;
              const size_t at = w.name.find("tst");
              if (at != std::string::npos) w.name.replace(at, 3, "qqt");
            }
          })})};
}

Plant MlpUpcast(const Where& where, const LlmOptions& o) {
  const auto up = [o](const char* site, int64_t n, int64_t k) {
    return Before({"", site, -1, -1}, [=](Writer& w) {
      w.Do(Cast("plant.cast_weight", Type::kFloat, o.type, {n, k}));
    });
  };
  std::vector<Edit> edits{up("mlp.gate", o.d_ff, o.d), up("mlp.up", o.d_ff, o.d),
                          up("mlp.down", o.d, o.d_ff)};
  edits.push_back(Change({"", "mlp.*", -1, -1}, [](Call& c) {
    for (size_t at; (at = c.types.find("c10::BFloat16")) != std::string::npos;)
      c.types.replace(at, 13, "float");
    for (Work& w : c.work) {
      const size_t at = w.name.find("<c10::BFloat16>");
      if (w.name.rfind("nvjet", 0) == 0)
        w.name = GemmName(Type::kFloat, w.name.find("64x8_") != std::string::npos ? 8 : 4096);
      if (at != std::string::npos) w.name.replace(at, 15, "<float>");
      w.us *= c.op == "aten::mm" ? 4.5 : 2;
    }
  }));
  edits.push_back(After({"", "mlp.down", -1, -1}, [o](Writer& w) {
    const int64_t t = w.step() == 0 ? o.prompt : 1;
    w.Do(Cast("plant.cast_back", o.type, Type::kFloat, {o.batch, t, o.d}));
  }));
  for (Edit& e : edits) e.where.stage = where.stage, e.where.layer = where.layer;
  return {"MLP in fp32",
          Cause::kPrecisionUpcast,
          Cause::kDtypeChanged,
          {Cause::kPrecisionUpcast},
          where.stage,
          "MLP",
          "",
          Adds(edits)};
}

Plant HostOpSlower(const Where& where, double us, const std::string& module, const std::string& op) {
  return {fmt::format("{} us inside the op at {}", us, where.site),
          Cause::kHostSlower,
          Cause::kHostFaster,
          {},
          where.stage,
          module,
          op,
          Adds({Change(where, [us](Call& c) { c.op_us += us; })})};
}

Plant PythonSlower(const Where& where, double us, const std::string& module, const std::string& op) {
  return {fmt::format("{} us of Python before {}", us, where.site),
          Cause::kHostSlower,
          Cause::kHostFaster,
          {},
          where.stage,
          module,
          op,
          Adds({Change(where, [us](Call& c) { c.python_us += us; })})};
}

Plant Allocation(const Where& where, double us, const std::string& module) {
  return {fmt::format("cudaMalloc {} us at {}", us, where.site),
          Cause::kHostSlower,
          Cause::kHostFaster,
          {},
          where.stage,
          module,
          "",
          Adds({Before(where, [us](Writer& w) { w.Api("plant.malloc", "cudaMalloc", us); }),
                After(where, [us](Writer& w) { w.Api("plant.free", "cudaFree", us / 2, Waits::kDevice); })})};
}

Plant SyncAdded(const Where& where, const std::string& module) {
  return {fmt::format("cudaStreamSynchronize after {}", where.site),
          Cause::kSyncAdded,
          Cause::kSyncRemoved,
          {},
          where.stage,
          module,
          "",
          Adds({After(where,
                      [](Writer& w) { w.Api("plant.sync", "cudaStreamSynchronize", 3, Waits::kStream); })})};
}

Plant ItemAdded(const Where& where, int count, const std::string& module) {
  return {fmt::format("{} x item() after {}", count, where.site),
          Cause::kSyncAdded,
          Cause::kSyncRemoved,
          {},
          where.stage,
          module,
          "",
          Adds({After(where, [count](Writer& w) {
            for (int i = 0; i < count; ++i) Item(w, "plant.item");
          })})};
}

Plant CopyAdded(const Where& where, const std::string& kind, bool pageable, double megabytes,
                const std::string& module) {
  return {fmt::format("{} MB {} {} after {}", megabytes, kind, pageable ? "pageable" : "pinned", where.site),
          Cause::kCopyAdded,
          Cause::kCopyRemoved,
          {},
          where.stage,
          module,
          "",
          Adds({After(where,
                      [=](Writer& w) { w.Do(EngineCopy("plant.copy", kind, pageable, megabytes * 1e6)); })})};
}

Plant NormFused(const std::string& site, const LlmOptions& o, const std::string& stage) {
  const auto fuse = [o, site](Call& c) {
    c.op = "aten::_fused_rms_norm";
    c.around = {"aten::rms_norm"};
    c.work = {
        Kernel("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, "
               "true>(int, float, c10::BFloat16 const*, c10::BFloat16*)",
               c.work[0].us * 1.2, 64)};
    c.types = TypesText({TypeName(o.type), TypeName(o.type)});
  };
  std::vector<Edit> edits{Change({stage, site + ".cast"}, fuse)};
  for (const char* part : {".pow", ".mean", ".add", ".rsqrt", ".mul", ".back", ".scale"})
    edits.push_back(Drop({stage, site + part}));
  return {fmt::format("{} fused", site),
          Cause::kFusionGained,
          Cause::kFusionLost,
          {},
          stage,
          "LlamaRMSNorm",
          "",
          Adds(edits)};
}

Plant ActivationFused(const std::string& stage) {
  return {"silu and mul fused",
          Cause::kFusionGained,
          Cause::kFusionLost,
          {},
          stage,
          "MLP",
          "",
          Adds({Drop({stage, "mlp.act"}), Change({stage, "mlp.mul"}, [](Call& c) {
                  c.op = "triton_poi_fused_mul_silu_0";
                  c.work[0].name = "triton_poi_fused_mul_silu_0";
                })})};
}

Plant LayoutCopy(const Where& where, const Shape& shape, double us, const std::string& module) {
  return {
      fmt::format("contiguous of {} us after {}", us, where.site),
      Cause::kLayoutCopyAdded,
      Cause::kLayoutCopyRemoved,
      {},
      where.stage,
      module,
      "aten::copy_",
      Adds({After(where, [=](Writer& w) { w.Do(Contiguous("plant.contiguous", Type::kBf16, shape, us)); })})};
}

}  // namespace nl::synthetic::plants
