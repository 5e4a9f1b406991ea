// SPDX-License-Identifier: Apache-2.0
#include "import/adapters/ncu/launches.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "import/adapters/ncu/counters.h"
#include "import/adapters/ncu/metric_value.h"

namespace nl::adapters::ncu {

namespace {

std::string_view FieldAt(const Page& page, const std::vector<std::string>& fields, Role role) {
  const int at = page.At(role);
  return at >= 0 && static_cast<size_t>(at) < fields.size()
             ? std::string_view(fields[static_cast<size_t>(at)])
             : std::string_view();
}

// Labels of the ranges around a launch. Real value, two ranges of thread 523:
//   523  "<default domain>:PROFILE:none:none:..."  "<default domain>:LLM@prefill:none:..."
Json RangeLabels(std::string_view written) {
  Json out = Json::array();
  for (size_t at = 0; (at = written.find('"', at)) != std::string_view::npos;) {
    const size_t end = written.find('"', at + 1);
    if (end == std::string_view::npos) break;
    std::string_view range = written.substr(at + 1, end - at - 1);
    // Behind domain and label: payload, colour and message, two fields each.
    for (int i = 0; i < 6 && range.rfind(':') != std::string_view::npos; ++i)
      range = range.substr(0, range.rfind(':'));
    constexpr std::string_view kNoDomain = "<default domain>:";
    if (range.starts_with(kNoDomain)) range.remove_prefix(kNoDomain.size());
    out.push_back(ValidUtf8(range));
    at = end + 1;
  }
  return out;
}

}  // namespace

Launches::Launches(RowWriter& writer, ImportFile& file)
    : writer_(writer),
      file_(file),
      first_process_(static_cast<int64_t>(writer.NextRow(Table::kProcess, writer.batch.process))),
      first_lane_(static_cast<int64_t>(writer.NextRow(Table::kThread, writer.batch.thread))),
      source_(writer.strings().Add("ncu")),
      recorded_(writer.strings().Add("recorded")) {}

StringId Launches::Text(std::string_view text, int64_t offset) {
  if (text.empty()) return StringId::kNull;
  if (IsUtf8(text)) return writer_.strings().Add(text);
  file_.counters.Add(kBadUtf8, offset, text);
  return writer_.strings().Add(ValidUtf8(text));
}

void Launches::NextPage(bool known) {
  Finish();
  known_ = known;
  if (!known) row_of_.clear();
}

bool Launches::Begin(const Page& page, const std::vector<std::string>& fields, int64_t offset) {
  const auto id = ParseWhole(FieldAt(page, fields, Role::kId));
  if (!id || *id < 0) return false;
  Finish();
  const std::string key = fmt::format("{}\n{}\n{}", FieldAt(page, fields, Role::kHostName),
                                      FieldAt(page, fields, Role::kProcessId), *id);
  const auto [at, added] = row_of_.try_emplace(
      HashText(key), static_cast<int64_t>(writer_.NextRow(Table::kKernel, writer_.batch.kernel)));
  kernel_id_ = static_cast<RowId>(at->second);
  again_ = !added;
  open_ = true;
  inputs_.Clear();
  begin_offset_ = offset;
  row_ = KernelRow();
  if (again_) {
    if (!known_) file_.counters.Add(kKernelInPieces, offset);
    return true;
  }
  FillLaunch(page, fields, offset);
  return true;
}

void Launches::FillLaunch(const Page& page, const std::vector<std::string>& fields, int64_t offset) {
  const auto whole = [&](Role role) { return ParseWhole(FieldAt(page, fields, role)); };
  row_.name = Text(FieldAt(page, fields, Role::kKernelName), offset);
  row_.start_ns = cursor_ns_;
  if (const auto device = whole(Role::kDevice); device && *device >= 0 && *device < INT32_MAX)
    row_.device = static_cast<int32_t>(*device);
  if (const auto context = whole(Role::kContext)) row_.context = *context;
  if (const auto stream = whole(Role::kStream)) row_.stream = *stream;
  int32_t grid[3], block[3];
  KeepSize(page, fields, Role::kGridSize, grid, offset);
  KeepSize(page, fields, Role::kBlockSize, block, offset);
  row_.grid_x = grid[0];
  row_.grid_y = grid[1];
  row_.grid_z = grid[2];
  row_.block_x = block[0];
  row_.block_y = block[1];
  row_.block_z = block[2];
  row_.thread_id = LaneOf(std::string(FieldAt(page, fields, Role::kProcessId)),
                          Text(FieldAt(page, fields, Role::kProcessName), offset),
                          Text(FieldAt(page, fields, Role::kHostName), offset));
  Device& device = devices_[row_.device];
  if (IsNull(device.compute_capability))
    device.compute_capability = Text(FieldAt(page, fields, Role::kComputeCapability), offset);
  KeepRanges("nvtx_push_pop", std::string(FieldAt(page, fields, Role::kNvtxPushPop)), offset);
  KeepRanges("nvtx_start_stop", std::string(FieldAt(page, fields, Role::kNvtxStartStop)), offset);
  for (size_t i = 0; i < std::min(fields.size(), page.launch_columns); ++i) {
    if (page.roles[i] == Role::kOther && !fields[i].empty())
      writer_.KeepArg(Table::kKernel, kernel_id_, page.columns[i], DumpJson(Json(ValidUtf8(fields[i]))));
  }
}

void Launches::KeepSize(const Page& page, const std::vector<std::string>& fields, Role role, int32_t (&to)[3],
                        int64_t offset) {
  const std::string_view written = FieldAt(page, fields, role);
  if (!written.empty() && ParseSize(written, to)) return;
  std::fill(std::begin(to), std::end(to), NullOf<int32_t>::value);
  if (written.empty()) return;
  file_.counters.Add(kBadSize, offset, written);
  writer_.KeepArg(Table::kKernel, kernel_id_, page.columns[static_cast<size_t>(page.At(role))],
                  DumpJson(Json(ValidUtf8(written))));
}

void Launches::KeepRanges(std::string_view key, const std::string& written, int64_t offset) {
  if (written.find_first_not_of(' ') == std::string::npos) return;
  if (!IsUtf8(written)) file_.counters.Add(kBadUtf8, offset, written);
  writer_.KeepArg(Table::kKernel, kernel_id_, key, DumpJson(Json(ValidUtf8(written))));
  const Json labels = RangeLabels(written);
  if (!labels.empty()) writer_.KeepArg(Table::kKernel, kernel_id_, "nvtx_ranges", DumpJson(labels));
}

ThreadId Launches::LaneOf(const std::string& pid, StringId process_name, StringId host) {
  const std::string key = fmt::format("{}\n{}\n{}", pid, static_cast<uint32_t>(host), row_.device);
  const auto process = process_at_.try_emplace(key, processes_.size());
  if (process.second) processes_.push_back({pid, process_name, host, row_.device});
  const auto lane =
      lane_at_.try_emplace({process.first->second, {row_.context, row_.stream}},
                           static_cast<ThreadId>(first_lane_ + static_cast<int64_t>(lanes_.size())));
  if (lane.second) lanes_.push_back({process.first->second, row_.stream});
  return lane.first->second;
}

bool Launches::DescribeDevice(std::string_view attribute, std::string_view value, int64_t offset) {
  auto& known = devices_[row_.device].attributes;
  const auto it = known.find(attribute);
  if (it == known.end()) {
    known.emplace(attribute, value);
    return true;
  }
  if (it->second == value) return true;
  file_.counters.Add(kDeviceDiffers, offset, attribute);
  return false;
}

void Launches::Finish() {
  if (!open_) return;
  open_ = false;
  if (again_) return;
  ++kernels_;
  inputs_.Fill(row_);
  if (IsNull(row_.dur_ns)) {
    file_.counters.Add(kNoDuration, begin_offset_, writer_.strings().Text(row_.name));
  } else {
    constexpr int64_t kLast = int64_t{1} << 62;
    if (cursor_ns_ < kLast) cursor_ns_ += row_.dur_ns;
  }
  Device& device = devices_[row_.device];
  const double sms = inputs_.Get(Input::kSmCount);
  if (IsNull(device.sm_count) && sms >= 1 && sms < 1e6) device.sm_count = static_cast<int64_t>(sms);
  KernelCounterRow counters;
  if (inputs_.Fill(counters)) {
    counters.kernel_id = kernel_id_;
    counters.source = source_;
    counters.joined_by = recorded_;
    writer_.batch.kernel_counter.Add(counters);
  }
  writer_.batch.kernel.Add(row_);
}

void Launches::PutDevice(int32_t index, const Device& device) {
  const auto find = [&](std::string_view key) {
    const auto it = device.attributes.find(key);
    return it == device.attributes.end() ? std::string() : it->second;
  };
  const auto number = [&](std::string_view key) -> std::optional<int64_t> {
    const auto value = ParseNumber(find(key));
    return value && *value >= 0 && *value < 9e15 ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
  };
  const auto small = [&](std::string_view key) {
    const auto value = number(key);
    return value && *value < INT32_MAX ? static_cast<int32_t>(*value) : NullOf<int32_t>::value;
  };
  DeviceRow row;
  SourceFacts::Device about;
  row.device = index;
  about.index = IsNull(index) ? 0 : index;
  if (const std::string name = find("display_name"); !name.empty()) {
    row.name = writer_.strings().Add(ValidUtf8(name));
    about.name = ValidUtf8(name);
  }
  if (const auto bytes = number("total_memory")) row.memory_bytes = *bytes, about.memory_bytes = *bytes;
  row.sm_count = small("multiprocessor_count");
  if (IsNull(row.sm_count) && !IsNull(device.sm_count)) row.sm_count = static_cast<int32_t>(device.sm_count);
  if (!IsNull(row.sm_count)) about.sm_count = row.sm_count;
  const std::string cc(writer_.strings().Text(device.compute_capability));
  const size_t dot = cc.find('.');
  if (const auto major = ParseWhole(cc.substr(0, dot)); major && dot != std::string::npos) {
    const auto minor = ParseWhole(cc.substr(dot + 1));
    if (minor && *major >= 0 && *major < 1000 && *minor >= 0 && *minor < 1000) {
      row.compute_major = static_cast<int32_t>(*major);
      row.compute_minor = static_cast<int32_t>(*minor);
      about.compute_capability = cc;
    }
  }
  row.warp_threads = small("warp_size");
  row.max_threads_per_sm = small("max_threads_per_multiprocessor");
  if (const auto bytes = number("max_shared_memory_per_multiprocessor")) row.shared_bytes_per_sm = *bytes;
  if (const auto count = number("max_registers_per_multiprocessor")) row.registers_per_sm = *count;
  if (!device.attributes.empty()) {
    Json properties = Json::object();
    for (const auto& [key, value] : device.attributes) properties[ValidUtf8(key)] = ValidUtf8(value);
    row.properties = writer_.strings().Add(DumpJson(properties));
  }
  writer_.batch.device.Add(row);
  file_.about.devices.push_back(std::move(about));
}

void Launches::PutLanes() {
  Json hosts = Json::array();
  for (const Process& process : processes_) {
    const std::string_view host = writer_.strings().Text(process.host);
    if (!host.empty() && std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  if (!hosts.empty()) file_.about.header["host_names"] = std::move(hosts);
  for (const Process& process : processes_) {
    ProcessRow row;
    if (const auto pid = ParseWhole(process.pid))
      row.pid = *pid;
    else
      row.pid_text = Text(process.pid, begin_offset_);
    row.name = process.name;
    row.labels =
        writer_.strings().Add(IsNull(process.device) ? "GPU" : fmt::format("GPU {}", process.device));
    writer_.batch.process.Add(row);
  }
  for (const Lane& lane : lanes_) {
    ThreadRow row;
    row.process_id = static_cast<ProcessId>(first_process_ + static_cast<int64_t>(lane.process));
    row.tid = lane.stream;
    if (!IsNull(lane.stream)) row.name = writer_.strings().Add(fmt::format("stream {}", lane.stream));
    writer_.batch.thread.Add(row);
  }
  for (const auto& [index, device] : devices_) PutDevice(index, device);
}

}  // namespace nl::adapters::ncu
