// SPDX-License-Identifier: Apache-2.0
#pragma once
// FixRequests: fixes that a person asks for by name (`neurolens what-if --apply`), as changes of a plan.
//
// graphs          kernels of a step are launched by one graph
// sync[:OP]       waits for the device; those inside operators or calls named OP
// pinned[:OP]     copies from and to pageable memory; those of OP
// host[:PLACE]    host code; where its place contains PLACE
// allocs          calls that allocate or free device memory
// remove:OP       operators, calls and ranges, with their waits and their device work
// bf16[:OP]       fp32 products in bf16 (bf16_products.h)
// fuse:OP=F       operators and their device work take the share F of their time
// kernel:NAME=F   kernels take the share F of their time
// batch=N         another batch size (batch_size.h); batch=xF is F times the recorded one
// RULE            the fix of every finding of a rule
// all             the sequence of fixes that `neurolens findings` proposes
// Thread rule: one thread. Ownership: refers to the steps and the facts.

#include <string>
#include <string_view>
#include <vector>

#include "analyze/facts/findings.h"
#include "analyze/facts/roofline.h"
#include "analyze/replay/batch_size.h"
#include "analyze/replay/bf16_products.h"
#include "analyze/replay/fix_search.h"
#include "base/result.h"

namespace nl::replay {

struct RequestedFix {
  std::string apply;  // as it was asked for
  std::string what;   // what changes, in words
  std::string unit;   // of count: "wait", "kernel"
  int64_t count = 0;  // things it changes in the steady steps
  std::vector<FixChange> changes;
  std::vector<WorkLimit> limits;
  std::optional<BatchSize> batch;
  std::string note;  // why it changes nothing, or what it leaves out; empty: nothing to say
};

class FixRequests {
 public:
  FixRequests(const StepReplay& steps, const FindingsFacts& findings, const RooflineFacts& roofline,
              const RuleSet& rules)
      : steps_(steps), findings_(findings), roofline_(roofline), rules_(rules), search_(steps) {}

  // One item: a single fix, or the several of `all`. A name that nothing in the steps has, and a word that is
  // not a fix, is InvalidInput; what is known and has nothing to change is a fix with a note.
  Result<std::vector<RequestedFix>> Find(const std::string& item) const;
  // What changes something in these steps: kinds without a name, rules, and `all` as one.
  std::vector<RequestedFix> Applicable() const;
  const FixSearch& search() const { return search_; }

 private:
  Result<RequestedFix> OfKind(const std::string& item, std::string_view kind, const std::string& name) const;
  Result<RequestedFix> OfShare(const std::string& item, std::string_view kind, std::string name) const;
  Result<RequestedFix> OfRule(const std::string& item) const;
  Result<RequestedFix> Batch(const std::string& item) const;
  RequestedFix Bf16(const std::string& item, const std::string& name) const;
  RequestedFix OfFinding(const Finding& finding) const;
  std::vector<RequestedFix> Sequence() const;
  RequestedFix Made(const std::string& item, FixChange change, const std::string& name) const;
  int64_t CountOf(const FixChange& change) const;
  Error Unknown(const std::string& item) const;
  Status Known(const std::string& item, std::string_view kind, const std::string& name,
               const FixTargets& found) const;

  const StepReplay& steps_;
  const FindingsFacts& findings_;
  const RooflineFacts& roofline_;
  const RuleSet& rules_;
  const FixSearch search_;
};

// The items of a list: "graphs, kernel:add<int, float>=0.5" is two; commas inside brackets are part of a
// name.
std::vector<std::string> SplitFixes(std::string_view list);

}  // namespace nl::replay
