// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: a program of labelled steps on one thread, which launches work on one stream. Times are plain
// ns.
//   StepScript s;
//   s.Steps(6, [&] { s.Op("aten::mm", 50'000, 5'000); });
//   Analysis analysis = s.run.Finish();

#include <algorithm>
#include <string>

#include "testing/run_builder.h"

namespace nl::testing_analyze {

struct StepScript {
  RunBuilder run;
  ThreadId main = run.Thread("main");
  int64_t host_ns = 0, device_ns = 0;

  // An operator with one kernel, launched at its end.
  void Op(const std::string& name, int64_t host, int64_t device, const std::string& kernel = "gemm",
          const std::string& dims = "", const std::string& types = "") {
    const RowId op = run.Op(main, name, host_ns, host, dims, types);
    const RowId call = run.Api(main, "cudaLaunchKernel", host_ns + host - kLaunchNs, kLaunchNs, op);
    device_ns = std::max(device_ns, host_ns + host);
    run.Kernel(kernel, 7, device_ns, device, call, op);
    device_ns += device;
    host_ns += host;
  }
  // A copy from or to pageable memory: the call returns when it is done.
  void PageableCopy(const std::string& name, int64_t device, int64_t bytes, bool to_host = false) {
    const int64_t start_ns = std::max(host_ns + 2 * kLaunchNs, device_ns), end_ns = start_ns + device;
    const RowId op = run.Op(main, name, host_ns, end_ns + kLaunchNs - host_ns);
    const RowId call =
        run.Api(main, "cudaMemcpyAsync", host_ns + kLaunchNs, end_ns - host_ns - kLaunchNs, op);
    run.Memcpy(to_host ? "DtoH" : "HtoD", to_host ? "Device" : "Pageable", to_host ? "Pageable" : "Device",
               bytes, 7, start_ns, device, call, op);
    device_ns = end_ns;
    host_ns = end_ns + kLaunchNs;
  }
  // An operator that launches nothing.
  void HostOp(const std::string& name, int64_t host) {
    run.Op(main, name, host_ns, host);
    host_ns += host;
  }
  // A call of the host alone.
  void Call(const std::string& name, int64_t host) {
    run.Api(main, name, host_ns, host);
    host_ns += host;
  }
  void Wait() {
    const int64_t end_ns = std::max(host_ns, device_ns) + 3'000;
    run.Api(main, "cudaStreamSynchronize", host_ns, end_ns - host_ns);
    host_ns = end_ns;
  }
  template <class Body>
  void Steps(int count, const Body& body) {
    for (int i = 0; i < count; ++i) {
      const int64_t from_ns = host_ns;
      body();
      run.Step("ProfilerStep", i, from_ns, host_ns - from_ns);
      run.Range(main, "ProfilerStep#" + std::to_string(i), from_ns, host_ns - from_ns);
    }
  }

  static constexpr int64_t kLaunchNs = 5'000;
};

}  // namespace nl::testing_analyze
