// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace nl::capture {

namespace {

constexpr uint64_t kMaxTableBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxSections = 1 << 16;

void Explain(std::string* why, std::string text) {
  if (why != nullptr) *why = std::move(text);
}

}  // namespace

ElfFile::~ElfFile() { close(fd_); }

std::unique_ptr<ElfFile> ElfFile::Open(const std::string& path, std::string* why) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    Explain(why, std::strerror(errno));
    return nullptr;
  }
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    Explain(why, "not a regular file");
    close(fd);
    return nullptr;
  }
  std::unique_ptr<ElfFile> file(new ElfFile(fd, static_cast<uint64_t>(info.st_size)));
  if (!file->ReadHeaders(why)) return nullptr;
  file->ReadBuildId();
  return file;
}

bool ElfFile::Read(uint64_t offset, void* out, size_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) return false;
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = pread(fd_, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool ElfFile::ReadHeaders(std::string* why) {
  Elf64_Ehdr header{};
  if (!Read(0, &header, sizeof(header)) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    Explain(why, "not an ELF file");
    return false;
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    Explain(why, "not a 64-bit little-endian ELF file");
    return false;
  }
  for (uint64_t i = 0; header.e_phentsize == sizeof(Elf64_Phdr) && i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!Read(header.e_phoff + i * sizeof(segment), &segment, sizeof(segment))) break;
    if (segment.p_type == PT_LOAD) segments_.push_back({segment.p_offset, segment.p_vaddr, segment.p_filesz});
  }
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return true;
  std::vector<Elf64_Shdr> raw;
  for (uint64_t i = 0; i < std::min<uint64_t>(header.e_shnum, kMaxSections); ++i) {
    Elf64_Shdr section{};
    if (!Read(header.e_shoff + i * sizeof(section), &section, sizeof(section))) break;
    raw.push_back(section);
  }
  std::string names;
  if (header.e_shstrndx < raw.size()) {
    const Elf64_Shdr& table = raw[header.e_shstrndx];
    if (table.sh_size <= std::min<uint64_t>(size_, 1 << 24)) {
      names.resize(table.sh_size);
      if (!Read(table.sh_offset, names.data(), names.size())) names.clear();
    }
  }
  for (const Elf64_Shdr& s : raw) {
    Section section{"", s.sh_type, s.sh_link, s.sh_addr, s.sh_offset, s.sh_size, s.sh_entsize};
    if (s.sh_name < names.size()) {
      const char* name = names.data() + s.sh_name;
      section.name.assign(name, strnlen(name, names.size() - s.sh_name));
    }
    sections_.push_back(std::move(section));
  }
  return true;
}

void ElfFile::ReadBuildId() {
  for (const Section& section : sections_) {
    if (section.type != SHT_NOTE || section.size > 4096) continue;
    std::string notes(section.size, '\0');
    if (!Read(section.offset, notes.data(), notes.size())) continue;
    size_t at = 0;
    while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
      Elf64_Nhdr note{};
      std::memcpy(&note, notes.data() + at, sizeof(note));
      const size_t name_at = at + sizeof(note);
      const size_t value_at = name_at + ((uint64_t{note.n_namesz} + 3) & ~uint64_t{3});
      const size_t next = value_at + ((uint64_t{note.n_descsz} + 3) & ~uint64_t{3});
      if (value_at > notes.size() || note.n_descsz > notes.size() - value_at) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(notes.data() + name_at, "GNU", 4) == 0) {
        static constexpr char kHex[] = "0123456789abcdef";
        for (size_t i = 0; i < note.n_descsz; ++i) {
          const auto byte = static_cast<unsigned char>(notes[value_at + i]);
          build_id_ += kHex[byte >> 4];
          build_id_ += kHex[byte & 15];
        }
        return;
      }
      at = next;
    }
  }
}

std::optional<uint64_t> ElfFile::AddressOfOffset(uint64_t file_offset) const {
  for (const Segment& s : segments_) {
    // A mapping begins at the page the segment begins in.
    const uint64_t first = s.offset & ~uint64_t{4095};
    if (file_offset >= first && file_offset < s.offset + s.file_bytes)
      return s.address - s.offset + file_offset;
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfFile::OffsetOfAddress(uint64_t address) const {
  for (const Segment& s : segments_) {
    if (address >= s.address && address - s.address < s.file_bytes) return address - s.address + s.offset;
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfFile::AddressOfSection(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name && section.address != 0) return section.address;
  }
  return std::nullopt;
}

void ElfFile::LoadTable(const Section& table) {
  if (table.entry_bytes != sizeof(Elf64_Sym) || table.link >= sections_.size()) return;
  const Section& strings = sections_[table.link];
  if (table.size > std::min(size_, kMaxTableBytes) || strings.size > std::min(size_, kMaxTableBytes)) return;
  std::string names(strings.size, '\0');
  if (!Read(strings.offset, names.data(), names.size())) return;
  std::vector<Elf64_Sym> raw(table.size / sizeof(Elf64_Sym));
  if (!Read(table.offset, raw.data(), raw.size() * sizeof(Elf64_Sym))) return;
  const auto index = static_cast<uint8_t>(names_.size());
  for (const Elf64_Sym& s : raw) {
    const int type = ELF64_ST_TYPE(s.st_info);
    if (s.st_shndx == SHN_UNDEF || s.st_value == 0 || s.st_name >= names.size()) continue;
    if (type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
    if (names[s.st_name] == '$') continue;  // aarch64 marks of code and data
    symbols_.push_back({s.st_value, s.st_size, s.st_name, index, type == STT_FUNC || type == STT_GNU_IFUNC,
                        ELF64_ST_BIND(s.st_info) == STB_WEAK});
  }
  names_.push_back(std::move(names));
}

void ElfFile::LoadSymbols() {
  if (loaded_) return;
  loaded_ = true;
  for (const Section& section : sections_) {
    if (section.type == SHT_DYNSYM) LoadTable(section);
  }
  for (const Section& section : sections_) {
    if (section.type == SHT_SYMTAB) LoadTable(section);
  }
  // By address; of several names for one place the strong one of known size first.
  std::stable_sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    if (a.address != b.address) return a.address < b.address;
    if (a.is_function != b.is_function) return a.is_function;
    if (a.is_weak != b.is_weak) return b.is_weak;
    return a.size > b.size;
  });
}

std::string_view ElfFile::NameOf(const Symbol& symbol) const {
  const std::string& names = names_[symbol.table];
  const char* name = names.data() + symbol.name;
  return {name, strnlen(name, names.size() - symbol.name)};
}

std::optional<uint64_t> ElfFile::AddressOfSymbol(std::string_view name) {
  LoadSymbols();
  for (const Symbol& symbol : symbols_) {
    if (NameOf(symbol) == name) return symbol.address;
  }
  return std::nullopt;
}

std::optional<ElfFile::Function> ElfFile::FunctionAt(uint64_t address) {
  LoadSymbols();
  auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                [](uint64_t value, const Symbol& s) { return value < s.address; });
  // Back to the nearest function that is large enough; sizes of assembly labels are often missing.
  for (int steps = 0; after != symbols_.begin() && steps < 64; ++steps) {
    --after;
    auto first = after;
    while (first != symbols_.begin() && (first - 1)->address == first->address) --first;
    const Symbol& symbol = *first;
    after = first;
    const uint64_t offset = address - symbol.address;
    if (!symbol.is_function) continue;
    if (symbol.size == 0 ? offset < 4096 : offset < symbol.size) return Function{NameOf(symbol), offset};
    if (symbol.size != 0) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace nl::capture
