// SPDX-License-Identifier: Apache-2.0
#include "import/read/byte_source.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/sha256.h"
#include "base/sha256_tree.h"

namespace nl {

namespace {

constexpr size_t kInputBytes = Sha256Tree::kGroupBytes;

// The stored bytes: read, counted, hashed.
class StoredInput {
 public:
  StoredInput(UniqueFd fd, std::string path, std::string name, int64_t total,
              const std::atomic<bool>* cancelled)
      : fd_(std::move(fd)),
        path_(std::move(path)),
        name_(std::move(name)),
        total_(total),
        cancelled_(cancelled) {}

  Result<size_t> Read(char* to, size_t size) {
    size_t got = 0;
    while (got < size) {
      if (pushed_ < peeked_.size()) {
        const size_t n = std::min(size - got, peeked_.size() - pushed_);
        std::memcpy(to + got, peeked_.data() + pushed_, n);
        pushed_ += n;
        got += n;
        continue;
      }
      if (total_ < 0) NL_TRY(AwaitInput());
      // Up to the end of a group of leaves, so that they are hashed where they are.
      const size_t group = kInputBytes - static_cast<size_t>(offset()) % kInputBytes;
      const ssize_t n = read(fd_.get(), to + got, std::min(size - got, group));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return FileError("read", path_);
      if (n == 0) break;
      if (hashes_) hash_.Update(to + got, static_cast<size_t>(n));
      read_.fetch_add(n, std::memory_order_relaxed);
      got += static_cast<size_t>(n);
    }
    return got;
  }

  // The first bytes, which a later Read gives again.
  Result<std::string_view> Peek(size_t size) {
    std::string head(size, '\0');
    NL_ASSIGN(const size_t n, Read(head.data(), size));
    head.resize(n);
    peeked_ = std::move(head);
    return std::string_view(peeked_);
  }

  // For one that hashes the bytes of several inputs itself.
  void LeaveHashToOwner() { hashes_ = false; }
  int64_t offset() const { return read_.load(std::memory_order_relaxed); }
  int64_t total() const { return total_; }
  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  std::string HashHex() { return hash_.FinishHex(); }

 private:
  // A pipe may give nothing for ever: wait in steps, so that the user can stop it.
  Status AwaitInput() const {
    pollfd waiting{fd_.get(), POLLIN, 0};
    while (poll(&waiting, 1, 100) <= 0) {
      if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) return Cancelled();
    }
    return {};
  }

  UniqueFd fd_;
  std::string path_, name_;
  int64_t total_;
  const std::atomic<bool>* cancelled_;
  std::atomic<int64_t> read_{0};
  Sha256Tree hash_;
  bool hashes_ = true;
  std::string peeked_;
  size_t pushed_ = 0;
};

class SourceBase : public ByteSource {
 public:
  explicit SourceBase(std::unique_ptr<StoredInput> input, bool keep_cut = false)
      : input_(std::move(input)), keep_cut_(keep_cut) {}
  int64_t bytes_read() const override { return input_->offset(); }
  int64_t bytes_total() const override { return input_->total(); }
  std::string HashHex() override { return input_->HashHex(); }
  const std::string& name() const override { return input_->name(); }
  bool is_plain_file() const override { return false; }
  bool was_cut() const override { return was_cut_; }

 protected:
  Error Broken(std::string_view format, std::string_view what) const {
    return InvalidInput(fmt::format("{} stream is {}", format, what))
        .At(input_->path(), input_->offset())
        .Hint(what == "truncated"
                  ? "the file was cut off on its way here; fetch it again, or keep what it has with "
                    "--allow-truncated"
                  : "the file was cut off or damaged on its way here; fetch or record it again");
  }
  // At a cut: what was read until there, or the error.
  Result<size_t> EndAtCut(std::string_view format, size_t got) {
    if (!keep_cut_) return Broken(format, "truncated");
    was_cut_ = true;
    return got;
  }
  std::unique_ptr<StoredInput> input_;
  bool keep_cut_, was_cut_ = false;
};

class PlainSource final : public SourceBase {
 public:
  using SourceBase::SourceBase;
  Result<size_t> Read(char* to, size_t size) override { return input_->Read(to, size); }
  bool is_plain_file() const override { return input_->total() >= 0; }
};

class GzipSource final : public SourceBase {
 public:
  GzipSource(std::unique_ptr<StoredInput> input, bool keep_cut)
      : SourceBase(std::move(input), keep_cut), in_(kInputBytes) {
    StartMember();
  }

