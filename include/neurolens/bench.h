// SPDX-License-Identifier: Apache-2.0
#pragma once
// A C++ file as a benchmark of `neurolens bench`: derive from neurolens::Benchmark, end with
// NEUROLENS_BENCHMARK(Name). The standard library is all it needs; neurolens/bench_cuda.h adds a GPU. docs/bench.md describes the protocol.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace neurolens {

// Numbers that the benchmark reads. `add` changes element i by the value, in place.
struct Input {
  const void* data = nullptr;
  size_t bytes = 0, count = 0;
  void (*add)(void* data, size_t i, double value) = nullptr;
  uint64_t device_address = 0;  // of its copy in the memory of a device
  size_t device_bytes = 0;

  Input On(uint64_t address, size_t bytes_there) const {
    Input out = *this;
    out.device_address = address;
    out.device_bytes = bytes_there;
    return out;
  }
  template <class T>
  static Input Of(std::vector<T>& v) {
    return {v.data(), v.size() * sizeof(T), v.size(),
            [](void* data, size_t i, double value) { static_cast<T*>(data)[i] += static_cast<T>(value); }};
  }
};

// A device that a benchmark works on. Its work is timed from before the first call until the device is idle; beside
// that stands the time of the declared streams, from Begin() to End().
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string Name() = 0;
  virtual void Begin() = 0;
  virtual int64_t End() = 0;        // waits for the declared streams; ns since Begin() on the device
  virtual void Synchronize() = 0;   // waits for every stream
  virtual int64_t Launches() = 0;   // kernels and copies so far
  virtual int64_t PeakBytes() = 0;  // of its memory
};

class Benchmark {
 public:
  virtual ~Benchmark() = default;
  // Makes the inputs, from `random` alone.
  virtual void Setup(std::mt19937_64& random) = 0;
  // The work that is timed.
  virtual void Run() = 0;
  // The result of the last Run().
  virtual std::vector<double> Output() = 0;
  virtual std::vector<Input> Inputs() = 0;
  // What must be equal on both sides.
  virtual std::map<std::string, std::string> Signature() = 0;
  // "float32", "float64" or "int64": decides the tolerance.
  virtual std::string OutputType() { return "float64"; }
  // The memory of the result, where it is a buffer.
  virtual std::pair<const void*, size_t> OutputMemory() { return {nullptr, 0}; }
  // The numbers of Inputs() were changed: copies elsewhere must follow.
  virtual void InputsChanged() {}
  // Null: the work is done on the host.
  virtual Device* UsedDevice() { return nullptr; }
  // Work per run, such as {"elements", 1e6}.
  virtual std::map<std::string, double> Workload() { return {}; }
};

