// SPDX-License-Identifier: Apache-2.0
// The nlcap adapter: what `neurolens run` and `neurolens record` wrote. The format is in
// docs/formats/nlcap.md and src/capture/format/.

#include <fcntl.h>
#include <sys/mman.h>

#include <utility>

#include "base/file_ops.h"
#include "import/adapter.h"
#include "import/adapters/nlcap/capture_file.h"
#include "import/read/whole_file.h"

namespace nl::adapters::nlcap {

namespace {

// A file in memory as the system pages it in.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path, int64_t size_bytes) {
    MappedFile mapped;
    if (size_bytes <= 0) return mapped;
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return FileError("open", path);
    void* at = mmap(nullptr, static_cast<size_t>(size_bytes), PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (at == MAP_FAILED) return FileError("read", path);
    mapped.bytes_ = std::string_view(static_cast<const char*>(at), static_cast<size_t>(size_bytes));
    return mapped;
  }
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

Status ImportCapture(ImportFile& file, std::string_view bytes) {
  CaptureFile c(file, bytes);
  c.Index();
  if (c.streams.empty()) return InvalidInput("no whole part of a capture in it").At(file.path, 0);
  NL_TRY(ReadFacts(c));
  NL_TRY(ReadRanges(c));
  NL_TRY(ReadApiCalls(c));
  NL_TRY(ReadObserved(c));
  NL_TRY(ReadDeviceWork(c));
  NL_TRY(ReadMemory(c));
  NL_TRY(ReadOverheads(c));
  NL_TRY(ReadCpuSamples(c));
  NL_TRY(ReadCounters(c));
  c.lanes.Put();
  NL_TRY(c.writer.Finish());
  file.facts.NoteDuplicateIds(c.launches.duplicates());
  return ReadRecording(c);
}

class NlcapAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"nlcap",
            1,
            "NeuroLens captures: folders or single files that neurolens run and record wrote",
            "neurolens run, neurolens record, neurolens-capture",
            {".nlcap", ".nlc"}};
  }

  int Score(std::string_view head, std::string_view) const override {
    uint32_t magic = 0;
    if (head.size() < sizeof magic) return 0;
    std::memcpy(&magic, head.data(), sizeof magic);
    return magic == capture::kChunkMagic ? 100 : 0;
  }

  Status Import(ImportFile& file) const override {
    NL_ASSIGN(const std::unique_ptr<WholeFile> whole, WholeFile::Open(file));
    NL_ASSIGN(const MappedFile mapped, MappedFile::Open(whole->path(), whole->size_bytes()));
    NL_TRY(ImportCapture(file, mapped.bytes()));
    return whole->Finish();
  }
};

}  // namespace

const Adapter& Describe() {
  static const NlcapAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::nlcap
