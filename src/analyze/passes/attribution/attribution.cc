// SPDX-License-Identifier: Apache-2.0
// Attributes device work to ops, modules, ranges and steps in one sweep over the host
// tree. The stack holds the open spans; what is inside of a span is known when it closes,
// so nothing is stored per span.

#include "analyze/facts/attribution.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/pass.h"

namespace nl {

std::string_view ModuleNameOf(std::string_view text) {
  constexpr std::string_view kModule = "nn.Module: ";
  return text.starts_with(kModule) ? text.substr(kModule.size()) : std::string_view();
}

namespace passes::attribution {

namespace {

using Totals = AttributionFacts::Totals;

// Which steps are open when, of one process: from times[i] on, step[i] is the innermost.
class StepIndex {
 public:
  void Add(int64_t start_ns, int64_t end_ns, uint32_t row) { spans_.push_back({start_ns, end_ns, row}); }
  void Build() {
    std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    std::vector<Span> open;
    const auto close = [&](int64_t until_ns) {
      while (!open.empty() && open.back().end_ns <= until_ns) {
        const int64_t at_ns = open.back().end_ns;
        while (!open.empty() && open.back().end_ns <= at_ns) open.pop_back();
        Mark(at_ns, open.empty() ? kNone : open.back().row);
      }
    };
    for (const Span& s : spans_) {
      close(s.start_ns);
      Mark(s.start_ns, s.row);
      open.push_back(s);
    }
    close(INT64_MAX);
  }
  uint32_t At(int64_t time_ns) const {
    const auto next = std::upper_bound(times_.begin(), times_.end(), time_ns);
    return next == times_.begin() ? kNone : rows_[static_cast<size_t>(next - times_.begin()) - 1];
  }

 private:
  struct Span {
    int64_t start_ns, end_ns;
    uint32_t row;
  };
  void Mark(int64_t time_ns, uint32_t row) {
    times_.push_back(times_.empty() ? time_ns : std::max(time_ns, times_.back()));
    rows_.push_back(row);
  }
  std::vector<Span> spans_;
  std::vector<int64_t> times_;
  std::vector<uint32_t> rows_;
};

// Rows by name, found through one array lookup.
class NameTable {
 public:
  NameTable(size_t names, std::vector<AttributionFacts::NameTotals>& rows)
      : slot_(names + 1, kNone), rows_(rows) {}
  uint32_t SlotOf(StringId name) {
    uint32_t& slot = slot_[std::min<size_t>(static_cast<uint32_t>(name), slot_.size() - 1)];
    if (slot == kNone) {
      slot = static_cast<uint32_t>(rows_.size());
      rows_.emplace_back().name = name;
      open_.push_back(0);
    }
    return slot;
  }
  AttributionFacts::NameTotals& row(uint32_t slot) { return rows_[slot]; }
  uint32_t& open(uint32_t slot) { return open_[slot]; }

 private:
  std::vector<uint32_t> slot_;
  std::vector<AttributionFacts::NameTotals>& rows_;
  std::vector<uint32_t> open_;  // spans of the name that are open now
};

// A span that is open, with the innermost open span of each level (itself included).
enum Level : size_t { kOps, kRanges, kModules, kLevels };
struct Frame {
  uint32_t node = kNone, last = 0;
  int64_t device_ns = 0;
  uint32_t frame_of[kLevels] = {kNone, kNone, kNone};  // stack positions
  uint32_t top_op = kNone;                             // node
  // When the span is a row of a level itself:
  Level level = kLevels;
  uint32_t slot = kNone;
  bool outermost = true;
  int64_t inner_ns = 0, covered_ns = INT64_MIN;  // union of nested spans of the level
};

class Builder {
 public:
  Builder(const RunData& data, const TimelineFacts& timeline, AttributionFacts& out)
      : data_(data),
        t_(timeline),
        out_(out),
        ops_(data.strings->size(), out.ops),
        ranges_(data.strings->size(), out.ranges),
        module_name_(data.strings->size(), kUnknown),
        category_(data.strings->size(), kUnknown) {}

  void Build() {
    LinkWork();
    FindSteps();
    Sweep();
    std::vector<AttributionFacts::NameTotals>* const lists[] = {&out_.ops, &out_.ranges};
    for (auto* list : lists) {
      std::sort(list->begin(), list->end(), [](const auto& a, const auto& b) {
        if (a.device_total_ns != b.device_total_ns) return a.device_total_ns > b.device_total_ns;
        if (a.host_total_ns != b.host_total_ns) return a.host_total_ns > b.host_total_ns;
        return a.name < b.name;
      });
    }
  }

 private:
  enum Answer : uint8_t { kUnknown, kNo, kYes };

  int64_t DurationOf(size_t k) const { return t_.work.end_ns[k] - t_.work.start_ns[k]; }

  // The launch, unless the external id names an op that is not around it: then the op
  // (work that a runtime launches for an op from elsewhere).
  uint32_t NodeOf(size_t k) const {
    const uint32_t launch = t_.work.launch[k], op = t_.work.op[k];
    if (launch == kNone || op == kNone) return launch == kNone ? op : launch;
    return op <= launch && launch < t_.host.last[op] ? launch : op;
  }

