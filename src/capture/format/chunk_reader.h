// SPDX-License-Identifier: Apache-2.0
#pragma once
// ChunkReader: the chunks of a capture in memory (one file, several after one another, or
// a file that is still being written). Damage costs the chunks it touches: the reader looks
// for the next header that checks out and says how much it passed over.
// Thread rule: one thread at a time. Ownership: views into the caller's bytes.

#include <cstddef>
#include <cstring>
#include <string_view>

#include "capture/format/chunk_format.h"

namespace nl::capture {

struct Chunk {
  ChunkHeader header;
  std::string_view payload;
  size_t offset;  // of the header
};

class ChunkReader {
 public:
  explicit ChunkReader(std::string_view bytes) : bytes_(bytes) {}

  enum class Step {
    kChunk,    // `to` holds a whole, checked chunk
    kDamaged,  // a header was whole, its payload does not match: passed over
    kSkipped,  // bytes that are not a chunk were skipped
    kTorn,     // the bytes end inside a chunk: of a writer that was killed, or still writes
    kEnd,
  };
  Step Next(Chunk& to);
  // Where Next goes on; after kTorn: where the torn chunk begins.
  size_t offset() const { return at_; }
  size_t skipped_bytes() const { return skipped_bytes_; }  // by the last kSkipped

 private:
  // A header at `offset` that checks out.
  bool HeaderAt(size_t offset, ChunkHeader& header) const;

  std::string_view bytes_;
  size_t at_ = 0, skipped_bytes_ = 0;
  bool torn_ = false;
};

// Calls `each` for every record of a fixed-size chunk. Records of an older, shorter layout
// are filled up with zeros, those of a newer one cut. False: the sizes contradict each other.
template <class Record, class Each>
bool ForEachRecord(const Chunk& chunk, Each&& each) {
  const size_t size = chunk.header.record_bytes;
  if (size == 0 || size % 8 != 0 || chunk.payload.size() != size * size_t{chunk.header.records}) return false;
  for (size_t at = 0; at < chunk.payload.size(); at += size) {
    Record record{};
    std::memcpy(&record, chunk.payload.data() + at, size < sizeof record ? size : sizeof record);
    each(record);
  }
  return true;
}

// Walks the entries of a chunk of variable records. Each function gives false when an entry
// reaches beyond the chunk; what came before it was handed over.
template <class Each>  // each(uint32_t id, std::string_view text)
bool ForEachString(const Chunk& chunk, Each&& each) {
  std::string_view rest = chunk.payload;
  while (rest.size() >= sizeof(StringEntry)) {
    StringEntry entry;
    std::memcpy(&entry, rest.data(), sizeof entry);
    const size_t bytes = sizeof entry + PaddedBytes(entry.bytes);
    if (bytes > rest.size()) return false;
    each(entry.id, rest.substr(sizeof entry, entry.bytes));
    rest.remove_prefix(bytes);
  }
  return rest.empty();
}
template <class Each>  // each(std::string_view key, std::string_view value)
bool ForEachFact(const Chunk& chunk, Each&& each) {
  std::string_view rest = chunk.payload;
  while (rest.size() >= sizeof(FactEntry)) {
    FactEntry entry;
    std::memcpy(&entry, rest.data(), sizeof entry);
    const size_t text_bytes = size_t{entry.key_bytes} + entry.value_bytes;
    const size_t bytes = PaddedBytes(sizeof entry + text_bytes);
    if (bytes > rest.size()) return false;
    each(rest.substr(sizeof entry, entry.key_bytes),
         rest.substr(sizeof entry + entry.key_bytes, entry.value_bytes));
    rest.remove_prefix(bytes);
  }
  return rest.empty();
}
template <class Each>  // each(uint32_t id, const uint32_t* frames, uint32_t count)
bool ForEachStack(const Chunk& chunk, Each&& each) {
  std::string_view rest = chunk.payload;
  while (rest.size() >= sizeof(StackEntry)) {
    StackEntry entry;
    std::memcpy(&entry, rest.data(), sizeof entry);
    if (entry.frames > kMaxStackFrames) return false;
    uint32_t frames[kMaxStackFrames];
    const size_t bytes = sizeof entry + PaddedBytes(entry.frames * sizeof(uint32_t));
    if (bytes > rest.size()) return false;
    std::memcpy(frames, rest.data() + sizeof entry, entry.frames * sizeof(uint32_t));
    each(entry.id, static_cast<const uint32_t*>(frames), entry.frames);
    rest.remove_prefix(bytes);
  }
  return rest.empty();
}

// Counter sets and readings: an entry and `count` words of four bytes after it.
template <class Entry, class Word, class Each>  // each(const Entry&, const Word* words)
bool ForEachCounterEntry(const Chunk& chunk, Each&& each) {
  std::string_view rest = chunk.payload;
  while (rest.size() >= sizeof(Entry)) {
    Entry entry;
    std::memcpy(&entry, rest.data(), sizeof entry);
    if (entry.count > kMaxCounters) return false;
    Word words[kMaxCounters] = {};
    const size_t bytes = PaddedBytes(sizeof entry + entry.count * sizeof(Word));
    if (bytes > rest.size()) return false;
    std::memcpy(words, rest.data() + sizeof entry, entry.count * sizeof(Word));
    each(entry, static_cast<const Word*>(words));
    rest.remove_prefix(bytes);
  }
  return rest.empty();
}

}  // namespace nl::capture
