// SPDX-License-Identifier: Apache-2.0
#include "ledger/duckdb_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/file_ops.h"

namespace nl {

namespace {

constexpr int kMajor = 1;
constexpr int kMinMinor = 2;

struct Candidate {
  std::string path;
  bool named_by_user = false;
};

// Where packages have it, relative to the program: tarball and .deb, wheel, a plain prefix.
constexpr const char* kPackageFolders[] = {"../lib/neurolens", "../share/neurolens/lib", "../lib"};

std::string FolderOfExecutable() {
  std::string buffer(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (size <= 0) return {};
  const std::string_view exe(buffer.data(), static_cast<size_t>(size));
  return std::string(exe.substr(0, exe.rfind('/')));
}

std::vector<Candidate> Candidates(const std::string& configured_path) {
  std::vector<Candidate> out;
  const char* environment = std::getenv("NEUROLENS_DUCKDB");
  if (environment != nullptr && *environment != '\0') out.push_back({environment, true});
  if (!configured_path.empty()) out.push_back({configured_path, true});
  const std::string folder = FolderOfExecutable();
  for (const char* place : kPackageFolders) {
    std::string path = fmt::format("{}/{}/libduckdb.so", folder, place);
    if (PathExists(path)) out.push_back({std::move(path), false});
  }
#ifdef NL_DUCKDB_LIBRARY_PATH
  if (PathExists(NL_DUCKDB_LIBRARY_PATH)) out.push_back({NL_DUCKDB_LIBRARY_PATH, false});
#endif
  out.push_back({"libduckdb.so", false});
  return out;
}

// "v1.4.4" -> 1.4 is what we want to know.
bool VersionIsUsable(std::string_view version) {
  int major = 0;
  int minor = 0;
  const char* end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return false;
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return false;
  return major == kMajor && minor >= kMinMinor;
}

// Never unloaded: DuckDB starts threads and keeps thread-local state.
void* OpenLibrary(const std::string& path) { return ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL); }

// DuckDB needs the C++ runtime library. A system without one takes that of the package: a library that is
// loaded already serves every later one that names it.
void* OpenWithPackagedRuntime(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  if (folder.empty() || !PathExists(folder + "libstdc++.so.6")) return nullptr;
  OpenLibrary(folder + "libgcc_s.so.1");
  OpenLibrary(folder + "libstdc++.so.6");
  return OpenLibrary(path);
}

Result<std::unique_ptr<DuckDbApi>> LoadFrom(const std::string& path) {
  void* handle = OpenLibrary(path);
  if (handle == nullptr) handle = OpenWithPackagedRuntime(path);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Unsupported(fmt::format("cannot load DuckDB: {}", reason != nullptr ? reason : path));
  }
  auto api = std::make_unique<DuckDbApi>();
  std::string missing;
#define NL_DUCKDB_LOAD(name)                                                           \
  api->name = reinterpret_cast<decltype(api->name)>(::dlsym(handle, "duckdb_" #name)); \
  if (api->name == nullptr && missing.empty()) missing = "duckdb_" #name;
  NL_DUCKDB_FUNCTIONS(NL_DUCKDB_LOAD)
#undef NL_DUCKDB_LOAD
  if (!missing.empty())
    return Unsupported(fmt::format("{} is not a DuckDB we can use: no {}", path, missing));
  api->version = api->library_version();
  if (!api->version.empty() && api->version[0] == 'v') api->version.erase(0, 1);
  if (!VersionIsUsable(api->version)) {
    return Unsupported(fmt::format("{} is DuckDB {}; {}.{} or a later {}.x is needed", path, api->version,
                                   kMajor, kMinMinor, kMajor));
  }
  api->path = path;
  return api;
}

}  // namespace

Result<const DuckDbApi*> LoadDuckDb(const std::string& configured_path) {
  static std::mutex mutex;
  static std::unique_ptr<DuckDbApi> loaded;
  const std::lock_guard<std::mutex> lock(mutex);
  if (loaded != nullptr) return const_cast<const DuckDbApi*>(loaded.get());
  Error last = Unsupported("DuckDB was not found");
  for (const Candidate& candidate : Candidates(configured_path)) {
    Result<std::unique_ptr<DuckDbApi>> api = LoadFrom(candidate.path);
    if (api.ok()) {
      loaded = *std::move(api);
      return const_cast<const DuckDbApi*>(loaded.get());
    }
    last = std::move(api).error();
    if (candidate.named_by_user) break;
  }
  return std::move(last).Hint(
      "set NEUROLENS_DUCKDB to libduckdb.so of DuckDB 1.4, or run ./neurolens once to fetch it");
}

}  // namespace nl
