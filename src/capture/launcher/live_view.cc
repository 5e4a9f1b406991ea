// SPDX-License-Identifier: Apache-2.0
#include "capture/launcher/live_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <memory>

#include "capture/format/chunk_reader.h"
#include "capture/format/chunk_writer.h"
#include "capture/sample/stack_table.h"

namespace nl::capture {

namespace {

constexpr size_t kMostReadBytes = 32u << 20;  // of one file at a time

__attribute__((format(printf, 1, 2))) std::string Format(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return text;
}

std::string Count(double value) {
  if (value >= 1e9) return Format("%.1f G", value / 1e9);
  if (value >= 1e6) return Format("%.1f M", value / 1e6);
  if (value >= 1e4) return Format("%.1f k", value / 1e3);
  return Format("%.0f", value);
}

// A name for one line of a terminal: nothing in it may command the terminal.
std::string Printable(std::string_view name, size_t width) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  if (out.size() > width && width > 3) {
    size_t cut = width - 3;
    while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xc0) == 0x80) --cut;
    out = out.substr(0, cut) + "...";
  }
  return out;
}

}  // namespace

void LiveKernels::Read(const std::string& directory) {
  DIR* listing = opendir(directory.c_str());
  if (listing == nullptr) return;
  while (const dirent* entry = readdir(listing)) {
    const std::string name = entry->d_name;
    const std::string ending = kFileEnding;
    if (name == kLauncherFile || name.size() <= ending.size()) continue;
    if (name.compare(name.size() - ending.size(), ending.size(), ending) != 0) continue;
    ReadFile(directory + "/" + name, files_[name]);
  }
  closedir(listing);
}

void LiveKernels::ReadFile(const std::string& path, File& file) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat info {};
  std::string bytes;
  if (fstat(fd, &info) == 0 && static_cast<uint64_t>(info.st_size) > file.offset) {
    bytes.resize(std::min<size_t>(static_cast<size_t>(info.st_size) - file.offset, kMostReadBytes));
    const ssize_t got = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(file.offset));
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  }
  close(fd);
  ChunkReader reader(bytes);
  Chunk chunk{};
  for (;;) {
    const ChunkReader::Step step = reader.Next(chunk);
    if (step == ChunkReader::Step::kEnd || step == ChunkReader::Step::kTorn) break;
    if (step != ChunkReader::Step::kChunk) continue;
    if (chunk.header.kind == ChunkKind::kString)
      ForEachString(chunk, [&](uint32_t id, std::string_view text) { file.names[id] = text; });
    if (chunk.header.kind != ChunkKind::kKernel) continue;
    ForEachRecord<KernelRecord>(chunk, [&](const KernelRecord& kernel) {
      Total& total = kernels_[file.names[kernel.name]];
      ++total.calls;
      total.time_ns += std::max<int64_t>(0, kernel.end_ns - kernel.start_ns);
    });
  }
  file.offset += reader.offset();
}

std::vector<std::pair<std::string, LiveKernels::Total>> LiveKernels::Top(size_t count) const {
  std::vector<std::pair<std::string, Total>> out(kernels_.begin(), kernels_.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second.time_ns > b.second.time_ns; });
  if (out.size() > count) out.resize(count);
  return out;
}

LiveView::Sums LiveView::Add(const ControlBlock& control) {
  Sums out;
  for (const ProcessSlot& slot : control.process) {
    if (slot.pid.load(std::memory_order_acquire) == 0) break;
    ++out.processes;
    if (slot.state.load(std::memory_order_acquire) == SlotState::kRecording) ++out.recording;
    out.has_gpu = out.has_gpu || slot.has_gpu.load(std::memory_order_relaxed) != 0;
    out.kernels += slot.kernels.load(std::memory_order_relaxed);
    out.copies += slot.copies.load(std::memory_order_relaxed);
    out.api_calls += slot.api_calls.load(std::memory_order_relaxed);
    out.ranges += slot.ranges.load(std::memory_order_relaxed);
    out.lost += slot.lost_records.load(std::memory_order_relaxed);
    out.bytes += slot.bytes_written.load(std::memory_order_relaxed);
    out.kernel_ns += static_cast<int64_t>(slot.kernel_time_ns.load(std::memory_order_relaxed));
  }
  return out;
}

