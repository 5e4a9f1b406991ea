// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: what a host thread does, in order: spans it opens, time it takes, work it
// launches, what it waits for. Writer writes scripts from operator calls and applies edits
// to them (plants of known cause); simulate.h runs them.
// Every instruction has a key that says which call of the program it is. An edit that adds
// or drops calls leaves the keys of all others alone, so that the noise of a call is the
// same with and without the edit.
// Thread rule: one thread. Ownership: plain values.

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/compare/sequence/call_sequence.h"
#include "testing/synthetic/seed.h"

namespace nl::synthetic {

struct Work {  // one kernel, copy or memset
  WorkKind kind = WorkKind::kKernel;
  std::string name;
  double us = 1;
  int64_t grid = 1;
  int64_t stream = 7;
  int64_t bytes = 0;                // of copies
  std::string copy_kind, from, to;  // "HtoD", "Pageable", "Device"
  int64_t graph_id = 0;             // 0: not of a graph
  bool communication = false;
  uint64_t collective = 0;  // equal on every device that takes part; 0: none
};

enum class Act : uint8_t { kOpen, kClose, kHost, kCall, kSignal, kAwait };
enum class SpanKind : uint8_t { kOp, kRange, kPython };
enum class Waits : uint8_t { kNo, kStream, kDevice };

struct Instruction {
  Act act = Act::kHost;
  SpanKind span = SpanKind::kOp;
  Waits waits = Waits::kNo;  // a call returns when the stream or the device is done
  bool hidden = false;       // a span that was not recorded
  uint32_t name = 0, dims = 0, types = 0;
  uint32_t first_work = 0, works = 0;
  int64_t stream = 7;
  int64_t record_event = 0, wait_event = 0;  // of a call: 0 none
  uint32_t signal = 0;                       // between threads
  uint32_t block = 0;                        // calls of one block are slow or fast together
  uint64_t key = 0;
  double us = 0;
};

struct Script {
  std::vector<Instruction> instructions;
  std::vector<Work> works;
};

// Names of spans and calls by number, shared by all scripts of a run.
class Texts {
 public:
  uint32_t Add(const std::string& text) {
    const auto [it, added] = at_.try_emplace(text, static_cast<uint32_t>(all_.size()));
    if (added) all_.push_back(text);
    return it->second;
  }
  const std::string& Of(uint32_t id) const { return all_[id]; }
  size_t size() const { return all_.size(); }

 private:
  std::vector<std::string> all_{""};
  std::unordered_map<std::string, uint32_t> at_{{"", 0}};
};

struct Recording {  // what the profiler was asked for
  bool ops = true, shapes = true, labels = true, modules = false, python = false, api = true;
  int frames = 0;  // Python functions around each call
};

// An operator call with its device work: what a site of a model does.
struct Call {
  std::string site;                 // where in the model: "mlp.gate"
  std::string op;                   // "aten::mm"; "" when no framework made the call
  std::vector<std::string> around;  // operators around it, outermost first
  std::vector<std::string> quiet;   // operators inside it that launch nothing
  std::string dims, types;          // as Kineto writes them, JSON
  std::vector<Work> work;
  double python_us = 7;  // before it
  double op_us = 9;      // inside it, before the first launch
  double launch_us = 6;  // each launch
  std::string launch = "cudaLaunchKernel";
  Waits waits = Waits::kNo;
  int64_t record_event = 0, wait_event = 0;
};

class Writer;
// Where an edit applies. Empty or -1: anywhere. A site may end in '*'.
struct Where {
  std::string stage, site;
  int step = -1, layer = -1;
};
struct Edit {
  Where where;
  std::function<void(Call&)> change;
  std::function<void(Writer&)> before, after;
  bool drop = false;
};

class Writer {
 public:
  Writer(Script& to, Texts& texts, const Recording& recording, const std::vector<Edit>& edits)
      : to_(to), texts_(texts), recording_(recording), edits_(edits) {}

  // Where the program is; calls of one place share a noise block.
  void Enter(const std::string& stage, int step, int layer);
  double host_scale = 1;
  int64_t stream = 7;
  uint32_t signals = 0;  // added to the numbers of signals
  uint64_t salt = 0;     // distinguishes the same call of two ranks
  // Calls written outside of edits, for who wants to go back over them (backward passes).
  std::vector<Call>* record = nullptr;
  // Set while the calls become the nodes of one graph: no host work of their own.
  std::vector<Work>* graph = nullptr;

  void Open(SpanKind kind, const std::string& name, const std::string& dims = "",
            const std::string& types = "");
  void Close();
  void Module(const std::string& name, const std::function<void()>& body);
  void Range(const std::string& name, const std::function<void()>& body);
  void Host(const std::string& site, double us);
  // An API call without device work of its own.
  void Api(const std::string& site, const std::string& name, double us, Waits waits = Waits::kNo);
  // cudaEventRecord or cudaStreamWaitEvent on a stream.
  void Event(const std::string& site, int64_t on_stream, int64_t records, int64_t waits_for);
  void Signal(uint32_t id) { Thread(Act::kSignal, signals + id); }
  void Await(uint32_t id) { Thread(Act::kAwait, signals + id); }

  void Do(Call call);

  int step() const { return step_; }
  int layer() const { return layer_; }
  const std::string& stage() const { return stage_; }

 private:
  bool Matches(const Where& w, const std::string& site) const;
  void Run(const std::vector<const Edit*>& edits, std::function<void(Writer&)> Edit::*what);
  void NewCall(const std::string& site);
  uint64_t Key() { return compare::HashPair(key_, ++part_); }

  void HostStep(double us);
  Instruction& CallStep(const std::string& name, double us, Waits waits);
  void Thread(Act act, uint32_t id);

  void Write(const Call& call);
  void Launch(const Call& call, const Work& w);

 public:
  // One API call that runs all of `nodes`.
  void LaunchGraph(const std::string& site, const std::vector<Work>& nodes, int64_t graph_id, double us);

 private:
  Script& to_;
  Texts& texts_;
  const Recording& recording_;
  const std::vector<Edit>& edits_;
  std::string stage_;
  int step_ = 0, layer_ = -1, editing_ = 0;
  uint64_t place_ = 0, key_ = 0, part_ = 0;
  uint32_t block_ = 0;
  std::unordered_map<uint64_t, uint32_t> seen_;
};

}  // namespace nl::synthetic
