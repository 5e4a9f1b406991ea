// SPDX-License-Identifier: Apache-2.0
#include "ledger/snapshot.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "ledger/parquet_format.h"

namespace nl {

namespace {

constexpr int64_t kRowsForThreads = 1 << 15;  // fewer are decoded before a thread has started
constexpr size_t kMostLoaders = 8;

Error Damaged(const TableInfo& table, std::string_view what) {
  return InvalidInput(fmt::format("the table {} of this run is damaged: {}", table.name, what))
      .Hint("import the profile again, or fetch the bundle again; neurolens doctor checks the store");
}

// Row of the first value from `from` on that is neither null nor within [low, high]; the size when there is
// none.
template <class T>
size_t FirstOutside(const void* vector, size_t from, int64_t low, int64_t high) {
  const auto& values = *static_cast<const std::vector<T>*>(vector);
  for (size_t i = from; i < values.size(); ++i) {
    if ((values[i] < low || values[i] > high) && !IsNull(values[i])) return i;
  }
  return values.size();
}

size_t ValuesIn(ColumnType type, const void* vector) {
  switch (type) {
    case ColumnType::kInt64: return static_cast<const std::vector<int64_t>*>(vector)->size();
    case ColumnType::kInt32: return static_cast<const std::vector<int32_t>*>(vector)->size();
    case ColumnType::kFloat64: return static_cast<const std::vector<double>*>(vector)->size();
    case ColumnType::kString: break;
  }
  return static_cast<const std::vector<StringId>*>(vector)->size();
}

void MakeRoom(ColumnType type, void* vector, size_t size) {
  switch (type) {
    case ColumnType::kInt64: static_cast<std::vector<int64_t>*>(vector)->resize(size); return;
    case ColumnType::kInt32: static_cast<std::vector<int32_t>*>(vector)->resize(size); return;
    case ColumnType::kFloat64: static_cast<std::vector<double>*>(vector)->resize(size); return;
    case ColumnType::kString: static_cast<std::vector<StringId>*>(vector)->resize(size); return;
  }
}

parquet::Type StoredType(ColumnType type) {
  switch (type) {
    case ColumnType::kInt64: return parquet::Type::kInt64;
    case ColumnType::kInt32: return parquet::Type::kInt32;
    case ColumnType::kFloat64: return parquet::Type::kDouble;
    case ColumnType::kString: return parquet::Type::kByteArray;
  }
  return parquet::Type::kByteArray;
}

std::string StoredTypeName(int type) {
  for (const ColumnType known :
       {ColumnType::kInt64, ColumnType::kInt32, ColumnType::kFloat64, ColumnType::kString}) {
    if (static_cast<int>(StoredType(known)) == type) return SqlType(known);
  }
  return fmt::format("{} of Parquet", type);
}

}  // namespace

struct Snapshot::Target {
  const ColumnInfo& column;
  void* vector;
  size_t before;  // values that are there already
};

struct Snapshot::Piece {
  const ParquetReader* file;
  size_t group, skip, rows;  // `rows` of the group after the first `skip`
  size_t at;                 // place of its first row among those wanted
};

Result<std::unique_ptr<Snapshot>> Snapshot::Open(const RunSource& run, SnapshotOptions options) {
  NL_ASSIGN(RunParts parts, PartsOfRun(run));
  return std::unique_ptr<Snapshot>(new Snapshot(std::move(parts), options));
}

Result<const Snapshot::TableFiles*> Snapshot::FilesOf(const std::string& table) {
  if (const auto it = open_.find(table); it != open_.end()) return &it->second;
  TableFiles out;
  for (const RunPart& part : parts_[table]) {
    NL_TRY(VerifyRunPart(part, options_.cancelled));
    Result<std::unique_ptr<ParquetReader>> file = ParquetReader::Open(part.path());
    if (!file.ok() && !PathExists(part.run_folder)) return RemovedRun(part.label);
    if (!file.ok()) return std::move(file).error();
    out.rows += (*file)->rows();
    out.files.push_back(*std::move(file));
  }
  return &(open_[table] = std::move(out));
}

Status Snapshot::CheckValues(const TableInfo& table, const ColumnInfo& column, const void* vector,
                             size_t from) {
  int64_t low = 0, high = kMostTime_ns;
  const bool link = *column.refers_to != '\0';
  if (link) {
    NL_ASSIGN(const TableFiles* named, FilesOf(column.refers_to));
    high = named->rows - 1;
  } else if (IsTime(column)) {
    low = LeastTime_ns(column);
  } else {
    return {};
  }
  const size_t at = column.type == ColumnType::kInt32 ? FirstOutside<int32_t>(vector, from, low, high)
                                                      : FirstOutside<int64_t>(vector, from, low, high);
  if (at == ValuesIn(column.type, vector)) return {};
  return Damaged(table, link ? fmt::format("{} of row {} names a row that {} does not have (it has {})",
                                           column.name, at - from, column.refers_to, high + 1)
                             : fmt::format("{} of row {} is not a possible time", column.name, at - from));
}

Status Snapshot::Load(ColumnSet& to, const std::vector<const char*>& columns) {
  return LoadRows(to, columns, 0, INT64_MAX);
}

Status Snapshot::LoadPart(ColumnSet& to, int64_t first_row, int64_t rows) {
  std::vector<const char*> columns;
  for (const ColumnInfo& column : to.info().columns) columns.push_back(column.name);
  return LoadRows(to, columns, first_row, rows);
}

Status Snapshot::LoadRows(ColumnSet& to, const std::vector<const char*>& columns, int64_t first_row,
                          int64_t rows) {
  const TableInfo& table = to.info();
  NL_ASSIGN(const TableFiles* stored, FilesOf(table.name));
  std::vector<Target> targets;
  for (const char* name : columns) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (std::strcmp(table.columns[i].name, name) == 0)
        targets.push_back(
            {table.columns[i], to.VectorOf(i), ValuesIn(table.columns[i].type, to.VectorOf(i))});
    }
  }
  if (targets.size() != columns.size())
    return Internal(fmt::format("table {} lacks one of {}", table.name, fmt::join(columns, ", ")));
  std::vector<Piece> pieces;
  int64_t before = 0, wanted = 0;  // rows of the groups so far, and those of them that are wanted
  const int64_t end = rows < INT64_MAX - first_row ? first_row + rows : INT64_MAX;
  for (const auto& file : stored->files) {
    for (size_t group = 0; group < file->groups(); ++group) {
      const int64_t from = std::max(first_row, before), until = std::min(end, before + file->rows(group));
      if (from < until) {
        pieces.push_back({file.get(), group, static_cast<size_t>(from - before),
                          static_cast<size_t>(until - from), static_cast<size_t>(wanted)});
        wanted += until - from;
      }
      before += file->rows(group);
    }
    for (const Target& target : targets) {
      const int column = file->Column(target.column.name);
      if (column < 0) return Damaged(table, fmt::format("the column {} is missing", target.column.name));
      for (size_t group = 0; group < file->groups(); ++group) {
        const int type = file->chunk(group, column).type;
        if (type != static_cast<int>(StoredType(target.column.type)))
          return Damaged(
              table, fmt::format("the column {} is of type {}", target.column.name, StoredTypeName(type)));
      }
    }
  }
  for (const Target& target : targets)
    MakeRoom(target.column.type, target.vector, target.before + static_cast<size_t>(wanted));
  NL_TRY(LoadNumbers(pieces, targets));
  for (const Target& target : targets) {
    if (target.column.type == ColumnType::kString) NL_TRY(LoadTexts(pieces, target));
  }
  for (const Target& target : targets)
    NL_TRY(CheckValues(table, target.column, target.vector, target.before));
  return {};
}

