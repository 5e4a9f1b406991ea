// SPDX-License-Identifier: Apache-2.0
#include "capture/lib/torch_ops.h"

#include <dlfcn.h>
#include <link.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "capture/format/records.h"
#include "capture/lib/recorder.h"

namespace nl::capture {

namespace {

// What PyTorch declares, as far as it is passed to us or by us. The same from 1.13 to 2.11; a later one that
// differs shows in the probe.
struct RecordFunction;
struct Context {  // std::unique_ptr<ObserverContext>: returned through memory, as it has a destructor
  void* none = nullptr;
  ~Context() {}
};
struct Callback {
  Context (*start)(const RecordFunction&);
  void (*end)(const RecordFunction&, void*);
  double sampling_prob = 1;
  bool scopes[10];
  bool needs_inputs = false, needs_outputs = false, needs_ids = false;
};
constexpr size_t kBackwardScope = 1, kLabelScope = 7;  // RecordScope::BACKWARD_FUNCTION, USER_SCOPE
struct Sizes {                                         // std::vector<int64_t>
  int64_t *begin, *end, *capacity;
};
struct SizesList {  // std::vector<std::vector<int64_t>>
  Sizes *begin, *end, *capacity;
};

struct Torch {
  uint64_t (*add)(Callback) = nullptr;
  void (*remove)(uint64_t) = nullptr;
  const char* (*name)(const RecordFunction*) = nullptr;
  bool (*is_async)(const RecordFunction*) = nullptr;
  uint64_t (*next_sequence)() = nullptr;
  SizesList (*sizes)(const RecordFunction&, bool) = nullptr;
};
Torch g_torch;
bool g_usable = false;
size_t g_sequence_at = 0;  // bytes into a RecordFunction; 0: not known

template <class F>
bool Find(void* library, const char* symbol, F& to) {
  to = reinterpret_cast<F>(dlsym(library, symbol));
  return to != nullptr;
}

int IsTorch(dl_phdr_info* info, size_t, void* found) {
  constexpr std::string_view kName = "libtorch_cpu.so";
  const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const size_t slash = path.rfind('/');
  if (!path.substr(slash == std::string_view::npos ? 0 : slash + 1).starts_with(kName)) return 0;
  *static_cast<void**>(found) = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return 1;
}

bool FindTorch() {
  if (g_torch.add != nullptr) return true;
  void* library = nullptr;
  dl_iterate_phdr(IsTorch, &library);
  if (library == nullptr) return false;
  Torch t;
  if (!Find(library, "_ZN2at14removeCallbackEm", t.remove) ||
      !Find(library, "_ZNK2at14RecordFunction4nameEv", t.name) ||
      !Find(library, "_ZNK2at14RecordFunction7isAsyncEv", t.is_async) ||
      !Find(library, "_ZN2at15sequence_number4peekEv", t.next_sequence) ||
      !Find(library, "_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb", t.sizes) ||
      !Find(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", t.add))
    return false;
  g_torch = t;
  return true;
}

// The operators that are open on this thread, so that one that ends elsewhere, or not at all, does not close
// another.
struct OpenOps {
  static constexpr int kMost = 128;
  const RecordFunction* op[kMost];
  int count = 0;
};
thread_local OpenOps t_open;

// A name and the sizes of its inputs, as PyTorch's NVTX profiler words them, for the same reader.
struct OpText {
  void Put(std::string_view text) {
    const size_t room = sizeof buffer - bytes;
    if (text.size() > room) text = text.substr(0, room);
    std::memcpy(buffer + bytes, text.data(), text.size());
    bytes += text.size();
  }
  void Put(int64_t value) {
    char digits[24];
    char* at = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    do *--at = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0) *--at = '-';
    Put({at, static_cast<size_t>(digits + sizeof digits - at)});
  }
  void PutSizes(const RecordFunction& op) {
    const SizesList list = g_torch.sizes(op, false);
    if (list.begin == list.end) return;
    Put(", sizes = [");
    for (const Sizes* sizes = list.begin; sizes != list.end; ++sizes) {
      Put(sizes == list.begin ? "[" : ", [");
      for (const int64_t* size = sizes->begin; size != sizes->end; ++size) {
        if (size != sizes->begin) Put(", ");
        Put(*size);
      }
      Put("]");
      std::free(sizes->begin);
    }
    Put("]");
    std::free(list.begin);
  }
  std::string_view view() const { return {buffer, bytes}; }
  char buffer[kMaxStringBytes + 1];
  size_t bytes = 0;
};

int64_t SequenceOf(const RecordFunction& op) {
  if (g_sequence_at == 0) return -1;
  int64_t sequence;
  std::memcpy(&sequence, reinterpret_cast<const char*>(&op) + g_sequence_at, sizeof sequence);
  return sequence;
}

void EmitOp(HostWhat what, const RecordFunction& op, std::string_view text) {
  Recorder* recorder = Recorder::Start();  // a forked child's first event; else what is there
  if (recorder == nullptr) return;
  HostEvent event;
  event.what = what;
  event.source = HostSource::kTorch;
  if (what == HostWhat::kStart || what == HostWhat::kEnd) event.id = reinterpret_cast<uint64_t>(&op);
  if (const int64_t sequence = what == HostWhat::kPush ? SequenceOf(op) : -1; sequence >= 0) {
    event.payload = static_cast<uint64_t>(sequence);
    event.payload_type = PayloadType::kInt;
  }
  recorder->Emit(event, text);
}

void Begin(const RecordFunction& op, std::string_view text) {
  if (g_torch.is_async(&op)) return EmitOp(HostWhat::kStart, op, text);
  OpenOps& open = t_open;
  if (open.count < OpenOps::kMost) open.op[open.count] = &op;
  ++open.count;
  EmitOp(HostWhat::kPush, op, text);
}

void CountTurn();

Context OnName(const RecordFunction& op) {
  const char* name = g_torch.name(&op);
  Begin(op, {name, strnlen(name, kMaxStringBytes)});
  CountTurn();
  return {};
}

Context OnShapes(const RecordFunction& op) {
  OpText text;
  const char* name = g_torch.name(&op);
  text.Put({name, strnlen(name, kMaxStringBytes)});
  text.PutSizes(op);
  Begin(op, text.view());
  CountTurn();
  return {};
}

void OnEnd(const RecordFunction& op, void*) {
  OpenOps& open = t_open;
  int at = open.count - 1;
  if (at < OpenOps::kMost) {
    while (at >= 0 && open.op[at] != &op) --at;
    if (at < 0) {  // it began on another thread
      if (g_torch.is_async(&op)) EmitOp(HostWhat::kEnd, op, {});
      return;
    }
  }
  for (; open.count > at; --open.count) EmitOp(HostWhat::kPop, op, {});
}

// What a callback is of: everything, without functions of the backward pass, labels of record_function alone.
enum class Scopes { kAll, kForward, kLabels };

uint64_t Add(Context (*start)(const RecordFunction&), void (*end)(const RecordFunction&, void*), bool inputs,
             Scopes scopes) {
  Callback callback{start, end};
  std::memset(callback.scopes, scopes != Scopes::kLabels, sizeof callback.scopes);
  callback.scopes[kBackwardScope] = scopes == Scopes::kAll;
  callback.scopes[kLabelScope] = true;
  callback.needs_inputs = inputs;
  return g_torch.add(callback);
}

// What the operators of the probe gave.
struct Probe {
  static constexpr size_t kWords =
      96;  // a RecordFunction has about 60; it lies on the stack, with callers above it
  uint64_t handle = 0;
  int seen = 0, right = 0;
  bool may_be_sequence[kWords];
};
thread_local Probe* t_probe = nullptr;

Context OnProbe(const RecordFunction& op) {
  Probe* probe = t_probe;
  const char* name = g_torch.name(&op);
  if (probe == nullptr || name == nullptr || std::strcmp(name, "aten::mul") != 0) return {};
  ++probe->seen;
  OpText text;
  text.PutSizes(op);
  if (text.view() == ", sizes = [[2, 3], [2, 3]]") ++probe->right;
  const uint64_t next = g_torch.next_sequence();
  for (size_t i = 0; i < Probe::kWords; ++i) {
    uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(&op) + i * sizeof word, sizeof word);
    if (word != next) probe->may_be_sequence[i] = false;
  }
  return {};
}

void OnProbeEnd(const RecordFunction&, void*) {}

// What is observed now. Switched by the Python package, at the end of a turn by the thread that has its last
// operator, and at the beginning of the next by the writer thread.
struct Observed {
  static constexpr int64_t kFirst = 8'000, kTurn = 4'000;  // operators
  static constexpr int64_t kRestTurns = 14;                // a rest lasts so many turns
  static constexpr int64_t kForgottenNs = 30'000'000'000;
  std::atomic_flag switching = ATOMIC_FLAG_INIT;
  TorchDetail detail = TorchDetail::kOff;
  bool turned = false;  // there was a turn
  uint64_t handle = 0;
  int64_t asked_ns = 0;        // last call of the Python package
  int64_t since_ns = 0;        // the turn began
  int64_t rests_until_ns = 0;  // between turns
  std::atomic<bool> used{false};
  std::atomic<uint64_t> now{0};          // ObservedOps
  std::atomic<int64_t> left{INT64_MAX};  // operators to the end of a turn; two threads may count one for both
};
Observed g_observed;

// Operators that are open keep the observer they began with to their end.
void Observe(uint64_t what) {
  Recorder* recorder = Recorder::Get();
  const bool differs = g_observed.now.exchange(what, std::memory_order_relaxed) != what;
  g_observed.used.store(true, std::memory_order_release);
  // What is recorded as observed was: the record of an end comes first, that of a beginning last.
  if (recorder != nullptr && differs && what == 0) recorder->PutObserved(what);
  if (g_observed.handle != 0) g_torch.remove(g_observed.handle);
  g_observed.handle = 0;
  const bool shapes = (what & kObservedShapes) != 0;
  const Scopes scopes = what == 0                                 ? Scopes::kLabels
                        : g_observed.detail == TorchDetail::kFull ? Scopes::kAll
                                                                  : Scopes::kForward;
  // Labels of the program are ranges: it has them in every step, and PyTorch asks nobody about operators
  // then.
  if (g_observed.detail != TorchDetail::kOff)
    g_observed.handle = Add(shapes ? OnShapes : OnName, OnEnd, shapes, scopes);
  if (recorder != nullptr && differs && what != 0) recorder->PutObserved(what);
}

void BeginTurn(int64_t now_ns) {
  Observed& o = g_observed;
  o.since_ns = now_ns;
  o.left.store(o.turned ? Observed::kTurn : Observed::kFirst, std::memory_order_relaxed);
  o.turned = true;
  Observe(kObservedNames | kObservedShapes);
}

void CountTurn() {
  Observed& o = g_observed;
  const int64_t left = o.left.load(std::memory_order_relaxed) - 1;
  o.left.store(left, std::memory_order_relaxed);
  if (left > 0 || o.switching.test_and_set(std::memory_order_acquire)) return;
  if (o.detail == TorchDetail::kTurns && o.now.load(std::memory_order_relaxed) != 0) {
    const int64_t now_ns = MonotonicNs();
    o.rests_until_ns = now_ns + Observed::kRestTurns * (now_ns - o.since_ns);
    o.left.store(INT64_MAX, std::memory_order_relaxed);
    Observe(0);
  }
  o.switching.clear(std::memory_order_release);
}

}  // namespace

bool BeginTorchProbe() {
  if (!FindTorch() || t_probe != nullptr) return false;
  t_probe = new (std::nothrow) Probe;
  if (t_probe == nullptr) return false;
  std::memset(t_probe->may_be_sequence, 1, sizeof t_probe->may_be_sequence);
  t_probe->handle = Add(OnProbe, OnProbeEnd, true, Scopes::kAll);
  return true;
}

bool EndTorchProbe() {
  Probe* probe = t_probe;
  if (probe == nullptr) return false;
  g_torch.remove(probe->handle);
  t_probe = nullptr;
  g_usable = probe->seen >= 2 && probe->right == probe->seen;
  // One place and no other held the number of each operator; else backward calls go without their forward
  // ones.
  size_t found = 0, at = 0;
  for (size_t i = 0; i < Probe::kWords; ++i) {
    if (!probe->may_be_sequence[i]) continue;
    ++found;
    at = i;
  }
  if (found == 1) g_sequence_at = at * sizeof(uint64_t);
  delete probe;
  return g_usable;
}

bool ObserveTorch(TorchDetail detail) {
  if (!g_usable) return false;
  Observed& o = g_observed;
  while (o.switching.test_and_set(std::memory_order_acquire)) {
  }
  const int64_t now_ns = MonotonicNs();
  o.asked_ns = now_ns;
  if (detail != o.detail) {
    o.detail = detail;
    o.left.store(INT64_MAX, std::memory_order_relaxed);
    switch (detail) {
      case TorchDetail::kOff:
      case TorchDetail::kPaused: Observe(0); break;
      case TorchDetail::kNames: Observe(kObservedNames); break;
      case TorchDetail::kShapes:
      case TorchDetail::kFull: Observe(kObservedNames | kObservedShapes); break;
      case TorchDetail::kTurns: BeginTurn(now_ns); break;
    }
  }
  o.switching.clear(std::memory_order_release);
  return true;
}

void KeepTorchTurns(int64_t now_ns) {
  Observed& o = g_observed;
  if (!o.used.load(std::memory_order_acquire) || o.switching.test_and_set(std::memory_order_acquire)) return;
  const bool asked = o.detail == TorchDetail::kPaused || o.detail == TorchDetail::kShapes;
  if (asked && now_ns - o.asked_ns > Observed::kForgottenNs) {
    o.detail = TorchDetail::kTurns;
    BeginTurn(now_ns);
  } else if (o.detail == TorchDetail::kTurns && o.now.load(std::memory_order_relaxed) == 0 &&
             now_ns >= o.rests_until_ns) {
    BeginTurn(now_ns);
  }
  o.switching.clear(std::memory_order_release);
}

int64_t ObservedOfTorch() {
  return g_observed.used.load(std::memory_order_acquire)
             ? static_cast<int64_t>(g_observed.now.load(std::memory_order_relaxed))
             : -1;
}

}  // namespace nl::capture
