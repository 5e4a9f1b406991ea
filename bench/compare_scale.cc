// SPDX-License-Identifier: Apache-2.0
// compare_scale [--kernels N] [--only TEXT] [--steps]: how long comparing two generated runs takes and what
// it adds to the memory of their columns: first the facts that other commands need as well (timeline, idle
// time, stages, fingerprint), then the comparison, on two threads where it has two runs to go through. Cases:
// one change in a labelled recording of ops, Python and API calls; the same without labels; kernels alone, of
// which one in ten was exchanged; kernels alone that have nothing in common.
// --steps times the steps of the comparison one by one.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/compare/sequence/segments.h"
#include "analyze/compare/verdict/comparable.h"
#include "analyze/facts/fingerprint.h"
#include "analyze/facts/stages.h"
#include "testing/synthetic/run_plants.h"

namespace {

using namespace nl;
using namespace nl::synthetic;

struct Options {
  int64_t kernels = 1'000'000;
  std::string only;
  bool steps = false;
};

// Seconds on the wall, which the mark is of, and of both cores' work, which a busy machine does not change.
struct Lap {
  double wall_s, cpu_s;
};
class Clock {
 public:
  Lap Take() {
    const Lap before = last_;
    last_ = Now();
    return {last_.wall_s - before.wall_s, last_.cpu_s - before.cpu_s};
  }