  Result<size_t> Read(char* to, size_t size) override {
    size_t got = 0;
    while (got < size && !done_ && !was_cut_) {
      if (state_.block_state == ISAL_BLOCK_FINISH) {
        NL_TRY(NextMember());
        continue;
      }
      if (state_.avail_in == 0) {
        NL_TRY(Fill());
        if (state_.avail_in == 0) return EndAtCut("gzip", got);
      }
      state_.next_out = reinterpret_cast<uint8_t*>(to + got);
      state_.avail_out = static_cast<uint32_t>(std::min<size_t>(size - got, 1u << 30));
      const uint32_t room = state_.avail_out;
      const int code = isal_inflate(&state_);
      got += room - state_.avail_out;
      if (code != ISAL_DECOMP_OK) return Broken("gzip", "damaged");
    }
    return got;
  }

 private:
  void StartMember() {
    const uint32_t avail = state_.avail_in;
    uint8_t* next = state_.next_in;
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    state_.next_in = next;
    state_.avail_in = avail;
  }
  Status Fill() {
    NL_ASSIGN(const size_t n, input_->Read(in_.data(), in_.size()));
    state_.next_in = reinterpret_cast<uint8_t*>(in_.data());
    state_.avail_in = static_cast<uint32_t>(n);
    return {};
  }
  // Behind a member: another one, padding zeros, or the end.
  Status NextMember() {
    for (;;) {
      while (state_.avail_in > 0 && *state_.next_in == 0) {
        ++state_.next_in;
        --state_.avail_in;
      }
      if (state_.avail_in > 0) break;
      NL_TRY(Fill());
      if (state_.avail_in == 0) {
        done_ = true;
        return {};
      }
    }
    if (*state_.next_in != 0x1f) return Broken("gzip", "followed by bytes that are not a gzip member");
    StartMember();
    return {};
  }

  std::vector<char> in_;
  inflate_state state_{};
  bool done_ = false;
};

class ZstdSource final : public SourceBase {
 public:
  ZstdSource(std::unique_ptr<StoredInput> input, bool keep_cut)
      : SourceBase(std::move(input), keep_cut),
        in_(kInputBytes),
        stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, 31);
  }

  Result<size_t> Read(char* to, size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos < size && !was_cut_) {
      if (buffer_.pos == buffer_.size) {
        NL_ASSIGN(const size_t n, input_->Read(in_.data(), in_.size()));
        buffer_ = {in_.data(), n, 0};
        if (n == 0 && frame_done_) break;
      }
      // Without input it still gives what it holds back of the last block.
      const bool ended = buffer_.size == 0;
      const size_t before = out.pos;
      const size_t code = ZSTD_decompressStream(stream_.get(), &out, &buffer_);
      if (ZSTD_isError(code)) return Broken("zstd", "damaged");
      frame_done_ = code == 0;
      if (ended && out.pos == before && !frame_done_) return EndAtCut("zstd", out.pos);
    }
    return out.pos;
  }

 private:
  std::vector<char> in_;
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_;
  ZSTD_inBuffer buffer_{nullptr, 0, 0};
  bool frame_done_ = false;
};

Result<std::unique_ptr<StoredInput>> OpenStored(const std::string& path, const std::atomic<bool>* cancelled,
                                                const InputStream& stream = {}) {
  if (path == "-")
    return std::make_unique<StoredInput>(UniqueFd(fcntl(stream.fd, F_DUPFD_CLOEXEC, 3)), stream.name,
                                         stream.name, -1, cancelled);
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT) return NotFound(fmt::format("no such file: {}", path));
    return FileError("open", path);
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return FileError("read", path);
  if (S_ISDIR(info.st_mode)) return InvalidInput("is a folder, not a file").At(path);
  const int64_t total = S_ISREG(info.st_mode) ? info.st_size : -1;
  const std::string name = std::filesystem::path(path).filename().string();
  return std::make_unique<StoredInput>(std::move(fd), path, name, total, cancelled);
}

