// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/human.h"
#include "base/time_text.h"
#include "ops/ls/reply.h"
#include "ops/open_store.h"
#include "ops/settings.h"
#include "report/text_table.h"

namespace nl::ops::ls {

namespace {

constexpr int64_t kMostChoices = 200;
constexpr int64_t kMostSpaces = 50;

class LsOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "ls";
    info.summary = "List the runs of the store, newest first";
    info.choose_when = "Choose it to find a run; `show` gives the details of one.";
    info.example = "neurolens ls --model resnet --since 7d";
    info.reply = ReplyOf<LsReply>();
    info.role = ServerRole::kRunList;
    info.tool = {3, "find_runs"};
    info.watched.event = "run";
    info.watched.rows = "runs";
    info.watched.id = "run_id";
    info.watched.args = {{"limit", 100}};
    info.watched.every_ms = 2000;
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("backend", backend_, "Only runs of this backend (torch, jax, ...)");
    binder.Add("model", model_, "Only runs whose model name contains this");
    binder.Add("device", device_, "Only runs whose device name contains this");
    binder.Add("precision", precision_, "Only runs of this precision (bf16, fp32, ...)");
    binder.Add("tag", tags_, "Only runs with this tag; KEY= matches any value").KeyValue();
    binder.Add("since", since_,
               "Only runs imported since a date (2025-01-31), a time, or within an age (7d, 12h)");
    binder.Add("until", until_, "Only runs imported before a date, a time or an age");
    binder.Add("format", format_, "Only runs of this format (see `neurolens formats`)");
    binder.Add("exact", exact_, "Model and device must be equal to what is given, not only contain it");
    binder.Add("text", text_,
               "Only runs that have each of these words in the model, source, device, backend, tool, format, "
               "precision or a tag, or at the start of the id");
    binder.Add("limit", limit_, "At most this many runs; 0 for all").Range(0, 1e9);
    binder.Add("offset", offset_, "Runs to leave out, in the order asked for: where a page begins")
        .Range(0, 1e9);
    binder.Add("sort", sort_, "Order").Choices(RunSortNames());
    binder.Add("reverse", reverse_, "Reverse the order: smallest or oldest first");
    binder.Add("choices", choices_, "Also give the models, devices, formats and tags that occur (--json)");
    binder
        .Add("history", history_,
             "Also give the wall times of this many newest runs of each workload that is listed (--json)")
        .Range(0, 1000);
  }

  Result<Reply> Run(OpContext& context) override {
    RunFilter filter;
    NL_TRY(FillFilter(filter));
    LsReply reply;
    if (context.settings != nullptr) reply.store = context.settings->Get("store");
    Result<std::unique_ptr<Store>> store = OpenStore(context, Store::Mode::kReadOnly);
    // A store that does not exist yet is an empty list, not an error.
    if (!store.ok() && store.error().code == ErrorCode::kNotFound) return Reply::Of(std::move(reply));
    if (!store.ok()) return std::move(store).error();
    Catalog& catalog = (*store)->catalog();
    NL_ASSIGN(reply.total, catalog.Count());
    NL_ASSIGN(reply.runs_total, catalog.CountMatching(filter));
    NL_ASSIGN(const std::vector<CatalogRun> runs, catalog.List(filter));
    for (const CatalogRun& run : runs) {
      NL_ASSIGN(ListedRun listed, ListRun(catalog, run));
      reply.runs.push_back(std::move(listed));
    }
    if (choices_) {
      NL_ASSIGN(reply.choices, catalog.Choices(kMostChoices));
    }
    if (history_ > 0) {
      NL_ASSIGN(reply.histories, catalog.Histories(runs, history_));
    }
    const int64_t end = offset_ + static_cast<int64_t>(reply.runs.size());
    if (!reply.runs.empty() && end < reply.runs_total) reply.next_offset = end;
    return Reply::Of(std::move(reply));
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<LsReply>();
    if (reply.runs.empty()) {
      if (reply.runs_total > 0)
        return fmt::format("only {} runs match: --offset {} is after the last\n",
                           HumanCount(reply.runs_total), offset_);
      if (reply.total > 0)
        return reply.total == 1 ? "the only run does not match\n"
                                : fmt::format("none of the {} runs matches\n", HumanCount(reply.total));
      return fmt::format("no runs in {}\nadd one: neurolens import FILE\n", reply.store);
    }
    TextTable table({{"RUN", Align::kLeft, false},
                     {"MODEL", Align::kLeft, true, 10},
                     {"DEVICE", Align::kLeft, true, 8},
                     {"TYPE", Align::kLeft, true, 5},
                     {"WALL", Align::kRight, false},
                     {"KERNELS", Align::kRight, false},
                     {"CREATED", Align::kLeft, false}});
    bool any_lost = false;
    for (const ListedRun& run : reply.runs) {
      const bool lost = run.lost_records > 0;
      any_lost = any_lost || lost;
      table.AddRow({run.short_id + (lost ? "!" : ""), run.model.empty() ? run.source_name : run.model,
                    DeviceText(run), run.precision, HumanDurationNs(run.wall_ns),
                    HumanCount(run.kernel_count), ShortTime(run.created_at_ns)});
    }
    std::string out = table.Render(style.width, style.color);
    const auto shown = static_cast<int64_t>(reply.runs.size());
    if (reply.next_offset) out += fmt::format("for more: --offset {}\n", *reply.next_offset);
    if (shown < reply.total)
      out += fmt::format("{} of {} runs\n", HumanCount(shown), HumanCount(reply.total));
    if (any_lost) out += "! records were lost; `neurolens show RUN` lists them\n";
    return out;
  }

 private:
  static std::string DeviceText(const CatalogRun& run) {
    if (run.device_count == 0) return run.kernel_count > 0 ? "-" : "cpu";
    const std::string name = run.device.empty() ? "(not named)" : run.device;
    return run.device_count > 1 ? fmt::format("{}x {}", run.device_count, name) : name;
  }

  Status FillFilter(RunFilter& filter) const {
    filter.backend = backend_;
    filter.model = model_;
    filter.device = device_;
    filter.precision = precision_;
    filter.adapter = format_;
    filter.text = text_;
    filter.exact = exact_;
    // Each word is a condition of its own, and SQLite limits their number.
    if (std::count_if(text_.begin(), text_.end(), [](char c) { return c > 0 && c <= ' '; }) > kMostSpaces)
      return InvalidInput(fmt::format("the text has more than {} spaces; use fewer words", kMostSpaces));
    filter.offset = offset_;
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
    if (!until_.empty()) {
      NL_ASSIGN(filter.until_ns, ParseTimePoint(until_));
    }
    filter.limit = limit_ == 0 ? -1 : limit_;
    const auto& names = RunSortNames();
    filter.sort = static_cast<RunSort>(std::find(names.begin(), names.end(), sort_) - names.begin());
    filter.descending = !reverse_;
    return {};
  }

  std::string backend_, model_, device_, precision_, since_, until_, format_, text_;
  std::vector<std::string> tags_;
  int64_t limit_ = 50, offset_ = 0, history_ = 0;
  std::string sort_ = "added";
  bool reverse_ = false, exact_ = false, choices_ = false;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<LsOp>(); }

}  // namespace nl::ops::ls
