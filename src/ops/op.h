// SPDX-License-Identifier: Apache-2.0
#pragma once
// Op: one operation of NeuroLens (import, ls, query, ...), described once.
// From the description come the CLI command with its --help and completion, and
// later the HTTP route and the MCP tool; every face runs the same handler and
// gets the same reply. One folder per operation under ops/, each with
// `std::unique_ptr<Op> Describe()`; CMake generates the registry from the folders.
// Thread rule: an Op object serves one request on one thread; make one per request.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/file_ops.h"
#include "base/input_stream.h"
#include "base/json.h"
#include "base/record.h"
#include "base/result.h"

namespace nl {

class AllowedRoots;
class Settings;
class Store;

enum class ParamKind { kString, kInt, kNumber, kBool, kChoice, kPath, kRun, kKeyValue };

// One parameter as the faces see it: enough for a flag, a JSON Schema property
// and a completion entry.
struct ParamInfo {
  std::string name;  // snake_case; the CLI shows it with dashes
  std::string help;  // one sentence, with the unit where there is one
  ParamKind kind = ParamKind::kString;
  bool positional = false;
  bool repeated = false;
  bool required = false;
  bool local_only = false;  // a path of this machine: not offered to remote callers (but AllowedRoots)
  bool names_run = false;   // kRun, or text that may name a file instead
  Json default_value;       // null: none
  std::vector<std::string> choices;
  std::optional<double> min, max;
};

// Collects parameter descriptions, each bound to the member it fills. The same
// Bind() call serves describing (Info) and reading (Fill).
class ParamBinder {
 public:
  class Handle {
   public:
    Handle(ParamBinder* binder, size_t index) : binder_(binder), index_(index) {}
    Handle& Positional() {
      info().positional = true;
      return *this;
    }
    Handle& Required() {
      info().required = true;
      return *this;
    }
    Handle& LocalOnly() {
      info().local_only = true;
      return *this;
    }
    Handle& Run() {
      info().kind = ParamKind::kRun;
      info().names_run = true;
      return *this;
    }
    // A run, or a profile of this machine.
    Handle& RunOrFile() {
      info().names_run = true;
      return *this;
    }
    // Paths are those of this machine: local only.
    Handle& Path() {
      info().kind = ParamKind::kPath;
      info().local_only = true;
      return *this;
    }
    Handle& KeyValue() {
      info().kind = ParamKind::kKeyValue;
      return *this;
    }
    Handle& Choices(std::vector<std::string> values) {
      info().kind = ParamKind::kChoice;
      info().choices = std::move(values);
      return *this;
    }
    Handle& Range(double min, double max) {
      info().min = min;
      info().max = max;
      return *this;
    }

   private:
    ParamInfo& info() { return binder_->params_[index_]; }
    ParamBinder* binder_;
    size_t index_;
  };

  // The member's present value is the default (empty string and empty list: no default).
  Handle Add(std::string name, std::string& member, std::string help);
  Handle Add(std::string name, int64_t& member, std::string help);
  Handle Add(std::string name, double& member, std::string help);
  Handle Add(std::string name, bool& member, std::string help);
  Handle Add(std::string name, std::vector<std::string>& member, std::string help);

  const std::vector<ParamInfo>& params() const { return params_; }

  // Checks `args` (an object) against the descriptions and fills the members:
  // unknown names, wrong types, missing required values, values outside choices
  // or range are InvalidInput naming the parameter.
  Status Fill(const Json& args);

 private:
  friend class Handle;
  using Setter = std::function<Status(const ParamInfo& info, const Json& value)>;
  Handle Register(std::string name, std::string help, ParamKind kind, Json default_value, Setter setter);

