// SPDX-License-Identifier: Apache-2.0
// What programs call when they call NVTX while recorded.
#include "capture/lib/nvtx.h"

#include <cstdlib>
#include <cstring>

#include "capture/lib/nvtx_types.h"
#include "capture/lib/recorder.h"

namespace nl::capture {

namespace {

using nvtx::EventAttributes;

// Names registered by the program: never freed, so bounded.
constexpr uint64_t kMostNames = 1u << 16, kMostNameBytes = 16u << 20;
std::atomic<uint64_t> g_names{0}, g_name_bytes{0};
std::atomic<uint32_t> g_domains{0};
std::atomic<uint64_t> g_range_id{0};

std::string_view View(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text, strnlen(text, kMaxStringBytes + 1));
}

// UTF-8 of a wide text, on the stack.
struct Narrow {
  explicit Narrow(const wchar_t* wide) {
    if (wide == nullptr) return;
    for (; *wide != 0 && bytes + 4 <= sizeof text; ++wide) {
      const auto c = static_cast<uint32_t>(*wide);
      if (c < 0x80) {
        text[bytes++] = static_cast<char>(c);
      } else if (c < 0x800) {
        text[bytes++] = static_cast<char>(0xc0 | c >> 6);
        text[bytes++] = static_cast<char>(0x80 | (c & 0x3f));
      } else if (c < 0x10000) {
        text[bytes++] = static_cast<char>(0xe0 | c >> 12);
        text[bytes++] = static_cast<char>(0x80 | (c >> 6 & 0x3f));
        text[bytes++] = static_cast<char>(0x80 | (c & 0x3f));
      } else {
        text[bytes++] = static_cast<char>(0xf0 | (c >> 18 & 7));
        text[bytes++] = static_cast<char>(0x80 | (c >> 12 & 0x3f));
        text[bytes++] = static_cast<char>(0x80 | (c >> 6 & 0x3f));
        text[bytes++] = static_cast<char>(0x80 | (c & 0x3f));
      }
    }
  }
  std::string_view view() const { return {text, bytes}; }
  char text[kMaxStringBytes + 8];  // so that what is cut is seen to be cut
  size_t bytes = 0;
};

// Null beyond the bound: the program's later use of it is an event without a name.
const KeptName* Keep(std::string_view text, uint32_t number) {
  text = text.substr(0, kMaxStringBytes + 1);  // the writer cuts, and counts
  if (g_names.fetch_add(1, std::memory_order_relaxed) >= kMostNames ||
      g_name_bytes.fetch_add(text.size(), std::memory_order_relaxed) >= kMostNameBytes)
    return nullptr;
  auto* memory = static_cast<char*>(std::malloc(sizeof(KeptName) + text.size()));
  if (memory == nullptr) return nullptr;
  std::memcpy(memory + sizeof(KeptName), text.data(), text.size());
  auto* name = reinterpret_cast<KeptName*>(memory);
  *name = {memory + sizeof(KeptName), static_cast<uint32_t>(text.size()), number};
  return name;
}

Recorder* Recording() {
  if (Recorder* recorder = Recorder::Get()) return recorder;
  return Recorder::Start();  // a forked child's first event; else at once null
}

// Ranges of this thread that PyTorch's profiler pushed and has yet to pop, recorded or not. Others may push
// so too.
thread_local int t_open_ranges = 0;

int Emit(HostWhat what, const void* domain, std::string_view text, uint64_t id = 0) {
  Recorder* recorder = Recording();
  if (recorder == nullptr) return -2;
  HostEvent event;
  event.what = what;
  event.domain = static_cast<const KeptName*>(domain);
  event.id = id;
  return recorder->Emit(event, text);
}

void TakePayload(const EventAttributes& a, HostEvent& event) {
  const auto set = [&event](PayloadType type, uint64_t bits) {
    event.payload_type = type;
    event.payload = bits;
  };
  const auto bits_of = [](double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  };
  switch (a.payload_type) {
    case 1: return set(PayloadType::kUint, a.payload.as_uint64);
    case 2: return set(PayloadType::kInt, static_cast<uint64_t>(a.payload.as_int64));
    case 3: return set(PayloadType::kDouble, bits_of(a.payload.as_double));
    case 4: return set(PayloadType::kUint, a.payload.as_uint32);
    case 5: return set(PayloadType::kInt, static_cast<uint64_t>(int64_t{a.payload.as_int32}));
    case 6: return set(PayloadType::kDouble, bits_of(a.payload.as_float));
    default: return;
  }
}

int EmitEx(HostWhat what, const void* domain, const EventAttributes* a, uint64_t id = 0) {
  Recorder* recorder = Recording();
  if (recorder == nullptr) return -2;
  HostEvent event;
  event.what = what;
  event.domain = static_cast<const KeptName*>(domain);
  event.id = id;
  if (a == nullptr || a->bytes < sizeof(EventAttributes)) return recorder->Emit(event, {});
  event.category = a->category;
  event.color = a->color_type == 1 ? a->color : 0;
  TakePayload(*a, event);
  if (a->message_type == nvtx::kUnicode) return recorder->Emit(event, Narrow(a->message.unicode).view());
  if (a->message_type == nvtx::kRegistered) {
    event.name = static_cast<const KeptName*>(a->message.registered);
    return recorder->Emit(event, {});
  }
  return recorder->Emit(event, a->message_type == nvtx::kAscii ? View(a->message.ascii) : std::string_view());
}

uint64_t NextRangeId() { return g_range_id.fetch_add(1, std::memory_order_relaxed) + 1; }

void MarkEx(const EventAttributes* a) { EmitEx(HostWhat::kMark, nullptr, a); }
void MarkA(const char* text) { Emit(HostWhat::kMark, nullptr, View(text)); }
void MarkW(const wchar_t* text) { Emit(HostWhat::kMark, nullptr, Narrow(text).view()); }
uint64_t DomainRangeStartEx(const void* domain, const EventAttributes* a) {
  const uint64_t id = NextRangeId();
  EmitEx(HostWhat::kStart, domain, a, id);
  return id;
}
uint64_t RangeStartEx(const EventAttributes* a) { return DomainRangeStartEx(nullptr, a); }
uint64_t StartText(std::string_view text) {
  const uint64_t id = NextRangeId();
  Emit(HostWhat::kStart, nullptr, text, id);
  return id;
}
uint64_t RangeStartA(const char* text) { return StartText(View(text)); }
uint64_t RangeStartW(const wchar_t* text) { return StartText(Narrow(text).view()); }
void RangeEnd(uint64_t id) { Emit(HostWhat::kEnd, nullptr, {}, id); }
int RangePushEx(const EventAttributes* a) { return EmitEx(HostWhat::kPush, nullptr, a); }
int RangePushA(const char* text) {
  ++t_open_ranges;
  return Emit(HostWhat::kPush, nullptr, View(text));
}
int RangePushW(const wchar_t* text) { return Emit(HostWhat::kPush, nullptr, Narrow(text).view()); }
int RangePop() {
  if (t_open_ranges > 0) --t_open_ranges;
  return Emit(HostWhat::kPop, nullptr, {});
}
void NameCategory(const void* domain, uint32_t category, std::string_view name) {
  Recorder* recorder = Recording();
  if (recorder == nullptr) return;
  HostEvent event;
  event.what = HostWhat::kNameCategory;
  event.domain = static_cast<const KeptName*>(domain);
  event.category = category;
  recorder->Emit(event, name);
}
void NameCategoryA(uint32_t category, const char* name) { NameCategory(nullptr, category, View(name)); }
void NameCategoryW(uint32_t category, const wchar_t* name) {
  NameCategory(nullptr, category, Narrow(name).view());
}
void NameOsThreadA(uint32_t tid, const char* name) { Emit(HostWhat::kNameThread, nullptr, View(name), tid); }
void NameOsThreadW(uint32_t tid, const wchar_t* name) {
  Emit(HostWhat::kNameThread, nullptr, Narrow(name).view(), tid);
}

void DomainMarkEx(const void* domain, const EventAttributes* a) { EmitEx(HostWhat::kMark, domain, a); }
void DomainRangeEnd(const void* domain, uint64_t id) { Emit(HostWhat::kEnd, domain, {}, id); }
int DomainRangePushEx(const void* domain, const EventAttributes* a) {
  return EmitEx(HostWhat::kPush, domain, a);
}
int DomainRangePop(const void* domain) { return Emit(HostWhat::kPop, domain, {}); }
void DomainNameCategoryA(const void* domain, uint32_t category, const char* name) {
  NameCategory(domain, category, View(name));
}
void DomainNameCategoryW(const void* domain, uint32_t category, const wchar_t* name) {
  NameCategory(domain, category, Narrow(name).view());
}
const void* DomainRegisterStringA(const void*, const char* text) { return Keep(View(text), 0); }
const void* DomainRegisterStringW(const void*, const wchar_t* text) { return Keep(Narrow(text).view(), 0); }
const void* CreateDomain(std::string_view name) {
  return Keep(name, g_domains.fetch_add(1, std::memory_order_relaxed) + 1);
}
const void* DomainCreateA(const char* name) { return CreateDomain(View(name)); }
const void* DomainCreateW(const wchar_t* name) { return CreateDomain(Narrow(name).view()); }
void DomainDestroy(const void*) {}  // events on their way may still point to its name

struct Slot {
  unsigned id;
  nvtx::Function function;
};
template <class F>
nvtx::Function As(F function) {
  return reinterpret_cast<nvtx::Function>(function);
}

template <size_t N>
void Fill(const nvtx::CallbacksTable& callbacks, int module, const Slot (&slots)[N]) {
  nvtx::Function** table = nullptr;
  unsigned size = 0;
  if (callbacks.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) return;
  for (const Slot& slot : slots) {
    if (slot.id < size && table[slot.id] != nullptr) *table[slot.id] = slot.function;
  }
}

}  // namespace

