// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/source_lines.h"

#include <dlfcn.h>

namespace nl::capture {

namespace {

// The part of libdwfl.h that is called; its types are opaque here.
struct Callbacks {
  int (*find_elf)(void*, void**, const char*, uint64_t, char**, void**) = nullptr;
  int (*find_debug)(void*, void**, const char*, uint64_t, const char*, const char*, uint32_t,
                    char**) = nullptr;
  int (*section_address)(void*, void**, const char*, uint64_t, const char*, uint32_t, const void*,
                         uint64_t*) = nullptr;
  char** debug_path = nullptr;
};

int FindNoOtherFile(void*, void**, const char*, uint64_t, const char*, const char*, uint32_t, char**) {
  return -1;
}

struct LineLibrary {
  void* (*begin)(const Callbacks*) = nullptr;
  void (*end)(void*) = nullptr;
  void* (*report_offline)(void*, const char*, const char*, int) = nullptr;
  int (*report_end)(void*, void*, void*) = nullptr;
  void* (*module_dwarf)(void*, uint64_t*) = nullptr;
  void* (*module_line)(void*, uint64_t) = nullptr;
  const char* (*line_info)(void*, uint64_t*, int*, int*, uint64_t*, uint64_t*) = nullptr;
  Callbacks callbacks;
  bool whole = false;
};

template <class Function>
bool Find(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  return to != nullptr;
}

const LineLibrary& Loaded() {
  static const LineLibrary library = [] {
    LineLibrary l;
    void* handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return l;
    l.callbacks.find_debug = &FindNoOtherFile;
    l.whole = Find(handle, "dwfl_begin", l.begin) && Find(handle, "dwfl_end", l.end) &&
              Find(handle, "dwfl_report_offline", l.report_offline) &&
              Find(handle, "dwfl_report_end", l.report_end) &&
              Find(handle, "dwfl_module_getdwarf", l.module_dwarf) &&
              Find(handle, "dwfl_module_getsrc", l.module_line) &&
              Find(handle, "dwfl_lineinfo", l.line_info) &&
              Find(handle, "dwfl_build_id_find_elf", l.callbacks.find_elf) &&
              Find(handle, "dwfl_offline_section_address", l.callbacks.section_address);
    return l;
  }();
  return library;
}

}  // namespace

std::unique_ptr<SourceLines> SourceLines::Open(const std::string& path) {
  const LineLibrary& dw = Loaded();
  if (!dw.whole) return nullptr;
  void* session = dw.begin(&dw.callbacks);
  if (session == nullptr) return nullptr;
  void* module = dw.report_offline(session, path.c_str(), path.c_str(), -1);
  dw.report_end(session, nullptr, nullptr);
  uint64_t bias = 0;
  if (module == nullptr || dw.module_dwarf(module, &bias) == nullptr) {
    dw.end(session);
    return nullptr;
  }
  return std::unique_ptr<SourceLines>(new SourceLines(session, module, bias));
}

SourceLines::~SourceLines() { Loaded().end(session_); }

std::optional<SourceLines::Place> SourceLines::At(uint64_t address) const {
  void* line = Loaded().module_line(module_, address + bias_);
  int number = 0;
  const char* file =
      line == nullptr ? nullptr : Loaded().line_info(line, nullptr, &number, nullptr, nullptr, nullptr);
  if (file == nullptr || number <= 0) return std::nullopt;
  return Place{file, number};
}

std::optional<SourceLines::Place> SourceLines::Of(uint64_t address, uint64_t function) const {
  const std::optional<Place> first = At(function), here = At(address);
  return here && first && here->file == first->file ? here : first;
}

}  // namespace nl::capture
