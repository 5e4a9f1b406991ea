// SPDX-License-Identifier: Apache-2.0
#include "timeline/lanes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "timeline/lines.h"
#include "timeline/run_table.h"
#include "timeline/strips.h"

namespace nl {

std::span<const std::string_view> NamesOf(TimelineLaneKind) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "process", "device", "stream", "thread", "async", "samples", "stacks", "counter", "memory"};
  return kNames;
}

namespace {

struct ProcessNames {
  std::vector<int64_t> pid, rank;
  std::vector<std::string> pid_text, name;
};
struct ThreadNames {
  std::vector<int64_t> process, tid, sort_index;
  std::vector<std::string> tid_text, name;
};
struct StreamPlace {
  int64_t device, context, stream;
};

// What a lane needs before it has its number.
struct Draft {
  LaneNode node;
  int64_t order = 0;  // as the source asks for
};

class LaneTree {
 public:
  LaneTree(const RunSpans& spans, const Overview& overview, const FlameStrips& strips)
      : spans_(spans), overview_(overview), strips_(strips) {}

  Result<std::vector<LaneNode>> Build(const std::vector<Line>& lines) {
    NL_TRY(LoadNames());
    for (size_t i = 0; i < lines.size(); ++i)
      line_lanes_[ProgramOf(lines[i].key.process)].push_back({NodeOf(lines[i], i), 0});
    for (const OverviewLane& lane : overview_.lanes) PlaceLane(lane);
    PlaceLines();
    for (const int64_t process : Processes()) AddProcess(process);
    return std::move(out_);
  }

 private:
  using DeviceOfProcess = std::pair<int64_t, int64_t>;

  Status LoadNames() {
    NL_ASSIGN(const RunTable processes, RunTable::Open(spans_, "process"));
    NL_ASSIGN(processes_.pid, processes.Ints("pid"));
    NL_ASSIGN(processes_.rank, processes.Ints("rank"));
    NL_ASSIGN(processes_.pid_text, processes.Texts("pid_text"));
    NL_ASSIGN(processes_.name, processes.Texts("name"));
    NL_ASSIGN(const RunTable threads, RunTable::Open(spans_, "thread"));
    NL_ASSIGN(threads_.process, threads.Ints("process_id"));
    NL_ASSIGN(threads_.tid, threads.Ints("tid"));
    NL_ASSIGN(threads_.sort_index, threads.Ints("sort_index"));
    NL_ASSIGN(threads_.tid_text, threads.Texts("tid_text"));
    NL_ASSIGN(threads_.name, threads.Texts("name"));
    for (const int64_t process : threads_.process) {
      if (!IsNull(process) && (process < 0 || process >= static_cast<int64_t>(processes_.pid.size())))
        return InvalidInput("the table thread of this run is damaged: it names a process that is not there");
    }
    for (size_t i = 0; i < threads_.name.size(); ++i)
      ++threads_called_[{threads_.process[i], threads_.name[i]}];
    NL_ASSIGN(const RunTable streams, RunTable::Open(spans_, "stream"));
    NL_ASSIGN(const std::vector<int64_t> device, streams.Ints("device"));
    NL_ASSIGN(const std::vector<int64_t> context, streams.Ints("context"));
    NL_ASSIGN(const std::vector<int64_t> stream, streams.Ints("stream"));
    NL_ASSIGN(const std::vector<int64_t> thread, streams.Ints("thread_id"));
    for (size_t i = 0; i < thread.size(); ++i)
      streams_.insert({thread[i], {device[i], context[i], stream[i]}});
    NL_ASSIGN(const RunTable devices, RunTable::Open(spans_, "device"));
    NL_ASSIGN(const std::vector<int64_t> number, devices.Ints("device"));
    NL_ASSIGN(const std::vector<std::string> name, devices.Texts("name"));
    for (size_t i = 0; i < number.size(); ++i) device_name_.insert({number[i], name[i]});
    FindPrograms();
    return {};
  }