bool AttachNvtx(const void* (*get_export_table)(uint32_t)) {
  const auto* callbacks = static_cast<const nvtx::CallbacksTable*>(get_export_table(nvtx::kCallbacksTable));
  if (callbacks == nullptr || callbacks->struct_bytes < sizeof *callbacks ||
      callbacks->GetModuleFunctionTable == nullptr)
    return false;
  const Slot core[] = {
      {nvtx::kMarkEx, As(MarkEx)},
      {nvtx::kMarkA, As(MarkA)},
      {nvtx::kMarkW, As(MarkW)},
      {nvtx::kRangeStartEx, As(RangeStartEx)},
      {nvtx::kRangeStartA, As(RangeStartA)},
      {nvtx::kRangeStartW, As(RangeStartW)},
      {nvtx::kRangeEnd, As(RangeEnd)},
      {nvtx::kRangePushEx, As(RangePushEx)},
      {nvtx::kRangePushA, As(RangePushA)},
      {nvtx::kRangePushW, As(RangePushW)},
      {nvtx::kRangePop, As(RangePop)},
      {nvtx::kNameCategoryA, As(NameCategoryA)},
      {nvtx::kNameCategoryW, As(NameCategoryW)},
      {nvtx::kNameOsThreadA, As(NameOsThreadA)},
      {nvtx::kNameOsThreadW, As(NameOsThreadW)},
  };
  const Slot core2[] = {
      {nvtx::kDomainMarkEx, As(DomainMarkEx)},
      {nvtx::kDomainRangeStartEx, As(DomainRangeStartEx)},
      {nvtx::kDomainRangeEnd, As(DomainRangeEnd)},
      {nvtx::kDomainRangePushEx, As(DomainRangePushEx)},
      {nvtx::kDomainRangePop, As(DomainRangePop)},
      {nvtx::kDomainNameCategoryA, As(DomainNameCategoryA)},
      {nvtx::kDomainNameCategoryW, As(DomainNameCategoryW)},
      {nvtx::kDomainRegisterStringA, As(DomainRegisterStringA)},
      {nvtx::kDomainRegisterStringW, As(DomainRegisterStringW)},
      {nvtx::kDomainCreateA, As(DomainCreateA)},
      {nvtx::kDomainCreateW, As(DomainCreateW)},
      {nvtx::kDomainDestroy, As(DomainDestroy)},
  };
  Fill(*callbacks, nvtx::kCore, core);
  Fill(*callbacks, nvtx::kCore2, core2);
  return true;
}

int OpenRanges() { return t_open_ranges; }

void EmitRange(HostWhat what, const char* name, const char* payload) {
  Recorder* recorder = Recording();
  if (recorder == nullptr) return;
  HostEvent event;
  event.what = what;
  event.source = HostSource::kPackage;
  if (payload != nullptr && payload[0] != '\0') event.payload_type = PayloadType::kText;
  recorder->Emit(event, View(name), View(payload));
}

}  // namespace nl::capture