  void LinkWork() {
    const size_t n = t_.work.size();
    for (auto* v : {&out_.node, &out_.op, &out_.top_op, &out_.range, &out_.module, &out_.step})
      v->assign(n, kNone);
    by_node_.reserve(n);
    for (size_t k = 0; k < n; ++k) {
      const int64_t ns = DurationOf(k);
      out_.node[k] = NodeOf(k);
      Add(out_.all, ns);
      if (InGraph(k)) Add(out_.graph, ns);
      if (out_.node[k] == kNone) {
        Add(out_.unlinked, ns);
      } else {
        by_node_.push_back(uint64_t{out_.node[k]} << 32 | k);
      }
    }
    std::sort(by_node_.begin(), by_node_.end());
  }
  bool InGraph(size_t k) const {
    const uint32_t row = t_.work.row[k];
    switch (t_.work.kind[k]) {
      case WorkKind::kKernel:
        return row < data_.kernel.graph_id.size() && !IsNull(data_.kernel.graph_id[row]);
      case WorkKind::kMemcpy:
        return row < data_.memcpy.graph_id.size() && !IsNull(data_.memcpy.graph_id[row]);
      case WorkKind::kMemset: break;
    }
    return false;
  }
  static void Add(AttributionFacts::Amount& to, int64_t ns) {
    ++to.count;
    to.device_ns += ns;
  }

  int32_t ProcessOf(ThreadId thread) const {
    const auto i = static_cast<size_t>(thread);
    return IsNull(thread) || i >= data_.thread.process_id.size()
               ? -1
               : static_cast<int32_t>(data_.thread.process_id[i]);
  }
  // A step counts for every thread of its process; one without a range for all.
  void FindSteps() {
    for (size_t i = 0; i < data_.step.start_ns.size(); ++i) {
      if (IsNull(data_.step.start_ns[i]) || IsNull(data_.step.dur_ns[i])) continue;
      const RowId range = data_.step.range_id[i];
      const bool known = !IsNull(range) && static_cast<size_t>(range) < data_.range.thread_id.size();
      const int32_t process = known ? ProcessOf(data_.range.thread_id[static_cast<size_t>(range)]) : -1;
      const int64_t start_ns = data_.step.start_ns[i];
      steps_[process].Add(start_ns, start_ns + std::max<int64_t>(data_.step.dur_ns[i], 0),
                          static_cast<uint32_t>(i));
    }
    for (auto& [process, index] : steps_) index.Build();
  }
  uint32_t StepAt(uint32_t node) {
    if (steps_.empty()) return kNone;
    const ThreadId thread = t_.host.thread[node];
    for (const int32_t process : {ProcessOf(thread), -1}) {
      const auto it = steps_.find(process);
      const uint32_t step = it == steps_.end() ? kNone : it->second.At(t_.host.start_ns[node]);
      if (step != kNone) return step;
    }
    return kNone;
  }

  void Sweep() {
    const auto nodes = static_cast<uint32_t>(t_.host.size());
    size_t next = 0;
    for (uint32_t i = 0; i < nodes; ++i) {
      while (!stack_.empty() && stack_.back().last <= i) Close();
      Open(i);
      for (; next < by_node_.size() && by_node_[next] >> 32 == i; ++next)
        Attribute(static_cast<uint32_t>(by_node_[next]));
    }
    while (!stack_.empty()) Close();
  }

  void Open(uint32_t i) {
    Frame f;
    if (!stack_.empty()) {
      const Frame& up = stack_.back();
      std::copy(std::begin(up.frame_of), std::end(up.frame_of), std::begin(f.frame_of));
      f.top_op = up.top_op;
    }
    f.node = i;
    f.last = t_.host.last[i];
    f.level = LevelOf(i);
    if (f.level != kLevels) Enter(f, i);
    stack_.push_back(f);
  }

  Level LevelOf(uint32_t i) {
    switch (t_.host.kind[i]) {
      case HostKind::kOp: return kOps;
      case HostKind::kPython: return IsModule(t_.host.name[i]) ? kModules : kLevels;
      case HostKind::kRange:
        if (IsModule(t_.host.name[i])) return kModules;
        return IsUserRange(data_.range.category[t_.host.row[i]]) ? kRanges : kLevels;
      case HostKind::kApi: break;
    }
    return kLevels;
  }

  void Enter(Frame& f, uint32_t i) {
    const int64_t start_ns = t_.host.start_ns[i], end_ns = t_.host.end_ns[i];
    const uint32_t around = f.frame_of[f.level];
    if (around != kNone) {
      Frame& up = stack_[around];
      up.inner_ns += std::max<int64_t>(0, end_ns - std::max(start_ns, up.covered_ns));
      up.covered_ns = std::max(up.covered_ns, end_ns);
    }
    if (f.level == kModules) {
      f.slot = ModuleSlot(around == kNone ? kNone : stack_[around].slot, t_.host.name[i]);
    } else {
      NameTable& table = f.level == kOps ? ops_ : ranges_;
      f.slot = table.SlotOf(t_.host.name[i]);
      f.outermost = table.open(f.slot)++ == 0;
    }
    if (f.level == kOps && f.top_op == kNone) f.top_op = i;
    f.frame_of[f.level] = static_cast<uint32_t>(stack_.size());
  }

