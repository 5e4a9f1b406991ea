// SPDX-License-Identifier: Apache-2.0
// compare_truth [--seeds N] [--repeats N] [--only TEXT] [--exact] [--list] [--show]: how often the comparison
// names the planted cause of a pair first, how near it comes to its true size and place, and how often it
// sees a change where there is none. Exit status 1 when a mark is missed.
//   --exact   pairs without noise: what is left is the attribution's own error
//   --show    prints the contributions of each pair

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "testing/synthetic/cases.h"

namespace {

using namespace nl;
using namespace nl::synthetic;

struct Options {
  int seeds = 3, repeats = 240;
  std::string only;
  bool exact = false, list = false, show = false;
};

struct Score {
  int64_t pairs = 0, first = 0, told = 0, placed = 0, near = 0, close = 0, pieces = 0;
  void Add(const Told& t, double wall_ms) {
    ++pairs;
    first += t.first;
    told += t.rank >= 0;
    pieces += t.pieces;
    placed += t.rank >= 0 && t.placed;
    near += t.Within(0.05, 0.005 * wall_ms);
    close += t.Within(0.05, 0.05 * 0.005 * wall_ms);
  }
  void Add(const Score& s) {
    pairs += s.pairs, first += s.first, told += s.told, placed += s.placed, near += s.near, close += s.close;
    pieces += s.pieces;
  }
};

double Percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string Line(const Contribution& c) {
  return fmt::format("{:+.3f} {}{}{} [{}|{}|{}]{}", c.delta_ms(), CauseName(c.cause),
                     c.detail.empty() ? "" : " ", c.detail.substr(0, 30), c.stage, c.module, c.op,
                     c.significant ? "" : " ns");
}

void Show(const PairResult& r, size_t most) {
  fmt::print("    wall {:.3f} -> {:.3f} ({:+.3f}) drift {:.3f} residual {:.6f} {}\n", r.comparison.wall_a_ms,
             r.comparison.wall_b_ms, r.comparison.delta_ms(), r.comparison.drift, r.comparison.residual_ms,
             VerdictName(r.comparison.verdict.verdict));
  for (const Comparability& c : r.comparison.comparability)
    fmt::print("      {}: {} -> {}\n", c.what, c.a, c.b);
  for (size_t i = 0; i < std::min(most, r.comparison.contributions.size()); ++i)
    fmt::print("      {}. {}\n", i + 1, Line(r.comparison.contributions[i]));
}

void Complain(const PairResult& r, size_t plant, uint64_t seed) {
  const Told& t = r.told[plant];
  const Plant& p = r.pair->plants[plant];
  fmt::print("  {} (seed {}): want {} {:+.3f} at [{}|{}|{}]; told {} {:+.3f}{}\n", r.pair->name, seed,
             CauseName(r.pair->undo ? p.undone : p.cause), t.truth_ms, StageLabel(r.pair->base, p.stage),
             p.module, p.op, t.rank < 0 ? "not" : fmt::format("as number {}", t.rank + 1), t.delta_ms,
             t.placed ? "" : ", elsewhere");
  Show(r, 5);
}

class Runner {
 public:
  explicit Runner(const Options& options) : o_(options) {}

  // Single causes must come first, of two each must be among the first three.
  bool Pairs(const std::vector<PairCase>& cases, bool doubles) {
    std::map<std::string, Score> classes;
    Score all;
    int64_t unresolved = 0;
    for (const PairCase& pair : cases) {
      if (!o_.only.empty() && pair.name.find(o_.only) == std::string::npos) continue;
      if (o_.list) {
        fmt::print("{}\n", pair.name);
        continue;
      }
      for (int seed = 1; seed <= (o_.exact ? 1 : o_.seeds); ++seed) {
        const uint64_t base = compare::HashPair(SeedOf(pair.name), static_cast<uint64_t>(seed));
        PairResult r =
            RunPair(pair, o_.exact ? NoNoise() : RunNoise(base), o_.exact ? NoNoise() : RunNoise(base + 1));
        if (!r.error.empty()) fmt::print("  {}: {}\n", pair.name, r.error);
        unresolved += std::abs(r.comparison.residual_ms) > 0.001 * std::abs(r.comparison.delta_ms()) + 1e-6;
        bool bad = false;
        for (size_t i = 0; i < r.told.size(); ++i) {
          Told& t = r.told[i];
          if (doubles) t.first = t.rank >= 0 && t.rank < 3;
          const Plant& p = pair.plants[i];
          Score& score = classes[std::string(CauseName(pair.undo ? p.undone : p.cause))];
          score.Add(t, r.comparison.wall_a_ms);
          all.Add(t, r.comparison.wall_a_ms);
          if (t.first && t.placed && t.Within(0.05, 0.005 * r.comparison.wall_a_ms)) continue;
          Complain(r, i, static_cast<uint64_t>(seed));
          bad = true;
        }
        if (o_.show && !bad) {
          fmt::print("  {} (seed {}): truth {:+.3f}\n", pair.name, seed, r.told[0].truth_ms);
          Show(r, 8);
        }
      }
    }
    if (o_.list || all.pairs == 0) return true;
    fmt::print("\n{:<24}{:>7}{:>9}{:>8}{:>8}{:>10}{:>10}{:>8}\n", doubles ? "of two causes" : "cause",
               "pairs", doubles ? "top 3 %" : "first %", "told %", "place %", "size 5 %", "strict %",
               "pieces");
    for (const auto& [name, s] : classes) Row(name, s);
    Row("all", all);
    fmt::print("residual above 0.1 %: {}\n\n", unresolved);
    return Percent(all.first, all.pairs) >= 95 && unresolved == 0;
  }