// Files of a capture folder, sorted, so that the same folder gives the same bytes.
std::vector<std::string> CaptureFiles(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code code;
  for (std::filesystem::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    if (it->path().extension() == ".nlc" && it->is_regular_file(code)) files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class FolderSource final : public ByteSource {
 public:
  FolderSource(std::vector<std::unique_ptr<StoredInput>> inputs, std::string name)
      : inputs_(std::move(inputs)), name_(std::move(name)) {
    for (const auto& input : inputs_) {
      input->LeaveHashToOwner();
      total_ += input->total();
    }
  }

  Result<size_t> Read(char* to, size_t size) override {
    size_t got = 0;
    while (got < size && at_ < inputs_.size()) {
      NL_ASSIGN(const size_t n, inputs_[at_]->Read(to + got, size - got));
      if (n == 0) ++at_;
      hash_.Update(to + got, n);
      read_.fetch_add(static_cast<int64_t>(n), std::memory_order_relaxed);
      got += n;
    }
    return got;
  }
  int64_t bytes_read() const override { return read_.load(std::memory_order_relaxed); }
  int64_t bytes_total() const override { return total_; }
  std::string HashHex() override { return hash_.FinishHex(); }
  const std::string& name() const override { return name_; }
  bool is_plain_file() const override { return false; }

 private:
  std::vector<std::unique_ptr<StoredInput>> inputs_;
  std::string name_;
  size_t at_ = 0;
  int64_t total_ = 0;
  std::atomic<int64_t> read_{0};
  Sha256Tree hash_;
};

Result<std::unique_ptr<ByteSource>> OpenFolder(const std::string& path, const std::atomic<bool>* cancelled) {
  std::vector<std::unique_ptr<StoredInput>> inputs;
  for (const std::string& file : CaptureFiles(path)) {
    NL_ASSIGN(std::unique_ptr<StoredInput> input, OpenStored(file, cancelled));
    inputs.push_back(std::move(input));
  }
  std::filesystem::path folder(path);
  if (!folder.has_filename()) folder = folder.parent_path();  // "x.nlcap/"
  std::unique_ptr<ByteSource> source =
      std::make_unique<FolderSource>(std::move(inputs), folder.filename().string());
  return source;
}

}  // namespace

bool IsCaptureFolder(const std::string& path) {
  std::error_code code;
  return std::filesystem::is_directory(path, code) && !CaptureFiles(path).empty();
}

namespace {

// The files whose bytes, one after the other, are those of the path.
std::vector<std::string> StoredFiles(const std::string& path) {
  return IsCaptureFolder(path) ? CaptureFiles(path) : std::vector<std::string>{path};
}

template <class Hash>
Result<std::string> HashFiles(const std::vector<std::string>& files) {
  Hash hash;
  std::vector<char> piece(kInputBytes);
  for (const std::string& file : files) {
    const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) {
      if (errno == ENOENT) return NotFound(fmt::format("no such file: {}", file));
      return FileError("open", file);
    }
    for (;;) {
      const ssize_t n = read(fd.get(), piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return FileError("read", file);
      if (n == 0) break;
      hash.Update(piece.data(), static_cast<size_t>(n));
    }
  }
  return hash.FinishHex();
}

}  // namespace

int64_t StoredBytes(const std::string& path) {
  int64_t total = 0;
  for (const std::string& file : StoredFiles(path)) {
    std::error_code code;
    const auto bytes = std::filesystem::file_size(file, code);
    if (code) return -1;
    total += static_cast<int64_t>(bytes);
  }
  return total;
}

Result<std::string> StoredHash(const std::string& path, HashKind kind) {
  const std::vector<std::string> files = StoredFiles(path);
  return kind == HashKind::kTree ? HashFiles<Sha256Tree>(files) : HashFiles<Sha256>(files);
}

Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path,
                                                   const std::atomic<bool>* cancelled, bool keep_cut,
                                                   const InputStream& stream) {
  if (IsCaptureFolder(path)) return OpenFolder(path, cancelled);
  NL_ASSIGN(std::unique_ptr<StoredInput> input, OpenStored(path, cancelled, stream));
  NL_ASSIGN(const std::string_view head, input->Peek(4));
  std::unique_ptr<ByteSource> source;
  if (head.substr(0, 2) == "\x1f\x8b") {
    source = std::make_unique<GzipSource>(std::move(input), keep_cut);
  } else if (head == "\x28\xb5\x2f\xfd") {
    source = std::make_unique<ZstdSource>(std::move(input), keep_cut);
  } else {
    source = std::make_unique<PlainSource>(std::move(input));
  }
  return source;
}

}  // namespace nl
