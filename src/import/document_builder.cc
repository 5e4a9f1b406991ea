// SPDX-License-Identifier: Apache-2.0
#include "import/document_builder.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/intervals.h"
#include "base/units.h"
#include "import/model_metadata.h"
#include "model/kernel_name.h"

namespace nl {

namespace {

constexpr size_t kMaxSites = 500;  // call sites listed in an aggregated timeline

std::string OpType(StringId id, const RunFacts& facts, const StringPool& strings) {
  if (const StringId told = facts.OpType(id); !IsNull(told)) {
    const Result<Json> type = ParseJson(strings.Text(told));
    if (type.ok() && type->is_string()) return type->get<std::string>();
  }
  const std::string_view name = strings.Text(id);
  const size_t colons = name.rfind("::");
  return std::string(colons == std::string_view::npos ? name : name.substr(colons + 2));
}

// Element types that name a precision; others (long int, bool) say nothing about it.
std::string_view PrecisionOf(std::string_view dtype) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"c10::BFloat16", "bf16"}, {"c10::Half", "fp16"},   {"float", "fp32"},
      {"double", "fp64"},        {"signed char", "int8"}, {"bfloat16", "bf16"},
      {"float16", "fp16"},       {"int8", "int8"},        {"uint8", "int8"}};
  if (dtype.starts_with("c10::Float8")) return "fp8";
  for (const auto& [name, precision] : kNames) {
    if (dtype == name) return precision;
  }
  return {};
}

bool IsMatrixOp(std::string_view type) {
  for (const std::string_view name : {"mm",
                                      "addmm",
                                      "bmm",
                                      "baddbmm",
                                      "matmul",
                                      "linear",
                                      "_scaled_mm",
                                      "convolution",
                                      "cudnn_convolution",
                                      "convolution_backward",
                                      "conv2d",
                                      "_flash_attention_forward",
                                      "_scaled_dot_product_flash_attention",
                                      "Conv",
                                      "FusedConv",
                                      "NhwcFusedConv",
                                      "ConvTranspose",
                                      "QLinearConv",
                                      "ConvInteger",
                                      "Gemm",
                                      "FusedGemm",
                                      "MatMul",
                                      "FusedMatMul",
                                      "MatMulInteger",
                                      "QLinearMatMul",
                                      "DynamicQuantizeMatMul",
                                      "Attention",
                                      "MultiHeadAttention",
                                      "GroupQueryAttention"}) {
    if (type == name) return true;
  }
  return false;
}

std::vector<std::optional<std::string>> Types(std::string_view json) {
  std::vector<std::optional<std::string>> out;
  const Result<Json> parsed = ParseJson(json);
  if (!parsed.ok() || !parsed->is_array()) return out;
  for (const Json& item : *parsed) {
    out.push_back(item.is_string() && !item.get_ref<const std::string&>().empty()
                      ? std::optional(item.get<std::string>())
                      : std::nullopt);
  }
  return out;
}

// Where no operator tells its types, the names of its kernels do. tf32 works on fp32 operands.
void AddKernelTypes(const RunFacts& facts, const StringPool& strings, std::map<std::string, double>& weight,
                    double& total) {
  for (const auto& [id, kernel] : facts.kernel_totals()) {
    const KernelName name = ParseKernelName(strings.Text(static_cast<StringId>(id)));
    // cuDNN writes f16 in the names of its attention for every type of 16 bits.
    if (name.family != KernelFamily::kGemm && name.family != KernelFamily::kConv) continue;
    const std::string_view dtype = KernelDtype(name.short_name);
    if (dtype.empty()) continue;
    weight[std::string(dtype == "tf32" ? "fp32" : dtype)] += static_cast<double>(kernel.total_ns);
    total += static_cast<double>(kernel.total_ns);
  }
}

