// SPDX-License-Identifier: Apache-2.0
#pragma once
// Source file and line of an address in an ELF file with debug information, from elfutils' libdw where the
// machine has it (loaded when first needed; nothing links to it). Files without debug information have no
// lines. Debug information outside the file is not looked for: that may ask a server.
// Thread rule: one thread. Owns the open file of the library.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace nl::capture {

class SourceLines {
 public:
  struct Place {
    std::string file;
    int line = 0;
  };
  // Null without libdw or where the file has no line tables.
  static std::unique_ptr<SourceLines> Open(const std::string& path);
  ~SourceLines();
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

  // The line of `address` if it is in the file in which the function that begins at `function` begins, else
  // the function's first line: code of other functions is often inlined from other files. Addresses are those
  // of the ELF file, before relocation.
  std::optional<Place> Of(uint64_t address, uint64_t function) const;

 private:
  SourceLines(void* session, void* module, uint64_t bias) : session_(session), module_(module), bias_(bias) {}
  std::optional<Place> At(uint64_t address) const;

  void* session_;
  void* module_;
  uint64_t bias_;
};

}  // namespace nl::capture
