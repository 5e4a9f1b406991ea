// SPDX-License-Identifier: Apache-2.0
#pragma once
// PacketStream: trace packets on their way to the sink. Each track is one packet sequence
// with its own table of interned texts, so packets of a sequence are in order of time.
// Thread rule: one thread at a time. Ownership: `sink` and `strings` outlive it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_sink.h"
#include "model/string_pool.h"
#include "report/renderers/perfetto/proto_writer.h"
#include "report/renderers/perfetto/trace_fields.h"

namespace nl::renderers::perfetto {

// Texts of our own: names of annotations and of categories.
enum class Word : uint8_t {
  kApiCall,
  kBandwidth,
  kBlock,
  kBytes,
  kCategory,
  kConcreteInputs,
  kCorrelation,
  kCpuSample,
  kDevice,
  kExternalId,
  kGraphNode,
  kGrid,
  kInputDims,
  kInputTypes,
  kKernel,
  kKind,
  kMemcpy,
  kMemoryEvent,
  kMemset,
  kOccupancy,
  kOp,
  kPythonCall,
  kRange,
  kRegisters,
  kSequenceNumber,
  kSharedBytes,
  kStack,
  kSync,
  kTotal,
  kWaitOnStream,
  kWeight,
};
inline constexpr size_t kWords = 31;
std::string_view TextOf(Word word);

class PacketStream {
 public:
  PacketStream(const ByteSink& sink, const StringPool& strings, int64_t first_ns);

  // A descriptor packet; belongs to no time.
  Status Describe(const ProtoWriter& descriptor);

  // Starts the sequence of one track: events go there until the next call.
  void Open(uint64_t track_uuid);

  // The parts of the event under way, then one of the endings.
  void Name(StringId name);
  void Name(Word word);
  void Category(StringId text);
  void Category(Word word);
  void Flow(uint64_t number, bool ends);
  void Note(Word name, int64_t value);
  void Note(Word name, double value);
  void Note(Word name, StringId value);
  void Note(Word name, std::string_view value);
  Status Emit(uint64_t type, int64_t at_ns);
  Status EmitCounter(int64_t at_ns, double value, bool is_bytes);

  Status Flush();

 private:
  // iid of each text in the present sequence.
  struct Seen {
    uint32_t sequence = 0, iid = 0;
  };
  struct InternTable {
    uint32_t field = 0;
    uint32_t next = 1;
    std::vector<Seen> seen;
  };
  uint64_t Intern(InternTable& table, size_t key);
  size_t KeyOf(StringId id) const { return kWords + static_cast<uint32_t>(id); }
  static size_t KeyOf(Word word) { return static_cast<size_t>(word); }
  Status Put(const ProtoWriter& packet);

  const ByteSink& sink_;
  const StringPool& strings_;
  int64_t first_ns_;  // when negative, it becomes the zero: times of packets are unsigned
  uint32_t sequence_ = 0;
  bool fresh_ = false;  // nothing emitted on this sequence yet
  uint64_t track_uuid_ = 0;
  InternTable names_, categories_, note_names_, note_texts_;
  ProtoWriter event_, interned_, packet_, inner_;
  std::string out_;
};

}  // namespace nl::renderers::perfetto
