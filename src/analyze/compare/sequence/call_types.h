// SPDX-License-Identifier: Apache-2.0
#pragma once
// Assigns each call of a sequence its type: known contents keep their number, new contents
// are hashed, parsed and named once.
// Thread rule: one thread per sequence. Ownership: refers to the program and the list of types.

#include "analyze/compare/sequence/call_sequence.h"
#include "analyze/compare/sequence/op_types.h"
#include "analyze/program/program.h"
#include "base/flat_map.h"

namespace nl::compare {

// A call before the calls are put in order.
struct CallDraft {
  uint32_t node = kNone, work = kNone, module = kNone;
  uint32_t kernels = 0;
  uint64_t kernel_hash = 0;
  int64_t bytes = 0, start_ns = 0, end_ns = 0;
  CallKind kind = CallKind::kKernel;
  KernelFamily family = KernelFamily::kOther;
  bool op = false, graph = false;  // op: its node is an operator
};

// Hashes by text id, computed on first use; 0 only for the null id.
class TextHashes {
 public:
  explicit TextHashes(const RunData& data) : hash_(data.strings->size(), 0) {}
  template <class Fn>
  uint64_t Of(StringId id, const Fn& work_out) {
    if (IsNull(id)) return 0;
    uint64_t& h = hash_[static_cast<size_t>(id)];
    if (h == 0) h = work_out() | 1;
    return h;
  }

 private:
  std::vector<uint64_t> hash_;
};

class CallTypes {
 public:
  CallTypes(const program::Program& program, std::vector<CallType>& types)
      : program_(program),
        data_(program.data),
        h_(program.timeline.host),
        w_(program.timeline.work),
        types_(types),
        op_types_(data_),
        texts_(data_),
        work_names_(data_),
        kins_(data_),
        shapes_(data_) {}

  uint32_t Of(const CallDraft& draft);
  uint32_t OfHost(uint32_t node);  // of a run without device work: an operator or an API call
  // Of a work item's name: copies by their kind, kernels by the name that all tools spell alike.
  uint64_t WorkHash(uint32_t work);

 private:
  uint64_t TextHash(StringId id);
  uint64_t ShapeHash(StringId dims);
  uint64_t OpHash(StringId op);  // of its type where its name is that of a model graph node
  uint64_t KinOf(uint32_t work);
  uint64_t GridHash(uint32_t work) const;
  StringId OpText(const ColumnView<StringId>& column, uint32_t node) const;
  uint32_t Intern(const CallType& type, bool op);
  uint32_t Guess(const CallType& type) const;
  void Describe(CallType& type, const CallDraft& draft);
  void NameOp(CallType& type, uint32_t node);

  const program::Program& program_;
  const RunData& data_;
  const HostTree& h_;
  const DeviceWork& w_;
  std::vector<CallType>& types_;
  OpTypes op_types_;
  TextHashes texts_, work_names_, kins_, shapes_;
  FlatMap type_at_;
  // Programs repeat themselves: the type that followed a type once mostly follows it again.
  std::vector<uint32_t> next_;  // by type
  uint32_t last_ = kNone;
};

}  // namespace nl::compare
