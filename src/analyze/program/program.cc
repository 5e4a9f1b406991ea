// SPDX-License-Identifier: Apache-2.0
// Where each host span sits (module, stage, step), and the operators with device work.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyze/program/program.h"
#include "base/flat_map.h"

namespace nl::program {

namespace {

constexpr std::string_view kModulePrefix = "nn.Module: ";
// Layers that say nothing of where in the model they are; the module around them does.
constexpr std::string_view kPlainLayers[] = {"Linear",         "Conv1d",
                                             "Conv2d",         "Conv3d",
                                             "ReLU",           "ReLU6",
                                             "GELU",           "SiLU",
                                             "SiLUActivation", "GELUActivation",
                                             "Sigmoid",        "Tanh",
                                             "Softmax",        "Dropout",
                                             "Identity",       "Embedding",
                                             "LayerNorm",      "RMSNorm",
                                             "BatchNorm1d",    "BatchNorm2d",
                                             "GroupNorm",      "MaxPool2d",
                                             "AvgPool2d",      "AdaptiveAvgPool2d",
                                             "Flatten",        "NewGELUActivation"};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
// "LlamaMLP_3" is instance 3 of LlamaMLP.
std::string ModuleClass(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end > 1 && end < name.size() && name[end - 1] == '_') name = name.substr(0, end - 1);
  return std::string(name.substr(0, 200));
}

ElementType TypeOf(std::string_view name) {
  if (name.empty() || name == "Scalar" || name == "ScalarList") return ElementType::kUnknown;
  if (name == "float") return ElementType::kFp32;
  if (name == "c10::BFloat16" || name == "c10::Half") return ElementType::kHalf;
  if (name == "bool" || name == "unsigned char" || name == "signed char" || name.starts_with("c10::Float8"))
    return ElementType::kByte;
  if (name == "double" || name == "long int") return ElementType::kWide;
  return ElementType::kOther;
}

OpInputs ParseInputs(std::string_view dims, std::string_view types) {
  constexpr size_t kMostInputs = 8;
  OpInputs out;
  out.dims = ParseShapes(dims);
  for (const std::string_view input : ListElements(dims)) {
    if (!input.starts_with("[[")) continue;
    for (const Shape& tensor : ParseShapes(input)) out.list_elements += ElementCount(tensor);
  }
  for (const std::string_view type : ListElements(types)) out.types.push_back(TypeOf(Unquoted(type)));
  if (out.dims.size() > kMostInputs) out.dims.resize(kMostInputs);
  if (out.types.size() > kMostInputs) out.types.resize(kMostInputs);
  return out;
}

}  // namespace

int64_t BytesOf(ElementType type) {
  switch (type) {
    case ElementType::kByte: return 1;
    case ElementType::kHalf: return 2;
    case ElementType::kWide: return 8;
    case ElementType::kFp32:
    case ElementType::kOther:
    case ElementType::kUnknown: break;
  }
  return 4;
}

uint32_t NameTable::Add(const std::string& name) {
  const auto [it, added] = index_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (added) names_.push_back(name);
  return it->second;
}
const std::string& NameTable::Text(uint32_t index) const {
  static const std::string none;
  return index == kNone ? none : names_[index];
}

void Program::Build() {
  BuildOrder();
  BuildBusy();
}

void Program::BuildOrder() {
  BuildPlaces();
  BuildLeaves();
  BuildSteps();
  const auto told = [this](StringId id) { return !data.Text(id).empty(); };
  has_shapes = std::any_of(data.op.input_dims.begin(), data.op.input_dims.end(), told);
  has_types = std::any_of(data.op.input_types.begin(), data.op.input_types.end(), told);
  if (has_shapes) LendInputs();
}