  std::vector<ParamInfo> params_;
  std::vector<Setter> setters_;
};

enum class Cost { kInstant, kSeconds, kMinutes };

// What servers use an operation for besides its own name, so that they know none in particular. One
// operation at most has each role.
enum class ServerRole : uint8_t {
  kNone,
  kRunList,    // lists runs: the resource /runs; its reply is LsReply
  kRun,        // shows one: /runs/ID; its reply has `document`
  kRunRemove,  // removes one: DELETE of /runs/ID
  kUpload,     // takes profiles that a client sends
  kJobs,       // starts and shows jobs, which are a resource of their own over HTTP
};

// How agents see an operation (docs/mcp.md).
struct AgentTool {
  int place = 0;     // among those that agents get by default, from 1; 0: not one of them
  std::string name;  // empty: that of the operation
};

// A list, or a reply without one, that servers look at, to publish what is new in it as events.
struct WatchedList {
  std::string event;     // type of the events; empty: not watched
  std::string rows, id;  // members of the reply and of a row: the list, and what identifies a row
  Json args = Json::object();
  int64_t every_ms = 1000;
  bool unasked = false;              // also while nobody listens: looking tidies up
  bool first_are_new = false;        // rows of the first look are news too
  std::vector<std::string> changes;  // members of a row whose change is an event
  // Member of a row, and its value in the event of a row that is gone; empty: that is not an event.
  std::string end_member, end_value;
  // Cheap to make, and different when the reply may be: the operation runs only then. Without `rows`, each
  // such reply is an event itself. Null: every look runs the operation.
  std::string (*mark)(const Settings& settings) = nullptr;
};

struct OpInfo {
  std::string name;         // CLI command, HTTP route and MCP tool
  std::string summary;      // what it answers, one line
  std::string choose_when;  // when to take it rather than its neighbours
  std::string example;      // one full command line that works
  Cost cost = Cost::kInstant;
  // It answers at once where its run is open already (OpContext::too_long), and takes `cost` to open a large
  // one.
  bool quick_when_open = false;
  bool writes = false;  // changes the store
  // It writes only by importing files that its caller names, which a remote caller cannot.
  bool writes_by_import = false;
  // Of an operation that writes: run again after a crash, it leaves what one run would have
  // left.
  bool repeatable = false;
  bool hidden = false;       // internal: kept out of lists
  bool starts_here = false;  // among the few that lists of commands show first
  // Only at the command line of the machine itself: it runs programs, writes files
  // where the user is, serves, or is about this machine, terminal or user.
  bool local = false;
  // It runs programs that its caller names. Such an operation is `local`; agents of this machine's own user
  // may use it.
  bool runs_programs = false;
  // It runs a program of the user's whose output is stdout: its own text goes to stderr (--json to stdout).
  bool stdout_is_programs = false;
  // Exit status of bad usage and bad input: 2, unless the command's own answers use it (gate).
  int bad_input_status = 2;
  std::string exit_status;  // what its exit status says, where that is not as everywhere; one line
  const RecordInfo& (*reply)() = nullptr;  // description of the reply: ReplyOf<IdleReply>()
  bool destructive = false;                // removes what cannot be made again
  ServerRole role = ServerRole::kNone;
  AgentTool tool;
  WatchedList watched;
  // Media type of a second, binary form of the reply, for faces that let a caller ask for it; empty: none.
  std::string binary_type;
  // Media types of a file that some parameters ask for (Reply::file).
  std::vector<std::string> file_types;
};

// Progress of long work; `total` 0 means unknown. Called from any thread.
using ProgressFn = std::function<void(std::string_view what, int64_t done_bytes, int64_t total_bytes)>;

// What a handler may use. Owned by the face, outlives the request.
struct OpContext {
  const Settings* settings = nullptr;
  ProgressFn progress;                           // may be empty
  const std::atomic<bool>* cancelled = nullptr;  // may be null; poll it in long loops
  bool interactive = false;                      // a person at a terminal watches
  bool remote = false;                  // asked by another machine: names of runs are never paths of this one
  const AllowedRoots* roots = nullptr;  // where a remote caller may name files; null: nowhere
  // Who asks, where a face knows that: "user:ada"; empty: the user of this process. An admin may act on what
  // belongs to others.
  std::string actor;
  bool is_admin = false;
  bool takes_files = false;            // the face sends Reply::file where there is one
  bool runs_jobs = false;              // the process takes jobs that are left for it in the store
  const InputStream* input = nullptr;  // what the path "-" reads; null: standard input
  // Folder of files that a face received for this request; replies name them without it. Empty: none.
  std::string received;

