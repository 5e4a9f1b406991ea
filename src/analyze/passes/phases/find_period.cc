// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/phases/find_period.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace nl::passes::phases {

namespace {

constexpr size_t kMostCandidates = 16;
constexpr size_t kMostPlaces = 512;             // of one token that vote
constexpr size_t kMostVoters = 1 << 21;         // places of all tokens
constexpr size_t kMostDistance = 4;             // occurrences of one token in a step that are seen
constexpr size_t kChunk = 1024, kChunks = 128;  // of long sequences, to compare periods
constexpr int64_t kMismatchCost = 9;            // matches that pay for one mismatch: 10 % may differ
constexpr uint32_t kMostLayers = 160;           // of one step; the deepest models have 126
constexpr double kLayerKernels = 200;           // what has more kernels is a step, whatever interrupts it
constexpr double kNestedKernels = 30;           // as is a shorter one with layers of its own

struct PeriodVote {
  uint32_t period;
  double share;  // of the sequence that the token's equal distances cover
};

// The distance between calls of a kernel that runs once per step is the period; of one that runs k times, the
// distance between each call and the k-th after it.
void VoteOf(std::span<const uint32_t> places, size_t tokens, std::vector<uint32_t>& distances,
            std::vector<PeriodVote>& votes) {
  const size_t count = places.size();
  // Programs begin differently: the calls in the middle of the second half are those of the loop.
  if (count > kMostPlaces)
    places = places.subspan(std::min(count - kMostPlaces, count * 5 / 8 - kMostPlaces / 2), kMostPlaces);
  for (size_t k = 1; k <= kMostDistance && k + 1 < places.size(); ++k) {
    distances.clear();
    for (size_t i = k; i < places.size(); ++i) distances.push_back(places[i] - places[i - k]);
    std::sort(distances.begin(), distances.end());
    size_t most = 0;
    uint32_t period = 0;
    for (size_t i = 0, run = 0; i < distances.size(); i += run) {
      run = 1;
      while (i + run < distances.size() && distances[i + run] == distances[i]) ++run;
      if (run > most) most = run, period = distances[i];
    }
    if (most < 2) continue;
    const double reach = static_cast<double>(count) * period / static_cast<double>(k * tokens);
    votes.push_back(
        {period, static_cast<double>(most) / static_cast<double>(distances.size()) * std::min(1.0, reach)});
  }
}

std::vector<PeriodVote> Votes(std::span<const uint32_t> tokens, size_t kinds) {
  std::vector<uint32_t> first(kinds + 1, 0), places(tokens.size());
  for (const uint32_t token : tokens) ++first[token + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (uint32_t i = 0; i < tokens.size(); ++i) places[next[tokens[i]]++] = i;
  std::vector<PeriodVote> votes;
  std::vector<uint32_t> distances;
  size_t voters = 0;
  for (size_t kind = 0; kind < kinds && voters < kMostVoters; ++kind) {
    const size_t count = first[kind + 1] - first[kind];
    voters += std::min(count, kMostPlaces);
    if (count >= 3) VoteOf(std::span(places).subspan(first[kind], count), tokens.size(), distances, votes);
  }
  return votes;
}

// The periods with the best votes, shortest first. One token whose distances are all equal counts for more
// than many whose distances vary.
std::vector<uint32_t> CandidatePeriods(std::span<const uint32_t> tokens, size_t kinds) {
  std::vector<PeriodVote> votes = Votes(tokens, kinds);
  std::sort(votes.begin(), votes.end(),
            [](const PeriodVote& a, const PeriodVote& b) { return a.period < b.period; });
  struct Sum {
    uint32_t period;
    int level;  // of the best vote, in steps of 5 %
    double all;
  };
  std::vector<Sum> sums;
  for (const PeriodVote& vote : votes) {
    if (uint64_t{vote.period} * 29 > uint64_t{tokens.size()} * 10) break;  // no room for three
    if (sums.empty() || sums.back().period != vote.period) sums.push_back({vote.period, 0, 0});
    sums.back().level = std::max(sums.back().level, static_cast<int>(vote.share * 20));
    sums.back().all += vote.share;
  }
  std::stable_sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) {
    return a.level != b.level ? a.level > b.level : a.all > b.all;
  });
  std::vector<uint32_t> out;
  for (const Sum& sum : sums) {
    if (out.size() < kMostCandidates) out.push_back(sum.period);
  }
  std::sort(out.begin(), out.end());
  return out;
}

class PeriodSearch {
 public:
  PeriodSearch(std::span<const uint32_t> tokens, std::span<const uint32_t> kernels, size_t least)
      : tokens_(tokens), kernels_(kernels), least_(least), quarter_(tokens.size() / 4) {}

  Repetition Run() {
    TakeSamples();
    for (const uint32_t period : CandidatePeriods(tokens_, kernels_.size())) Add(period);
    if (candidates_.empty()) return {};
    const CandidatePeriod& chosen = candidates_[Choose()];
    return {chosen.period, chosen.found.first, chosen.found.last};
  }

 private:
  struct Stretches {
    uint32_t first = 0, last = 0;  // the longest
    size_t covered = 0;            // tokens after the first quarter, of all that repeat
  };
  struct CandidatePeriod {
    uint32_t period;
    size_t explained = 0;       // samples
    std::vector<uint8_t> hits;  // by sample: the token occurs one period before or after, too
    Stretches found;
  };

