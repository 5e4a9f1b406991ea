// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operations for the tests of the command line: every kind of parameter, and every
// way a request can end. Test code only.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/op.h"

namespace nl {

// Repeats its parameters; `end` chooses how it ends.
class EchoOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "echo";
    info.summary = "Repeat what it was given.";
    info.choose_when = "In tests.";
    info.example = "neurolens echo @latest 'SELECT 1'";
    return info;
  }

  void Bind(ParamBinder& binder) override {
    binder.Add("run", run_, "Runs to repeat.").Run().Positional().Required();
    binder.Add("sql", sql_, "Last word.").Positional().Required();
    binder.Add("row_limit", row_limit_, "Most rows.").Range(1, 1000);
    binder.Add("scale", scale_, "Factor.");
    binder.Add("header", header_, "Print the header.");
    binder.Add("deep", deep_, "Look deeper.");
    binder.Add("tag", tag_, "A tag.").KeyValue();
    binder.Add("end", end_, "How to end.").Choices({"text", "raw", "no", "io", "cancel", "throw"});
  }

  Result<Reply> Run(OpContext& context) override;
  std::string Text(const Reply& reply, const TextStyle&) const override {
    return "text:" + reply.json["sql"].get<std::string>();
  }

 private:
  std::vector<std::string> run_, tag_;
  std::string sql_, end_ = "text";
  int64_t row_limit_ = 20;
  double scale_ = 1.5;
  bool header_ = true, deep_ = false;
};

inline Result<Reply> EchoOp::Run(OpContext&) {
  if (end_ == "io") return IoError("cannot read", 5).At("trace.json", 42).Hint("look at the disk");
  if (end_ == "cancel") return Cancelled();
  // Stands for third-party code whose exception slipped past its wrapper.
  if (end_ == "throw") static_cast<void>(std::string().at(1));
  Reply reply;
  reply.json =
      Json{{"run", run_},       {"sql", sql_},  {"row_limit", row_limit_}, {"scale", scale_}, {"tag", tag_},
           {"header", header_}, {"deep", deep_}};
  if (end_ == "raw") reply.raw = "a,b\r\n";
  reply.answer_is_no = end_ == "no";
  return reply;
}

// Takes one path or none.
class LookOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "look";
    info.summary = "Look at a file.";
    info.example = "neurolens look trace.json";
    return info;
  }
  void Bind(ParamBinder& binder) override { binder.Add("file", file_, "A file.").Path().Positional(); }
  Result<Reply> Run(OpContext&) override {
    Reply reply;
    reply.json = Json{{"file", file_}};
    return reply;
  }
  std::string Text(const Reply& reply, const TextStyle&) const override { return DumpJson(reply.json); }

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

// Has answers of its own beside yes and no, and lists behind flags.
class JudgeOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "judge";
    info.summary = "Judge two lists.";
    info.example = "neurolens judge --left a b --right c";
    info.bad_input_status = 3;
    info.exit_status = "0 yes, 1 no, 2 perhaps, 3 bad input.";
    return info;
  }
  void Bind(ParamBinder& binder) override {
    binder.Add("left", left_, "One side.").Required();
    binder.Add("right", right_, "The other side.");
    binder.Add("loud", loud_, "Say it twice.");
  }
  Result<Reply> Run(OpContext&) override {
    if (left_.front() == "bad") return NotFound("nobody is called 'bad'");
    Reply reply;
    reply.json = Json{{"left", left_}, {"right", right_}, {"loud", loud_}};
    reply.answer_status = left_.size() == right_.size() ? 2 : 0;
    reply.answer_is_no = left_.size() < right_.size();
    return reply;
  }
  std::string Text(const Reply& reply, const TextStyle&) const override { return DumpJson(reply.json); }

 private:
  std::vector<std::string> left_, right_;
  bool loud_ = false;
};

inline const std::vector<OpFactory>& FakeOps() {
  static const std::vector<OpFactory> ops = {
      []() -> std::unique_ptr<Op> { return std::make_unique<EchoOp>(); },
      []() -> std::unique_ptr<Op> { return std::make_unique<LookOp>(); },
      []() -> std::unique_ptr<Op> { return std::make_unique<JudgeOp>(); },
  };
  return ops;
}

}  // namespace nl
