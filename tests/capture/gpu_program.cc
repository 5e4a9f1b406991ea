// SPDX-License-Identifier: Apache-2.0
// A program to be recorded. It loads the injection libraries as the CUDA driver and NVTX
// would, and does what its arguments say, in order:
//   long=N             N kernels of 200 us
//   play=FILE          what a file of lines says: "push LABEL", "pop", "kernel NS GX GY GZ BX BY BZ NAME"
//   launch=N graph=N copy=N memset=N malloc=N question=N sync stream_sync=ID    work, on the fake CUPTI
//   push=LABEL pop start=LABEL end mark=LABEL domain=NAME        NVTX
//   threads=N          N threads push and pop a range 100 times each
//   busy_threads=N     N threads that push and pop until the process is gone
//   flood=N            N pushes and pops as fast as it can
//   bursts=N           waits until N more bursts of counters were read
//   all_bursts=N       waits until N bursts were read since the start
//   busy_bursts=N      as bursts, and keeps the device at work with kernels of 200 us
//   clocks=N           waits until NVML was asked N more times;  clock_reads=N: until the GPU clock was
//   counters_rest      waits until nothing of PM sampling is left
//   launched=N         waits until N more kernels were launched, by whatever thread
//   leave=N            makes CUDA calls until CUPTI has left N times more
//   watched            waits until CUPTI was asked to leave;  unwatched: makes CUDA calls until it no longer
//   is pause              waits until recording pauses file               waits until the capture has a file
//   that is not empty steps=N            N times a range with a kernel in it, then 2 ms of rest make_graph
//   instantiates a CUDA graph;  print_left: prints how often CUPTI has left print_now          prints the
//   monotonic time in ns racing_threads=N   N threads launch kernels until the process ends sleep=MS fork,
//   fork_work, exec=..., crash, kill, _exit=N, exit=N, close_stdout, destroy            the context is
//   destroyed start stop         as neurolens.start() and stop() do print=TEXT         writes to standard
//   output
// Prints nothing else. Exit status 0, or what exit= says; 9 when a library is not there, 7 when what it waits
// for does not come in ten minutes.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/lib/nvtx_types.h"
#include "fake_cupti.h"

