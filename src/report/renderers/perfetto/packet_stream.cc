// SPDX-License-Identifier: Apache-2.0
#include "report/renderers/perfetto/packet_stream.h"

#include <cmath>
#include <iterator>

namespace nl::renderers::perfetto {

namespace {

constexpr size_t kFlushBytes = 1 << 20;
constexpr uint32_t kDescriptorSequence = 1;
constexpr double kExactInteger = 9007199254740992;  // 2^53: below, a double is the integer it came from

constexpr std::string_view kTexts[] = {"api_call",
                                       "bandwidth_gbps",
                                       "block",
                                       "bytes",
                                       "category",
                                       "concrete_inputs",
                                       "correlation",
                                       "cpu_sample",
                                       "device",
                                       "external_id",
                                       "graph_node_id",
                                       "grid",
                                       "input_dims",
                                       "input_types",
                                       "kernel",
                                       "kind",
                                       "memcpy",
                                       "memory_event",
                                       "memset",
                                       "estimated_occupancy_pct",
                                       "op",
                                       "python",
                                       "range",
                                       "registers_per_thread",
                                       "sequence_number",
                                       "shared_bytes",
                                       "stack",
                                       "sync",
                                       "total_allocated_bytes",
                                       "wait_on_stream",
                                       "weight_ns"};
static_assert(std::size(kTexts) == kWords);
static_assert(static_cast<size_t>(Word::kWeight) + 1 == kWords);

}  // namespace

std::string_view TextOf(Word word) { return kTexts[static_cast<size_t>(word)]; }

PacketStream::PacketStream(const ByteSink& sink, const StringPool& strings, int64_t first_ns)
    : sink_(sink), strings_(strings), first_ns_(first_ns < 0 ? first_ns : 0), sequence_(kDescriptorSequence) {
  const uint32_t fields[] = {interned::kEventNames, interned::kCategories, interned::kAnnotationNames,
                             interned::kAnnotationStrings};
  InternTable* const tables[] = {&names_, &categories_, &note_names_, &note_texts_};
  for (size_t i = 0; i < 4; ++i) {
    tables[i]->field = fields[i];
    tables[i]->seen.resize(kWords + strings.size());
  }
}

Status PacketStream::Put(const ProtoWriter& packet) {
  ProtoWriter framed;
  framed.Message(trace::kPacket, packet);
  out_ += framed.bytes();
  return out_.size() >= kFlushBytes ? Flush() : Status();
}

Status PacketStream::Flush() {
  if (out_.empty()) return {};
  NL_TRY(sink_(out_));
  out_.clear();
  return {};
}

Status PacketStream::Describe(const ProtoWriter& descriptor) {
  packet_.Clear();
  packet_.Varint(packet::kSequenceId, kDescriptorSequence);
  packet_.Message(packet::kTrackDescriptor, descriptor);
  return Put(packet_);
}

void PacketStream::Open(uint64_t track_uuid) {
  ++sequence_;
  fresh_ = true;
  track_uuid_ = track_uuid;
  for (InternTable* table : {&names_, &categories_, &note_names_, &note_texts_}) table->next = 1;
}

uint64_t PacketStream::Intern(InternTable& table, size_t key) {
  Seen& seen = table.seen[key];
  if (seen.sequence == sequence_) return seen.iid;
  seen = {sequence_, table.next++};
  ProtoWriter entry;
  entry.Varint(interned::kId, seen.iid);
  entry.Bytes(interned::kText,
              key < kWords ? kTexts[key] : strings_.Text(static_cast<StringId>(key - kWords)));
  interned_.Message(table.field, entry);
  return seen.iid;
}

void PacketStream::Name(StringId name) {
  if (name != StringId::kNull) event_.Varint(event::kNameId, Intern(names_, KeyOf(name)));
}
void PacketStream::Name(Word word) { event_.Varint(event::kNameId, Intern(names_, KeyOf(word))); }
void PacketStream::Category(StringId text) {
  event_.Varint(event::kCategoryIds, Intern(categories_, KeyOf(text)));
}
void PacketStream::Category(Word word) {
  event_.Varint(event::kCategoryIds, Intern(categories_, KeyOf(word)));
}
void PacketStream::Flow(uint64_t number, bool ends) {
  event_.Fixed64(ends ? event::kTerminatingFlowIds : event::kFlowIds, number);
}

void PacketStream::Note(Word name, int64_t value) {
  inner_.Clear();
  inner_.Varint(annotation::kNameId, Intern(note_names_, KeyOf(name)));
  inner_.Int(annotation::kInt, value);
  event_.Message(event::kAnnotations, inner_);
}
void PacketStream::Note(Word name, double value) {
  inner_.Clear();
  inner_.Varint(annotation::kNameId, Intern(note_names_, KeyOf(name)));
  inner_.Double(annotation::kDouble, value);
  event_.Message(event::kAnnotations, inner_);
}
void PacketStream::Note(Word name, StringId value) {
  inner_.Clear();
  inner_.Varint(annotation::kNameId, Intern(note_names_, KeyOf(name)));
  inner_.Varint(annotation::kStringId, Intern(note_texts_, KeyOf(value)));
  event_.Message(event::kAnnotations, inner_);
}
void PacketStream::Note(Word name, std::string_view value) {
  inner_.Clear();
  inner_.Varint(annotation::kNameId, Intern(note_names_, KeyOf(name)));
  inner_.Bytes(annotation::kString, value);
  event_.Message(event::kAnnotations, inner_);
}

Status PacketStream::Emit(uint64_t type, int64_t at_ns) {
  event_.Varint(event::kType, type);
  packet_.Clear();
  packet_.Varint(packet::kTimestamp, static_cast<uint64_t>(at_ns) - static_cast<uint64_t>(first_ns_));
  packet_.Varint(packet::kSequenceId, sequence_);
  if (fresh_) {
    packet_.Varint(packet::kSequenceFlags, packet::kFlagStateCleared | packet::kFlagNeedsState);
    ProtoWriter track_event, all;
    track_event.Varint(event::kTrackUuid, track_uuid_);
    all.Message(defaults::kTrackEvent, track_event);
    packet_.Message(packet::kDefaults, all);
    fresh_ = false;
  } else {
    packet_.Varint(packet::kSequenceFlags, packet::kFlagNeedsState);
  }
  if (!interned_.empty()) packet_.Message(packet::kInternedData, interned_);
  packet_.Message(packet::kTrackEvent, event_);
  event_.Clear();
  interned_.Clear();
  return Put(packet_);
}

Status PacketStream::EmitCounter(int64_t at_ns, double value, bool is_bytes) {
  if (is_bytes && std::abs(value) < kExactInteger) {
    event_.Int(event::kCounterValue, static_cast<int64_t>(value));
  } else {
    event_.Double(event::kDoubleCounterValue, value);
  }
  return Emit(event::kCounter, at_ns);
}

}  // namespace nl::renderers::perfetto