  // Sources may list the devices of a program as a process of its own with the same pid and name.
  void FindPrograms() {
    const size_t processes = processes_.pid.size();
    std::vector<char> has_stream(processes, 0);
    for (const auto& [thread, place] : streams_) {
      const int64_t process = ListedProcess(thread);
      if (process >= 0 && process < static_cast<int64_t>(processes))
        has_stream[static_cast<size_t>(process)] = 1;
    }
    const auto key = [this](size_t i) {
      return std::tuple(processes_.pid[i], processes_.rank[i], processes_.name[i]);
    };
    std::map<decltype(key(0)), int64_t> programs;  // the first without streams
    for (size_t i = 0; i < processes; ++i) {
      if (has_stream[i] == 0 && !IsNull(processes_.pid[i])) programs.emplace(key(i), static_cast<int64_t>(i));
    }
    program_of_.resize(processes);
    for (size_t i = 0; i < processes; ++i) {
      const auto program = has_stream[i] != 0 ? programs.find(key(i)) : programs.end();
      program_of_[i] = program == programs.end() ? static_cast<int64_t>(i) : program->second;
    }
  }

  static LaneNode NodeOf(const Line& line, size_t place) {
    LaneNode node;
    node.kind =
        line.key.table == LineTable::kMemoryEvent ? TimelineLaneKind::kMemory : TimelineLaneKind::kCounter;
    node.name = line.Name();
    node.line = place;
    node.count = line.count;
    node.first_ns = line.first_ns;
    node.last_ns = line.last_ns();
    return node;
  }

  int64_t ProcessOf(int64_t thread) const { return ProgramOf(ListedProcess(thread)); }
  int64_t ProgramOf(int64_t process) const {
    return process < 0 || process >= static_cast<int64_t>(program_of_.size())
               ? process
               : program_of_[static_cast<size_t>(process)];
  }
  int64_t ListedProcess(int64_t thread) const {
    return IsNull(thread) || thread >= static_cast<int64_t>(threads_.process.size())
               ? NullOf<int64_t>::value
               : threads_.process[static_cast<size_t>(thread)];
  }
  int64_t RankOf(int64_t process) const {
    return IsNull(process) ? NullOf<int64_t>::value : processes_.rank[static_cast<size_t>(process)];
  }

  void PlaceLane(const OverviewLane& lane) {
    const int64_t thread = ThreadOf(lane.slot);
    Draft draft;
    draft.node.slot = lane.slot;
    draft.node.depths = lane.depths;
    draft.node.count = lane.count;
    draft.node.first_ns = lane.first_ns;
    draft.node.last_ns = lane.last_ns;
    draft.order = IsNull(thread) || IsNull(threads_.sort_index[static_cast<size_t>(thread)])
                      ? 0
                      : threads_.sort_index[static_cast<size_t>(thread)];
    const auto stream = streams_.find(thread);
    if (stream != streams_.end() && UseOf(lane.slot) == LaneUse::kSpans) {
      draft.node.kind = TimelineLaneKind::kStream;
      draft.node.name = IsNull(stream->second.stream) ? ThreadName(thread)
                                                      : fmt::format("stream {}", stream->second.stream);
      draft.order = stream->second.stream;
      device_lanes_[{ProcessOf(thread), stream->second.device}].push_back(std::move(draft));
      return;
    }
    draft.node.kind = UseOf(lane.slot) == LaneUse::kSpans   ? TimelineLaneKind::kThread
                      : UseOf(lane.slot) == LaneUse::kAsync ? TimelineLaneKind::kAsync
                                                            : TimelineLaneKind::kSamples;
    draft.node.name = ThreadName(thread);
    if (draft.node.kind == TimelineLaneKind::kAsync) draft.node.name += " (asynchronous)";
    if (draft.node.kind == TimelineLaneKind::kSamples) draft.node.name += " (CPU samples)";
    thread_lanes_[ProcessOf(thread)].push_back(std::move(draft));
  }

  std::string ThreadName(int64_t thread) const {
    if (IsNull(thread)) return "no thread";
    const auto i = static_cast<size_t>(thread);
    const std::string& name = threads_.name[i];
    if (!name.empty() && (IsNull(threads_.tid[i]) || threads_called_.at({threads_.process[i], name}) == 1))
      return name;
    if (!name.empty()) return fmt::format("{} {}", name, threads_.tid[i]);
    if (!threads_.tid_text[i].empty()) return threads_.tid_text[i];
    return IsNull(threads_.tid[i]) ? "thread" : fmt::format("thread {}", threads_.tid[i]);
  }