  // Not null where only short requests may run: a handler that finds that it needs seconds sets it and
  // returns Cancelled(), and the face runs the request again where long ones run. See
  // OpInfo::quick_when_open.
  bool* too_long = nullptr;

  bool Cancelled() const { return cancelled != nullptr && cancelled->load(std::memory_order_relaxed); }
};

// A reply that is a file, of a face that takes files (OpContext::takes_files). The file has no name any more:
// it is gone when the descriptor is closed.
struct ReplyFile {
  UniqueFd file;
  int64_t bytes = 0;
  std::string media_type;
  std::string name;  // that a client may save it as
};

struct Reply {
  Described value;            // the reply, a struct that OpInfo::reply describes
  bool answer_is_no = false;  // exit status 1: the question was answered, with "no"
  // Exit status of an answer that is neither yes nor no (gate: 2, undecided); 0: by answer_is_no.
  int answer_status = 0;
  // Parts of the request that failed while others succeeded; the exit status is the first
  // one's. The JSON has them too.
  std::vector<Error> problems;
  std::string raw;  // when not empty: the exact bytes for stdout instead of text (csv, scripts)
  std::shared_ptr<const ReplyFile> file;  // not null: sent instead of the JSON

  template <class T>
  static Reply Of(T value) {
    Reply reply;
    reply.value = Described::Of(std::move(value));
    return reply;
  }
  // The struct itself; another type is our own bug.
  template <class T>
  const T& As() const {
    const T* typed = value.As<T>();
    NL_CHECK(typed != nullptr);
    return *typed;
  }
  std::string JsonText(int indent = -1) const;
  Json Document() const;
};

template <class T>
constexpr auto ReplyOf() {
  return &RecordOf<T>;
}
// How text should look on this terminal.
struct TextStyle {
  int width = 80;
  bool color = false;
};

class Op {
 public:
  virtual ~Op() = default;
  virtual OpInfo Info() const = 0;
  virtual void Bind(ParamBinder& binder) = 0;
  virtual Result<Reply> Run(OpContext& context) = 0;
  // The reply for a person's eyes. Everything it says is in the JSON too.
  virtual std::string Text(const Reply& reply, const TextStyle& style) const = 0;
  // The reply as OpInfo::binary_type, where there is one.
  virtual std::string Binary(const Reply&) const { return ""; }
};

// An operation and the name that OpInfo gives it, which is known before the operation is made.
struct OpEntry {
  std::string_view name;
  std::unique_ptr<Op> (*make)();
};

// Every operation, sorted by name (generated from the folders of ops/).
const std::vector<OpEntry>& AllOps();
// Names may be written with _ for -, as agents and programming languages write them.
bool IsNameOf(std::string_view asked, std::string_view name);
// A fresh Op of this list by name, or null.
std::unique_ptr<Op> MakeOp(const std::vector<OpEntry>& ops, std::string_view name);
inline std::unique_ptr<Op> MakeOp(std::string_view name) { return MakeOp(AllOps(), name); }

// The operation of this list with a role, or null. It makes every operation: keep what it finds.
const OpEntry* FindRole(const std::vector<OpEntry>& ops, ServerRole role);

// JSON Schema (draft-07) of an operation's parameters.
Json ParamSchema(const std::vector<ParamInfo>& params);

// The one entry all faces use: bind, check, run.
Result<Reply> RunOp(Op& op, const Json& args, OpContext& context);

}  // namespace nl
