// SPDX-License-Identifier: Apache-2.0
// The only functions of the library that others see.
#include "capture/lib/nvtx.h"
#include "capture/lib/recorder.h"
#include "capture/lib/torch_ops.h"

#define NL_EXPORT extern "C" __attribute__((visibility("default")))

using nl::capture::HostWhat;
using nl::capture::Recorder;

// Called by the CUDA driver in cuInit, as CUDA_INJECTION64_PATH asks.
NL_EXPORT int InitializeInjection() {
  if (Recorder* recorder = Recorder::Start()) recorder->StartGpu();
  return 1;
}

// Called by NVTX at a program's first NVTX call, as NVTX_INJECTION64_PATH asks.
NL_EXPORT int InitializeInjectionNvtx2(const void* (*get_export_table)(uint32_t)) {
  Recorder* recorder = Recorder::Start();
  return recorder != nullptr && nl::capture::AttachNvtx(get_export_table) ? 1 : 0;
}

// For the Python package (ctypes). nl_enabled is the flag to look at before each call.
// 1: this process is recorded.
NL_EXPORT int nl_init() { return Recorder::Start() != nullptr ? 1 : 0; }
NL_EXPORT int nl_abi_version() { return 1; }
NL_EXPORT void nl_range_push_data(const char* name, const char* json) {
  nl::capture::EmitRange(HostWhat::kPush, name, json);
}
NL_EXPORT void nl_range_pop() { nl::capture::EmitRange(HostWhat::kPop, nullptr, nullptr); }
NL_EXPORT void nl_mark(const char* name, const char* json) {
  nl::capture::EmitRange(HostWhat::kMark, name, json);
}
// Has `call` asked of the interpreter by `add_pending` (Py_AddPendingCall, which any thread may call)
// whenever recording goes on or off. Nulls: no longer.
NL_EXPORT void nl_on_switch(int (*add_pending)(int (*)(void*), void*), int (*call)(void*)) {
  Recorder::TellSwitches(add_pending, call);
}
// Share of the program's time that recording may take; 0: no limit. What the package itself takes of it is
// added.
NL_EXPORT double nl_budget() {
  const Recorder* recorder = Recorder::Get();
  return recorder != nullptr ? recorder->budget_share() : 0;
}
NL_EXPORT void nl_add_cost(int64_t ns) {
  if (Recorder* recorder = Recorder::Get()) recorder->AddCost(ns);
}
// What the recording has cost the program so far, as it is stated.
NL_EXPORT int64_t nl_cost_ns() {
  const Recorder* recorder = Recorder::Get();
  return recorder != nullptr ? recorder->StatedCostNs() : 0;
}
// Ranges of PyTorch's own profiler that are open on this thread: it is not to be stopped inside one.
NL_EXPORT int nl_open_ranges() { return nl::capture::OpenRanges(); }
// A range per operator by an observer in PyTorch: 0 off, or a TorchDetail; 0 is returned where that is not
// possible. Before the first, between the two calls of the probe, a few operators are run that show whether
// it is.
NL_EXPORT int nl_torch_probe_begin() { return nl::capture::BeginTorchProbe() ? 1 : 0; }
NL_EXPORT int nl_torch_probe_end() { return nl::capture::EndTorchProbe() ? 1 : 0; }
NL_EXPORT int nl_torch_observe(int detail) {
  return nl::capture::ObserveTorch(static_cast<nl::capture::TorchDetail>(detail)) ? 1 : 0;
}
// What is observed of operators now, in bits: 1 names, 2 shapes; -1: nothing ever was.
NL_EXPORT int nl_torch_observed() { return static_cast<int>(nl::capture::ObservedOfTorch()); }
// Has the call of nl_on_switch asked for again, a little later.
NL_EXPORT void nl_ask_again() {
  if (Recorder* recorder = Recorder::Get()) recorder->AskAgain();
}
NL_EXPORT void nl_start() {
  if (Recorder* recorder = Recorder::Start()) recorder->SetByProgram(true);
}
NL_EXPORT void nl_stop() {
  if (Recorder* recorder = Recorder::Get()) recorder->SetByProgram(false);
}
