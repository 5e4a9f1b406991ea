// SPDX-License-Identifier: Apache-2.0
#include "testing/synthetic/script.h"

namespace nl::synthetic {

void Writer::Enter(const std::string& stage, int step, int layer) {
  stage_ = stage, step_ = step, layer_ = layer;
  place_ = compare::HashPair(SeedOf(stage) + salt,
                             static_cast<uint64_t>(step) * 1000003u + static_cast<uint64_t>(layer + 1));
  block_ = static_cast<uint32_t>(step + 1) * 64 + static_cast<uint32_t>(layer + 1);
  seen_.clear();
}

void Writer::Open(SpanKind kind, const std::string& name, const std::string& dims, const std::string& types) {
  Instruction i;
  i.act = Act::kOpen;
  i.span = kind;
  const bool module = kind == SpanKind::kPython && name.rfind("nn.Module", 0) == 0;
  i.hidden = kind == SpanKind::kOp      ? !recording_.ops
             : kind == SpanKind::kRange ? !recording_.labels
             : module                   ? !recording_.modules
                                        : !recording_.python;
  i.name = texts_.Add(name);
  if (recording_.shapes) i.dims = texts_.Add(dims), i.types = texts_.Add(types);
  to_.instructions.push_back(i);
}

void Writer::Close() {
  Instruction i;
  i.act = Act::kClose;
  to_.instructions.push_back(i);
}

void Writer::Module(const std::string& name, const std::function<void()>& body) {
  Host("enter " + name, 4);
  Open(SpanKind::kPython, "nn.Module: " + name);
  body();
  Close();
}

void Writer::Range(const std::string& name, const std::function<void()>& body) {
  Open(SpanKind::kRange, name);
  body();
  Close();
}

void Writer::Host(const std::string& site, double us) {
  NewCall(site);
  HostStep(us);
}

void Writer::Api(const std::string& site, const std::string& name, double us, Waits waits) {
  NewCall(site);
  CallStep(name, us, waits);
}

void Writer::Event(const std::string& site, int64_t on_stream, int64_t records, int64_t waits_for) {
  NewCall(site);
  Instruction& i = CallStep(records != 0 ? "cudaEventRecord" : "cudaStreamWaitEvent", 1.5, Waits::kNo);
  i.stream = on_stream;
  i.record_event = records;
  i.wait_event = waits_for;
}

void Writer::Do(Call call) {
  std::vector<const Edit*> mine;
  if (editing_ == 0) {
    for (const Edit& edit : edits_) {
      if (Matches(edit.where, call.site)) mine.push_back(&edit);
    }
  }
  bool dropped = false;
  for (const Edit* edit : mine) dropped = dropped || edit->drop;
  Run(mine, &Edit::before);
  for (const Edit* edit : mine) {
    if (edit->change) edit->change(call);
  }
  if (!dropped) {
    NewCall(call.site);
    Write(call);
    if (record != nullptr && editing_ == 0) record->push_back(call);
  }
  Run(mine, &Edit::after);
}

bool Writer::Matches(const Where& w, const std::string& site) const {
  const bool prefix = !w.site.empty() && w.site.back() == '*';
  const bool same = prefix ? site.compare(0, w.site.size() - 1, w.site, 0, w.site.size() - 1) == 0
                           : w.site.empty() || w.site == site;
  return same && (w.stage.empty() || w.stage == stage_) && (w.step < 0 || w.step == step_) &&
         (w.layer < 0 || w.layer == layer_);
}

void Writer::Run(const std::vector<const Edit*>& edits, std::function<void(Writer&)> Edit::*what) {
  for (const Edit* edit : edits) {
    if (!(edit->*what)) continue;
    ++editing_;
    (edit->*what)(*this);
    --editing_;
  }
}

void Writer::NewCall(const std::string& site) {
  const uint64_t at = SeedOf(site) + (editing_ > 0 ? 0x5bd1e995 : 0);
  key_ = compare::HashPair(place_, compare::HashPair(at, ++seen_[at]));
  part_ = 0;
}

void Writer::HostStep(double us) {
  if (graph != nullptr || us <= 0) return;
  Instruction i;
  i.us = us * host_scale;
  i.key = Key();
  i.block = block_;
  to_.instructions.push_back(i);
}

Instruction& Writer::CallStep(const std::string& name, double us, Waits waits) {
  Instruction i;
  i.act = Act::kCall;
  i.waits = waits;
  i.name = texts_.Add(name);
  i.us = us * host_scale;
  i.key = Key();
  i.block = block_;
  i.stream = stream;
  i.hidden = !recording_.api;
  to_.instructions.push_back(i);
  return to_.instructions.back();
}

void Writer::Thread(Act act, uint32_t id) {
  Instruction i;
  i.act = act;
  i.signal = id;
  to_.instructions.push_back(i);
}

void Writer::Write(const Call& call) {
  if (graph != nullptr) {
    for (Work w : call.work) {
      w.stream = stream;
      graph->push_back(w);
    }
    return;
  }
  HostStep(call.python_us);
  for (int i = 0; i < recording_.frames; ++i)
    Open(SpanKind::kPython,
         i % 2 == 0 ? "torch/nn/modules/module.py(1775): _call_impl" : "model.py(212): forward");
  for (const std::string& name : call.around) {
    Open(SpanKind::kOp, name, call.dims, call.types);
    HostStep(2);
  }
  if (!call.op.empty()) Open(SpanKind::kOp, call.op, call.dims, call.types);
  for (const std::string& name : call.quiet) {
    Open(SpanKind::kOp, name);
    HostStep(1);
    Close();
  }
  HostStep(call.op_us);
  for (const Work& w : call.work) Launch(call, w);
  if (call.work.empty() && call.waits != Waits::kNo) CallStep(call.launch, call.launch_us, call.waits);
  HostStep(1.5);
  if (!call.op.empty()) Close();
  for (size_t i = 0; i < call.around.size(); ++i) Close();
  for (int i = 0; i < recording_.frames; ++i) Close();
}

void Writer::Launch(const Call& call, const Work& w) {
  const std::string name = w.kind == WorkKind::kMemcpy   ? "cudaMemcpyAsync"
                           : w.kind == WorkKind::kMemset ? "cudaMemsetAsync"
                                                         : call.launch;
  Instruction& i = CallStep(name, call.launch_us, call.waits);
  i.stream = w.stream == 7 ? stream : w.stream;
  i.record_event = call.record_event;
  i.wait_event = call.wait_event;
  i.first_work = static_cast<uint32_t>(to_.works.size());
  i.works = 1;
  to_.works.push_back(w);
  to_.works.back().stream = i.stream;
}

void Writer::LaunchGraph(const std::string& site, const std::vector<Work>& nodes, int64_t graph_id,
                         double us) {
  NewCall(site);
  Instruction& i = CallStep("cudaGraphLaunch", us, Waits::kNo);
  i.first_work = static_cast<uint32_t>(to_.works.size());
  i.works = static_cast<uint32_t>(nodes.size());
  for (Work w : nodes) {
    w.graph_id = graph_id;
    to_.works.push_back(w);
  }
}

}  // namespace nl::synthetic
