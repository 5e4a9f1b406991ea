// SPDX-License-Identifier: Apache-2.0
#pragma once
// Catalog: the small transactional list of runs in a store, with their tags, and the
// baselines: named lists of runs that others are held against.
// One interface for every engine; SQLite is in catalog_sqlite.h. Nothing here
// names an engine, and one test suite holds for all of them.
// Thread rule: one object, one thread at a time; any number of processes may hold
// their own on the same store.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/record.h"
#include "base/result.h"

namespace nl {

// What can be asked about a run without opening its files.
struct CatalogRun {
  std::string run_id;         // UUIDv7, also the name of the run's folder
  int64_t created_at_ns = 0;  // Unix time
  std::string backend;
  std::string model;
  std::string device;  // name of the first device
  int64_t device_count = 0;
  std::string precision;
  std::string adapter;
  std::string tool;
  std::string source_name;
  int64_t source_bytes = 0;
  std::string content_sha256;  // identity of the imported bytes; empty: never a duplicate
  int64_t wall_ns = 0;
  int64_t event_count = 0;
  int64_t op_count = 0;
  int64_t kernel_count = 0;
  int64_t lost_records = 0;
  int64_t stored_bytes = 0;
  int64_t schema_version = 0;  // of the run document
  std::map<std::string, std::string> tags;
};

void Describe(Record<CatalogRun>& r);

// The record as a JSON object, as in replies of `ls` and in the entry file beside each run.
Json CatalogRunToJson(const CatalogRun& run);
Result<CatalogRun> CatalogRunFromJson(const Json& json);

enum class RunSort {
  kAdded,
  kCreated,
  kModel,  // the source where no model is known
  kBackend,
  kDevice,
  kWall,
  kEvents,
  kKernels,
  kStored,
  kName,
  kPrecision,
  kFormat,
  kId
};
// Names as in `ls --sort`; the index is the enum value.
const std::vector<std::string>& RunSortNames();

// Empty fields do not filter. Text is compared without regard to case.
struct RunFilter {
  std::string backend;
  std::string model;   // substring
  std::string device;  // substring
  bool exact = false;  // model and device are equal to what is given, not only part of it
  std::string precision;
  std::string adapter;
  // Each word is part of the model, source, device, backend, tool, format, precision or a tag, or the
  // beginning of the id.
  std::string text;
  std::vector<std::pair<std::string, std::string>> tags;  // all must match; empty value: any value
  std::optional<int64_t> since_ns, until_ns;              // created at or after; before
  int64_t limit = -1;                                     // -1: no limit
  int64_t offset = 0;                                     // runs to leave out, in the order asked for
  RunSort sort = RunSort::kAdded;
  bool descending = true;
};

// A value that runs can be filtered by, and how many runs have it.
struct RunChoice {
  std::string value;
  int64_t runs = 0;
};
void Describe(Record<RunChoice>& r);

struct RunChoices {
  std::vector<RunChoice> models, devices, backends, formats, tags;  // by value; a tag is KEY=VALUE
};
void Describe(Record<RunChoices>& r);

// Runs that may be compared without a second thought: the same model on the same devices.
struct WorkloadHistory {
  std::string model, device, precision, backend;
  int64_t device_count = 0;
  std::vector<int64_t> wall_ns;  // oldest first
};
void Describe(Record<WorkloadHistory>& r);

struct InsertOutcome {
  bool inserted = false;
  std::string run_id;  // of the new run, or of the run that already holds this content
};

// What "before" means to a gate: runs of one thing, in the order they were given.
struct Baseline {
  std::string name;
  int64_t created_at_ns = 0;  // Unix time of the last change
  std::string note;
  std::vector<std::string> run_ids;
};

// What someone wrote about a run, a time of it, or one of its events.
struct RunNote {
  int64_t id = 0;  // given by AddNote; never used again
  std::string run_id;
  int64_t created_at_ns = 0;  // Unix time
  std::string author;         // empty: not known
  std::string text;
  std::optional<int64_t> from_ns, to_ns;  // a time, from the zero of the timeline; both or none
  std::string table;                      // of the event; empty: it is not about one
  std::optional<int64_t> row_id;          // of the event
};

// 1 to 100 printable characters without spaces, not starting with @, - or =: it must never look like a
// flag or another way to name a run.
Status CheckBaselineName(std::string_view name);

class Catalog {
 public:
  virtual ~Catalog() = default;