  // All places after the first quarter, or chunks of them.
  void TakeSamples() {
    const size_t size = tokens_.size() - quarter_;
    const bool all = size <= kChunk * kChunks;
    const size_t chunks = all ? 1 : kChunks, length = all ? size : kChunk;
    double kernels = 0;
    for (size_t c = 0; c < chunks; ++c) {
      const size_t from = quarter_ + c * (size / chunks);
      for (size_t i = from; i < from + length; ++i) {
        samples_.push_back(static_cast<uint32_t>(i));
        kernels += kernels_[tokens_[i]];
      }
    }
    kernels_per_token_ = samples_.empty() ? 0 : kernels / static_cast<double>(samples_.size());
  }

  void Add(uint32_t period) {
    CandidatePeriod c{period, 0, {}, {}};
    c.hits.reserve(samples_.size());
    for (const uint32_t i : samples_) {
      const bool hit = (i + uint64_t{period} < tokens_.size() && tokens_[i + period] == tokens_[i]) ||
                       (i >= period && tokens_[i - period] == tokens_[i]);
      c.hits.push_back(hit);
      c.explained += hit;
    }
    if (5 * c.explained < 2 * samples_.size()) return;  // it cannot cover half of them
    c.found = Scan(period);
    if (Holds(c.found, period)) candidates_.push_back(std::move(c));
  }

  // The shortest period that explains nearly as much as the best, or the step whose layer it is.
  size_t Choose() const {
    size_t best = 0;
    for (const CandidatePeriod& c : candidates_) best = std::max(best, c.explained);
    size_t chosen = 0;
    while (candidates_[chosen].explained * 20 < best * 19) ++chosen;
    bool nested = false;  // it has layers of its own
    for (size_t i = 0; i < chosen; ++i) {
      const CandidatePeriod& c = candidates_[i];
      nested =
          nested || (c.period >= 4 && 5 * uint64_t{c.period} <= 2 * uint64_t{candidates_[chosen].period} &&
                     2 * c.explained >= samples_.size());
    }
    for (size_t i = chosen + 1; i < candidates_.size(); ++i) {
      const double kernels = kernels_per_token_ * candidates_[chosen].period;
      if (kernels >= (nested ? kNestedKernels : kLayerKernels)) break;
      if (!IsStepOf(candidates_[i], candidates_[chosen])) continue;
      chosen = i;
      nested = true;
    }
    return chosen;
  }

  // Whether the short period is interrupted by other kernels that return with the long one. Less than 3 % of
  // the short period, such as a value logged every tenth step, does not make a step of ten.
  bool IsStepOf(const CandidatePeriod& longer, const CandidatePeriod& shorter) const {
    const size_t unexplained = samples_.size() - shorter.explained;
    const uint64_t a = shorter.period, b = longer.period;
    if (b < 2 * a || b > kMostLayers * a) return false;
    if (b == 2 * a && unexplained * 20 <= samples_.size()) return false;  // two variants of one step
    if (longer.explained + samples_.size() / 100 < shorter.explained) return false;
    size_t inside = 0, missed = 0, regular = 0;
    for (size_t s = 0; s < samples_.size(); ++s) {
      if (samples_[s] < longer.found.first || samples_[s] >= longer.found.last + b) continue;
      ++inside;
      missed += !shorter.hits[s];
      regular += !shorter.hits[s] && longer.hits[s];
    }
    if (regular < 2 || 10 * regular < 6 * missed) return false;
    const double extra = static_cast<double>(regular) * static_cast<double>(b) / static_cast<double>(inside);
    const auto layer = static_cast<double>(a);
    return extra >= std::max(0.6, 0.03 * layer) && extra <= std::max(100.0, 8 * layer);
  }

  // Stretches in which tokens occur again one period later. Each ends where the mismatches cost more than the
  // matches gave, or a tenth of a period in a row differs.
  Stretches Scan(uint32_t period) const {
    Stretches out;
    size_t covered_until = quarter_;
    const auto close = [&](size_t first, size_t last) {
      if (last - first < std::max<size_t>(period, least_ > period ? least_ - period : 0)) return;
      if (last - first > out.last - out.first)
        out.first = static_cast<uint32_t>(first), out.last = static_cast<uint32_t>(last);
      const size_t from = std::max(first, covered_until), to = last + period;
      if (to > from) out.covered += to - from, covered_until = to;
    };
    const int64_t most_drop = kMismatchCost * std::max<int64_t>(2, period / 10);
    int64_t score = 0, best = 0;
    size_t first = 0, last = 0;
    for (size_t i = 0; i + period < tokens_.size(); ++i) {
      if (tokens_[i] == tokens_[i + period]) {
        if (best == 0) first = i;
        if (++score > best) best = score, last = i + 1;
      } else if (best > 0) {
        score -= kMismatchCost;
        if (score >= 0 && score >= best - most_drop) continue;
        close(first, last);
        score = best = 0;
      }
    }
    if (best > 0) close(first, last);
    return out;
  }

  bool Holds(const Stretches& found, uint32_t period) const {
    const uint64_t length = found.last - found.first;
    if (10 * length < 19 * uint64_t{period}) return false;
    if (2 * found.covered < tokens_.size() - quarter_) return false;
    return std::any_of(tokens_.begin() + found.first, tokens_.begin() + found.first + period,
                       [this](uint32_t token) { return kernels_[token] > 0; });
  }

  const std::span<const uint32_t> tokens_, kernels_;
  const size_t least_, quarter_;
  std::vector<uint32_t> samples_;
  double kernels_per_token_ = 0;
  std::vector<CandidatePeriod> candidates_;  // shortest first
};

}  // namespace

Repetition FindRepetition(std::span<const uint32_t> tokens, std::span<const uint32_t> kernels,
                          size_t least_tokens) {
  if (tokens.size() < std::max<size_t>(3, least_tokens)) return {};
  return PeriodSearch(tokens, kernels, least_tokens).Run();
}

}  // namespace nl::passes::phases