// Recorders that take shapes of some calls only: calls of one operator that run the same kernel in the same
// grid are alike. Where those with shapes differ among themselves, nothing is known of the others.
void Program::LendInputs() {
  constexpr uint64_t kDiffer = ~0ull;
  const KernelView& k = data.kernel;
  const DeviceWork& w = timeline.work;
  const auto alike = [&](const LeafOp& leaf) {
    const uint32_t row = w.row[leaf.work];
    uint64_t key = MixedPair(static_cast<uint64_t>(timeline.host.name[leaf.node]),
                             static_cast<uint64_t>(w.name[leaf.work]));
    if (w.kind[leaf.work] != WorkKind::kKernel || row >= k.grid_x.size()) return MixedPair(key, leaf.kernels);
    for (const int32_t side : {k.grid_x[row], k.grid_y[row], k.grid_z[row]})
      key = MixedPair(key, static_cast<uint64_t>(static_cast<uint32_t>(side)));
    return key;
  };
  std::unordered_map<uint64_t, uint64_t> known;
  std::vector<const LeafOp*> without;
  const uint64_t none = InputsKeyOf(static_cast<uint32_t>(data.op.input_dims.size()));
  for (const LeafOp& leaf : leaves) {
    const uint64_t inputs = InputsKeyOf(timeline.host.row[leaf.node]);
    if (inputs == none) {
      without.push_back(&leaf);
    } else if (const auto [it, added] = known.try_emplace(alike(leaf), inputs); it->second != inputs) {
      it->second = kDiffer;
    }
  }
  for (const LeafOp* leaf : without) {
    const auto found = known.find(alike(*leaf));
    if (found != known.end() && found->second != kDiffer)
      lent_.emplace(timeline.host.row[leaf->node], found->second);
  }
}

// Parents come before children: one walk, each node asks its parent.
void Program::BuildPlaces() {
  struct Meaning {
    bool known = false, plain = false;
    uint32_t module = kNone, stage = kNone;
  };
  std::vector<Meaning> of_name(data.strings->size());
  const HostTree& h = timeline.host;
  module_of.reserve(h.size());
  stage_of.reserve(h.size());
  for (size_t i = 0; i < h.size(); ++i) {
    const uint32_t parent = h.parent[i];
    module_of.push_back(parent == kNone ? kNone : module_of[parent]);
    stage_of.push_back(parent == kNone ? kNone : stage_of[parent]);
    if (h.kind[i] != HostKind::kPython && h.kind[i] != HostKind::kRange) continue;
    if (IsNull(h.name[i])) continue;
    Meaning& m = of_name[static_cast<size_t>(h.name[i])];
    if (!m.known) {
      m.known = true;
      const std::string_view name = data.Text(h.name[i]);
      if (name.starts_with(kModulePrefix)) {
        const std::string type = ModuleClass(name.substr(kModulePrefix.size()));
        m.module = modules.Add(type);
        m.plain = std::find(std::begin(kPlainLayers), std::end(kPlainLayers), type) != std::end(kPlainLayers);
      } else if (h.kind[i] == HostKind::kRange && name.starts_with("LLM@")) {
        m.stage = stages.Add(std::string(name.substr(4)));
      }
    }
    if (m.module != kNone && !(m.plain && module_of[i] != kNone)) module_of[i] = m.module;
    if (m.stage != kNone) stage_of[i] = m.stage;
  }
}

void Program::BuildLeaves() {
  const DeviceWork& w = timeline.work;
  std::vector<uint32_t> order;
  order.reserve(w.size());
  for (uint32_t i = 0; i < w.size(); ++i) {
    device_ns += w.end_ns[i] - w.start_ns[i];
    if (w.op[i] != kNone) order.push_back(i);
  }
  const auto earlier = [&](uint32_t a, uint32_t b) { return w.op[a] < w.op[b]; };
  if (!std::is_sorted(order.begin(), order.end(), earlier))
    std::stable_sort(order.begin(), order.end(), earlier);
  leaves.reserve(order.size());
  for (const uint32_t i : order) {
    if (leaves.empty() || leaves.back().node != w.op[i]) leaves.push_back({w.op[i], i});
    LeafOp& leaf = leaves.back();
    const int64_t ns = w.end_ns[i] - w.start_ns[i];
    leaf.device_ns += ns;
    ++leaf.kernels;
    if (ns > w.end_ns[leaf.work] - w.start_ns[leaf.work]) leaf.work = i;
  }
  std::vector<uint16_t> known(data.strings->size(), 0);  // 1 + the family of a kernel's name
  for (LeafOp& leaf : leaves) {
    leaf.family = KernelFamily::kCopy;
    if (w.kind[leaf.work] != WorkKind::kKernel) continue;
    const StringId name = w.name[leaf.work];
    if (IsNull(name)) {
      leaf.family = KernelFamily::kOther;
      continue;
    }
    uint16_t& family = known[static_cast<size_t>(name)];
    if (family == 0) family = 1 + static_cast<uint16_t>(timeline.KernelNameOf(name).family);
    leaf.family = static_cast<KernelFamily>(family - 1);
  }
}