// Runs the jobs on as many threads as there are cores, where there is enough to do; the first error ends it.
Status Snapshot::InParallel(size_t jobs, int64_t rows, const std::function<Status(size_t job)>& run) const {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status failed;
  const auto work = [&] {
    for (size_t job = next++; job < jobs; job = next++) {
      Status status =
          options_.cancelled != nullptr && options_.cancelled->load() ? Status(Cancelled()) : run(job);
      if (status.ok()) continue;
      const std::lock_guard lock(mutex);
      if (failed.ok()) failed = std::move(status);
      next = jobs;
    }
  };
  const size_t cores = options_.threads > 0 ? static_cast<size_t>(options_.threads)
                                            : std::max(1u, std::thread::hardware_concurrency());
  const size_t threads = rows < kRowsForThreads ? 1 : std::min({cores, kMostLoaders, jobs});
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  return failed;
}

Status Snapshot::LoadNumbers(const std::vector<Piece>& pieces, const std::vector<Target>& targets) const {
  std::vector<std::pair<const Target*, const Piece*>> jobs;
  int64_t rows = 0;
  for (const Target& target : targets) {
    for (const Piece& piece : pieces) {
      if (target.column.type == ColumnType::kString) continue;
      jobs.emplace_back(&target, &piece);
      rows += static_cast<int64_t>(piece.rows);
    }
  }
  return InParallel(jobs.size(), rows, [&](size_t job) -> Status {
    const Target& target = *jobs[job].first;
    const Piece& piece = *jobs[job].second;
    const int column = piece.file->Column(target.column.name);
    const size_t at = target.before + piece.at;
    const auto take = [&](const auto& from, auto& to) {
      for (size_t i = 0; i < piece.rows; ++i) to[at + i] = from[piece.skip + i];
    };
    if (target.column.type == ColumnType::kFloat64) {
      thread_local std::vector<double> values;
      NL_TRY(piece.file->ReadDoubles(piece.group, column, values));
      take(values, *static_cast<std::vector<double>*>(target.vector));
      return {};
    }
    thread_local std::vector<int64_t> values;
    NL_TRY(piece.file->ReadInts(piece.group, column, values));
    if (target.column.type == ColumnType::kInt64) {
      take(values, *static_cast<std::vector<int64_t>*>(target.vector));
      return {};
    }
    auto& to = *static_cast<std::vector<int32_t>*>(target.vector);
    for (size_t i = 0; i < piece.rows; ++i) {
      const int64_t value = values[piece.skip + i];
      to[at + i] = IsNull(value) ? NullOf<int32_t>::value : static_cast<int32_t>(value);
    }
    return {};
  });
}

