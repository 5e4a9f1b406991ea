// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/startup/stack_activity.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "analyze/facts/samples.h"
#include "base/has_any.h"
#include "model/python_path.h"

namespace nl::passes::startup {

namespace {

constexpr std::string_view kModuleCode = "<module>";

bool IsImport(const SampledFrame& f) {
  return f.name == "_find_and_load" && f.place.starts_with("<frozen importlib");
}

// Extension modules are libraries; ctypes loads them by name.
bool LoadsLibrary(const SampledFrame& f) {
  if (f.language == FrameLanguage::kPython)
    return f.name.starts_with("ExtensionFileLoader.") || f.name == "CDLL.__init__";
  return f.name == "dlopen" || f.name == "dlmopen" || f.name.starts_with("_dl_") ||
         f.place.starts_with("ld-linux") || f.place.starts_with("ld-musl");
}

bool Compiles(const SampledFrame& f) {
  return f.name != kModuleCode &&
         HasAny(f.place, {"torch/_inductor/", "torch/_dynamo/", "torch/_functorch/", "torch/fx/",
                          "triton/compiler/", "triton/runtime/autotuner", "triton/backends/"});
}

bool SaysNothing(std::string_view library) {
  return library.empty() || library.starts_with("libc.") || library.starts_with("ld-") ||
         library.starts_with("libpthread") || library.starts_with("_ctypes");
}

bool CompilesForDevice(std::string_view library) {
  return HasAny(library, {"libnvrtc", "libnvJitLink", "ptxjitcompiler", "libamd_comgr", "libtriton"});
}

// PyTorch creates the driver's state and the context there, before any call that is recorded.
bool InitializesDevice(std::string_view python_function) {
  return python_function.starts_with("_lazy_init (torch/cuda/");
}

// "torch" of "torch._dynamo.utils"; two parts: "torch._dynamo".
std::string FirstParts(std::string_view module, int parts) {
  size_t at = module.find('.');
  while (--parts > 0 && at != std::string_view::npos) at = module.find('.', at + 1);
  return std::string(module.substr(0, at));
}

std::string WaitedFor(std::string_view wait, std::string_view system_call) {
  if (!wait.empty()) return std::string(wait);
  return system_call.empty() ? "an unknown call" : std::string(system_call);
}

// Reads frames from the outermost to the innermost.
class StackReader {
 public:
  void Take(std::string_view text) {
    if (const auto wait = MarkedWait(text)) {
      wait_ = wait;
      return;
    }
    const SampledFrame f = ParseFrame(text);
    if (f.language == FrameLanguage::kPython) return TakePython(f);
    if (f.language == FrameLanguage::kSystem) {
      system_call_ = f.name;
      return;
    }
    if (LoadsLibrary(f) && kind_ != StartupKind::kLibrary) {
      kind_ = StartupKind::kLibrary;
      library_ = {};  // of the code that loads
    }
    if (kind_ == StartupKind::kNative && HasAny(f.name, {"Py_Initialize", "Py_Finalize"}))
      kind_ = StartupKind::kInterpreter;
    if (f.name.find("gc_collect") != std::string_view::npos) collects_ = true;
    if (!f.interpreter && !SaysNothing(f.place)) library_ = f.place;
    native_ = f.name;
  }

  Activity Finish() {
    Activity out = Named();
    out.library = library_;
    return out;
  }

 private:
  Activity Named() {
    const bool function = kind_ == StartupKind::kPython || kind_ == StartupKind::kNative;
    if (function && !wait_ && CompilesForDevice(library_))
      return {StartupKind::kCompile, {std::string(library_), ""}, {}};
    if (function && InitializesDevice(python_)) return {StartupKind::kContext, {python_, ""}, {}};
    if (wait_ && kind_ != StartupKind::kCompile) return Waiting();
    if (function && collects_) return {StartupKind::kPython, {"garbage collection", ""}, {}};
    switch (kind_) {
      case StartupKind::kImport: return {kind_, ImportNames(), {}};
      case StartupKind::kLibrary:
        return {kind_, {library_.empty() ? "dynamic linker" : std::string(library_), ""}, {}};
      case StartupKind::kPython:
      case StartupKind::kCompile: return {kind_, {python_, ""}, {}};
      case StartupKind::kInterpreter: return {kind_, {}, {}};
      default: return {kind_, {std::string(native_.empty() ? system_call_ : native_), ""}, {}};
    }
  }

  void TakePython(const SampledFrame& f) {
    python_ = fmt::format("{} ({})", f.name, f.place);
    library_ = {};
    if (IsImport(f)) {
      kind_ = StartupKind::kImport;
    } else if (LoadsLibrary(f)) {
      kind_ = StartupKind::kLibrary;
    } else if (kind_ == StartupKind::kImport) {
      if (f.name != kModuleCode) return;
      if (std::string module = ModuleOfFile(f.place); !module.empty()) modules_.push_back(std::move(module));
    } else if (kind_ != StartupKind::kLibrary) {
      kind_ = Compiles(f) || kind_ == StartupKind::kCompile ? StartupKind::kCompile : StartupKind::kPython;
    }
  }

  Activity Waiting() const {
    const std::string what = WaitedFor(*wait_, system_call_), where = Where();
    return {StartupKind::kWait, {what, where == what ? "" : where}, {}};
  }

  // The package that the program imports, and in it the package whose module runs.
  std::array<std::string, 2> ImportNames() const {
    if (modules_.empty()) return {"finding and compiling modules", ""};
    const std::string outer = FirstParts(modules_.front(), 1);
    std::string inner = FirstParts(modules_.back(), 1);
    if (inner == outer) inner = FirstParts(modules_.back(), 2);
    return {outer, inner == outer ? outer + " itself" : inner};
  }

  std::string Where() const {
    if (kind_ == StartupKind::kImport && !modules_.empty())
      return "import " + FirstParts(modules_.front(), 1);
    if (kind_ == StartupKind::kLibrary) return "library loading";
    return python_.empty() ? std::string(native_) : python_;
  }

  StartupKind kind_ = StartupKind::kNative;
  std::vector<std::string> modules_;  // being imported, outermost first
  std::string python_;                // innermost function
  std::string_view native_, library_, system_call_;
  std::optional<std::string_view> wait_;
  bool collects_ = false;
};

}  // namespace

Activity ActivityOf(std::string_view stack) {
  StackReader reader;
  while (!stack.empty()) {
    const size_t end = std::min(stack.find(';'), stack.size());
    reader.Take(stack.substr(0, end));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return reader.Finish();
}

}  // namespace nl::passes::startup
