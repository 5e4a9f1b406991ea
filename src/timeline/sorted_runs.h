// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of values that are in order, walked as one sequence in order, and a sort for what consists of few
// runs. Where runs follow each other, as those of a profile mostly do in time, a value costs one comparison.
// `before` is a total order. Thread rule: values. Ownership: borrows the values.

#include <algorithm>
#include <vector>

namespace nl {

template <class T>
struct SortedRun {  // not empty
  const T *at, *end;
};

namespace sorted_runs {

// Moves the first run of a heap down to where it belongs: the one with the first value is at 0, below `i` are
// 2 * i + 1 and 2 * i + 2.
template <class T, class Before>
void SiftDown(std::vector<SortedRun<T>>& heap, const Before& before) {
  const SortedRun<T> run = heap[0];
  size_t place = 0;
  for (size_t child = 1; child < heap.size(); child = 2 * place + 1) {
    if (child + 1 < heap.size() && before(*heap[child + 1].at, *heap[child].at)) ++child;
    if (before(*run.at, *heap[child].at)) break;
    heap[place] = heap[child];
    place = child;
  }
  heap[place] = run;
}

}  // namespace sorted_runs

// Calls take(value) for the values of all runs, in order. Uses `runs` up.
template <class T, class Before, class Take>
void EachInOrder(std::vector<SortedRun<T>>& runs, const Before& before, const Take& take) {
  using Run = SortedRun<T>;
  std::make_heap(runs.begin(), runs.end(),
                 [&before](const Run& a, const Run& b) { return before(*b.at, *a.at); });
  while (!runs.empty()) {
    Run& run = runs[0];
    const T* after = runs.size() > 1 ? runs[1].at : nullptr;
    if (runs.size() > 2 && before(*runs[2].at, *after)) after = runs[2].at;
    const T *at = run.at, *const end = run.end;
    do {
      take(*at++);
    } while (at != end && (after == nullptr || before(*at, *after)));
    run.at = at;
    if (at == end) {
      run = runs.back();
      runs.pop_back();
    }
    if (!runs.empty()) sorted_runs::SiftDown(runs, before);
  }
}

// Merges the runs that are in order already; many short ones are sorted instead.
template <class T, class Before>
void SortRuns(std::vector<T>& values, const Before& before) {
  std::vector<SortedRun<T>> runs;
  const T *begin = values.data(), *const end = begin + values.size();
  for (const T* at = begin; at != end;) {
    const T* next = at + 1;
    while (next != end && !before(*next, next[-1])) ++next;
    runs.push_back({at, next});
    at = next;
  }
  if (runs.size() <= 1) return;
  if (runs.size() > values.size() / 8) {
    std::sort(values.begin(), values.end(), before);
    return;
  }
  std::vector<T> sorted;
  sorted.reserve(values.size());
  EachInOrder(runs, before, [&sorted](const T& value) { sorted.push_back(value); });
  values.swap(sorted);
}

}  // namespace nl
