// SPDX-License-Identifier: Apache-2.0
#include "serve/http/metrics.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace nl::http {

namespace {

void Head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

// Methods that no route takes share one label: a client must not be able to grow the table.
std::string_view MethodLabel(std::string_view method) {
  for (const std::string_view known : {"GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS"}) {
    if (method == known) return known;
  }
  return "other";
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t OpenFiles() {
  std::error_code code;
  int64_t count = -1;  // the folder itself is open while it is listed
  for (std::filesystem::directory_iterator it("/proc/self/fd", code), end; !code && it != end;
       it.increment(code))
    ++count;
  return std::max<int64_t>(count, 0);
}

}  // namespace

void Metrics::Count(std::string_view route, std::string_view method, int status, double seconds,
                    size_t bytes_out) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(route), std::string(MethodLabel(method)), status}];
  sent_bytes_ += static_cast<int64_t>(bytes_out);
  Durations& durations = durations_[std::string(route)];
  ++durations.count;
  durations.sum_s += seconds;
  for (size_t i = 0; i < kBounds_s.size(); ++i) durations.within[i] += seconds <= kBounds_s[i] ? 1 : 0;
}

void Metrics::CountReceived(size_t bytes) {
  const std::lock_guard lock(mutex_);
  received_bytes_ += static_cast<int64_t>(bytes);
}

int64_t Metrics::requests() const {
  const std::lock_guard lock(mutex_);
  int64_t total = 0;
  for (const auto& [key, count] : requests_) total += count;
  return total;
}

std::string Metrics::Text(const std::vector<Gauge>& gauges) const {
  const std::lock_guard lock(mutex_);
  std::string out;
  Head(out, "neurolens_http_requests_total", "counter", "Requests answered, by route, method and status.");
  for (const auto& [key, count] : requests_) {
    out += fmt::format("neurolens_http_requests_total{{route=\"{}\",method=\"{}\",status=\"{}\"}} {}\n",
                       std::get<0>(key), std::get<1>(key), std::get<2>(key), count);
  }
  constexpr char kDurations[] = "neurolens_http_request_duration_seconds";
  Head(out, kDurations, "histogram", "Time from the header of a request to its response.");
  for (const auto& [route, durations] : durations_) {
    for (size_t i = 0; i < kBounds_s.size(); ++i)
      out += fmt::format("{}_bucket{{route=\"{}\",le=\"{}\"}} {}\n", kDurations, route, kBounds_s[i],
                         durations.within[i]);
    out += fmt::format("{}_bucket{{route=\"{}\",le=\"+Inf\"}} {}\n", kDurations, route, durations.count);
    out += fmt::format("{}_sum{{route=\"{}\"}} {}\n{}_count{{route=\"{}\"}} {}\n", kDurations, route,
                       durations.sum_s, kDurations, route, durations.count);
  }
  Head(out, "neurolens_http_received_bytes_total", "counter", "Bytes of request bodies.");
  out += fmt::format("neurolens_http_received_bytes_total {}\n", received_bytes_);
  Head(out, "neurolens_http_sent_bytes_total", "counter", "Bytes of response bodies.");
  out += fmt::format("neurolens_http_sent_bytes_total {}\n", sent_bytes_);
  std::string_view last;
  for (const Gauge& gauge : gauges) {
    if (gauge.name != last) Head(out, gauge.name, gauge.type, gauge.help);
    last = gauge.name;
    out += gauge.labels.empty() ? fmt::format("{} {}\n", gauge.name, gauge.value)
                                : fmt::format("{}{{{}}} {}\n", gauge.name, gauge.labels, gauge.value);
  }
  Head(out, "process_resident_memory_bytes", "gauge", "Resident memory.");
  out += fmt::format("process_resident_memory_bytes {}\n", ResidentBytes());
  Head(out, "process_open_fds", "gauge", "Open file descriptors.");
  out += fmt::format("process_open_fds {}\n", OpenFiles());
  return out;
}

}  // namespace nl::http
