// SPDX-License-Identifier: Apache-2.0
#pragma once
// StartupFacts: where the time before the first step went, and why the warm-up steps took longer than
// steady ones, on the thread that launches the first device work.
//
// Start-up begins with the program, where the recording knows that (CPU samples of `neurolens run`), and ends
// with the first step of PhasesFacts. A run with CPU samples and without steps is explained as a whole. Each
// instant belongs to one part: the recorded call it lies in; else import, library loading or compilation, as
// CPU samples show them; else the outermost operator, the sampled function, or the labelled range. A
// sample stands for the time up to the next one of its thread, at most twice its own weight. Parts sum to the
// time explained, and the warm-up parts to what warm-up took beyond that many steady steps.
// Made by passes/startup. Thread rule: plain values, read-only once made.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/phases.h"
#include "base/record.h"

namespace nl {

enum class StartupKind : uint8_t {
  kImport,         // Python modules
  kLibrary,        // dlopen and what it runs: relocation, static initialisers
  kInterpreter,    // the Python interpreter before its first line and after its last
  kContext,        // CUDA context and device queries
  kModule,         // kernels and modules brought to the device
  kGraphCapture,   // between the begin and the end of a capture, and making the graph
  kCompile,        // torch.compile, Triton, compilers of the device
  kAllocation,     // device and pinned memory
  kCopy,           // calls that copy
  kLaunch,         // calls that launch
  kDeviceWait,     // calls that wait for the device
  kCall,           // other API calls
  kOperator,       // framework operators, outside of the calls they make
  kPython,         // other Python functions
  kNative,         // native functions without a Python one around
  kWait,           // the thread did not run
  kRange,          // only a labelled range is known
  kWarmupKernels,  // launching and awaiting kernels that occur in warm-up only
  kPaused,         // recording paused
  kUnknown,        // nothing is known
  kOther,          // of warm-up: the rest; negative where steady steps have more of something
};
std::span<const std::string_view> NamesOf(StartupKind);
// "CUDA context": for people.
std::string_view LabelOf(StartupKind kind);

struct StartupFacts {
  static constexpr const char* kName = "startup";

  // A row of a tree in order of a walk: kinds at depth 0, then what they consist of, most time first.
  struct Part {
    StartupKind kind = StartupKind::kUnknown;
    int32_t depth = 0;
    std::string name;  // at depth 0 the label of the kind
    int64_t ns = 0;
  };
  static constexpr int32_t kMaxDepth = 2;

  PhaseKind explains = PhaseKind::kStartup;  // or kWhole
  std::string reason;                        // why nothing is explained; empty when something is
  std::string imports_reason;                // why imports are not known; empty when they are
  int64_t start_ns = 0, end_ns = 0;
  int64_t before_ns = 0;  // from the start to the first recorded event
  int64_t run_ns = 0;     // from the start of the program, as far as it is known, to the last event
  std::vector<Part> parts;

  int64_t warmup_ns = 0, warmup_steps = 0;
  int64_t warmup_extra_ns = 0;  // beyond as many steady steps; the warm-up parts sum to it
  std::string warmup_reason;    // why warm-up is not explained; empty when it is
  std::vector<Part> warmup_parts;
};

// The facts as reports and `neurolens phases` give them.
struct StartupPart {
  StartupKind kind = StartupKind::kUnknown;
  int64_t depth = 0;
  std::string name;
  double ms = 0;
  std::optional<double> share;
};
struct WarmupSection {
  int64_t steps = 0;
  double ms = 0, extra_ms = 0;
  std::optional<std::string> reason;
  std::vector<StartupPart> parts;
};
struct StartupSection {
  PhaseKind explains = PhaseKind::kStartup;
  std::optional<std::string> reason;
  std::optional<double> ms, before_ms, share;
  std::optional<double> imports_ms;
  std::optional<std::string> imports_reason;
  double run_ms = 0;
  std::vector<StartupPart> parts;
  WarmupSection warmup;
};
void Describe(Record<StartupPart>& r);
void Describe(Record<WarmupSection>& r);
void Describe(Record<StartupSection>& r);

StartupSection SectionOf(const StartupFacts& facts);

}  // namespace nl