// The type the matrix work was done in, weighted by its device time (host time without a device).
std::string Precision(const RunFacts& facts, const StringPool& strings) {
  std::map<std::string, double> weight;
  double total = 0;
  for (const RunFacts::OpSite& site : facts.op_sites()) {
    if (!IsMatrixOp(OpType(site.name, facts, strings))) continue;
    const auto types = Types(strings.Text(site.input_types));
    const std::string_view precision =
        types.empty() || !types[0] ? std::string_view() : PrecisionOf(*types[0]);
    if (precision.empty()) continue;
    const auto ns = static_cast<double>(facts.gpu_rows() > 0 ? site.device_ns : site.total_ns);
    weight[std::string(precision)] += ns;
    total += ns;
  }
  if (total == 0) AddKernelTypes(facts, strings, weight, total);
  if (total == 0) return "unknown";
  const auto top = std::max_element(weight.begin(), weight.end(),
                                    [](const auto& a, const auto& b) { return a.second < b.second; });
  return top->second >= 0.9 * total ? top->first : "mixed";
}

std::optional<Dim3> Extents(int32_t x, int32_t y, int32_t z) {
  if (IsNull(x) || IsNull(y) || IsNull(z)) return std::nullopt;
  return Dim3{x, y, z};
}

// Rows of a table are events when they stand on a lane at a time.
bool HoldsEvents(std::string_view table) {
  const auto info = std::find_if(kAllTables.begin(), kAllTables.end(),
                                 [&](const TableInfo* t) { return table == t->name; });
  const auto has = [&](std::string_view column) {
    const auto columns = (*info)->columns;
    return std::any_of(columns.begin(), columns.end(), [&](const ColumnInfo& c) { return column == c.name; });
  };
  return info != kAllTables.end() && has("thread_id") && has("start_ns");
}

class RunDocumentBuilder {
 public:
  RunDocumentBuilder(const RunFacts& facts, const std::vector<SourceFacts>& about, EventSink& sink,
                     ImportResult& result)
      : facts_(facts),
        about_(about),
        strings_(sink.strings()),
        sink_(sink),
        result_(result),
        doc_(result.document),
        origin_ns_(facts.empty() ? 0 : facts.first_start_ns()),
        order_only_(
            std::any_of(about.begin(), about.end(), [](const SourceFacts& a) { return a.order_only; })) {}

  void Build(const std::string& model_name) {
    result_.ops = sink_.rows(Table::kOp);
    result_.kernels = sink_.rows(Table::kKernel);
    result_.wall_ns = WallNs();
    for (const ImportResult::TableRows& t : result_.tables) {
      if (HoldsEvents(t.table)) result_.events += t.rows;
    }
    DescribeMachine();
    DescribeModel(model_name);
    Summarise();
    if (facts_.listed() && !facts_.listed_ops().empty())
      ListOps();
    else
      AggregateOps();
    const SourceFacts& first = about_.front();
    doc_.clock = first.clock.value_or(
        ClockFacts{order_only_ ? kClockOfOrder : "trace", std::nullopt, std::nullopt, std::nullopt});
    for (const SourceFacts& about : about_) {
      for (const std::string& note : about.notes) {
        if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
      }
    }
    CaptureFacts capture = first.capture.value_or(CaptureFacts());
    if (!capture.lost_records) capture.lost_records = result_.counters.Count(Severity::kDataLoss);
    doc_.capture = capture;
    if (!notes_.empty()) doc_.notes = notes_;
  }