namespace detail {

inline std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

inline std::string Number(double value) {
  if (value != value) return "\"nan\"";
  if (value - value != 0) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

// Requests are one flat object of known keys.
inline std::string Field(const std::string& line, const std::string& key) {
  const size_t at = line.find("\"" + key + "\":");
  if (at == std::string::npos) return "";
  size_t from = at + key.size() + 3;
  while (from < line.size() && (line[from] == ' ' || line[from] == '"')) ++from;
  size_t to = from;
  while (to < line.size() && line[to] != ',' && line[to] != '}' && line[to] != '"') ++to;
  return line.substr(from, to - from);
}

template <class T>
class Server {
 public:
  std::string Answer(const std::string& line) {
    const std::string what = Field(line, "do");
    if (what == "setup") return Setup(std::strtoull(Field(line, "seed").c_str(), nullptr, 10));
    if (what == "run") return Run(std::strtoul(Field(line, "n").c_str(), nullptr, 10));
    if (what == "jitter") return Jitter();
    if (what == "verify") return Verify();
    if (what == "audit") return Audit(std::strtoul(Field(line, "n").c_str(), nullptr, 10));
    if (what == "teardown") {
      delete benchmark_;
      benchmark_ = nullptr;
      return "{\"ok\":true}";
    }
    return "{\"ok\":false,\"error\":\"unknown request\"}";
  }

 private:
  std::string Setup(uint64_t seed) {
    delete benchmark_;
    benchmark_ = new T();
    std::mt19937_64 random(seed);
    benchmark_->Setup(random);
    std::string signature;
    for (const auto& [key, value] : benchmark_->Signature())
      signature += (signature.empty() ? "" : ",") + Quoted(key) + ":" + Quoted(value);
    std::string workload;
    for (const auto& [key, value] : benchmark_->Workload())
      workload += (workload.empty() ? "" : ",") + Quoted(key) + ":" + Number(value);
    return "{\"ok\":true,\"signature\":{" + signature + "},\"workload\":{" + workload +
           "},\"tolerance\":null,\"device_name\":" +
           (benchmark_->UsedDevice() == nullptr ? "null" : Quoted(benchmark_->UsedDevice()->Name())) +
           ",\"toolchain\":" + Quoted("C++ compiler " __VERSION__) + "}";
  }

  std::string Run(size_t n) {
    using Clock = std::chrono::steady_clock;
    times_.resize(n);
    if (Device* device = benchmark_->UsedDevice()) return RunOn(*device, n);
    for (size_t i = 0; i < n; ++i) {
      const Clock::time_point start = Clock::now();
      benchmark_->Run();
      times_[i] = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
    }
    return "{\"ok\":true,\"reseeded\":0,\"flags_changed\":[],\"ns\":[" + List(times_) + "]}";
  }

  // The GPU that is still busy after the declared streams have ended works on a stream that is not declared; an idle one
  // answers within kSettleNs.
  std::string RunOn(Device& device, size_t n) {
    using Clock = std::chrono::steady_clock;
    const auto ns = [](Clock::duration d) { return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count(); };
    std::vector<int64_t> device_ns(n), afters(n);
    for (size_t i = 0; i < n; ++i) {
      device.Synchronize();
      const Clock::time_point start = Clock::now();
      device.Begin();
      benchmark_->Run();
      device_ns[i] = device.End();
      const Clock::time_point declared = Clock::now();
      device.Synchronize();
      times_[i] = ns(Clock::now() - start);
      afters[i] = ns(Clock::now() - declared);
    }
    // The middle one: a single late run is one in which the host was interrupted.
    std::vector<int64_t> walls = times_;
    std::sort(afters.begin(), afters.end());
    std::sort(walls.begin(), walls.end());
    const int64_t after = n == 0 ? 0 : afters[n / 2];
    const int64_t late = n > 0 && after > kSettleNs + walls[n / 2] / 20 ? after : 0;
    return "{\"ok\":true,\"reseeded\":0,\"flags_changed\":[],\"busy_after_ns\":" + std::to_string(late) +
           ",\"device_ns\":[" + List(device_ns) + "],\"ns\":[" + List(times_) + "]}";
  }

  static std::string List(const std::vector<int64_t>& values) {
    std::string out;
    for (const int64_t value : values) out += (out.empty() ? "" : ",") + std::to_string(value);
    return out;
  }

  std::string Jitter() {
    bool changed = false;
    for (const Input& input : benchmark_->Inputs()) {
      for (size_t i = 0; i < (input.count + 1) / 2; ++i) {
        input.add(const_cast<void*>(input.data), i, 1);
        changed = true;
      }
    }
    if (changed) benchmark_->InputsChanged();
    return std::string("{\"ok\":true,\"changed\":") + (changed ? "true" : "false") + "}";
  }

  // Of a device what goes through it is counted.
  std::string Audit(size_t n) {
    if (Device* device = benchmark_->UsedDevice()) {
      std::vector<int64_t> launches;
      for (size_t i = 0; i < n; ++i) {
        const int64_t before = device->Launches();
        benchmark_->Run();
        device->Synchronize();
        launches.push_back(device->Launches() - before);
      }
      return "{\"ok\":true,\"device\":true,\"undeclared\":[],\"flags\":{},\"kernels\":[" + List(launches) +
             "],\"peak_bytes\":" + std::to_string(device->PeakBytes()) + "}";
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return "{\"ok\":true,\"device\":false,\"flags\":{},\"peak_bytes\":" +
           std::to_string(used.ru_maxrss * 1024) + "}";
  }

  std::string Verify() {
    std::string data;
    for (const double value : benchmark_->Output()) data += (data.empty() ? "" : ",") + Number(value);
    const auto [memory, bytes] = benchmark_->OutputMemory();
    const auto start = reinterpret_cast<uintptr_t>(memory);
    std::string aliases;
    size_t number = 0;
    for (const Input& input : benchmark_->Inputs()) {
      const auto from = reinterpret_cast<uintptr_t>(input.data);
      const uint64_t there = input.device_address;
      if (start != 0 && ((start < from + input.bytes && from < start + bytes) ||
                         (there != 0 && start < there + input.device_bytes && there < start + bytes)))
        aliases += (aliases.empty() ? "" : ",") + Quoted("input " + std::to_string(number));
      ++number;
    }
    return "{\"ok\":true,\"dtype\":" + Quoted(benchmark_->OutputType()) + ",\"data\":[" + data +
           "],\"aliases\":[" + aliases + "]}";
  }

  static constexpr int64_t kSettleNs = 60'000;

  Benchmark* benchmark_ = nullptr;
  std::vector<int64_t> times_;
};

template <class T>
int Main() {
  // What the benchmark prints goes to stderr: stdout is the protocol's.
  FILE* out = fdopen(dup(1), "w");
  dup2(2, 1);
  Server<T> server;
  std::string line;
  for (int c = 0; (c = std::getchar()) != EOF;) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    const std::string reply = server.Answer(line) + "\n";
    std::fwrite(reply.data(), 1, reply.size(), out);
    std::fflush(out);
    line.clear();
  }
  return 0;
}

}  // namespace detail
}  // namespace neurolens

#define NEUROLENS_BENCHMARK(Name) \
  int main() { return neurolens::detail::Main<Name>(); }
