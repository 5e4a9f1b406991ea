// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/time_text.h"
#include "ops/open_store.h"
#include "ops/settings.h"
#include "report/text_table.h"

namespace nl::ops::ls {

namespace {

class LsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "ls";
    info.summary = "List the runs of the store, newest first";
    info.choose_when = "to find a run; show RUN tells more about one";
    info.example = "neurolens ls --model resnet --since 7d";
    info.reply_schema =
        SchemaFromText(R"({"type": "object", "required": ["store", "total", "runs"], "properties": {
      "store": {"type": "string"}, "total": {"type": "integer"}, "runs": {"type": "array"}}})");
    Json run = CatalogRunSchema();
    run["properties"]["short_id"] = {{"type", "string"}};
    run["required"].push_back("short_id");
    info.reply_schema["properties"]["runs"]["items"] = std::move(run);
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("backend", backend_, "Only runs of this backend (torch, jax, ...)");
    binder.Add("model", model_, "Only runs whose model name contains this");
    binder.Add("device", device_, "Only runs whose device name contains this");
    binder.Add("precision", precision_, "Only runs of this precision (bf16, fp32, ...)");
    binder.Add("tag", tags_, "Only runs with this tag; KEY= takes any value").KeyValue();
    binder.Add("since", since_, "Only runs made since a date (2025-01-31), a time, or for an age (7d, 12h)");
    binder.Add("limit", limit_, "At most this many runs; 0 for all").Range(0, 1e9);
    binder.Add("sort", sort_, "Order").Choices(RunSortNames());
    binder.Add("reverse", reverse_, "Smallest, or oldest, first");
  }

  Result<Reply> Run(OpContext& context) override {
    RunFilter filter;
    NL_TRY(FillFilter(filter));
    Reply reply;
    reply.json = {{"store", context.settings != nullptr ? context.settings->Get("store") : ""},
                  {"total", 0},
                  {"runs", Json::array()}};
    Result<std::unique_ptr<Store>> store = OpenStore(context, Store::Mode::kReadOnly);
    // No store yet is an empty list, not a mistake.
    if (!store.ok() && store.error().code == ErrorCode::kNotFound) return reply;
    if (!store.ok()) return std::move(store).error();
    Catalog& catalog = (*store)->catalog();
    NL_ASSIGN(int64_t total, catalog.Count());
    NL_ASSIGN(std::vector<CatalogRun> runs, catalog.List(filter));
    reply.json["total"] = total;
    for (const CatalogRun& run : runs) {
      Json json = CatalogRunToJson(run);
      NL_ASSIGN(json["short_id"], catalog.ShortId(run.run_id));
      reply.json["runs"].push_back(std::move(json));
    }
    return reply;
  }

  std::string Text(const Reply& reply, const TextStyle& style) const override {
    const Json& runs = reply.json["runs"];
    const auto total = reply.json["total"].get<int64_t>();
    if (runs.empty()) {
      if (total > 0) return fmt::format("none of the {} runs matches\n", HumanCount(total));
      return fmt::format("no runs in {}\nneurolens import FILE adds one\n",
                         reply.json["store"].get<std::string>());
    }
    TextTable table({{"RUN", Align::kLeft, false},
                     {"MODEL", Align::kLeft, true, 10},
                     {"DEVICE", Align::kLeft, true, 8},
                     {"TYPE", Align::kLeft, true, 5},
                     {"WALL", Align::kRight, false},
                     {"KERNELS", Align::kRight, false},
                     {"CREATED", Align::kLeft, false}});
    bool any_lost = false;
    for (const Json& run : runs) {
      std::string model = run["model"].get<std::string>();
      if (model.empty()) model = run["source_name"].get<std::string>();
      const bool lost = run["lost_records"].get<int64_t>() > 0;
      any_lost = any_lost || lost;
      table.AddRow({run["short_id"].get<std::string>() + (lost ? "!" : ""), std::move(model), DeviceText(run),
                    run["precision"].get<std::string>(), HumanDurationNs(run["wall_ns"].get<int64_t>()),
                    HumanCount(run["kernel_count"].get<int64_t>()),
                    ShortTime(run["created_at_ns"].get<int64_t>())});
    }
    std::string out = table.Render(style.width, style.color);
    const auto shown = static_cast<int64_t>(runs.size());
    if (shown < total) out += fmt::format("{} of {} runs\n", HumanCount(shown), HumanCount(total));
    if (any_lost) out += "! records were lost; neurolens show RUN says which\n";
    return out;
  }

 private:
  static std::string DeviceText(const Json& run) {
    const auto count = run["device_count"].get<int64_t>();
    std::string name = run["device"].get<std::string>();
    if (count == 0) return "cpu";
    if (name.empty()) name = "(not named)";
    return count > 1 ? fmt::format("{}x {}", count, name) : name;
  }

  Status FillFilter(RunFilter& filter) const {
    filter.backend = backend_;
    filter.model = model_;
    filter.device = device_;
    filter.precision = precision_;
    for (const std::string& tag : tags_) {
      const size_t equals = tag.find('=');
      if (tag.empty() || equals == 0)
        return InvalidInput(fmt::format("'{}' is not a tag; write KEY=VALUE", tag));
      filter.tags.emplace_back(tag.substr(0, equals),
                               equals == std::string::npos ? "" : tag.substr(equals + 1));
    }
    if (!since_.empty()) {
      NL_ASSIGN(filter.since_ns, ParseTimePoint(since_));
    }
    filter.limit = limit_ == 0 ? -1 : limit_;
    const auto& names = RunSortNames();
    filter.sort = static_cast<RunSort>(std::find(names.begin(), names.end(), sort_) - names.begin());
    filter.descending = !reverse_;
    return {};
  }

  std::string backend_, model_, device_, precision_, since_;
  std::vector<std::string> tags_;
  int64_t limit_ = 50;
  std::string sort_ = "added";
  bool reverse_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<LsOp>(); }

}  // namespace nl::ops::ls