 private:
  void DescribeMachine() {
    const SourceFacts& first = about_.front();
    doc_.hardware.vendor = first.vendor.empty() ? (facts_.gpu_rows() > 0 ? "nvidia" : "cpu") : first.vendor;
    for (const SourceFacts& about : about_) {
      for (const SourceFacts::Device& d : about.devices) {
        const auto same = [&d](const DeviceFacts& known) { return known.index == d.index; };
        if (std::any_of(doc_.hardware.devices.begin(), doc_.hardware.devices.end(), same)) continue;
        DeviceFacts facts;
        facts.index = d.index;
        facts.name = d.name;
        if (d.memory_bytes) facts.memory_gb = static_cast<double>(*d.memory_bytes) / 1e9;
        facts.sm_count = d.sm_count;
        facts.compute_capability = d.compute_capability;
        facts.driver_version = d.driver_version;
        doc_.hardware.devices.push_back(facts);
      }
    }
    DescribeHost(first.host);
    doc_.software.backend = first.backend;
    doc_.software.version = first.framework_version;
    doc_.software.cuda_version = first.cuda_version;
    if (!first.frameworks.empty())
      doc_.software.frameworks.emplace(first.frameworks.begin(), first.frameworks.end());
    if (first.system.is_object()) {
      doc_.system.emplace();
      for (const auto& [key, value] : first.system.items()) doc_.system->emplace(key, value);
    }
    doc_.software.python_version = first.python_version;
    doc_.software.cupti_version = first.cupti_version;
    doc_.software.precision = first.precision ? *first.precision : Precision(facts_, strings_);
    doc_.source.tool = first.tool.empty() ? std::nullopt : std::optional(first.tool);
    doc_.source.tool_version = first.tool_version.empty() ? std::nullopt : std::optional(first.tool_version);
    if (first.from_program_start) doc_.source.from_program_start = true;
    if (!first.command.empty()) doc_.source.command = first.command;
    doc_.source.exit_code = first.exit_code;
    if (about_.size() > 1 || first.rank) {
      doc_.ranks.emplace();
      for (size_t i = 0; i < about_.size(); ++i) {
        RankFacts rank;
        rank.rank = about_[i].rank.value_or(static_cast<int64_t>(i));
        rank.world_size = about_[i].world_size;
        rank.file = doc_.source.files[i].name;
        doc_.ranks->push_back(rank);
      }
    }
  }

  void DescribeHost(const SourceFacts::Host& host) {
    HostFacts& to = doc_.hardware.host;
    to.cpu_model = host.cpu_model;
    to.cores = host.cores;
    if (host.memory_bytes) to.memory_gb = static_cast<double>(*host.memory_bytes) / 1e9;
    to.os = host.os;
    to.kernel = host.kernel;
  }

  void DescribeModel(const std::string& model_name) {
    const bool described = TakeModelMetadata(about_.front().header, doc_);
    if (described && model_name.empty() && doc_.model.name) return;
    if (!model_name.empty()) {
      doc_.model.name = model_name;
      return;
    }
    std::string stem = about_.front().file_stem;
    for (const std::string_view ending : {".gz", ".zst", ".json", ".trace", ".pt"}) {
      if (stem.size() > ending.size() && stem.ends_with(ending)) stem.erase(stem.size() - ending.size());
    }
    doc_.model.name = stem;
    notes_.push_back("model name taken from the file name");
  }

  // Of sums without a timeline: how long the device work is, one after the other; sums of calls
  // and ranges stand beside it.
  int64_t WallNs() const {
    if (facts_.empty()) return 0;
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (const auto& [device, spans] : facts_.device_spans()) {
      for (const Interval& span : order_only_ ? spans.Intervals() : std::vector<Interval>()) {
        first_ns = std::min(first_ns, span.start_ns);
        last_ns = std::max(last_ns, span.end_ns);
      }
    }
    if (first_ns <= last_ns) return last_ns - first_ns;
    return facts_.last_end_ns() - facts_.first_start_ns();
  }

  // Of what was recorded, the mean of the devices.
  std::optional<double> BusyShare() const {
    std::vector<Interval> pauses;
    if (const auto& capture = about_.front().capture; capture && capture->pauses)
      pauses = Clipped(*capture->pauses, {facts_.first_start_ns(), facts_.last_end_ns()});
    double sum = 0;
    for (const auto& [device, spans] : facts_.device_spans()) {
      std::vector<Interval> busy = spans.Intervals();
      MergeIntervals(busy);
      const int64_t recorded_ns = result_.wall_ns - LengthNs(Outside(pauses, busy));
      if (recorded_ns <= 0) return std::nullopt;
      sum += static_cast<double>(LengthNs(busy)) / static_cast<double>(recorded_ns);
    }
    const size_t devices = facts_.device_spans().size();
    return devices == 0 ? std::nullopt : std::optional(sum / static_cast<double>(devices));
  }

