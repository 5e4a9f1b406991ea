// SPDX-License-Identifier: Apache-2.0
#include "ledger/bundle.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include <fmt/format.h>

#include "base/output_file.h"
#include "base/sha256.h"
#include "ledger/parquet_format.h"
#include "ledger/run_files.h"
#include "model/event_batch.h"
#include "model/schema.h"

namespace nl {

namespace {

constexpr char kManifestFile[] = "manifest.json";
constexpr char kNotesFile[] = "notes.json";
constexpr char kFilesFolder[] = "files/";
constexpr int64_t kPlainVersion = 1;  // of a bundle without notes, which older programs read
constexpr std::string_view kZipMagic("PK\x03\x04", 4);
constexpr size_t kZipNameLengthAt = 26, kZipNameAt = 30;  // in the header before each entry
constexpr std::string_view kParquetMagic = "PAR1";
constexpr int64_t kMinParquetBytes = 12;
constexpr size_t kCopyBytes = 256 << 10;
constexpr int64_t kMaxManifestBytes = 4 << 20;
constexpr int64_t kMaxEntryBytes = 64 << 20;  // of catalog_entry.json, and of notes.json
constexpr size_t kMaxNoteBytes = 10'000;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 46;
constexpr size_t kMaxFiles = 1000;
// Ours are stored as they are. Zipped again, run.json shrinks some twenty times and the
// tables hardly at all; deflate itself ends at 1032.
constexpr int64_t kMaxRatio = 100;
constexpr int64_t kRatioFreeBytes = 16 << 20;

struct BundleFile {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;
};

struct Manifest {
  std::string run_id;
  std::vector<BundleFile> files;

  int64_t Bytes() const {
    int64_t total = 0;
    for (const BundleFile& file : files) total += file.bytes;
    return total;
  }
};

bool IsHash(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A path below files/ that stays there on every system.
bool IsSafeBelowFiles(std::string_view rest) {
  if (rest.empty() || rest.size() > 200) return false;
  for (const char c : rest) {
    if (c < ' ' || c > '~' || c == '\\' || c == ':') return false;
  }
  while (!rest.empty()) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == rest.size() - 1) return false;
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  return true;
}

// The names a run folder may have; everything else is refused, so no name can lead out of it.
Status CheckName(const std::string& name) {
  if (name == kRunDocumentFile || name == kCatalogEntryFile || name == kNotesFile) return {};
  if (name.ends_with(kParquetSuffix) && name.find('/') == std::string::npos) {
    const std::string table = name.substr(0, name.size() - kParquetSuffix.size());
    const bool known = std::any_of(kAllTables.begin(), kAllTables.end(),
                                   [&](const TableInfo* info) { return table == info->name; });
    if (known) return {};
    return InvalidInput(fmt::format("the bundle holds a table '{}', which this version does not know", table))
        .Hint("a newer neurolens may have written it");
  }
  if (name.rfind(kFilesFolder, 0) == 0 &&
      IsSafeBelowFiles(std::string_view(name).substr(std::string_view(kFilesFolder).size()))) {
    return {};
  }
  return InvalidInput(fmt::format("the bundle holds the name '{}', which is not one of a run", name));
}

// run.json, catalog_entry.json and notes.json first, for those who read from the front; then by name.
bool ComesBefore(const BundleFile& a, const BundleFile& b) {
  const auto rank = [](const std::string& name) {
    return name == kRunDocumentFile ? 0 : name == kCatalogEntryFile ? 1 : name == kNotesFile ? 2 : 3;
  };
  return std::make_pair(rank(a.name), a.name) < std::make_pair(rank(b.name), b.name);
}

std::string ManifestText(const Manifest& manifest) {
  const bool has_notes = std::any_of(manifest.files.begin(), manifest.files.end(),
                                     [](const BundleFile& file) { return file.name == kNotesFile; });
  Json json{{"format", kBundleFormat},
            {"version", has_notes ? kBundleVersion : kPlainVersion},
            {"run_id", manifest.run_id}};
  json["files"] = Json::array();
  for (const BundleFile& file : manifest.files)
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  return DumpJson(json, 2) + "\n";
}

// Without the numbers of the notes, which the store that takes them gives anew.
std::string BundleNotesText(const std::vector<RunNote>& notes) {
  Json list = Json::array();
  for (const RunNote& note : notes) {
    Json one{{"created_at_ns", note.created_at_ns}, {"author", note.author}, {"text", note.text}};
    if (note.from_ns && note.to_ns) one["from_ns"] = *note.from_ns, one["to_ns"] = *note.to_ns;
    if (note.row_id) one["table"] = note.table, one["event_id"] = *note.row_id;
    list.push_back(std::move(one));
  }
  return DumpJson(Json{{"notes", std::move(list)}}, 2) + "\n";
}

// One note as a stranger wrote it; nullopt: it is not one.
std::optional<RunNote> NoteFrom(const Json& json) {
  static constexpr std::string_view kKnown[] = {"created_at_ns", "author", "text",    "from_ns",
                                                "to_ns",         "table",  "event_id"};
  if (!json.is_object()) return std::nullopt;
  for (const auto& item : json.items()) {
    if (std::find(std::begin(kKnown), std::end(kKnown), item.key()) == std::end(kKnown)) return std::nullopt;
  }
  const auto number = [&](const char* name) -> std::optional<int64_t> {
    const Json value = json.value(name, Json());
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
      return std::nullopt;
    return value.get<int64_t>();
  };
  const Json author = json.value("author", Json()), text = json.value("text", Json()),
             table = json.value("table", Json(""));
  const std::optional<int64_t> created = number("created_at_ns");
  if (!author.is_string() || !text.is_string() || !table.is_string() || !created) return std::nullopt;
  RunNote note;
  note.created_at_ns = *created;
  note.author = author;
  note.text = text;
  note.table = table;
  note.from_ns = number("from_ns");
  note.to_ns = number("to_ns");
  note.row_id = number("event_id");
  const bool known =
      note.table.empty() || std::any_of(kAllTables.begin(), kAllTables.end(),
                                        [&](const TableInfo* info) { return note.table == info->name; });
  if (!known || note.author.size() > kMaxNoteBytes || note.text.empty() || note.text.size() > kMaxNoteBytes ||
      note.from_ns.has_value() != json.contains("from_ns") ||
      note.to_ns.has_value() != json.contains("to_ns") ||
      note.from_ns.has_value() != note.to_ns.has_value() || note.row_id.has_value() != !note.table.empty() ||
      note.row_id.value_or(0) < 0)
    return std::nullopt;
  return note;
}

Result<std::vector<RunNote>> ReadNotes(const Json& json) {
  const Json list = json.is_object() ? json.value("notes", Json()) : Json();
  if (!list.is_array()) return InvalidInput("notes.json in the bundle is not a list of notes");
  std::vector<RunNote> notes;
  for (const Json& item : list) {
    const std::optional<RunNote> note = NoteFrom(item);
    if (!note)
      return InvalidInput(fmt::format("note {} of notes.json in the bundle is not valid", notes.size() + 1));
    notes.push_back(*note);
  }
  return notes;
}

class Progress {
 public:
  Progress(const BundleOptions& options, int64_t total_bytes)
      : options_(options), total_bytes_(total_bytes) {}
  Status Advance(size_t bytes) {
    done_bytes_ += static_cast<int64_t>(bytes);
    if (options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed))
      return Cancelled();
    if (options_.progress) options_.progress(done_bytes_, total_bytes_);
    return {};
  }

