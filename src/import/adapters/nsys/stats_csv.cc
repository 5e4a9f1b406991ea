// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/nsys/stats_csv.h"

#include <string>

#include <fmt/format.h>

namespace nl::adapters::nsys {

namespace {

// By the columns that only this report has (nsys 2024.6 and 2026.2). Real header:
//   Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
struct Report {
  std::string_view begins, has;
  const char* name;
};
constexpr Report kReports[] = {
    {"Time (%),Total Time (", ",Num Calls,", "cuda_api_sum or osrt_sum"},
    {"Time (%),Total Time (", ",Style,Range", "nvtx_sum"},
    {"Time (%),Total Time (", ",GridXYZ,", "cuda_gpu_kern_gb_sum"},
    {"Time (%),Total Time (", ",Operation", "cuda_gpu_mem_time_sum"},
    {"Time (%),Total Time (", ",Instances,", "cuda_gpu_kern_sum"},
    {"Time (%),Total Time (", "", "a summary"},
    {"Total (MB),Count,", ",Operation", "cuda_gpu_mem_size_sum"},
    {"Start (ns),Duration (ns),", ",CorrId", "a trace"},
};

std::string_view FirstLine(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  return head.substr(0, head.find_first_of("\r\n"));
}

const Report* Find(std::string_view head) {
  const std::string_view line = FirstLine(head);
  for (const Report& report : kReports) {
    if (line.starts_with(report.begins) && line.find(report.has) != std::string_view::npos) return &report;
  }
  return nullptr;
}

}  // namespace

bool LooksLikeStats(std::string_view head) { return Find(head) != nullptr; }

Error RefuseStats(std::string_view head, std::string_view path) {
  const Report* report = Find(head);
  return Unsupported(
             fmt::format(
                 "a table that nsys stats printed ({}): it has totals per name where a run needs the events",
                 report != nullptr ? report->name : "a summary"))
      .At(path)
      .Hint(
          "import the recording itself: nsys export --type sqlite FILE.nsys-rep, then neurolens import "
          "FILE.sqlite");
}

}  // namespace nl::adapters::nsys