namespace {

namespace nvtx = nl::capture::nvtx;

// One copy of NVTX, as its header makes it: pointers that do nothing until a tool sets them.
struct Nvtx {
  nvtx::Function core[16] = {}, core2[16] = {};
  nvtx::Function* core_table[17] = {};
  nvtx::Function* core2_table[17] = {};
  std::once_flag tried;
};
Nvtx g_nvtx;

int GetModuleFunctionTable(int module, nvtx::Function*** table, unsigned* size) {
  if (module != nvtx::kCore && module != nvtx::kCore2) return 0;
  *table = module == nvtx::kCore ? g_nvtx.core_table : g_nvtx.core2_table;
  *size = 16;
  return 1;
}
const void* GetExportTable(uint32_t id) {
  static const nvtx::CallbacksTable callbacks{sizeof callbacks, GetModuleFunctionTable};
  return id == nvtx::kCallbacksTable ? &callbacks : nullptr;
}

void* Load(const char* variable) {
  const char* path = std::getenv(variable);
  return path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void InitNvtx() {
  std::call_once(g_nvtx.tried, [] {
    for (int i = 0; i < 16; ++i) {
      g_nvtx.core_table[i] = &g_nvtx.core[i];
      g_nvtx.core2_table[i] = &g_nvtx.core2[i];
    }
    void* library = Load("NVTX_INJECTION64_PATH");
    if (library == nullptr) return;
    const auto init =
        reinterpret_cast<int (*)(nvtx::GetExportTable)>(dlsym(library, "InitializeInjectionNvtx2"));
    if (init != nullptr) init(GetExportTable);
  });
}

template <class R, class... Args>
R Core(unsigned id, Args... args) {
  InitNvtx();
  const auto function = reinterpret_cast<R (*)(Args...)>(g_nvtx.core[id]);
  if (function != nullptr) return function(args...);
  return R();
}
template <class R, class... Args>
R Core2(unsigned id, Args... args) {
  InitNvtx();
  const auto function = reinterpret_cast<R (*)(Args...)>(g_nvtx.core2[id]);
  if (function != nullptr) return function(args...);
  return R();
}
void Push(const char* label) { Core<int>(nvtx::kRangePushA, label); }
void Pop() { Core<int>(nvtx::kRangePop); }

struct FakeCuda {
  decltype(&fake_cuda_init) init;
  decltype(&fake_bursts_read) bursts_read;
  decltype(&fake_finalized) finalized;
  decltype(&fake_make_graph) make_graph;
  decltype(&fake_watched) watched;
  decltype(&fake_pm_objects) pm_objects;
  decltype(&fake_launches) launches;
  decltype(&fake_clock_reads) clock_reads;
  decltype(&fake_busy_ns) busy_ns;
  decltype(&fake_launch) launch;
  decltype(&fake_launch_as) launch_as;
  decltype(&fake_graph_launch) graph_launch;
  decltype(&fake_memcpy) memcpy;
  decltype(&fake_memset) memset;
  decltype(&fake_malloc) malloc;
  decltype(&fake_synchronize) synchronize;
  decltype(&fake_synchronize_stream) synchronize_stream;
  decltype(&fake_question) question;
  decltype(&fake_context_destroy) context_destroy;
};

// As cuInit does: the tool first, then CUDA itself with its exit handlers.
FakeCuda& Cuda() {
  static FakeCuda cuda = [] {
    void* library = Load("NEUROLENS_CUPTI");
    if (library == nullptr) std::exit(9);
    if (void* tool = Load("CUDA_INJECTION64_PATH")) {
      if (const auto init = reinterpret_cast<int (*)()>(dlsym(tool, "InitializeInjection"))) init();
    }
    FakeCuda made{};
    const auto take = [library](const char* name, auto& to) {
      to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, name));
      if (to == nullptr) std::exit(9);
    };
    take("fake_cuda_init", made.init);
    take("fake_bursts_read", made.bursts_read);
    take("fake_finalized", made.finalized);
    take("fake_make_graph", made.make_graph);
    take("fake_watched", made.watched);
    take("fake_pm_objects", made.pm_objects);
    take("fake_launches", made.launches);
    take("fake_clock_reads", made.clock_reads);
    take("fake_busy_ns", made.busy_ns);
    take("fake_launch", made.launch);
    take("fake_launch_as", made.launch_as);
    take("fake_graph_launch", made.graph_launch);
    take("fake_memcpy", made.memcpy);
    take("fake_memset", made.memset);
    take("fake_malloc", made.malloc);
    take("fake_synchronize", made.synchronize);
    take("fake_synchronize_stream", made.synchronize_stream);
    take("fake_question", made.question);
    take("fake_context_destroy", made.context_destroy);
    made.init();
    return made;
  }();
  return cuda;
}

void CallLibrary(const char* name) {
  void* library = Load("NVTX_INJECTION64_PATH");
  if (library == nullptr) return;
  if (const auto function = reinterpret_cast<void (*)()>(dlsym(library, name))) function();
}

void MarkWithPayload(const char* label, const void* domain) {
  nvtx::EventAttributes a{};
  a.version = 3;
  a.bytes = sizeof a;
  a.color_type = 1;
  a.color = 0xff00ff00;
  a.category = 5;
  a.payload_type = 2;
  a.payload.as_int64 = -42;
  a.message_type = nvtx::kRegistered;
  a.message.registered = Core2<const void*>(nvtx::kDomainRegisterStringA, domain, label);
  Core2<void>(nvtx::kDomainMarkEx, domain, static_cast<const nvtx::EventAttributes*>(&a));
}