 private:
  const BundleOptions& options_;
  int64_t total_bytes_, done_bytes_ = 0;
};

// Copies one file of the run into the zip; it must still be what the manifest says.
Status AppendFile(ZipWriter& zip, const std::string& path, const BundleFile& file, Progress& progress) {
  NL_TRY(zip.Begin(file.name, file.bytes));
  std::ifstream in(path, std::ios::binary);
  if (!in) return FileError("read", path);
  std::vector<char> buffer(kCopyBytes);
  Sha256 hash;
  int64_t left_bytes = file.bytes;
  while (left_bytes > 0) {
    in.read(buffer.data(), static_cast<std::streamsize>(std::min<int64_t>(kCopyBytes, left_bytes)));
    const auto got = static_cast<size_t>(in.gcount());
    if (got == 0) break;
    hash.Update(buffer.data(), got);
    NL_TRY(zip.Append({buffer.data(), got}));
    left_bytes -= static_cast<int64_t>(got);
    NL_TRY(progress.Advance(got));
  }
  if (left_bytes > 0 || hash.FinishHex() != file.sha256)
    return IoError(fmt::format("{} changed while it was read", path), 0);
  return {};
}

Error Wrong(const char* what) { return InvalidInput(fmt::format("the bundle's manifest {}", what)); }

Result<Manifest> ReadManifest(std::string_view text) {
  NL_ASSIGN(const Json json, ParseJson(text));
  if (!json.is_object() || json.value("format", Json()) != kBundleFormat)
    return Wrong("is not one of neurolens");
  const Json version = json.value("version", Json());
  if (!version.is_number_unsigned() || version == 0) return Wrong("has no version");
  if (version.get<uint64_t>() > uint64_t{kBundleVersion}) {
    return Unsupported(fmt::format("the bundle has version {}; this neurolens reads up to {}",
                                   DumpJson(version), kBundleVersion))
        .Hint("install a newer neurolens");
  }
  const Json run_id = json.value("run_id", Json());
  const Json files = json.value("files", Json());
  if (!run_id.is_string() || !files.is_array()) return Wrong("lacks run_id or files");
  if (files.size() > kMaxFiles) return Wrong("lists too many files");
  Manifest manifest;
  manifest.run_id = run_id.get<std::string>();
  std::map<std::string, int> seen;
  for (const Json& item : files) {
    const Json name = item.is_object() ? item.value("name", Json()) : Json();
    const Json bytes = item.is_object() ? item.value("bytes", Json()) : Json();
    const Json sha256 = item.is_object() ? item.value("sha256", Json()) : Json();
    if (!name.is_string() || !bytes.is_number_unsigned() || bytes.get<uint64_t>() > kMaxFileBytes ||
        !sha256.is_string() || !IsHash(sha256.get_ref<const std::string&>())) {
      return Wrong("has a file without name, bytes or sha256");
    }
    NL_TRY(CheckName(name.get_ref<const std::string&>()));
    if (++seen[name] > 1) return Wrong("names a file twice");
    manifest.files.push_back({name, bytes.get<int64_t>(), sha256});
  }
  for (const char* needed : {kRunDocumentFile, kCatalogEntryFile}) {
    if (seen.count(needed) == 0) return Wrong("names no run.json or no catalog_entry.json");
  }
  return manifest;
}

Status CheckParquet(const std::string& path, int64_t bytes, const std::string& name) {
  std::ifstream in(path, std::ios::binary);
  char head[4] = {}, tail[4] = {};
  if (bytes >= kMinParquetBytes) {
    in.read(head, sizeof(head));
    in.seekg(bytes - static_cast<int64_t>(sizeof(tail)));
    in.read(tail, sizeof(tail));
  }
  if (!in || std::string_view(head, 4) != kParquetMagic || std::string_view(tail, 4) != kParquetMagic)
    return InvalidInput(fmt::format("{} in the bundle is no Parquet file", name));
  return {};
}

// One bundle on its way into a staging folder.
class Restore {
 public:
  Restore(ZipReader& zip, const BundleOptions& options) : zip_(zip), options_(options) {}

