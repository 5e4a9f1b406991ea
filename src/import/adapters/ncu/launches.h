// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launches: the kernels of a report as rows: process, lane, device, kernel, and the counters
// made of its metrics. Nsight Compute runs kernels one at a time and several times over, so
// there is no timeline: each begins where the one before ended, which gives the order.
// Thread rule: one thread. Ownership: uses the caller's writer.

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/adapters/ncu/counter_map.h"
#include "import/adapters/ncu/page.h"
#include "import/rows/row_writer.h"

namespace nl::adapters::ncu {

class Launches {
 public:
  Launches(RowWriter& writer, ImportFile& file);

  // The columns of the launch, as written (quotes resolved), in the order of the page.
  // False: the ID is not a number. The kernel before is finished first.
  bool Begin(const Page& page, const std::vector<std::string>& fields, int64_t offset);
  // Writes the rows of the present kernel.
  void Finish();
  // IDs begin again: another page in the same file. `known`: its kernels are those of the
  // page before (the second page of one report).
  void NextPage(bool known);
  // Rows of processes, lanes and devices, after the last kernel.
  void PutLanes();

  RowId kernel_id() const { return kernel_id_; }
  bool open() const { return open_; }
  bool again() const { return again_; }  // the present kernel was started before
  int32_t device() const { return row_.device; }
  int64_t kernels() const { return kernels_; }
  KernelInputs& inputs() { return inputs_; }
  // What the raw page says of a device, once each: true when it is the device's.
  bool DescribeDevice(std::string_view attribute, std::string_view value, int64_t offset);

  StringId Text(std::string_view text, int64_t offset);

 private:
  struct Device {
    StringId compute_capability = StringId::kNull;
    int64_t sm_count = NullOf<int64_t>::value;
    std::map<std::string, std::string, std::less<>> attributes;
  };
  struct Process {
    std::string pid;
    StringId name, host;
    int32_t device;
  };
  struct Lane {
    size_t process;
    int64_t stream;
  };
  void FillLaunch(const Page& page, const std::vector<std::string>& fields, int64_t offset);
  void KeepSize(const Page& page, const std::vector<std::string>& fields, Role role, int32_t (&to)[3],
                int64_t offset);
  void KeepRanges(std::string_view key, const std::string& written, int64_t offset);
  ThreadId LaneOf(const std::string& pid, StringId process_name, StringId host);
  void PutDevice(int32_t index, const Device& device);

  RowWriter& writer_;
  ImportFile& file_;
  KernelRow row_;
  KernelInputs inputs_;
  RowId kernel_id_ = RowId::kNull;
  bool open_ = false, again_ = false, known_ = false;
  int64_t cursor_ns_ = 0, kernels_ = 0, begin_offset_ = 0;
  std::unordered_map<uint64_t, int64_t> row_of_;  // hash of host, process and ID
  std::map<std::string, size_t> process_at_;
  std::vector<Process> processes_;
  std::map<std::pair<size_t, std::pair<int64_t, int64_t>>, ThreadId> lane_at_;
  std::vector<Lane> lanes_;
  std::map<int32_t, Device> devices_;
  const int64_t first_process_, first_lane_;
  const StringId source_, recorded_;
};

}  // namespace nl::adapters::ncu