 private:
  static double Read(clockid_t id) {
    timespec t{};
    clock_gettime(id, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  static Lap Now() { return {Read(CLOCK_MONOTONIC), Read(CLOCK_PROCESS_CPUTIME_ID)}; }
  Lap last_ = Now();
};

// A line of /proc/self/status in MB.
double MemoryMb(const char* what) {
  double mb = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file)) {
      if (std::strncmp(line, what, std::strlen(what)) == 0)
        mb = std::atof(line + std::strlen(what) + 1) / 1e3;
    }
    std::fclose(file);
  }
  return mb;
}
// Lets the highest memory use start from the present one.
void ForgetPeak() {
  if (std::FILE* file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

size_t Events(const RunData& d) {
  return d.kernel.size() + d.memcpy.size() + d.memset.size() + d.api_call.size() + d.op.size() +
         d.python_call.size() + d.range.size();
}

template <class T>
void Free(std::vector<T>& column) {
  std::vector<T>().swap(column);
}
// Columns that nobody declares, so that a stored run is loaded without them.
void DropUnloaded(RunColumns& d) {
  Free(d.kernel.external_id), Free(d.kernel.queued_ns), Free(d.kernel.blocks_per_sm),
      Free(d.kernel.warps_per_sm);
  Free(d.kernel.priority), Free(d.api_call.domain), Free(d.api_call.callback_id),
      Free(d.api_call.external_id);
  Free(d.op.external_id), Free(d.op.record_function_id), Free(d.op.event_index), Free(d.op.forward_thread);
  Free(d.op.input_strides), Free(d.python_call.python_id), Free(d.python_call.python_parent_id);
  Free(d.python_call.event_index);
}

constexpr int kRounds = 5;

struct Case {
  std::string name;
  Scenario a, b;
};

Scenario Big(int64_t kernels, Recording recording) {
  Scenario s;
  s.llm.layers = 32;
  s.llm.steps = static_cast<int>(std::max<int64_t>(2, kernels / (32 * 39)));
  s.llm.prompt = 64;
  s.recording = recording;
  return s;
}

// A kernel in `of` is another one, wherever a hash of its place says so.
Edit Exchange(uint64_t of) {
  Edit e;
  const auto count = std::make_shared<uint64_t>(0);  // over the whole program
  e.change = [count, of](Call& c) {
    const uint64_t h = compare::HashPair(++*count, 77);
    if (h % of == 0) c.work[0].name = fmt::format("void exchanged::kernel<{}>(float*)", h / of % 50);
  };
  return e;
}

std::vector<Case> Cases(int64_t kernels) {
  Recording full, plain, bare;
  full.python = full.modules = true;
  full.frames = 2;
  plain = full;
  plain.labels = false;
  bare.ops = bare.shapes = bare.labels = false;
  std::vector<Case> out;
  const Plant added = plants::KernelsAdded({"", "mlp.mul"}, 1, 3, "");
  for (const auto& [name, recording] :
       {std::pair("labelled", full), std::pair("no labels", plain), std::pair("kernels alone", bare)}) {
    Case c{name, Big(kernels, recording), Big(kernels, recording)};
    added.apply(c.b);
    out.push_back(c);
  }
  Case tenth{"kernels alone, a tenth exchanged", Big(kernels, bare), Big(kernels, bare)};
  tenth.b.edits.push_back(Exchange(10));
  out.push_back(tenth);
  Case foreign{"kernels alone, nothing in common", Big(kernels, bare), Big(kernels, bare)};
  foreign.b.edits.push_back(Exchange(1));
  out.push_back(foreign);
  return out;
}

Status NeedFacts(Analysis& run) {
  NL_TRY(run.Need<TimelineFacts>());
  NL_TRY(run.Need<IdleFacts>());
  NL_TRY(run.Need<StagesFacts>());
  NL_TRY(run.Need<FingerprintFacts>());
  return {};
}

// The steps of CompareRuns, timed from outside.
Status TimeSteps(Analysis& run_a, Analysis& run_b) {
  using namespace compare;
  Clock clock;
  NL_ASSIGN(CallSequence a, BuildCallSequence(run_a));
  const double sequence_a_s = clock.Take().cpu_s;
  NL_ASSIGN(CallSequence b, BuildCallSequence(run_b));
  fmt::print("    sequences {:.2f} and {:.2f} s", sequence_a_s, clock.Take().cpu_s);
  CutPeriods(a, b);
  fmt::print(", periods {:.2f} s", clock.Take().cpu_s);
  Alignment alignment = Align(a, b);
  fmt::print(", alignment {:.2f} s", clock.Take().cpu_s);
  const Changes changes = FindChanges(a, b, alignment);
  fmt::print(", changes {:.2f} s", clock.Take().cpu_s);
  NL_ASSIGN(const Comparable comparable, FindComparable(run_a, run_b, a, b, alignment, changes));
  fmt::print(", comparable {:.2f} s", clock.Take().cpu_s);
  const Attribution attribution = Attribute(a, b, alignment, changes, comparable.work, {}, {});
  fmt::print(", attribution {:.2f} s ({} segments, {} clusters, {} contributions)\n", clock.Take().cpu_s,
             a.segments.size(), changes.clusters.size(), attribution.contributions.size());
  return {};
}

// Prints one line; false when the marks are missed.
bool Run(const Case& c, bool steps) {
  testing_analyze::RunBuilder builder_a, builder_b;
  const Program program_a = MakeProgram(c.a), program_b = MakeProgram(c.b);
  Simulate(program_a, RunNoise(1), &builder_a);
  Simulate(program_b, RunNoise(2), &builder_b);
  DropUnloaded(builder_a.data());
  DropUnloaded(builder_b.data());
  Analysis a = builder_a.Finish(), b = builder_b.Finish();
  const double columns_mb = static_cast<double>(a.loaded_bytes() + b.loaded_bytes()) / 1e6;
  const size_t events = Events(a.data()) + Events(b.data());
  Clock clock;
  const double loaded_mb = MemoryMb("VmRSS:");
  if (!NeedFacts(a).ok() || !NeedFacts(b).ok()) return false;
  const double facts_s = clock.Take().cpu_s, facts_mb = MemoryMb("VmRSS:") - loaded_mb;
  ForgetPeak();
  clock.Take();
  Result<Comparison> result = CompareRuns(a, b, {});
  std::vector<Lap> laps = {clock.Take()};
  const double peak_mb = MemoryMb("VmHWM:") - loaded_mb;
  if (!result.ok()) {
    fmt::print("{}: {}\n", c.name, result.error().ToString());
    return false;
  }
  for (int more = 1; more < kRounds; ++more) {
    result = CompareRuns(a, b, {});
    laps.push_back(clock.Take());
  }
  std::sort(laps.begin(), laps.end(), [](const Lap& x, const Lap& y) { return x.wall_s < y.wall_s; });
  const Lap compared = laps[kRounds / 2];
  fmt::print(
      "{}: {} + {} kernels, {:.1f} M events; facts {:.2f} s of work; comparison {:.2f} s (least {:.2f}), "
      "{:.2f} s of work; "
      "columns {:.0f} MB, facts {:.0f} MB, at most {:.0f} MB above the columns ({:.1f} x)\n",
      c.name, a.data().kernel.size(), b.data().kernel.size(), static_cast<double>(events) / 1e6, facts_s,
      compared.wall_s, laps.front().wall_s, compared.cpu_s, columns_mb, facts_mb, peak_mb,
      (columns_mb + peak_mb) / columns_mb);
  const Contribution& first = result->contributions.front();
  fmt::print("    {} {:+.1f} ms of {:+.1f} ms; matched {:.3f} and {:.3f}\n", CauseName(first.cause),
             first.delta_ms(), result->delta_ms(), result->matched_share_a, result->matched_share_b);
  std::fflush(stdout);
  if (steps && !TimeSteps(a, b).ok()) return false;
  return compared.wall_s <= 1 && columns_mb + peak_mb <= 3 * columns_mb;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--kernels" && i + 1 < argc)
      o.kernels = std::atoll(argv[++i]);
    else if (arg == "--only" && i + 1 < argc)
      o.only = argv[++i];
    else if (arg == "--steps")
      o.steps = true;
    else {
      fmt::print(stderr, "usage: compare_scale [--kernels N] [--only TEXT] [--steps]\n");
      return 2;
    }
  }
  bool ok = true;
  for (const Case& c : Cases(o.kernels)) {
    if (c.name.find(o.only) == std::string::npos) continue;
    ok = Run(c, o.steps) && ok;
  }
  return ok ? 0 : 1;
}