void Threads(int count) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) {
        Push("in a thread");
        Pop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// `meanwhile` is done before every look.
template <class Condition, class Do>
void Await(Condition condition, Do meanwhile) {
  for (int ms = 0; !condition(); ms += 2) {
    if (ms > 600'000) std::exit(7);
    meanwhile();
    usleep(2000);
  }
}

template <class Condition>
void Await(Condition condition) {
  Await(condition, [] {});
}

// Until a number that grows has grown by `count`.
template <class Number, class Do>
void AwaitMore(Number number, int64_t count, Do meanwhile) {
  const int64_t until = number() + count;
  Await([&] { return number() >= until; }, meanwhile);
}

template <class Number>
void AwaitMore(Number number, int64_t count) {
  AwaitMore(number, count, [] {});
}

void KeepBusy() {
  static int64_t launched = 0;
  while (Cuda().busy_ns() < 100'000'000)
    Cuda().launch(launched++ % 2 == 0 ? "_Z4gemmPfS_S_i" : "_ZN2at6native10vectorizedILi4EEEvv", 7, 200'000);
}

void AwaitNvml(int64_t count) {
  const auto reads = reinterpret_cast<int64_t (*)()>(dlsym(Load("NEUROLENS_NVML"), "fake_nvml_reads"));
  if (reads == nullptr) std::exit(9);
  AwaitMore(reads, count);
}

void AwaitPause() {
  void* library = Load("NVTX_INJECTION64_PATH");
  if (library == nullptr) std::exit(9);
  const auto* enabled = static_cast<std::atomic<int>*>(dlsym(library, "nl_enabled"));
  Await([&] { return enabled->load() == 0; });
}

bool HasFile(const char* directory) {
  bool found = false;
  DIR* entries = opendir(directory);
  while (const dirent* entry = entries == nullptr ? nullptr : readdir(entries)) {
    struct stat about {};
    if (std::strstr(entry->d_name, ".nlc") == nullptr) continue;
    found = found || (fstatat(dirfd(entries), entry->d_name, &about, 0) == 0 && about.st_size > 0);
  }
  if (entries != nullptr) closedir(entries);
  return found;
}

void Steps(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Push("step");
    Cuda().launch("_Z4gemmPfS_S_i", 7, 10'000);
    Pop();
    usleep(2000);
  }
}

void Play(const char* path) {
  std::ifstream lines(path);
  if (!lines) std::exit(9);
  static auto* names = new std::set<std::string>;  // records refer to them until they are delivered
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, rest;
    words >> what;
    if (what == "pop") {
      Pop();
    } else if (what == "push") {
      std::getline(words >> std::ws, rest);
      Push(rest.c_str());
    } else if (what == "kernel") {
      int64_t ns = 0;
      int32_t sizes[6] = {};
      words >> ns;
      for (int32_t& size : sizes) words >> size;
      std::getline(words >> std::ws, rest);
      Cuda().launch_as(names->insert(rest).first->c_str(), sizes, sizes + 3, ns);
    }
  }
}

bool DoWait(std::string_view what, int64_t number) {
  if (what == "bursts") return AwaitMore(Cuda().bursts_read, number), true;
  if (what == "all_bursts") return Await([=] { return Cuda().bursts_read() >= number; }), true;
  if (what == "busy_bursts") return KeepBusy(), AwaitMore(Cuda().bursts_read, number, KeepBusy), true;
  if (what == "clocks") return AwaitNvml(number), true;
  if (what == "clock_reads") return AwaitMore(Cuda().clock_reads, number), true;
  if (what == "counters_rest") return Await([] { return Cuda().pm_objects() == 0; }), true;
  if (what == "launched") return AwaitMore(Cuda().launches, number), true;
  if (what == "leave") return AwaitMore(Cuda().finalized, number, Cuda().question), true;
  if (what == "watched") return Await([] { return Cuda().watched(); }), true;
  if (what == "unwatched") return Await([] { return !Cuda().watched(); }, Cuda().question), true;
  if (what == "pause") return AwaitPause(), true;
  if (what == "file") return Await([] { return HasFile(std::getenv("NEUROLENS_CAPTURE_DIR")); }), true;
  return false;
}

void RacingThreads(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::thread([] {
      for (;;) {
        Cuda().launch("_Z4racev", 9, 1'000);
        usleep(50);
      }
    }).detach();
  }
}

void ForkAndWork() {
  const pid_t child = fork();
  if (child == 0) {
    Push("in the child");
    Pop();
    std::exit(0);
  }
  waitpid(child, nullptr, 0);
}

[[noreturn]] void Exec(const char* self, std::string value) {
  std::vector<std::string> parts{self};
  for (size_t at = 0; at != std::string::npos;) {
    const size_t next = value.find(':', at);
    parts.push_back(value.substr(at, next == std::string::npos ? next : next - at));
    at = next == std::string::npos ? next : next + 1;
  }
  std::vector<char*> arguments;
  for (std::string& part : parts) arguments.push_back(part.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  std::exit(9);
}

struct Doing {
  uint64_t open_range = 0;
  const void* domain = nullptr;
};

bool DoNvtx(std::string_view what, const char* value, int64_t number, Doing& doing) {
  if (what == "push") return Push(value), true;
  if (what == "pop") return Pop(), true;
  if (what == "start") return doing.open_range = Core<uint64_t>(nvtx::kRangeStartA, value), true;
  if (what == "end") return Core<void>(nvtx::kRangeEnd, doing.open_range), true;
  if (what == "domain") {
    doing.domain = Core2<const void*>(nvtx::kDomainCreateA, value);
    Core2<void>(nvtx::kDomainNameCategoryA, doing.domain, uint32_t{5}, static_cast<const char*>("five"));
    return true;
  }
  if (what == "mark") return MarkWithPayload(value, doing.domain), true;
  if (what == "thread_name")
    return Core<void>(nvtx::kNameOsThreadA, static_cast<uint32_t>(gettid()), value), true;
  if (what == "flood") {
    for (int64_t i = 0; i < number; ++i) {
      Push("flood");
      Pop();
    }
    return true;
  }
  if (what == "threads") return Threads(static_cast<int>(number)), true;
  if (what == "busy_threads") {
    for (int64_t i = 0; i < number; ++i) {
      std::thread([] {
        for (;;) {
          Push("busy");
          Pop();
        }
      }).detach();
    }
    return true;
  }
  return false;
}

bool DoWork(std::string_view what, int64_t number) {
  static const char* const kNames[] = {"_Z4gemmPfS_S_i", "_ZN2at6native10vectorizedILi4EEEvv"};
  for (int64_t i = 0; i < number; ++i) {
    if (what == "launch") Cuda().launch(kNames[i % 2], 7, 10'000);
    if (what == "long") Cuda().launch(kNames[i % 2], 7, 200'000);
    if (what == "graph") Cuda().graph_launch("_Z5graphv", 4, 2'000);
    if (what == "copy") Cuda().memcpy(i % 2 == 0 ? 1 : 2, 4096, i % 4 == 0);
    if (what == "memset") Cuda().memset(512);
    if (what == "malloc") Cuda().malloc(1 << 20);
    if (what == "question") Cuda().question();
  }
  for (const char* known : {"launch", "long", "graph", "copy", "memset", "malloc", "question"}) {
    if (what == known) return true;
  }
  return false;
}

void DoOther(const char* self, std::string_view what, const char* value, int64_t number) {
  if (what == "sync") return Cuda().synchronize();
  if (what == "stream_sync") return Cuda().synchronize_stream(static_cast<uint32_t>(number));
  if (what == "destroy") return Cuda().context_destroy();
  if (what == "sleep") {
    usleep(static_cast<useconds_t>(number * 1000));
    return;
  }
  if (what == "steps") return Steps(number);
  if (what == "play") return Play(value);
  if (what == "make_graph") return Cuda().make_graph();
  if (what == "print_left") {
    std::printf("left %lld times, %s\n", static_cast<long long>(Cuda().finalized()),
                Cuda().watched() ? "watched" : "not watched");
    std::fflush(stdout);
    return;
  }
  if (what == "print_now") {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    std::printf("%lld\n", static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
    std::fflush(stdout);
    return;
  }
  if (what == "racing_threads") return RacingThreads(number);
  if (what == "fork_work") return ForkAndWork();
  if (what == "exec") Exec(self, value);
  if (what == "crash") raise(SIGSEGV);
  if (what == "abort") std::abort();
  if (what == "kill") raise(SIGKILL);
  if (what == "_exit") _exit(static_cast<int>(number));
  if (what == "exit") std::exit(static_cast<int>(number));
  if (what == "close_stdout") {
    close(0);
    close(1);
    close(2);
    return;
  }
  if (what == "print") {
    std::printf("%s\n", value);
    std::fflush(stdout);
    return;
  }
  if (what == "recording_on") return CallLibrary("nl_start");
  if (what == "recording_off") return CallLibrary("nl_stop");
  std::fprintf(stderr, "gpu_program: what is %s?\n", std::string(what).c_str());
  std::exit(8);
}

}  // namespace

int main(int argc, char** argv) {
  Doing doing;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string_view what = argument.substr(0, equals);
    const char* value = equals == std::string_view::npos ? "" : argv[i] + equals + 1;
    const int64_t number = std::atoll(value);
    if (DoNvtx(what, value, number, doing) || DoWork(what, number) || DoWait(what, number)) continue;
    DoOther(argv[0], what, value, number);
  }
  return 0;
}