  // A process that has streams alone is a device as Kineto draws it: its streams go to the program of the
  // same rank, which is the process that has more spans than all others of the rank together.
  int64_t OwnerOfDevice(int64_t process) const {
    if (thread_lanes_.count(process) > 0) return process;
    int64_t owner = process, most = 0, all = 0;
    for (const auto& [other, lanes] : thread_lanes_) {
      if (IsNull(other) || RankOf(other) != RankOf(process)) continue;
      all += SpansIn(lanes);
      if (SpansIn(lanes) <= most) continue;
      most = SpansIn(lanes);
      owner = other;
    }
    return 2 * most > all ? owner : process;
  }
  static int64_t SpansIn(const std::vector<Draft>& lanes) {
    int64_t out = 0;
    for (const Draft& lane : lanes) out += lane.node.count;
    return out;
  }
  int64_t SpansOf(int64_t process) const {
    const auto lanes = thread_lanes_.find(process);
    int64_t out = lanes == thread_lanes_.end() ? 0 : SpansIn(lanes->second);
    if (const auto devices = devices_of_.find(process); devices != devices_of_.end()) {
      for (const DeviceOfProcess& key : devices->second) out += SpansIn(device_lanes_.at(key));
    }
    return out;
  }

  std::vector<int64_t> Processes() {
    for (const auto& [key, lanes] : device_lanes_) devices_of_[OwnerOfDevice(key.first)].push_back(key);
    std::vector<int64_t> out;
    const auto add = [&out](int64_t process) {
      if (std::find(out.begin(), out.end(), process) == out.end()) out.push_back(process);
    };
    for (const auto& [process, lanes] : devices_of_) add(process);
    for (const auto& [process, lanes] : thread_lanes_) add(process);
    for (const auto& [process, lanes] : line_lanes_) add(process);
    std::sort(out.begin(), out.end(), [this](int64_t a, int64_t b) { return OrderOf(a) < OrderOf(b); });
    return out;
  }
  // By rank; then the process with most spans, since sources list their own bookkeeping as processes too.
  std::tuple<bool, int64_t, int64_t, int64_t> OrderOf(int64_t process) const {
    if (IsNull(process)) return {true, 0, 0, 0};
    return {false, RankOf(process), -SpansOf(process), process};
  }

  // Lines that belong to no process go to the program, where there is one.
  void PlaceLines() {
    const auto lines = line_lanes_.find(NullOf<int64_t>::value);
    if (lines == line_lanes_.end() || thread_lanes_.empty()) return;
    const auto program =
        std::max_element(thread_lanes_.begin(), thread_lanes_.end(),
                         [](const auto& a, const auto& b) { return SpansIn(a.second) < SpansIn(b.second); });
    if (IsNull(program->first)) return;
    std::vector<Draft>& to = line_lanes_[program->first];
    std::move(lines->second.begin(), lines->second.end(), std::back_inserter(to));
    line_lanes_.erase(lines);
  }

  void AddProcess(int64_t process) {
    const auto place = static_cast<int64_t>(out_.size());
    LaneNode node;
    node.kind = TimelineLaneKind::kProcess;
    node.name = ProcessName(process);
    out_.push_back(std::move(node));
    for (const auto& [owner, device] : devices_of_[process]) {
      LaneNode of_device;
      of_device.kind = TimelineLaneKind::kDevice;
      of_device.name = DeviceName(device);
      of_device.parent = place;
      const auto at = static_cast<int64_t>(out_.size());
      out_.push_back(std::move(of_device));
      AddLanes(device_lanes_[{owner, device}], at, false);
    }
    std::vector<Draft>& threads = thread_lanes_[process];
    std::vector<Draft> only_sampled = TakeOnlySampled(threads);
    AddLanes(threads, place, true);
    AddLanes(line_lanes_[process], place, false);
    AddLanes(only_sampled, place, true);
    Widen(static_cast<size_t>(place));
  }

  // The lanes of threads that were sampled and have no spans, where others have some: most are pools that
  // wait, and come last.
  static std::vector<Draft> TakeOnlySampled(std::vector<Draft>& threads) {
    std::set<int64_t> with_spans;
    for (const Draft& lane : threads) {
      if (lane.node.kind != TimelineLaneKind::kSamples) with_spans.insert(ThreadOf(*lane.node.slot));
    }
    if (with_spans.empty()) return {};
    const auto sampled = std::stable_partition(threads.begin(), threads.end(), [&](const Draft& lane) {
      return with_spans.count(ThreadOf(*lane.node.slot)) > 0;
    });
    std::vector<Draft> out(std::make_move_iterator(sampled), std::make_move_iterator(threads.end()));
    threads.erase(sampled, threads.end());
    return out;
  }