  void Summarise() {
    RunSummary& s = doc_.summary;
    s.total_duration_ms = Ms(result_.wall_ns);
    s.total_ops = result_.ops;
    s.total_kernels = result_.kernels;
    if (const std::optional<double> busy = BusyShare(); busy && !order_only_)
      s.SetMetric("gpu_utilization", std::min(1.0, *busy));
    if (!order_only_) s.SetMetric("wall_ms", Ms(result_.wall_ns));
    for (const auto& [name, value] : about_.front().metrics) s.SetMetric(name, value);
    int64_t kernel_ns = 0;
    const NameTotal* top = nullptr;
    StringId top_name = StringId::kNull;
    for (const auto& [id, total] : facts_.kernel_totals()) {
      if (__builtin_add_overflow(kernel_ns, total.total_ns, &kernel_ns)) kernel_ns = INT64_MAX;
      const bool better = top == nullptr || total.total_ns > top->total_ns ||
                          (total.total_ns == top->total_ns && id < static_cast<uint32_t>(top_name));
      if (better) {
        top = &total;
        top_name = static_cast<StringId>(id);
      }
    }
    if (result_.kernels > 0) s.SetMetric("kernel_duration_ms", Ms(kernel_ns));
    for (const auto& [id, total] : facts_.memcpy_totals()) {
      const std::string_view kind = strings_.Text(static_cast<StringId>(id));
      if (kind == "HtoD") s.SetMetric("memcpy_htod_ms", Ms(total.total_ns));
      if (kind == "DtoH") s.SetMetric("memcpy_dtoh_ms", Ms(total.total_ns));
      if (kind == "DtoD") s.SetMetric("memcpy_dtod_ms", Ms(total.total_ns));
    }
    if (top != nullptr && kernel_ns > 0) {
      s.top_bottleneck =
          fmt::format("{}: {:.1f} % of kernel time", ParseKernelName(strings_.Text(top_name)).short_name,
                      100.0 * static_cast<double>(top->total_ns) / static_cast<double>(kernel_ns));
    }
  }

  TimelineOp Entry(StringId name, int64_t start_ns, int64_t dur_ns) {
    TimelineOp op;
    op.op_index = static_cast<int64_t>(doc_.timeline.size());
    op.op_name = name == StringId::kNull ? "(unnamed)" : std::string(strings_.Text(name));
    op.op_type = name == StringId::kNull ? op.op_name : OpType(name, facts_, strings_);
    if (!IsNull(start_ns)) {
      op.start_ms = Ms(start_ns - origin_ns_);
      op.end_ms = Ms(start_ns - origin_ns_ + dur_ns);
    }
    op.duration_ms = Ms(dur_ns);
    return op;
  }

  void PutShapes(TimelineOp& op, StringId dims, StringId types) {
    if (dims != StringId::kNull) op.shapes = ShapesFromText(strings_.Text(dims));
    if (types != StringId::kNull) op.dtypes = Types(strings_.Text(types));
  }

  void ListOps() {
    for (const OpRow& row : facts_.listed_ops()) {
      TimelineOp op = Entry(row.name, row.start_ns, IsNull(row.dur_ns) ? 0 : row.dur_ns);
      PutShapes(op, row.input_dims, row.input_types);
      doc_.timeline.push_back(std::move(op));
    }
    for (const RunFacts::ListedKernel& listed : facts_.listed_kernels()) {
      if (listed.op < 0) continue;
      const KernelRow& row = listed.row;
      TimelineKernel kernel;
      kernel.name = strings_.Text(row.name);
      if (!IsNull(row.start_ns)) kernel.start_ms = Ms(row.start_ns - origin_ns_);
      kernel.duration_ms = Ms(IsNull(row.dur_ns) ? 0 : row.dur_ns);
      if (!IsNull(row.stream) && row.stream >= 0) kernel.stream = row.stream;
      if (!IsNull(row.device) && row.device >= 0) kernel.device = row.device;
      kernel.grid = Extents(row.grid_x, row.grid_y, row.grid_z);
      kernel.block = Extents(row.block_x, row.block_y, row.block_z);
      if (!IsNull(row.registers_per_thread)) kernel.registers = row.registers_per_thread;
      if (!IsNull(row.shared_bytes)) kernel.shared_bytes = row.shared_bytes;
      doc_.timeline[static_cast<size_t>(listed.op)].kernels.push_back(std::move(kernel));
    }
  }

