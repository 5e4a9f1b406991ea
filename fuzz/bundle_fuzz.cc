// SPDX-License-Identifier: Apache-2.0
// Bundles whose members are any bytes and whose manifest is true of them: what a checksum cannot refuse. The
// input is a list of members, each: its name, a zero byte, four bytes of size (little endian), its bytes; the
// last may be cut.

#include <cstring>
#include <map>

#include "base/json.h"
#include "base/sha256.h"
#include "ledger/zip_archive.h"
#include "program_fuzz.h"

namespace {

using Members = std::map<std::string, std::string_view>;

Members MembersOf(std::string_view input) {
  Members out;
  while (!input.empty()) {
    const size_t end = input.find('\0');
    if (end == std::string_view::npos || input.size() - end - 1 < 4) break;
    uint32_t size = 0;
    std::memcpy(&size, input.data() + end + 1, 4);
    const std::string_view data = input.substr(end + 5, size);
    out.insert_or_assign(std::string(input.substr(0, end)), data);
    input.remove_prefix(end + 5 + data.size());
  }
  return out;
}

std::string Text(const Members& members, const char* name) {
  const auto found = members.find(name);
  return found == members.end() ? "" : std::string(found->second);
}

// The catalog entry with the sizes of the members, which a store compares.
std::string Entry(const Members& members) {
  const std::string text = Text(members, "catalog_entry.json");
  nl::Result<nl::Json> entry = nl::ParseJson(text);
  if (!entry.ok() || !entry->is_object() || !entry->contains("files")) return text;
  nl::Json files = nl::Json::array();
  for (const auto& [name, data] : members) {
    if (name != "catalog_entry.json") files.push_back({{"name", name}, {"bytes", data.size()}});
  }
  (*entry)["files"] = std::move(files);
  return nl::DumpJson(*entry, 2);
}

std::string Manifest(const Members& members) {
  const nl::Result<nl::Json> run = nl::ParseJson(Text(members, "run.json"));
  const bool named = run.ok() && run->is_object() && run->contains("run_id");
  nl::Json manifest{{"format", "neurolens-bundle"}, {"version", 1}, {"files", nl::Json::array()}};
  manifest["run_id"] = named ? (*run)["run_id"] : nl::Json("01890a5d-ac96-7c3c-8f5a-3f1c2d4e5f60");
  for (const auto& [name, data] : members)
    manifest["files"].push_back({{"name", name}, {"bytes", data.size()}, {"sha256", nl::Sha256Hex(data)}});
  return nl::DumpJson(manifest, 2);
}

bool WriteBundle(Members members, const std::string& path) {
  const std::string entry = Entry(members);
  if (members.contains("catalog_entry.json")) members["catalog_entry.json"] = entry;
  std::string zip;
  const nl::ByteSink sink = [&zip](std::string_view bytes) -> nl::Status {
    zip.append(bytes);
    return {};
  };
  auto writer = nl::ZipWriter::Open(sink);
  if (!writer.ok()) return false;
  const auto put = [&](const std::string& name, std::string_view data) {
    return (*writer)->Begin(name, static_cast<int64_t>(data.size())).ok() && (*writer)->Append(data).ok();
  };
  if (!put("manifest.json", Manifest(members))) return false;
  for (const auto& [name, data] : members) {
    if (!put(name, data)) return false;
  }
  return (*writer)->Finish().ok() && nl::WriteFileAtomically(path, zip).ok();
}

}  // namespace

extern "C" int __lsan_is_turned_off() { return 1; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static nl::Program program;
  const std::string path = program.PathOf("input.zip");
  if (WriteBundle(MembersOf({reinterpret_cast<const char*>(data), size}), path)) program.Explain(path, {});
  return 0;
}