  void Close() {
    const Frame f = stack_.back();
    stack_.pop_back();
    if (!stack_.empty()) stack_.back().device_ns += f.device_ns;
    if (f.level == kLevels) return;
    Totals& row = RowOf(f);
    const int64_t dur_ns = t_.host.end_ns[f.node] - t_.host.start_ns[f.node];
    ++row.calls;
    row.host_self_ns += dur_ns - f.inner_ns;
    if (f.outermost) {
      row.host_total_ns += dur_ns;
      row.device_total_ns += f.device_ns;
    }
    if (f.level != kModules) --(f.level == kOps ? ops_ : ranges_).open(f.slot);
  }

  Totals& RowOf(const Frame& f) {
    if (f.level == kModules) return out_.modules[f.slot];
    return (f.level == kOps ? ops_ : ranges_).row(f.slot);
  }

  void Attribute(uint32_t k) {
    Frame& here = stack_.back();
    const int64_t ns = DurationOf(k);
    here.device_ns += ns;
    AttributionFacts::Amount* const outside[kLevels] = {&out_.outside_ops, &out_.outside_ranges,
                                                        &out_.outside_modules};
    for (size_t level = 0; level < kLevels; ++level) {
      if (here.frame_of[level] == kNone) {
        Add(*outside[level], ns);
        continue;
      }
      Totals& row = RowOf(stack_[here.frame_of[level]]);
      ++row.work;
      row.device_self_ns += ns;
    }
    const auto around = [&](Level level) {
      return here.frame_of[level] == kNone ? nullptr : &stack_[here.frame_of[level]];
    };
    if (const Frame* op = around(kOps)) out_.op[k] = op->node;
    if (const Frame* range = around(kRanges)) out_.range[k] = range->node;
    if (const Frame* module = around(kModules)) out_.module[k] = module->slot;
    out_.top_op[k] = here.top_op;
    out_.step[k] = StepAt(here.node);
  }

  uint32_t ModuleSlot(uint32_t parent, StringId name) {
    const uint64_t key = uint64_t{parent} << 32 | static_cast<uint32_t>(name);
    const auto [it, added] = modules_.try_emplace(key, static_cast<uint32_t>(out_.modules.size()));
    if (added) {
      const std::string own(ModuleNameOf(data_.Text(name)));
      AttributionFacts::ModuleTotals row;
      row.name = name;
      row.parent = parent;
      row.path = parent == kNone ? own : out_.modules[parent].path + "." + own;
      out_.modules.push_back(std::move(row));
    }
    return it->second;
  }

  bool IsModule(StringId name) {
    if (IsNull(name)) return false;
    uint8_t& answer = module_name_[static_cast<uint32_t>(name)];
    if (answer == kUnknown) answer = ModuleNameOf(data_.Text(name)).empty() ? kNo : kYes;
    return answer == kYes;
  }
  // Not what the profiler writes about itself.
  bool IsUserRange(StringId category) {
    if (IsNull(category)) return true;
    uint8_t& answer = category_[static_cast<uint32_t>(category)];
    if (answer == kUnknown) {
      const std::string_view text = data_.Text(category);
      answer = text == "overhead" || text == "Trace" ? kNo : kYes;
    }
    return answer == kYes;
  }

  const RunData& data_;
  const TimelineFacts& t_;
  AttributionFacts& out_;
  NameTable ops_, ranges_;
  std::vector<uint8_t> module_name_, category_;
  std::unordered_map<uint64_t, uint32_t> modules_;
  std::unordered_map<int32_t, StepIndex> steps_;  // by process; -1: any
  std::vector<uint64_t> by_node_;                 // node << 32 | work item
  std::vector<Frame> stack_;
};

constexpr Reads kReads = NL_READS(Kernel, graph_id) | NL_READS(Memcpy, graph_id) |
                         NL_READS(Thread, process_id) | NL_READS(Range, thread_id, category) |
                         NL_READS(Step, start_ns, dur_ns, range_id);

class AttributionPass final : public Pass {
 public:
  PassInfo Info() const override {
    return {AttributionFacts::kName,
            "Device work by op, module, range and step",
            {TimelineFacts::kName},
            kReads,
            &RecordOf<AttributionSection>};
  }
  Status Run(const RunData& data, const AnalysisOptions&, FactBoard& facts) const override {
    AttributionFacts out;
    Builder(data, facts.Get<TimelineFacts>(), out).Build();
    facts.Put(std::move(out));
    return {};
  }
  Described Section(const RunData& data, const FactBoard& facts) const override {
    return Described::Of(SectionOf(facts.Get<AttributionFacts>(), data));
  }
};

}  // namespace

const Pass& Describe() {
  static const AttributionPass pass;
  return pass;
}

}  // namespace passes::attribution

}  // namespace nl