  // The manifest, and whether the zip could honestly hold what it promises.
  Status ReadFront(int64_t zip_bytes) {
    NL_ASSIGN(const std::optional<ZipEntry> first, zip_.Next());
    if (!first || first->name != kManifestFile || !first->is_file)
      return InvalidInput("a zip, but no neurolens bundle: its first entry is not manifest.json");
    NL_ASSIGN(const std::string text, ReadText(kManifestFile, kMaxManifestBytes));
    NL_ASSIGN(manifest_, ReadManifest(text));
    if (manifest_.Bytes() > kRatioFreeBytes + kMaxRatio * zip_bytes) {
      return InvalidInput(fmt::format("the bundle of {} bytes would unpack to {}: refused as a zip bomb",
                                      zip_bytes, manifest_.Bytes()));
    }
    return {};
  }

  // Every file into `folder`, in whatever order the zip has them.
  Status Unpack(const std::string& folder) {
    Progress progress(options_, manifest_.Bytes());
    std::map<std::string, const BundleFile*> expected;
    for (const BundleFile& file : manifest_.files) expected[file.name] = &file;
    for (;;) {
      NL_ASSIGN(const std::optional<ZipEntry> entry, zip_.Next());
      if (!entry) break;
      const auto found = expected.find(entry->name);
      if (found == expected.end()) {
        return InvalidInput(
            fmt::format("the bundle's entry '{}' is not in its manifest, or comes twice", entry->name));
      }
      if (!entry->is_file)
        return InvalidInput(fmt::format("the bundle's entry '{}' is not a plain file", entry->name));
      NL_TRY(UnpackOne(folder, *found->second, progress));
      expected.erase(found);
    }
    if (!expected.empty()) return InvalidInput(fmt::format("the bundle lacks {}", expected.begin()->first));
    return CheckDocument(folder);
  }

  const Manifest& manifest() const { return manifest_; }
  const CatalogRun& run() const { return run_; }
  const std::vector<RunNote>& notes() const { return notes_; }