// Labels nest (ProfilerStep around decode steps): the one with the most spans is the loop.
void Program::BuildSteps() {
  LabelledSteps found = FindLabelledSteps(data);
  // The timeline may be that of a part of the run.
  std::erase_if(found.steps, [this](const Step& step) {
    return step.end_ns <= timeline.first_start_ns || step.start_ns >= timeline.last_end_ns;
  });
  steps = std::move(found.steps);
  step_label = std::move(found.label);
}

void Program::BuildBusy() {
  const DeviceWork& w = timeline.work;
  std::vector<Interval> all;
  all.reserve(w.size());
  for (size_t i = 0; i < w.size(); ++i) all.push_back({w.start_ns[i], w.end_ns[i]});
  busy = IntervalCover(std::move(all));
}

int64_t Program::IdleNs(int64_t from_ns, int64_t to_ns) const {
  return to_ns <= from_ns ? 0 : to_ns - from_ns - busy.CoveredNs(from_ns, to_ns);
}

uint32_t Program::StepAt(int64_t time_ns) const {
  const auto after = std::upper_bound(steps.begin(), steps.end(), time_ns,
                                      [](int64_t t, const Step& s) { return t < s.start_ns; });
  if (after == steps.begin()) return kNone;
  const auto at = static_cast<size_t>(after - steps.begin()) - 1;
  return time_ns < steps[at].end_ns ? static_cast<uint32_t>(at) : kNone;
}

uint64_t Program::InputsKeyOf(uint32_t op_row) const {
  const auto id = [op_row](const ColumnView<StringId>& column) {
    return static_cast<uint32_t>(op_row < column.size() ? column[op_row] : StringId::kNull);
  };
  const uint64_t own = static_cast<uint64_t>(id(data.op.input_dims)) << 32 | id(data.op.input_types);
  if (lent_.empty()) return own;
  const auto lent = lent_.find(op_row);
  return lent == lent_.end() ? own : lent->second;
}

const OpInputs& Program::InputsOf(uint32_t op_row) const {
  const uint64_t key = InputsKeyOf(op_row);
  const auto [it, added] = inputs_.try_emplace(key);
  if (added) {
    const auto text = [this](uint64_t id) { return data.Text(static_cast<StringId>(id)); };
    it->second = ParseInputs(text(key >> 32), text(key & 0xffffffffu));
  }
  return it->second;
}

uint32_t CallerOf(const HostTree& h, uint32_t node) {
  uint32_t found = node;
  for (uint32_t up = node; up != kNone; up = h.parent[up]) {
    if (h.kind[up] == HostKind::kOp) {
      found = up;
    } else if (h.kind[up] != HostKind::kApi) {
      break;
    }
  }
  return found;
}

std::string Program::PythonAround(uint32_t node) const {
  const HostTree& h = timeline.host;
  for (uint32_t up = node; up != kNone; up = h.parent[up]) {
    if (h.kind[up] != HostKind::kPython) continue;
    const std::string_view name = data.Text(h.name[up]);
    if (name.starts_with("nn.Module") || name.starts_with("<built-in") || Contains(name, "torch/")) continue;
    return std::string(name.substr(0, 200));
  }
  return "";
}

std::string Program::Place(std::string_view op, uint32_t module, uint32_t stage) const {
  std::string out(op.substr(0, 200));
  if (module != kNone) {
    const std::string& name = modules.Text(module);
    const bool is_number = !name.empty() && name.find_first_not_of("0123456789.") == std::string::npos;
    out += fmt::format(" in {}{}", is_number ? "module " : "", name);
  }
  if (stage != kNone) out += fmt::format(" (stage {})", stages.Text(stage));
  return out;
}

}  // namespace nl::program
