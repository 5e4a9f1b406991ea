// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operations for the tests of the command line: every kind of parameter, and every
// outcome of a request. Test code only.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/op.h"

namespace nl {

struct EchoReply {
  std::vector<std::string> run, tag;
  std::string sql;
  int64_t row_limit = 20;
  double scale = 1.5;
  bool header = true, deep = false;
};
inline void Describe(Record<EchoReply>& r) {
  r.Name("EchoReply", "The parameters as given");
  r.Field("run", &EchoReply::run, "Runs");
  r.Field("sql", &EchoReply::sql, "Last word");
  r.Field("row_limit", &EchoReply::row_limit, "Most rows");
  r.Field("scale", &EchoReply::scale, "Factor");
  r.Field("tag", &EchoReply::tag, "Tags");
  r.Field("header", &EchoReply::header, "Whether to print the header");
  r.Field("deep", &EchoReply::deep, "Whether to look deeper");
}

// Repeats its parameters; `end` chooses how it ends.
class EchoOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "echo";
    info.summary = "Repeat what it was given.";
    info.choose_when = "In tests.";
    info.example = "neurolens echo @latest 'SELECT 1'";
    info.reply = ReplyOf<EchoReply>();
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("run", given_.run, "Runs to repeat.").Run().Positional().Required();
    binder.Add("sql", given_.sql, "Last word.").Positional().Required();
    binder.Add("row_limit", given_.row_limit, "Most rows.").Range(1, 1000);
    binder.Add("scale", given_.scale, "Factor.");
    binder.Add("header", given_.header, "Print the header.");
    binder.Add("deep", given_.deep, "Look deeper.");
    binder.Add("tag", given_.tag, "A tag.").KeyValue();
    binder.Add("end", end_, "How to end.").Choices({"text", "raw", "no", "io", "cancel", "throw"});
  }

  Result<Reply> Run(OpContext& context) override;
  std::string Text(const Reply& reply, const TextStyle&) const override {
    return "text:" + reply.As<EchoReply>().sql;
  }

 private:
  EchoReply given_;
  std::string end_ = "text";
};

inline Result<Reply> EchoOp::Run(OpContext&) {
  if (end_ == "io") return IoError("cannot read", 5).At("trace.json", 42).Hint("look at the disk");
  if (end_ == "cancel") return Cancelled();
  // Stands for third-party code whose exception slipped past its wrapper.
  if (end_ == "throw") static_cast<void>(std::string().at(1));
  Reply reply = Reply::Of(given_);
  if (end_ == "raw") reply.raw = "a,b\r\n";
  reply.answer_is_no = end_ == "no";
  return reply;
}

struct LookReply {
  std::string file;
};
inline void Describe(Record<LookReply>& r) {
  r.Name("LookReply", "The file as given");
  r.Field("file", &LookReply::file, "Path");
}

// Takes one path or none.
class LookOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "look";
    info.summary = "Look at a file.";
    info.example = "neurolens look trace.json";
    info.reply = ReplyOf<LookReply>();
    return info;
  }
  void Bind(ParamBinder& binder) override { binder.Add("file", file_, "A file.").Path().Positional(); }
  Result<Reply> Run(OpContext&) override { return Reply::Of(LookReply{file_}); }
  std::string Text(const Reply& reply, const TextStyle&) const override { return reply.JsonText(); }

 private:
  std::string file_;
};

// Takes two lists.
class PairOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "pair";
    info.summary = "Take two lists.";
    info.example = "neurolens pair a -- b";
    return info;
  }
  void Bind(ParamBinder& binder) override {
    binder.Add("a", a_, "First list.").Positional().Required();
    binder.Add("b", b_, "Second list.").Positional().Required();
    binder.Add("deep", deep_, "Look deeper.");
  }
  Result<Reply> Run(OpContext&) override { return Reply(); }
  std::string Text(const Reply&, const TextStyle&) const override { return ""; }

 private:
  std::vector<std::string> a_, b_;
  bool deep_ = false;
};

struct JudgeReply {
  std::vector<std::string> left, right;
  bool loud = false;
};
inline void Describe(Record<JudgeReply>& r) {
  r.Name("JudgeReply", "The two sides as given");
  r.Field("left", &JudgeReply::left, "One side");
  r.Field("right", &JudgeReply::right, "The other side");
  r.Field("loud", &JudgeReply::loud, "Whether to say it twice");
}

// Answers with statuses other than yes and no; flags that take lists.
class JudgeOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "judge";
    info.summary = "Judge two lists.";
    info.example = "neurolens judge --left a b --right c";
    info.bad_input_status = 3;
    info.reply = ReplyOf<JudgeReply>();
    info.exit_status = "0 yes, 1 no, 2 perhaps, 3 bad input.";
    return info;
  }
  void Bind(ParamBinder& binder) override {
    binder.Add("left", given_.left, "One side.").Required();
    binder.Add("right", given_.right, "The other side.");
    binder.Add("loud", given_.loud, "Say it twice.");
  }
  Result<Reply> Run(OpContext&) override {
    if (given_.left.front() == "bad") return NotFound("nobody is called 'bad'");
    Reply reply = Reply::Of(given_);
    reply.answer_status = given_.left.size() == given_.right.size() ? 2 : 0;
    reply.answer_is_no = given_.left.size() < given_.right.size();
    return reply;
  }
  std::string Text(const Reply& reply, const TextStyle&) const override { return reply.JsonText(); }

 private:
  JudgeReply given_;
};

inline const std::vector<OpEntry>& FakeOps() {
  static const std::vector<OpEntry> ops = {
      {"echo", []() -> std::unique_ptr<Op> { return std::make_unique<EchoOp>(); }},
      {"look", []() -> std::unique_ptr<Op> { return std::make_unique<LookOp>(); }},
      {"judge", []() -> std::unique_ptr<Op> { return std::make_unique<JudgeOp>(); }},
  };
  return ops;
}

}  // namespace nl