 private:
  Result<std::string> ReadText(const std::string& name, int64_t max_bytes) {
    std::string text;
    std::vector<char> buffer(kCopyBytes);
    for (;;) {
      NL_ASSIGN(const size_t got, zip_.Read(buffer.data(), buffer.size()));
      if (got == 0) return text;
      text.append(buffer.data(), got);
      if (static_cast<int64_t>(text.size()) > max_bytes)
        return InvalidInput(fmt::format("{} in the bundle is larger than it may be", name));
    }
  }

  Status UnpackOne(const std::string& folder, const BundleFile& file, Progress& progress) {
    if (file.name == kCatalogEntryFile) return TakeEntry(file, progress);
    if (file.name == kNotesFile) return TakeNotes(file, progress);
    const std::string path = fmt::format("{}/{}", folder, file.name);
    if (file.name.find('/') != std::string::npos)
      NL_TRY(MakeDirectories(std::filesystem::path(path).parent_path().string()));
    NL_ASSIGN(OutputFile out, OutputFile::Create(path));
    Sha256 hash;
    std::vector<char> buffer(kCopyBytes);
    for (;;) {
      // One byte more than promised is enough to know.
      const int64_t left_bytes = file.bytes - out.size_bytes() + 1;
      NL_ASSIGN(const size_t got,
                zip_.Read(buffer.data(), static_cast<size_t>(std::min<int64_t>(kCopyBytes, left_bytes))));
      if (got == 0) break;
      hash.Update(buffer.data(), got);
      if (out.size_bytes() + static_cast<int64_t>(got) > file.bytes) return Differs(file, "is longer than");
      NL_TRY(out.Append({buffer.data(), got}));
      NL_TRY(progress.Advance(got));
    }
    const int64_t bytes = out.size_bytes();
    NL_TRY(out.Close());
    if (bytes < file.bytes) return Differs(file, "is shorter than");
    if (hash.FinishHex() != file.sha256) return Differs(file, "has not the hash");
    if (file.name.ends_with(kParquetSuffix) && file.name.find('/') == std::string::npos)
      return CheckParquet(path, bytes, file.name);
    return {};
  }

  static Error Differs(const BundleFile& file, const char* how) {
    return InvalidInput(fmt::format("{} in the bundle {} its manifest states", file.name, how))
        .Hint("the file was damaged or changed: fetch it again");
  }

  // The catalog row stays in memory: Commit writes it again.
  Status TakeEntry(const BundleFile& file, Progress& progress) {
    NL_ASSIGN(const Json json, ReadJson(file, progress));
    NL_ASSIGN(run_, CatalogRunFromJson(json));
    run_.stored_bytes = 0;  // measured by Commit
    return {};
  }

  Status TakeNotes(const BundleFile& file, Progress& progress) {
    NL_ASSIGN(const Json json, ReadJson(file, progress));
    NL_ASSIGN(notes_, ReadNotes(json));
    return {};
  }

  // A document that goes to the catalog, as the manifest has it.
  Result<Json> ReadJson(const BundleFile& file, Progress& progress) {
    NL_ASSIGN(const std::string text, ReadText(file.name, std::min(file.bytes, kMaxEntryBytes)));
    NL_TRY(progress.Advance(text.size()));
    if (static_cast<int64_t>(text.size()) < file.bytes) return Differs(file, "is shorter than");
    if (Sha256Hex(text) != file.sha256) return Differs(file, "has not the hash");
    return ParseJson(text);
  }

  // The document is valid, and the three places that say which run this is agree.
  Status CheckDocument(const std::string& folder) const {
    NL_ASSIGN(const std::string text, ReadWholeFile(fmt::format("{}/{}", folder, kRunDocumentFile)));
    Result<Json> json = ParseJson(text);
    if (!json.ok()) return std::move(json).error().With("run.json in the bundle");
    NL_ASSIGN(const std::vector<SchemaViolation> violations, ValidateRunDocument(*json));
    if (!violations.empty()) {
      return InvalidInput(
          fmt::format("run.json in the bundle is not valid: {}", violations.front().ToString()));
    }
    if ((*json)["run_id"] != manifest_.run_id || run_.run_id != manifest_.run_id)
      return InvalidInput("manifest.json, run.json and catalog_entry.json name different runs");
    const Json& sources = (*json)["source"]["files"];
    const bool content_ok = run_.content_sha256.empty() ||
                            (sources.size() == 1 ? sources[0]["sha256"] == Json(run_.content_sha256)
                                                 : IsHash(run_.content_sha256));
    if (!content_ok)
      return InvalidInput("catalog_entry.json in the bundle claims other sources than run.json");
    return {};
  }