// Texts get their ids in the order of their rows, whatever order the dictionaries have them in.
Status Snapshot::LoadTexts(const std::vector<Piece>& pieces, const Target& target) {
  std::vector<CodedTexts> texts(pieces.size());
  int64_t rows = 0;
  for (const Piece& piece : pieces) rows += static_cast<int64_t>(piece.rows);
  NL_TRY(InParallel(pieces.size(), rows, [&](size_t job) {
    const Piece& piece = pieces[job];
    return piece.file->ReadTexts(piece.group, piece.file->Column(target.column.name), texts[job]);
  }));
  auto& to = *static_cast<std::vector<StringId>*>(target.vector);
  std::vector<StringId> ids;
  for (size_t job = 0; job < pieces.size(); ++job) {
    const Piece& piece = pieces[job];
    const CodedTexts& coded = texts[job];
    ids.assign(coded.distinct.size(), StringId::kNull);
    for (size_t i = 0; i < piece.rows; ++i) {
      const uint32_t code = coded.codes[piece.skip + i];
      if (code == CodedTexts::kNull) {
        to[target.before + piece.at + i] = StringId::kNull;
        continue;
      }
      if (ids[code] == StringId::kNull) ids[code] = strings_.Add(coded.distinct[code]);
      to[target.before + piece.at + i] = ids[code];
    }
    texts[job] = {};
  }
  return {};
}

}  // namespace nl
