// SPDX-License-Identifier: Apache-2.0
// The xplane adapter: .xplane.pb files of JAX, TensorFlow and other users of XLA's
// profiler. The file is mapped, its structure found by skipping over the events, and the
// events decoded by several threads; rows are numbered in file order (ordered.h).

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "import/adapters/xplane/ordered.h"
#include "import/adapters/xplane/plane_facts.h"
#include "import/adapters/xplane/xspace_format.h"
#include "import/read/whole_file.h"

namespace nl::adapters::xplane {

namespace {

// A file's bytes, mapped for reading.
class MappedFile {
 public:
  static Result<std::unique_ptr<MappedFile>> Open(const std::string& path) {
    std::unique_ptr<MappedFile> file(new MappedFile);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return IoError("cannot open it").At(path);
    struct stat about {};
    void* at = nullptr;
    if (fstat(fd, &about) == 0 && about.st_size > 0)
      at = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    close(fd);
    if (at == MAP_FAILED) return IoError("cannot map it into memory", error).At(path);
    if (at != nullptr) file->bytes_ = {static_cast<const char*>(at), static_cast<size_t>(about.st_size)};
    return file;
  }
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  std::string_view bytes() const { return bytes_; }

 private:
  MappedFile() = default;
  std::string_view bytes_;
};

// Decodes the pieces on several threads; each waits with its rows until its turn.
class Pipeline {
 public:
  Pipeline(ImportFile& file, const SpaceMap& map) : file_(file), map_(map), ordered_(file, map) {}

  Status Run() {
    size_t threads = file_.options.threads > 0 ? static_cast<size_t>(file_.options.threads)
                                               : std::max(1u, std::thread::hardware_concurrency());
    threads = std::max<size_t>(1, std::min(threads, map_.pieces.size()));
    std::vector<std::thread> workers;
    for (size_t i = 1; i < threads; ++i) workers.emplace_back([this] { Work(); });
    Work();
    for (std::thread& worker : workers) worker.join();
    if (failure_) return *std::move(failure_);
    ordered_.Finish();
    return {};
  }

 private:
  void Work() {
    Decoder decoder(map_);
    for (;;) {
      const size_t index = next_piece_.fetch_add(1);
      if (index >= map_.pieces.size()) return;
      if (file_.options.Cancelled()) return Fail(Cancelled());
      decoder.Decode(map_.pieces[index]);
      if (!Deliver(decoder, index)) return;
      for (;;) {
        Result<bool> encoded = file_.sink.EncodeOne();
        if (!encoded.ok()) return Fail(std::move(encoded).error());
        if (!*encoded) break;
      }
    }
  }

  bool Deliver(Decoder& decoder, size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == index || failure_; });
    if (failure_) return false;
    lock.unlock();  // the turn is ours until turn_ moves
    ordered_.Take(decoder, map_.pieces[index].line);
    if (file_.options.progress) {
      const Piece& piece = map_.pieces[index];
      const int64_t total = file_.source.bytes_total();
      file_.options.progress(std::min(piece.bytes.data() + piece.bytes.size() - map_.file, total), total);
    }
    lock.lock();
    ++turn_;
    lock.unlock();
    changed_.notify_all();
    return true;
  }

  void Fail(Error error) {
    {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(error);
    }
    changed_.notify_all();
  }

  ImportFile& file_;
  const SpaceMap& map_;
  Ordered ordered_;
  std::atomic<size_t> next_piece_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  size_t turn_ = 0;
  std::optional<Error> failure_;
};

// How far the first bytes are those of an XSpace: its first plane, as far as it reaches.
struct Head {
  bool plane = false;  // begins with a plane whose fields are those of a plane
  bool known = false;  // named as XLA names its planes
  bool whole = false;  // more than its name was seen
};

Head LookAt(std::string_view head) {
  Head out;
  WireReader space(head);
  WireField f;
  const bool first = space.Next(f);
  if ((!first && !space.cut()) || !f.Is(kSpacePlanes, WireType::kBytes)) return out;
  WireReader plane(f.bytes);
  WireField g;
  size_t fields = 0;
  while (plane.Next(g)) {
    const bool fits = g.number == kPlaneId ? g.type == WireType::kVarint
                                           : g.number <= kPlaneStats && g.type == WireType::kBytes;
    if (!fits) return out;
    ++fields;
    if (g.number != kPlaneName) continue;
    for (const char c : g.bytes.substr(0, 256)) {
      if (static_cast<unsigned char>(c) < 0x20) return out;
    }
    out.plane = !g.bytes.empty();
    for (const std::string_view name :
         {"/host:", "/device:", "#Chip", "/virtualdevice:", "Task Environment", "Host CPUs", "Syscalls"})
      out.known |= g.bytes.starts_with(name);
  }
  if (!plane.ok() && !plane.cut() && !out.known) return {};
  out.whole = fields > 1 || plane.cut();
  return out;
}

class XplaneAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {
        "xplane", 1, "XLA profiles (XSpace protobuf)", "JAX, TensorFlow, PyTorch/XLA", {".xplane.pb", ".pb"}};
  }

  int Score(std::string_view head, std::string_view file_name) const override {
    const Head seen = LookAt(head);
    const bool named = file_name.find(".xplane.pb") != std::string_view::npos;
    if (!seen.plane) return 0;
    if (seen.known) return seen.whole ? 95 : 85;
    return named ? 50 : seen.whole ? 8 : 0;
  }

  Status Import(ImportFile& file) const override {
    NL_ASSIGN(const std::unique_ptr<WholeFile> whole, WholeFile::Open(file));
    NL_ASSIGN(const std::unique_ptr<MappedFile> mapped, MappedFile::Open(whole->path()));
    NL_ASSIGN(SpaceMap map, MapSpace(mapped->bytes(), file.path, file.options, file.counters));
    const int64_t first_lane = file.sink.rows(Table::kThread);
    for (size_t i = 0; i < map.lines.size(); ++i)
      map.lines[i].lane = static_cast<ThreadId>(first_lane + static_cast<int64_t>(i));
    ReadPlaneFacts(map, file);
    NL_TRY(Pipeline(file, map).Run());
    return whole->Finish();
  }
};

}  // namespace

const Adapter& Describe() {
  static const XplaneAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::xplane