  void AggregateOps() {
    doc_.timeline_aggregated = true;
    if (facts_.op_sites().empty()) return AggregateNames();
    std::vector<uint32_t> order(facts_.op_sites().size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto& sites = facts_.op_sites();
    const auto cost = [&](uint32_t i) { return std::max(sites[i].device_ns, sites[i].total_ns); };
    if (order.size() > kMaxSites) {
      std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return cost(a) > cost(b); });
      notes_.push_back(
          fmt::format("the timeline lists the {} costliest of {} call sites; all ops are in table op",
                      kMaxSites, order.size()));
      order.resize(kMaxSites);
    }
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return sites[a].first_start_ns < sites[b].first_start_ns;
    });
    std::unordered_map<uint32_t, std::vector<const RunFacts::SiteKernel*>> kernels;
    for (const auto& [key, kernel] : facts_.site_kernels()) kernels[kernel.site].push_back(&kernel);
    for (const uint32_t i : order) PutSite(sites[i], kernels[i]);
  }

  void PutSite(const RunFacts::OpSite& site, std::vector<const RunFacts::SiteKernel*>& kernels) {
    TimelineOp op = Entry(site.name, site.first_start_ns, site.total_ns);
    op.end_ms = std::nullopt;  // a call site is not a single span
    PutShapes(op, site.input_dims, site.input_types);
    op.metrics = OpMetrics{};
    op.metrics->calls = site.calls;
    op.metrics->total_latency_ms = Ms(site.total_ns);
    op.metrics->latency_ms = Ms(site.total_ns) / static_cast<double>(site.calls);
    std::sort(kernels.begin(), kernels.end(), [](const auto* a, const auto* b) {
      return a->total_ns != b->total_ns ? a->total_ns > b->total_ns : a->name < b->name;
    });
    for (const RunFacts::SiteKernel* k : kernels) {
      TimelineKernel kernel;
      kernel.name = strings_.Text(k->name);
      kernel.duration_ms = Ms(k->total_ns);
      kernel.calls = k->calls;
      op.kernels.push_back(std::move(kernel));
    }
    doc_.timeline.push_back(std::move(op));
  }

  // A run without framework ops: its kernels, else whatever spans it has, by name.
  void AggregateNames() {
    const bool kernels = !facts_.kernel_totals().empty();
    const auto& totals = kernels ? facts_.kernel_totals() : facts_.span_totals();
    std::vector<std::pair<uint32_t, NameTotal>> order(totals.begin(), totals.end());
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second.total_ns != b.second.total_ns ? a.second.total_ns > b.second.total_ns
                                                    : a.first < b.first;
    });
    if (order.size() > kMaxSites) order.resize(kMaxSites);
    for (const auto& [id, total] : order) {
      TimelineOp op = Entry(static_cast<StringId>(id), origin_ns_, total.total_ns);
      op.start_ms = op.end_ms = std::nullopt;
      op.op_type = kernels ? "kernel" : "range";
      op.metrics = OpMetrics{};
      op.metrics->calls = total.calls;
      op.metrics->total_latency_ms = Ms(total.total_ns);
      doc_.timeline.push_back(std::move(op));
    }
    if (doc_.timeline.empty()) {
      doc_.timeline.push_back(Entry(StringId::kNull, origin_ns_, result_.wall_ns));
      notes_.push_back("the source has no spans; the timeline holds the run itself");
    }
  }

  const RunFacts& facts_;
  const std::vector<SourceFacts>& about_;
  const StringPool& strings_;
  EventSink& sink_;
  ImportResult& result_;
  RunDocument& doc_;
  int64_t origin_ns_;
  bool order_only_;
  std::vector<std::string> notes_;
};

}  // namespace

void DescribeRun(const RunFacts& facts, const std::vector<SourceFacts>& about, const std::string& model_name,
                 EventSink& sink, ImportResult& result) {
  RunDocumentBuilder(facts, about, sink, result).Build(model_name);
}

}  // namespace nl
