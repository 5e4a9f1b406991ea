// SPDX-License-Identifier: Apache-2.0
#pragma once
// What sampling needs of an ELF file: where a named symbol lies, which function holds an address,
// the build id, and how file offsets become addresses. 64-bit, little endian. The file is not trusted:
// every offset is checked against its size, and it is read, never mapped (it may shrink meanwhile).
// Thread rule: Open on any thread; one thread per object after that. Owns its descriptor.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nl::capture {

class ElfFile {
 public:
  // Null when it is no such file; `why` (may be null) says why.
  static std::unique_ptr<ElfFile> Open(const std::string& path, std::string* why = nullptr);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // GNU build id in hex, or empty.
  const std::string& build_id() const { return build_id_; }
  // Address (before relocation) that the byte at this file offset is loaded at.
  std::optional<uint64_t> AddressOfOffset(uint64_t file_offset) const;
  // First address of a section by name.
  std::optional<uint64_t> AddressOfSection(std::string_view name) const;
  // Of .dynsym, then of .symtab.
  std::optional<uint64_t> AddressOfSymbol(std::string_view name);
  // File offset of an initialised symbol, to read its first value.
  std::optional<uint64_t> OffsetOfAddress(uint64_t address) const;

  struct Function {
    std::string_view name;  // as the file spells it; valid as long as this object
    uint64_t offset = 0;    // of the address in the function
  };
  // The function holding `address` (before relocation).
  std::optional<Function> FunctionAt(uint64_t address);

  bool Read(uint64_t offset, void* out, size_t bytes) const;

 private:
  struct Section {
    std::string name;
    uint32_t type = 0, link = 0;
    uint64_t address = 0, offset = 0, size = 0, entry_bytes = 0;
  };
  struct Segment {
    uint64_t offset = 0, address = 0, file_bytes = 0;
  };
  struct Symbol {
    uint64_t address = 0, size = 0;
    uint32_t name = 0;
    uint8_t table = 0;
    bool is_function = false, is_weak = false;
  };

  explicit ElfFile(int fd, uint64_t size) : fd_(fd), size_(size) {}
  bool ReadHeaders(std::string* why);
  void ReadBuildId();
  void LoadSymbols();
  void LoadTable(const Section& table);
  std::string_view NameOf(const Symbol& symbol) const;

  int fd_;
  uint64_t size_;
  std::string build_id_;
  std::vector<Section> sections_;
  std::vector<Segment> segments_;
  std::vector<std::string> names_;  // string tables, one per symbol table
  std::vector<Symbol> symbols_;     // functions by address after LoadSymbols
  bool loaded_ = false;
};

}  // namespace nl::capture