  // One transaction, with notes that come with the run (`run_id` and `id` of theirs are not read). A run with
  // the same content, or the same id, is not inserted again, and neither are its notes.
  virtual Result<InsertOutcome> Insert(const CatalogRun& run, const std::vector<RunNote>& notes) = 0;
  Result<InsertOutcome> Insert(const CatalogRun& run) { return Insert(run, {}); }
  virtual Result<std::optional<CatalogRun>> Find(std::string_view run_id) = 0;
  virtual Result<std::optional<CatalogRun>> FindByContent(std::string_view content_sha256) = 0;
  // Runs whose id starts with `prefix`, in order of id, at most `limit`.
  virtual Result<std::vector<CatalogRun>> FindByPrefix(std::string_view prefix, int64_t limit) = 0;
  virtual Result<std::vector<CatalogRun>> List(const RunFilter& filter) = 0;
  // How many runs List would give without limit and offset.
  virtual Result<int64_t> CountMatching(const RunFilter& filter) = 0;
  // The values that runs can be filtered by; of each kind the `limit` most frequent ones.
  virtual Result<RunChoices> Choices(int64_t limit) = 0;
  // Wall times of the newest runs of the workloads that `runs` belong to. A run without a model has no
  // workload; a workload of one run has no history.
  virtual Result<std::vector<WorkloadHistory>> Histories(const std::vector<CatalogRun>& runs,
                                                         int64_t newest) = 0;
  // The ids next to this one in the order of ids; empty where there is none.
  virtual Result<std::pair<std::string, std::string>> Neighbours(std::string_view run_id) = 0;
  // The run added `back` runs before the newest.
  virtual Result<std::optional<CatalogRun>> Latest(int64_t back) = 0;
  virtual Status SetTag(std::string_view run_id, std::string_view key, std::string_view value) = 0;
  virtual Status RemoveTag(std::string_view run_id, std::string_view key) = 0;
  // Also takes it out of every baseline; who must not do that asks BaselinesOf first.
  virtual Status Remove(std::string_view run_id) = 0;

  // Makes the baseline, or replaces it as a whole. NotFound when one of its runs is not in the catalog.
  virtual Status SetBaseline(const Baseline& baseline) = 0;
  virtual Result<std::optional<Baseline>> FindBaseline(std::string_view name) = 0;
  virtual Result<std::vector<Baseline>> ListBaselines() = 0;  // by name
  virtual Status RemoveBaseline(std::string_view name) = 0;
  // Names of the baselines that a run is part of.
  virtual Result<std::vector<std::string>> BaselinesOf(std::string_view run_id) = 0;

  // Adds it and gives its id; NotFound when the run is not in the catalog. Notes go with their run.
  virtual Result<int64_t> AddNote(const RunNote& note) = 0;
  // Oldest first; of all runs when `run_id` is empty.
  virtual Result<std::vector<RunNote>> ListNotes(std::string_view run_id) = 0;
  virtual Status RemoveNote(std::string_view run_id, int64_t id) = 0;

  virtual Result<int64_t> Count() = 0;
  // Problems the engine finds in its own storage; empty: none.
  virtual Result<std::vector<std::string>> CheckIntegrity() = 0;

  // A run named by a person: full id, unique id prefix (4 characters or more),
  // `@latest`, `@latest~2`, a tag as `key=value`, or a bare tag value or tag key.
  // NotFound when none, InvalidInput listing the candidates when several.
  Result<CatalogRun> Resolve(std::string_view ref);
  // The shortest prefix of `run_id`, at least 8 characters, that names no other run.
  Result<std::string> ShortId(std::string_view run_id);
};

}  // namespace nl
