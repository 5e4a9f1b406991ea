// SPDX-License-Identifier: Apache-2.0
#pragma once
// ActivityBuffers: the memory CUPTI writes its records into. CUPTI asks for a buffer and
// hands it back on threads of its choosing; the writer thread reads it and lets it go. The
// memory is bounded: beyond the limit CUPTI is given none, drops records and counts them. Buffers
// are handed out filled with zeros and touched before, by the writer thread: CUPTI need not clear
// them, nor the program's thread take their page faults.
// ActivityReader: turns the records of a buffer into those of the capture file.
// Thread rule: Give and Return from any thread (short lock, nothing called under it);
// TakeReturned, Recycle, Prepare and the reader by the writer thread.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/format/chunk_writer.h"
#include "capture/lib/api_list.h"
#include "capture/lib/cupti_library.h"
#include "capture/lib/gpu_calls.h"
#include "capture/lib/system.h"

namespace nl::capture {

class ActivityBuffers {
 public:
  static constexpr size_t kBufferBytes = 4u << 20;

  ActivityBuffers() = default;
  ~ActivityBuffers();  // those that came back; CUPTI may hold others
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  void SetLimit(size_t bytes) { limit_bytes_ = bytes; }
  uint8_t* Give();  // null at the limit, counted
  void Return(uint8_t* buffer, size_t valid_bytes);

  struct Returned {
    uint8_t* data = nullptr;
    size_t valid_bytes = 0;
  };
  bool TakeReturned(Returned& to);
  void Recycle(uint8_t* buffer);
  // Keeps a few ready, once CUPTI has asked for one.
  void Prepare();
  size_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }
  size_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }

  std::atomic<uint64_t> not_given{0};  // the writer takes them away
  std::atomic<uint64_t> dropped{0};    // as CUPTI says; likewise

 private:
  // In front of the bytes CUPTI sees.
  struct Header {
    Header* next;
    size_t valid_bytes;
  };
  static constexpr size_t kHeaderBytes = 64;  // keeps the buffer aligned
  static Header* HeaderOf(uint8_t* buffer) { return reinterpret_cast<Header*>(buffer - kHeaderBytes); }

  static constexpr size_t kReady = 2;
  Header* Allocate();  // null at the limit
  void AddFree(Header* header);

  Mutex mutex_;
  Header* free_ = nullptr;
  size_t free_count_ = 0;
  Header* first_ = nullptr;  // returned, oldest first
  Header* last_ = nullptr;
  size_t limit_bytes_ = 256u << 20;
  std::atomic<size_t> memory_bytes_{0}, peak_bytes_{0};
  std::atomic<bool> asked_{false};
};

// What was read, for those who look while it runs.
struct ActivityCounts {
  uint64_t kernels = 0, copies = 0, api_calls = 0, other = 0;
  // Calls that launch and did not wait for the device, and their durations.
  uint64_t launches = 0, launch_ns = 0;
  uint64_t kernel_time_ns = 0;
  uint64_t devices = 0;  // bits of those that ran kernels
  bool graphs = false;   // some of them from CUDA graphs
};

class ActivityReader {
 public:
  ActivityReader(const CuptiLibrary& library, const ApiList& apis, ChunkWriter& writer)
      : cupti_(library.call), apis_(apis), writer_(writer) {}

  // Reads the records of one buffer; false: it ended in something that is not a record.
  bool Read(uint8_t* buffer, size_t valid_bytes);
  // `with_api`, `with_sync`: the call itself, and that it waited.
  void AddCall(const GpuCall& call, bool with_api, bool with_sync);
  const ActivityCounts& counts() const { return counts_; }
  // CUPTI was taken up again and counts correlations from 1 again: new ids continue after the existing ones.
  void BeginAttachment() {
    correlation_base_ += correlation_most_;
    correlation_most_ = 0;
  }
  // Writes the facts of devices that ran kernels and that CUPTI has not described.
  void AddMissingDevices();

 private:
  void Convert(const void* record, size_t bytes);
  void AddKernel(const cupti::Kernel& k);
  void AddMemcpy(const cupti::Memcpy& m);
  void AddMemcpyPeer(const cupti::MemcpyPeer& m);
  void AddMemset(const cupti::Memset& m);
  void AddMemory(const cupti::Memory& m);
  void AddOverhead(const cupti::Overhead& o);
  void AddDevice(const cupti::Device& d);
  void AddContext(uint32_t context, uint32_t device);
  uint32_t Text(const char* text);
  struct KnownApi {
    uint32_t name = 0;  // string
    bool launches = false;
  };
  KnownApi ApiOf(int domain, uint32_t callback_id);
  uint32_t Correlation(uint32_t number) {
    if (number == 0) return 0;
    if (number > correlation_most_) correlation_most_ = number;
    return correlation_base_ + number;
  }

  const cupti::Functions& cupti_;
  const ApiList& apis_;
  ChunkWriter& writer_;
  ActivityCounts counts_;
  uint32_t correlation_base_ = 0, correlation_most_ = 0;
  uint64_t devices_told_ = 0;  // bits
  static constexpr size_t kContexts = 64;
  uint32_t contexts_[kContexts] = {};  // written, or the latest of them
  size_t context_count_ = 0;
  KnownApi apis_known_[2][ApiList::kMostIds] = {};  // by driver, runtime
};

}  // namespace nl::capture
