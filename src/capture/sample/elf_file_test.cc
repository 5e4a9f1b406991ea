// SPDX-License-Identifier: Apache-2.0
#include "capture/sample/elf_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "capture/sample/proc_files.h"

extern "C" __attribute__((noinline, used, visibility("default"))) int neurolens_test_landmark(int x) {
  asm volatile("");
  return x + 1;
}

namespace nl::capture {
namespace {

std::string OwnProgram() {
  char path[4096];
  const ssize_t got = readlink("/proc/self/exe", path, sizeof(path));
  return got > 0 ? std::string(path, static_cast<size_t>(got)) : "";
}

std::string FileText(const std::string& path, size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

class Scratch {
 public:
  Scratch() {
    const int fd = mkstemp(path_);
    close(fd);
  }
  ~Scratch() { unlink(path_); }
  void Write(const std::string& text) const {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file << text;
  }
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/nl-elf-XXXXXX";
};

TEST(ElfFile, FindsAFunctionByNameAndByAddress) {
  const auto elf = ElfFile::Open(OwnProgram());
  ASSERT_NE(elf, nullptr);
  const auto address = elf->AddressOfSymbol("neurolens_test_landmark");
  ASSERT_TRUE(address);
  const auto function = elf->FunctionAt(*address + 2);
  ASSERT_TRUE(function);
  EXPECT_EQ(function->name, "neurolens_test_landmark");
  EXPECT_EQ(function->offset, 2u);
  EXPECT_FALSE(elf->AddressOfSymbol("no_such_symbol_anywhere"));
}

TEST(ElfFile, MapsRunningAddressesBackToFunctions) {
  const auto elf = ElfFile::Open(OwnProgram());
  ASSERT_NE(elf, nullptr);
  const auto here = reinterpret_cast<uint64_t>(&neurolens_test_landmark);
  const std::vector<Mapping> mappings = ReadMappings(getpid());
  const Mapping* mapping = FindMapping(mappings, here);
  ASSERT_NE(mapping, nullptr);
  const auto address = elf->AddressOfOffset(here - mapping->start + mapping->file_offset);
  ASSERT_TRUE(address);
  const auto function = elf->FunctionAt(*address);
  ASSERT_TRUE(function);
  EXPECT_EQ(function->name, "neurolens_test_landmark");
}

TEST(ElfFile, RefusesWhatIsNoProgram) {
  std::string why;
  EXPECT_EQ(ElfFile::Open("/no/such/file", &why), nullptr);
  EXPECT_FALSE(why.empty());
  EXPECT_EQ(ElfFile::Open("/tmp", &why), nullptr);
  EXPECT_EQ(ElfFile::Open("/dev/null", &why), nullptr);
  Scratch scratch;
  scratch.Write("#!/bin/sh\n");
  EXPECT_EQ(ElfFile::Open(scratch.path(), &why), nullptr);
  EXPECT_NE(why.find("not an ELF file"), std::string::npos);
}

TEST(ElfFile, SurvivesCutAndDamagedFiles) {
  // The head of a real file: headers whole, tables missing.
  const std::string whole = FileText("/proc/self/exe", 1 << 16);
  ASSERT_GT(whole.size(), 4096u);
  Scratch scratch;
  for (size_t bytes : {0, 3, 16, 63, 64, 65, 100, 200, 1000, 4096, 40000}) {
    scratch.Write(whole.substr(0, bytes));
    if (const auto elf = ElfFile::Open(scratch.path())) {
      EXPECT_FALSE(elf->AddressOfSymbol("neurolens_test_landmark"));
      elf->FunctionAt(0x1000);
    }
  }
  for (size_t at = 16; at < 64; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(0xff);
    scratch.Write(damaged);
    if (const auto elf = ElfFile::Open(scratch.path())) {
      elf->AddressOfSymbol("main");
      elf->AddressOfOffset(0x100);
      elf->FunctionAt(0x1234);
    }
  }
}

}  // namespace
}  // namespace nl::capture