  // The wall did not change, whatever did: no verdict may say so.
  bool Hidden(const std::vector<PairCase>& cases) {
    int wrong = 0, pairs = 0;
    for (const PairCase& pair : cases) {
      if (o_.list || (!o_.only.empty() && pair.name.find(o_.only) == std::string::npos)) continue;
      for (int seed = 1; seed <= (o_.exact ? 1 : o_.seeds); ++seed) {
        const uint64_t base = compare::HashPair(SeedOf(pair.name), static_cast<uint64_t>(seed) + 50);
        const NoiseLevel a = o_.exact ? NoNoise() : RunNoise(base),
                         b = o_.exact ? NoNoise() : RunNoise(base + 1);
        const PairResult r = RunPair(pair, a, b);
        const Truth truth = TruthOf(pair, a, b)[0];
        if (std::max(std::abs(truth.low_ms), std::abs(truth.high_ms)) > 0.005 * r.comparison.wall_a_ms)
          continue;
        const VerdictClass verdict = r.comparison.verdict.verdict;
        ++pairs;
        if (verdict != VerdictClass::kRegressed && verdict != VerdictClass::kImproved) continue;
        ++wrong;
        fmt::print("  {} (seed {}): {} although the wall changed by {:+.3f} to {:+.3f} ms\n", pair.name, seed,
                   VerdictName(verdict), truth.low_ms, truth.high_ms);
        Show(r, 4);
      }
    }
    if (pairs == 0) return true;
    fmt::print("\nchanges the wall does not show: {} pairs, {} with a verdict of a change ({:.1f} %)\n\n",
               pairs, wrong, Percent(wrong, pairs));
    return Percent(wrong, pairs) <= 1;
  }

  bool Repeats() {
    if (o_.list || o_.exact) return true;
    const std::vector<std::string> worlds = RepeatWorlds();
    std::map<std::string, std::pair<int, int>> by_world;
    int wrong = 0, pairs = 0;
    for (int i = 0; i < o_.repeats; ++i) {
      const std::string& world = worlds[static_cast<size_t>(i) % worlds.size()];
      PairCase pair{world + ": nothing", World(world), {plants::Nothing()}, false};
      if (!o_.only.empty() && pair.name.find(o_.only) == std::string::npos) continue;
      const uint64_t base = compare::HashPair(SeedOf(world), 7919 + static_cast<uint64_t>(i));
      const PairResult r = RunPair(pair, RunNoise(base), RunNoise(base + 1));
      const VerdictClass verdict = r.comparison.verdict.verdict;
      const bool bad = verdict == VerdictClass::kRegressed || verdict == VerdictClass::kImproved;
      ++pairs, wrong += bad;
      ++by_world[world].first, by_world[world].second += bad;
      if (bad || !r.error.empty()) {
        fmt::print("  {} (repeat {}): {} {}\n", pair.name, i, VerdictName(verdict), r.error);
        Show(r, 4);
      }
    }
    if (pairs == 0) return true;
    fmt::print("\nrepeats of the same thing: {} pairs, {} with a verdict of a change ({:.1f} %)\n", pairs,
               wrong, Percent(wrong, pairs));
    for (const auto& [world, n] : by_world) fmt::print("  {:<16}{:>4} of {}\n", world, n.second, n.first);
    return Percent(wrong, pairs) <= 1;
  }

 private:
  static void Row(const std::string& name, const Score& s) {
    fmt::print("{:<24}{:>7}{:>9.1f}{:>8.1f}{:>8.1f}{:>10.1f}{:>10.1f}{:>8.1f}\n", name, s.pairs,
               Percent(s.first, s.pairs), Percent(s.told, s.pairs), Percent(s.placed, s.pairs),
               Percent(s.near, s.pairs), Percent(s.close, s.pairs),
               s.told == 0 ? 0 : static_cast<double>(s.pieces) / static_cast<double>(s.told));
  }

  Options o_;
};

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (arg == "--seeds")
      o.seeds = std::atoi(value());
    else if (arg == "--repeats")
      o.repeats = std::atoi(value());
    else if (arg == "--only")
      o.only = value();
    else if (arg == "--exact")
      o.exact = true;
    else if (arg == "--list")
      o.list = true;
    else if (arg == "--show")
      o.show = true;
    else {
      fmt::print(
          stderr,
          "usage: compare_truth [--seeds N] [--repeats N] [--only TEXT] [--exact] [--list] [--show]\n");
      return 2;
    }
  }
  Runner runner(o);
  bool ok = runner.Pairs(SingleCases(), false);
  ok = runner.Pairs(DoubleCases(), true) && ok;
  ok = runner.Hidden(HiddenCases()) && ok;
  ok = runner.Repeats() && ok;
  return ok ? 0 : 1;
}
