// SPDX-License-Identifier: Apache-2.0
#include "ops/import/attach.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/human.h"
#include "base/plural.h"
#include "base/record_json.h"
#include "base/terminal.h"
#include "base/time_text.h"
#include "base/units.h"
#include "import/read/byte_source.h"
#include "import/rows/join_kernels.h"
#include "ledger/attachments.h"
#include "ledger/run_tables.h"
#include "ledger/snapshot.h"
#include "ops/open_snapshot.h"
#include "ops/settings.h"

namespace nl::ops::import {

namespace {

constexpr size_t kMostListed = 50;
constexpr int64_t kRowsAtOnce = 1 << 16;

// A run's kernels, as far as joining needs them.
struct Kernels {
  KernelColumns columns;
  std::unique_ptr<Snapshot> snapshot;

  Status Load() {
    return snapshot->Load(columns, {"name", "start_ns", "dur_ns", "grid_x", "grid_y", "grid_z", "block_x",
                                    "block_y", "block_z"});
  }
  KernelList list() const { return {columns, snapshot->strings()}; }
};

Status EncodeAll(RunTables& tables) {
  for (;;) {
    NL_ASSIGN(const bool more, tables.EncodeOne());
    if (!more) return {};
  }
}

// Rows of the run by row of the report.
using Targets = std::vector<std::vector<int64_t>>;

// Copies one table with its kernel ids replaced by those of the run; rows of kernels that are not in the
// run are left out. Strings are added to the pool of the new table.
template <class Columns>
Status CopyTable(Snapshot& from, const Targets& targets, const char* how, Columns EventBatch::*table,
                 RunTables& to) {
  for (int64_t first = 0;; first += kRowsAtOnce) {
    Columns part;
    NL_TRY(from.LoadPart(part, first, kRowsAtOnce));
    if (part.size() == 0) return {};
    EventBatch batch;
    const StringId joined_by = to.strings().Add(how);
    for (size_t i = 0; i < part.size(); ++i) {
      auto row = part.Row(i);
      const auto kernel = static_cast<int64_t>(row.kernel_id);
      if (kernel < 0 || static_cast<size_t>(kernel) >= targets.size()) continue;
      for (const int64_t run_row : targets[static_cast<size_t>(kernel)]) {
        row.kernel_id = static_cast<RowId>(run_row);
        (batch.*table).Add(row);
      }
    }
    std::vector<ColumnSpan> spans;
    (batch.*table).Spans(spans);
    for (const ColumnSpan& span : spans) {
      if (!span.remap_string) continue;
      auto* ids = static_cast<StringId*>(span.values);
      const bool joined = std::string_view(span.info->name) == "joined_by";
      for (size_t i = 0; i < span.rows; ++i) {
        if (joined)
          ids[i] = joined_by;
        else if (!IsNull(ids[i]))
          ids[i] = to.strings().Add(from.strings().Text(ids[i]));
      }
    }
    to.Append(batch);
    NL_TRY(EncodeAll(to));
  }
}

std::optional<std::string> TextOrNone(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// One row each: metrics and rules are texts of one execution.
Targets OneEach(const KernelJoin& join) {
  Targets out(join.run_row.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (join.run_row[i] >= 0) out[i].push_back(join.run_row[i]);
  }
  return out;
}

Targets AllOf(const SameKernelJoin& join) {
  Targets out(join.run_row.size());
  for (size_t i = 0; i < join.other_row.size(); ++i) {
    if (join.other_row[i] >= 0)
      out[static_cast<size_t>(join.other_row[i])].push_back(static_cast<int64_t>(i));
  }
  return out;
}

KernelMatch MatchOf(const KernelJoin& join, const Targets& targets, const Kernels& run) {
  KernelMatch out;
  int64_t device_ns = 0, covered_ns = 0;
  std::vector<bool> covered(run.columns.name.size(), false);
  for (const std::vector<int64_t>& rows : targets) {
    for (const int64_t row : rows) covered[static_cast<size_t>(row)] = true;
  }
  for (size_t i = 0; i < covered.size(); ++i) {
    const int64_t ns = IsNull(run.columns.dur_ns[i]) ? 0 : run.columns.dur_ns[i];
    device_ns += ns;
    if (!covered[i]) continue;
    covered_ns += ns;
    ++out.covered_kernels;
  }
  out.kernels = static_cast<int64_t>(join.run_row.size());
  out.matched = join.matched;
  out.run_kernels = static_cast<int64_t>(run.columns.name.size());
  out.run_kernel_ms = Ms(device_ns);
  out.covered_ms = Ms(covered_ns);
  for (size_t i = 0; i < std::min(kMostListed, join.unmatched.size()); ++i) {
    const KernelJoin::Unmatched& u = join.unmatched[i];
    out.unmatched.push_back({JoinFailureName(u.why), JoinFailureMeaning(u.why), u.kernel, TextOrNone(u.grid),
                             TextOrNone(u.block), TextOrNone(u.instead), u.executions});
  }
  return out;
}

}  // namespace

Result<ImportAttachment> AttachFile(OpContext& context, Store& store, const std::string& run_ref,
                                    const ImportRequest& request, AttachJoin how) {
  NL_ASSIGN(const CatalogRun run, store.catalog().Resolve(run_ref));
  NL_ASSIGN(StagedRun imported, store.Stage());
  RunTables report_tables(imported.path());
  NL_ASSIGN(const ImportResult result, ImportFiles(request, report_tables));
  Kernels report, target;
  NL_ASSIGN(report.snapshot, Snapshot::Open({"attached", imported.path(), {}}, {context.cancelled}));
  NL_TRY(report.Load());
  if (report_tables.rows(Table::kKernelCounter) + report_tables.rows(Table::kKernelMetric) +
          report_tables.rows(Table::kToolFinding) ==
      0) {
    return InvalidInput("cannot attach the file: it has no kernel counters")
        .At(request.paths[0])
        .Hint("import it as a run, without --attach; docs/formats lists the reports that have counters");
  }
  NL_ASSIGN(target.snapshot, SnapshotOf(context, store, run));
  NL_TRY(target.Load());
  const bool same = how == AttachJoin::kSameKernel;
  SameKernelJoin join;
  if (same)
    join = JoinSameKernels(target.list(), report.list());
  else
    static_cast<KernelJoin&>(join) = JoinKernels(target.list(), report.list());
  const Targets one_each = OneEach(join), counted = same ? AllOf(join) : one_each;
  const char* const joined_by = same ? "same_kernel" : "launch_order";
  KernelMatch match = MatchOf(join, counted, target);
  if (join.matched == 0) {
    const std::string why = match.unmatched.empty() ? "it has no kernels" : match.unmatched[0].meaning;
    return InvalidInput(fmt::format("cannot attach the file: no kernel of its {} is in run {}: {}",
                                    HumanCount(static_cast<int64_t>(report.columns.name.size())), run.run_id,
                                    why))
        .At(request.paths[0])
        .Hint("both recordings must be of the same program and shapes; import it without --attach to see it");
  }
  NL_ASSIGN(StagedRun staged, store.Stage());
  RunTables tables(staged.path());
  NL_TRY(CopyTable(*report.snapshot, one_each, joined_by, &EventBatch::kernel_metric, tables));
  NL_TRY(CopyTable(*report.snapshot, counted, joined_by, &EventBatch::kernel_counter, tables));
  NL_TRY(CopyTable(*report.snapshot, one_each, joined_by, &EventBatch::tool_finding, tables));
  NL_TRY(tables.Flush());
  NL_TRY(EncodeAll(tables));
  NL_TRY(tables.Finish());
  for (const Table table : {Table::kKernelMetric, Table::kKernelCounter, Table::kToolFinding}) {
    if (tables.rows(table) > 0)
      match.tables[kAllTables[static_cast<size_t>(table)]->name] = static_cast<int64_t>(tables.rows(table));
  }
  match.adapter = result.document.source.adapter;
  match.run_id = run.run_id;
  Json about = ToDocument(match);
  about["content_sha256"] = result.content_sha256;
  // What version 0.1 attached has the plain hash.
  if (request.paths[0] != "-" && !AttachmentFolders(store.RunPath(run.run_id)).empty()) {
    NL_ASSIGN(about["plain_sha256"], StoredHash(request.paths[0], HashKind::kPlain));
  }
  about["attached_at"] = Rfc3339Utc(UnixNowNs());
  about["source_files"] = Json::array();
  for (const SourceFile& file : result.document.source.files)
    about["source_files"].push_back({{"name", file.name},
                                     {"bytes", file.bytes},
                                     {"sha256", file.sha256},
                                     {"hash", file.hash.value_or("sha256")}});
  NL_ASSIGN(const AttachOutcome outcome,
            AttachTables(store, run.run_id, std::move(staged), std::move(about)));
  return ImportAttachment{std::move(match), outcome.attachment_id, outcome.duplicate, request.paths};
}

std::string AttachedText(const ImportAttachment& a, int width) {
  const std::string file = PrintableText(std::filesystem::path(a.files[0]).filename().string());
  std::string out =
      fmt::format("{}  {} {}\n", a.run_id, file, a.duplicate ? "was already attached" : "attached");
  const auto line = [&](const std::string& text) { out += Wrap("  " + text, width, 4) + "\n"; };
  line(fmt::format("{} of {} of the file match the run by name, grid, block{}", HumanCount(a.matched),
                   Counted(a.kernels, "kernel"), a.covered_kernels > a.matched ? "" : " and order"));
  line(fmt::format("counters for {} of {} of the run, {} of {} kernel time ({:.0f} %)",
                   HumanCount(a.covered_kernels), Counted(a.run_kernels, "kernel"), HumanMs(a.covered_ms),
                   HumanMs(a.run_kernel_ms), a.run_kernel_ms > 0 ? 100 * a.covered_ms / a.run_kernel_ms : 0));
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < std::min(kShown, a.unmatched.size()); ++i) {
    const ImportUnmatched& u = a.unmatched[i];
    std::string text = fmt::format("not matched: {} x {}", HumanCount(u.executions), u.kernel);
    if (u.grid) text += fmt::format(" {} x {}", *u.grid, u.block.value_or(""));
    text += fmt::format(": {}", u.meaning);
    if (u.run_launches) text += fmt::format(" ({})", *u.run_launches);
    line(text);
  }
  if (a.unmatched.size() > kShown)
    line(fmt::format("{} more; --json lists them", a.unmatched.size() - kShown));
  return out;
}

}  // namespace nl::ops::import
