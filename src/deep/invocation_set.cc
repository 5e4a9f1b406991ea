// SPDX-License-Identifier: Apache-2.0
#include "deep/invocation_set.h"

#include <algorithm>
#include <map>
#include <set>

namespace nl::deep {

namespace {

using Kernels = std::vector<bool>;  // by position in `suitable`

struct Number {
  int64_t number = 0;
  int64_t cost = 0;  // functions that are launched so often
  Kernels covers;
};

class Chooser {
 public:
  Chooser(const std::vector<std::vector<int64_t>>& suitable, const std::vector<int64_t>& counts)
      : kernels_(suitable.size()) {
    std::map<int64_t, Kernels> covers;
    for (size_t k = 0; k < suitable.size(); ++k) {
      for (const int64_t number : suitable[k]) {
        Kernels& of = covers[number];
        of.resize(kernels_);
        of[k] = true;
      }
    }
    // Of numbers that serve the same kernels, the largest costs least.
    std::map<Kernels, int64_t> largest;
    for (const auto& [number, of] : covers) largest[of] = number;
    for (const auto& [of, number] : largest)
      numbers_.push_back({number, std::max<int64_t>(1, MeasuredLaunches({number}, counts)), of});
  }

  std::set<size_t> Choose() const {
    std::set<size_t> best = Complete({});
    // Each number in turn is given up; what it served is served anew.
    for (bool better = true; better;) {
      better = false;
      for (const size_t number : best) {
        std::set<size_t> without(best);
        without.erase(number);
        std::set<size_t> other = Complete(std::move(without));
        if (CostOf(other) >= CostOf(best)) continue;
        best = std::move(other);
        better = true;
        break;
      }
    }
    return best;
  }

  int64_t NumberAt(size_t i) const { return numbers_[i].number; }

 private:
  int64_t CostOf(const std::set<size_t>& chosen) const {
    int64_t cost = 0;
    for (const size_t i : chosen) cost += numbers_[i].cost;
    return cost;
  }

  Kernels ServedBy(const std::set<size_t>& chosen, size_t except = SIZE_MAX) const {
    Kernels served(kernels_);
    for (const size_t i : chosen) {
      if (i == except) continue;
      for (size_t k = 0; k < kernels_; ++k) served[k] = served[k] || numbers_[i].covers[k];
    }
    return served;
  }

  // Adds the number with the most kernels for its cost until all are served, and drops what is not needed.
  std::set<size_t> Complete(std::set<size_t> chosen) const {
    Kernels served = ServedBy(chosen);
    while (std::find(served.begin(), served.end(), false) != served.end()) {
      size_t best = 0;
      double best_gain = -1;
      for (size_t i = 0; i < numbers_.size(); ++i) {
        int64_t fresh = 0;
        for (size_t k = 0; k < kernels_; ++k) fresh += numbers_[i].covers[k] && !served[k] ? 1 : 0;
        const double gain = static_cast<double>(fresh) / static_cast<double>(numbers_[i].cost);
        if (gain <= best_gain) continue;
        best = i;
        best_gain = gain;
      }
      chosen.insert(best);
      served = ServedBy(chosen);
    }
    std::vector<size_t> dearest(chosen.begin(), chosen.end());
    std::sort(dearest.begin(), dearest.end(),
              [this](size_t a, size_t b) { return numbers_[a].cost > numbers_[b].cost; });
    for (const size_t i : dearest) {
      const Kernels rest = ServedBy(chosen, i);
      if (std::find(rest.begin(), rest.end(), false) == rest.end()) chosen.erase(i);
    }
    return chosen;
  }

  size_t kernels_;
  std::vector<Number> numbers_;
};

}  // namespace

std::vector<int64_t> FewestLaunches(const std::vector<std::vector<int64_t>>& suitable,
                                    const std::vector<int64_t>& counts) {
  const Chooser chooser(suitable, counts);
  std::vector<int64_t> out;
  for (const size_t i : chooser.Choose()) out.push_back(chooser.NumberAt(i));
  std::sort(out.begin(), out.end());
  return out;
}

int64_t MeasuredLaunches(const std::vector<int64_t>& numbers, const std::vector<int64_t>& counts) {
  int64_t out = 0;
  for (const int64_t number : numbers)
    out += std::count_if(counts.begin(), counts.end(), [number](int64_t count) { return count >= number; });
  return out;
}

}  // namespace nl::deep
