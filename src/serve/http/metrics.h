// SPDX-License-Identifier: Apache-2.0
#pragma once
// Metrics: what the server did, as Prometheus reads it.
// Thread rule: any thread.

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace nl::http {

// A value that is read when asked for: workers, queues, connections.
struct Gauge {
  std::string name, help;
  std::string labels;  // "pool=\"heavy\""; may be empty
  double value = 0;
  std::string type = "gauge";  // or "counter"
};

class Metrics {
 public:
  // A request that was answered: `route` without its variables.
  void Count(std::string_view route, std::string_view method, int status, double seconds, size_t bytes_out);
  void CountReceived(size_t bytes);
  int64_t requests() const;

  // The text exposition format, with `gauges` and what the system knows of this process.
  std::string Text(const std::vector<Gauge>& gauges) const;

 private:
  static constexpr std::array<double, 11> kBounds_s{0.001, 0.0025, 0.005, 0.01, 0.025, 0.1,
                                                    0.25,  1,      2.5,   10,   60};
  struct Durations {
    std::array<int64_t, kBounds_s.size()> within{};
    int64_t count = 0;
    double sum_s = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int>, int64_t> requests_;  // route, method, status
  std::map<std::string, Durations, std::less<>> durations_;                // by route
  int64_t received_bytes_ = 0, sent_bytes_ = 0;
};

}  // namespace nl::http
