// SPDX-License-Identifier: Apache-2.0
// `neurolens clock-guard`: internal. Waits until standard input ends, which is when the process that locked
// the clocks of GPUs is gone, and restores them if that process did not.

#include "bench/clock_lock.h"
#include "ops/op.h"

namespace nl::ops::clock_guard {

namespace {

struct ClockGuardReply {};
void Describe(Record<ClockGuardReply>& r) {
  r.Name("ClockGuardReply", "Reply of `neurolens clock-guard`: nothing");
}

class ClockGuardOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "clock-guard";
    info.summary = "Restore GPU clocks when the process at standard input has ended";
    info.choose_when = "Internal: `bench run` and `prove` start it with --lock-clocks.";
    info.example = "neurolens clock-guard < /dev/null";
    info.hidden = true;
    info.local = true;
    info.reply = ReplyOf<ClockGuardReply>();
    return info;
  }
  void Bind(ParamBinder&) override {}
  Result<Reply> Run(OpContext&) override {
    nl::bench::RunClockGuard();
    return Reply::Of(ClockGuardReply{});
  }
  std::string Text(const Reply&, const TextStyle&) const override { return ""; }
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<ClockGuardOp>(); }

}  // namespace nl::ops::clock_guard