LiveView::Rates LiveView::Since(const Sums& now, int64_t now_ns) {
  if (first_ns_ == 0) first_ns_ = now_ns;
  Rates rates;
  const double seconds = last_ns_ == 0 ? 0 : static_cast<double>(now_ns - last_ns_) / 1e9;
  if (seconds > 0) {
    rates.busy = static_cast<double>(now.kernel_ns - last_.kernel_ns) / 1e9 / seconds;
    rates.kernels_per_s = static_cast<double>(now.kernels - last_.kernels) / seconds;
    rates.bytes_per_s = static_cast<double>(now.bytes - last_.bytes) / seconds;
  }
  last_ = now;
  last_ns_ = now_ns;
  return rates;
}

std::string LiveView::Line(const ControlBlock& control, int64_t now_ns) {
  const Sums now = Add(control);
  const Rates rates = Since(now, now_ns);
  std::string out = Format("%.1f s: ", static_cast<double>(now_ns - first_ns_) / 1e9);
  out += control.recording.load(std::memory_order_acquire) != 0 ? "recording" : "paused";
  if (!now.has_gpu) {
    out += ", no GPU work so far";
  } else {
    out += Format(", kernels busy %.0f %%, %s kernels (%s/s)", 100 * rates.busy,
                  Count(static_cast<double>(now.kernels)).c_str(), Count(rates.kernels_per_s).c_str());
  }
  out += Format(", %s ranges, %s lost", Count(static_cast<double>(now.ranges)).c_str(),
                Count(static_cast<double>(now.lost)).c_str());
  return out;
}

std::string LiveView::Screen(const ControlBlock& control, const std::string& directory, int64_t now_ns,
                             int width, int rows) {
  kernels_.Read(directory);
  const Sums now = Add(control);
  const Rates rates = Since(now, now_ns);
  const auto columns = static_cast<size_t>(std::max(width, 40));
  std::string out =
      Format("neurolens  %6.1f s  %s  %llu process(es)\n", static_cast<double>(now_ns - first_ns_) / 1e9,
             control.recording.load(std::memory_order_acquire) != 0 ? "recording" : "paused",
             static_cast<unsigned long long>(now.processes));
  out += Format("kernels busy %5.1f %%   %s/s launched   %s copies   %s ranges\n", 100 * rates.busy,
                Count(rates.kernels_per_s).c_str(), Count(static_cast<double>(now.copies)).c_str(),
                Count(static_cast<double>(now.ranges)).c_str());
  out += Format("written %s B (%s B/s)   lost %s records\n\n", Count(static_cast<double>(now.bytes)).c_str(),
                Count(rates.bytes_per_s).c_str(), Count(static_cast<double>(now.lost)).c_str());
  const auto top = kernels_.Top(static_cast<size_t>(std::max(1, rows - 6)));
  if (top.empty()) return out + (now.has_gpu ? "no kernel yet\n" : "no GPU work so far\n");
  out += "      TIME     CALLS  KERNEL\n";
  for (const auto& [name, total] : top) {
    out += Format("%7.1f ms  %8s  ", static_cast<double>(total.time_ns) / 1e6,
                  Count(static_cast<double>(total.calls)).c_str());
    out += Printable(Demangled(name), columns - 22) + "\n";
  }
  return out;
}

std::function<void(const ControlBlock& control, const std::string& directory)> WatchOn(int fd) {
  const bool terminal = isatty(fd) != 0;
  auto view = std::make_shared<LiveView>();
  auto printed_ns = std::make_shared<int64_t>(0);
  return [=](const ControlBlock& control, const std::string& directory) {
    const int64_t now_ns = MonotonicNs();
    if (terminal) {
      winsize size{};
      if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size = {24, 80, 0, 0};
      dprintf(fd, "\x1b[H\x1b[2J%s",
              view->Screen(control, directory, now_ns, size.ws_col, size.ws_row).c_str());
    } else if (now_ns - *printed_ns > 2'000'000'000) {
      *printed_ns = now_ns;
      dprintf(fd, "neurolens: %s\n", view->Line(control, now_ns).c_str());
    }
  };
}

}  // namespace nl::capture