  ZipReader& zip_;
  const BundleOptions& options_;
  Manifest manifest_;
  CatalogRun run_;
  std::vector<RunNote> notes_;
};

Result<CommitOutcome> RestoreFrom(Store& store, const std::string& path, const BundleOptions& options) {
  std::error_code ec;
  const uintmax_t zip_bytes = std::filesystem::file_size(path, ec);
  if (ec) return FileError("read", path, ec.value());
  NL_ASSIGN(const std::unique_ptr<ZipReader> zip, ZipReader::Open(path));
  Restore restore(*zip, options);
  NL_TRY(restore.ReadFront(static_cast<int64_t>(zip_bytes)));
  const std::string run_id = restore.manifest().run_id;
  NL_ASSIGN(std::optional<CatalogRun> present, store.catalog().Find(run_id));
  if (present) return CommitOutcome{run_id, true};
  NL_ASSIGN(StagedRun staged, store.Stage());
  NL_TRY(restore.Unpack(staged.path()));
  Result<CommitOutcome> outcome = store.Commit(std::move(staged), restore.run(), {}, restore.notes());
  if (outcome.ok()) return outcome;
  // Another process may have restored the same bundle meanwhile.
  NL_ASSIGN(present, store.catalog().Find(run_id));
  if (present) return CommitOutcome{run_id, true};
  return outcome;
}

}  // namespace

Status WriteBundle(const Store& store, const CatalogRun& run, const ByteSink& sink,
                   const BundleOptions& options) {
  const std::string folder = store.RunPath(run.run_id);
  Manifest manifest{run.run_id, {}};
  // The hashes of a bundle must not vouch for a damaged file.
  VerifyOptions verify;
  verify.cancelled = options.cancelled;
  NL_ASSIGN(const RunFilesReport report, VerifyRunFolder(folder, verify));
  if (!report.defects.empty()) return DamagedRun(run.run_id, report.defects[0]);
  NL_ASSIGN(const RunFiles files, MeasureRunFiles(folder, kCatalogEntryFile));
  for (const auto& [name, noted] : files) {
    NL_TRY(CheckName(name));
    NL_ASSIGN(const std::string sha256, FileSha256Hex(fmt::format("{}/{}", folder, name)));
    manifest.files.push_back({name, noted.bytes, sha256});
  }
  // As Store::Commit writes it, so that a restored run is bundled to the same bytes again.
  const std::string entry = SealedText(CatalogRunToJson(run), files);
  manifest.files.push_back({kCatalogEntryFile, static_cast<int64_t>(entry.size()), Sha256Hex(entry)});
  const std::string noted = options.notes.empty() ? "" : BundleNotesText(options.notes);
  if (!options.notes.empty())
    manifest.files.push_back({kNotesFile, static_cast<int64_t>(noted.size()), Sha256Hex(noted)});
  std::sort(manifest.files.begin(), manifest.files.end(), ComesBefore);

  Progress progress(options, manifest.Bytes());
  NL_ASSIGN(const std::unique_ptr<ZipWriter> zip, ZipWriter::Open(sink));
  const std::string text = ManifestText(manifest);
  NL_TRY(zip->Begin(kManifestFile, static_cast<int64_t>(text.size())));
  NL_TRY(zip->Append(text));
  for (const BundleFile& file : manifest.files) {
    if (file.name != kCatalogEntryFile && file.name != kNotesFile) {
      NL_TRY(AppendFile(*zip, fmt::format("{}/{}", folder, file.name), file, progress));
      continue;
    }
    NL_TRY(zip->Begin(file.name, file.bytes));
    const std::string& made = file.name == kNotesFile ? noted : entry;
    NL_TRY(zip->Append(made));
    NL_TRY(progress.Advance(made.size()));
  }
  return zip->Finish();
}

bool LooksLikeBundle(const std::string& path) {
  const std::string_view name = kManifestFile;
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) return false;  // a pipe must not lose its first bytes
  std::ifstream in(path, std::ios::binary);
  std::string head(kZipNameAt + name.size(), '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in.gcount() == static_cast<std::streamsize>(head.size()) &&
         head.compare(0, kZipMagic.size(), kZipMagic) == 0 &&
         static_cast<unsigned char>(head[kZipNameLengthAt]) == name.size() &&
         head[kZipNameLengthAt + 1] == 0 && head.compare(kZipNameAt, name.size(), name) == 0;
}

Result<CommitOutcome> RestoreBundle(Store& store, const std::string& path, const BundleOptions& options) {
  Result<CommitOutcome> outcome = RestoreFrom(store, path, options);
  if (!outcome.ok() && outcome.error().file.empty() && outcome.error().code != ErrorCode::kCancelled)
    return std::move(outcome.error()).At(path);
  return outcome;
}

}  // namespace nl