  void AddLanes(std::vector<Draft>& drafts, int64_t parent, bool busiest_first) {
    std::stable_sort(drafts.begin(), drafts.end(), [busiest_first](const Draft& a, const Draft& b) {
      if (a.order != b.order) return a.order < b.order;
      return busiest_first && a.node.count > b.node.count;
    });
    for (Draft& draft : drafts) {
      draft.node.parent = parent;
      out_.push_back(std::move(draft.node));
      if (out_.back().kind == TimelineLaneKind::kSamples) AddStacks(ThreadOf(*out_.back().slot));
    }
  }

  // Below the lane of the samples, which is the last one.
  void AddStacks(int64_t thread) {
    const std::optional<size_t> strip = strips_.StripOf(thread);
    if (!strip) return;
    const FlameStrip& of = strips_.strips()[*strip];
    LaneNode node;
    node.kind = TimelineLaneKind::kStacks;
    node.name = "stacks";
    node.parent = static_cast<int64_t>(out_.size()) - 1;
    node.strip = strip;
    node.depths = of.depths;
    node.count = static_cast<int64_t>(of.samples.size());
    node.first_ns = of.samples.front().start_ns;
    node.last_ns = of.samples.back().end_ns();
    out_.push_back(std::move(node));
  }

  // Sums and times of what is below a process and its devices, which come after it.
  void Widen(size_t process) {
    for (size_t i = out_.size(); i-- > process + 1;) {
      if (out_[i].strip) continue;  // the samples above it count
      LaneNode& parent = out_[static_cast<size_t>(*out_[i].parent)];
      parent.count += out_[i].slot || out_[i].kind == TimelineLaneKind::kDevice ? out_[i].count : 0;
      if (out_[i].first_ns)
        parent.first_ns = std::min(parent.first_ns.value_or(INT64_MAX), *out_[i].first_ns);
      if (out_[i].last_ns) parent.last_ns = std::max(parent.last_ns.value_or(INT64_MIN), *out_[i].last_ns);
    }
  }

  std::string ProcessName(int64_t process) const {
    if (IsNull(process)) return "no process";
    const auto i = static_cast<size_t>(process);
    std::string out = IsNull(processes_.rank[i]) ? "" : fmt::format("rank {} ", processes_.rank[i]);
    out += processes_.name[i].empty() ? "process" : processes_.name[i];
    if (!processes_.pid_text[i].empty()) return fmt::format("{} {}", out, processes_.pid_text[i]);
    return IsNull(processes_.pid[i]) ? out : fmt::format("{} {}", out, processes_.pid[i]);
  }
  std::string DeviceName(int64_t device) const {
    if (IsNull(device)) return "GPU";
    const auto name = device_name_.find(device);
    return name == device_name_.end() || name->second.empty()
               ? fmt::format("GPU {}", device)
               : fmt::format("GPU {} {}", device, name->second);
  }

  const RunSpans& spans_;
  const Overview& overview_;
  const FlameStrips& strips_;
  ProcessNames processes_;
  ThreadNames threads_;
  std::map<std::pair<int64_t, std::string>, int64_t> threads_called_;  // by process and name: how many
  std::vector<int64_t> program_of_;         // by process: itself, or the process it is drawn as
  std::map<int64_t, StreamPlace> streams_;  // by thread
  std::map<int64_t, std::string> device_name_;
  std::map<DeviceOfProcess, std::vector<Draft>> device_lanes_;
  std::map<int64_t, std::vector<Draft>> thread_lanes_, line_lanes_;  // by process
  std::map<int64_t, std::vector<DeviceOfProcess>> devices_of_;       // by the process they are drawn in
  std::vector<LaneNode> out_;
};

}  // namespace

Result<std::vector<LaneNode>> BuildLanes(const RunSpans& spans, const Overview& overview,
                                         const std::vector<Line>& lines, const FlameStrips& strips) {
  return LaneTree(spans, overview, strips).Build(lines);
}

}  // namespace nl
