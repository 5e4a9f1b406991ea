// SPDX-License-Identifier: Apache-2.0
#pragma once
// Notes: messages and changes of the recording state, from any thread to the writer thread.
// Few, so they go through a lock and a fixed number of places; those that find none are lost
// but counted.
// Thread rule: Say and Window from any thread; Take by the writer thread.

#include <cstdio>
#include <cstring>

#include "capture/format/chunk_writer.h"
#include "capture/lib/system.h"

namespace nl::capture {

class Notes {
 public:
  void Say(MessageLevel level, const char* text) { Put({MonotonicNs(), true, level, {}, false, {}}, text); }
  void Window(bool on, WindowReason reason) { Put({MonotonicNs(), false, {}, reason, on, {}}, ""); }

  void TakeInto(ChunkWriter& writer) {
    for (;;) {
      Note note;
      {
        const Locked lock(mutex_);
        if (count_ == 0) break;
        note = notes_[0];
        std::memmove(notes_, notes_ + 1, --count_ * sizeof(Note));
      }
      if (note.is_message)
        writer.Add(MessageRecord{note.time_ns, note.level, writer.String(note.text)});
      else
        writer.Add(WindowRecord{note.time_ns, note.on ? 1u : 0u, note.reason});
    }
    writer.CountLoss(LossWhat::kBufferLimit, ChunkKind::kMessage,
                     lost_.exchange(0, std::memory_order_relaxed));
  }

 private:
  struct Note {
    int64_t time_ns;
    bool is_message;
    MessageLevel level;
    WindowReason reason;
    bool on;
    char text[320];
  };
  void Put(Note note, const char* text) {
    std::snprintf(note.text, sizeof note.text, "%s", text);
    const Locked lock(mutex_);
    if (count_ == kMost)
      lost_.fetch_add(1, std::memory_order_relaxed);
    else
      notes_[count_++] = note;
  }
  static constexpr size_t kMost = 32;
  Mutex mutex_;
  Note notes_[kMost];
  size_t count_ = 0;
  std::atomic<uint64_t> lost_{0};
};

}  // namespace nl::capture
