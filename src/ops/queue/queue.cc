// SPDX-License-Identifier: Apache-2.0
// `neurolens queue`: commands that run one after the other on this machine's GPUs, or under Slurm.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "base/file_ops.h"
#include "base/human.h"
#include "base/plural.h"
#include "base/secrets.h"
#include "base/terminal.h"
#include "bench/clock_lock.h"
#include "ops/import_recording.h"
#include "ops/op.h"
#include "ops/settings.h"
#include "queue/local.h"
#include "queue/queue_files.h"
#include "queue/queue_log.h"
#include "queue/slurm.h"
#include "report/text_table.h"

extern char** environ;

namespace nl::ops::queue {

namespace {

using namespace nl::queue;

constexpr auto kLookAtQueueEvery = std::chrono::milliseconds(50);
constexpr size_t kShortEntryId = 13;  // the milliseconds of a UUIDv7

struct QueueReply {
  int64_t entries_total = 0;
  std::optional<int64_t> next_offset;
  std::vector<Entry> entries;
  std::optional<std::map<std::string, std::string>> environment;
  std::optional<RunnerProgress> runner;
  std::optional<SessionTotals> totals;
  std::optional<std::string> output, problem;
};
void Describe(Record<QueueReply>& r) {
  r.Name("QueueReply", "Reply of `neurolens queue`");
  r.Field("entries_total", &QueueReply::entries_total, "Entries that match");
  r.Field("next_offset", &QueueReply::next_offset, "Offset of the next page; null: this is the last one");
  r.Field("entries", &QueueReply::entries, "Entries, newest first; with run those that are not over");
  r.Field("environment", &QueueReply::environment,
          "ls of one entry: its environment, without the values of secrets");
  r.Field("runner", &QueueReply::runner, "What the runner does; null: no runner works on this queue");
  r.Field("totals", &QueueReply::totals, "run: what it did");
  r.Field("output", &QueueReply::output, "log: the log of the queue, or the output of an entry");
  r.Field("problem", &QueueReply::problem, "run: damage found in the journal, or why GPUs are not watched");
}

Result<std::string> ReadScript(const std::string& path) {
  if (path != "-") return ReadWholeFile(path);
  std::string out;
  char bytes[64 << 10];
  for (ssize_t n = 0; (n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0;) {
    if (n < 0 && errno != EINTR) return IoError("cannot read the script from standard input");
    if (n > 0) out.append(bytes, static_cast<size_t>(n));
  }
  return out;
}

std::string StatusText(const Entry& e) { return e.exit_status ? std::to_string(*e.exit_status) : "-"; }
std::string OverlapText(const Entry& e) { return !e.overlap ? "-" : *e.overlap ? "yes" : "no"; }
std::string TimeText(const Entry& e) { return e.duration_ms ? HumanMs(*e.duration_ms) : "-"; }

class QueueOp final : public Op {
 public:
  OpInfo Info() const override {
    OpInfo info;
    info.name = "queue";
    info.summary = "Run commands one at a time, each when the GPUs are free";
    info.choose_when =
        "Choose it for measurements that must not disturb each other, or that take all night: it survives "
        "crashes and reboots. `jobs` is about operations of a server.";
    info.example = "neurolens queue add -- neurolens run -- python3 infer.py";
    info.cost = Cost::kMinutes;
    info.writes = true;
    info.local = true;
    info.runs_programs = true;
    info.exit_status = "run, wait: 1 when an entry failed";
    info.reply = ReplyOf<QueueReply>();
    return info;
  }

  void Bind(ParamBinder& b) override {
    b.Add("action", action_,
          "add: a command, after --. ls: entries, or all about one. log: the log of the queue, or the output "
          "of an entry. cancel, retry: entries; retry without one: all that failed. run: work on the queue "
          "until it is empty. wait: until entries, or all, are over")
        .Positional()
        .Choices({"add", "ls", "log", "cancel", "retry", "run", "wait"});
    b.Add("args", args_, "The command with its arguments; or entries, by id, beginning of the id, or name")
        .Positional();
    BindAdd(b);
    b.Add("state", state_, "ls: only entries in this state").Choices(StateNames());
    b.Add("limit", limit_, "ls: at most this many entries; 0 for all").Range(0, 1e9);
    b.Add("offset", offset_, "ls: entries to leave out, newest first").Range(0, 1e9);
    b.Add("attempt", attempt_, "log: output of this attempt; 0 for the last one").Range(0, 1e9);
    b.Add("stay", stay_, "run: wait for more entries when the queue is empty");
    BindSlurm(b);
  }

  Result<Reply> Run(OpContext& context) override {
    folder_ = QueueFolder(context.settings->Get("store"));
    NL_TRY(CheckFlags());
    if (action_ == "add") return AddOne();
    if (action_ == "run") return RunQueue(context);
    NL_ASSIGN(const std::vector<Entry> all, ReadEntries(folder_));
    if (action_ == "log") return LogReply(all);
    if (action_ == "ls" && args_.empty()) return ListReply(all);
    std::vector<std::string> ids;
    for (const std::string& word : args_) {
      NL_ASSIGN(const Entry entry, FindEntry(all, word));
      ids.push_back(entry.entry_id);
    }
    if (action_ == "cancel" || action_ == "retry") NL_TRY(ChangeAll(all, ids));
    if (action_ == "wait") {
      if (ids.empty()) {
        for (const Entry& e : all) ids.push_back(e.entry_id);
      }
      return WaitFor(context, ids);
    }
    return EntriesReply(ids);
  }

  std::string Text(const Reply& any, const TextStyle& style) const override {
    const auto& reply = any.As<QueueReply>();
    if (action_ == "add") return fmt::format("added {}\n", reply.entries.at(0).entry_id);
    if (action_ == "run") return RunText(reply, style);
    std::string out;
    if (reply.environment) return OneText(reply);
    if (reply.entries.empty())
      out = "no entries\n";
    else
      out = TableText(reply.entries, style);
    const auto shown = static_cast<int64_t>(reply.entries.size());
    if (shown < reply.entries_total)
      out += fmt::format("{} of {} entries\n", HumanCount(shown), HumanCount(reply.entries_total));
    if (action_ == "ls") out += RunnerText(reply.runner);
    return out;
  }

 private:
  static std::vector<std::string> StateNames() {
    const auto names = NamesOf(EntryState{});
    return {names.begin(), names.end()};
  }

  void BindAdd(ParamBinder& b) {
    b.Add("file", file_,
          "add: a script instead of a command; - reads it from standard input. It is kept byte for byte and "
          "run "
          "by its #! line, or by sh; the command, if any, is its arguments")
        .Path();
    b.Add("name", entry_.name.emplace(), "add: a name for the entry");
    b.Add("gpu", entry_.gpu, "add: the entry waits until the GPUs are free");
    b.Add("max_attempts", max_attempts_,
          "add, run: most attempts of an entry that fails; the value of add takes precedence. 0: with add, "
          "the value of run; with run, one")
        .Range(0, 1000);
    b.Add("max_interruptions", entry_.max_interruptions,
          "add: queue the entry again at most this often after its runner died; 0: never")
        .Range(0, 1e6);
    b.Add("import", entry_.imports,
          "add: a recording or profile that the entry writes; imported if it succeeds")
        .Path();
  }

  void BindSlurm(ParamBinder& b) {
    b.Add("engine", engine_, "run: where entries run").Choices({"local", "slurm"});
    b.Add("partition", slurm_.partition, "run with slurm: partition");
    b.Add("gpus", slurm_.gpus, "run with slurm: GPUs per entry; 0: as the cluster does").Range(0, 1024);
    b.Add("gpu_type", slurm_.gpu_type, "run with slurm: type of the GPUs, as the cluster calls it");
    b.Add("exclusive", slurm_.exclusive, "run with slurm: whole nodes");
    b.Add("arrays", slurm_.arrays, "run with slurm: submit several entries as one array job");
    b.Add("array_tasks", slurm_.most_tasks,
          "run with slurm: tasks of an array at the same time; 0: any number")
        .Range(0, 1e6);
    b.Add("time_limit_min", slurm_.time_min,
          "run with slurm: time limit of an entry in minutes; 0: none given")
        .Range(0, 1e7);
    b.Add("sbatch_option", slurm_.more,
          "run with slurm: a further option of sbatch, as in --sbatch-option=--account=x");
  }

  // A flag of another action would be ignored in silence.
  Status CheckFlags() const {
    const bool adds = !file_.empty() || !entry_.name->empty() || !entry_.gpu || !entry_.imports.empty();
    if (adds && action_ != "add")
      return InvalidInput(
          fmt::format("--file, --name, --no-gpu and --import belong to add, not to {}", action_));
    const bool slurm = !slurm_.partition.empty() || slurm_.gpus != 0 || !slurm_.gpu_type.empty() ||
                       slurm_.exclusive || slurm_.time_min != 0 || !slurm_.more.empty();
    if (slurm && engine_ != "slurm")
      return InvalidInput("options of Slurm need --engine slurm")
          .Hint("neurolens queue run --engine slurm ...");
    if ((engine_ != "local" || stay_) && action_ != "run")
      return InvalidInput(fmt::format("--engine and --stay belong to run, not to {}", action_));
    if (action_ == "run" && !args_.empty())
      return InvalidInput("run takes no entry").Hint("it works on the whole queue; `queue add` adds to it");
    return {};
  }

  Result<Reply> AddOne() {
    EntryFiles files;
    files.command = args_;
    if (!file_.empty()) {
      NL_ASSIGN(files.script, ReadScript(file_));
      if (files.script->empty()) return InvalidInput("the script is empty").At(file_);
    } else if (args_.empty() || args_[0].empty()) {
      return InvalidInput("add needs a command").Hint("neurolens queue add -- python3 train.py");
    }
    for (char** variable = environ; *variable != nullptr; ++variable)
      files.environment.emplace_back(*variable);
    char cwd[4096];
    if (getcwd(cwd, sizeof cwd) == nullptr) return IoError("the current folder is not known");
    Entry entry = entry_;
    if (entry.name->empty()) entry.name.reset();
    entry.working_folder = cwd;
    entry.max_attempts = max_attempts_;
    QueueReply reply;
    NL_ASSIGN(Entry added, AddEntry(folder_, std::move(entry), files));
    reply.entries_total = 1;
    reply.entries.push_back(std::move(added));
    return Reply::Of(std::move(reply));
  }

  SessionOptions OptionsOf(OpContext& context) const {
    SessionOptions options;
    options.folder = folder_;
    options.lock_path = RunnerLockPath();
    options.max_attempts = std::max<int64_t>(max_attempts_, 1);
    options.stay = stay_;
    options.keep_going = [&context] { return !context.Cancelled(); };
    options.import = [&context](const std::vector<std::string>& paths) { return Import(context, paths); };
    if (context.progress) {
      options.report = [&context](const RunnerProgress& p) {
        context.progress(fmt::format("{} of {}: {}{}{}", p.finished, p.finished + p.remaining,
                                     NamesOf(p.phase)[static_cast<size_t>(p.phase)], p.title ? " " : "",
                                     PrintableName(p.title.value_or(""), 60)),
                         0, 0);
      };
    }
    return options;
  }

  static Result<std::vector<std::string>> Import(OpContext& context, const std::vector<std::string>& paths) {
    ImportArguments request;
    request.paths = paths;
    NL_ASSIGN(const std::vector<ImportedRun> runs, ImportAll(context, request));
    if (runs.empty()) return InvalidInput("the recordings contain no run");
    std::vector<std::string> ids;
    for (const ImportedRun& run : runs) ids.push_back(run.run_id);
    return ids;
  }

  Result<Reply> RunQueue(OpContext& context) {
    NL_ASSIGN(const std::unique_ptr<Session> session, Session::Open(OptionsOf(context), engine_));
    QueueReply reply;
    reply.problem = KnownText(session->problem());
    if (engine_ == "slurm") {
      NL_TRY(RunSlurm(*session, slurm_));
    } else {
      nl::bench::RestoreLeftClocks();
      GpuWatch gpus;
      if (!gpus.works())
        reply.problem = fmt::format("{}{}other GPU work is not watched: {}", reply.problem.value_or(""),
                                    reply.problem ? "; " : "", gpus.problem());
      NL_TRY(RunLocal(*session, gpus));
    }
    if (context.Cancelled()) return Cancelled();
    reply.totals = session->totals();
    reply.entries_total = session->table().not_over();
    for (const Entry& e : session->table().All()) {
      if (!IsOver(e.state)) reply.entries.push_back(e);
    }
    const bool bad = reply.totals->failed + reply.totals->interrupted > 0;
    Reply out = Reply::Of(std::move(reply));
    out.answer_is_no = bad;
    return out;
  }

  Result<Reply> ListReply(const std::vector<Entry>& all) const {
    QueueReply reply;
    const std::optional<EntryState> state = StateOfName(state_);
    for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
      if (state && entry->state != *state) continue;
      const int64_t at = reply.entries_total++;
      if (at < offset_ || (limit_ > 0 && at - offset_ >= limit_)) continue;
      reply.entries.push_back(*entry);
    }
    const int64_t end = offset_ + static_cast<int64_t>(reply.entries.size());
    if (!reply.entries.empty() && end < reply.entries_total) reply.next_offset = end;
    reply.runner = ReadProgress(folder_);
    return Reply::Of(std::move(reply));
  }

  Result<Reply> EntriesReply(const std::vector<std::string>& ids) const {
    QueueReply reply;
    NL_ASSIGN(const std::vector<Entry> all, ReadEntries(folder_));
    for (const std::string& id : ids) {
      NL_ASSIGN(Entry entry, FindEntry(all, id));
      reply.entries.push_back(std::move(entry));
    }
    reply.entries_total = static_cast<int64_t>(reply.entries.size());
    reply.runner = ReadProgress(folder_);
    if (action_ == "ls" && reply.entries.size() == 1) {
      NL_ASSIGN(reply.environment, EnvironmentOf(reply.entries[0]));
    }
    return Reply::Of(std::move(reply));
  }

  Result<std::map<std::string, std::string>> EnvironmentOf(const Entry& entry) const {
    NL_ASSIGN(const EntryFiles files, ReadEntryFiles(folder_, entry.entry_id));
    Json variables = Json::object();
    for (const std::string& one : files.environment) {
      const size_t equals = std::min(one.find('='), one.size());
      variables[one.substr(0, equals)] = one.substr(std::min(equals + 1, one.size()));
    }
    std::vector<std::string> hidden;
    HideSecrets(variables, hidden);
    std::map<std::string, std::string> out;
    for (const auto& [name, value] : variables.items())
      out[name] = value.is_string() ? value.get<std::string>() : std::string();
    return out;
  }

  Result<Reply> LogReply(const std::vector<Entry>& all) const {
    QueueReply reply;
    std::string path = LogPath(folder_);
    if (args_.size() > 1) return InvalidInput("log takes one entry");
    if (!args_.empty()) {
      NL_ASSIGN(const Entry entry, FindEntry(all, args_[0]));
      const int64_t attempt = attempt_ > 0 ? attempt_ : entry.attempts;
      if (attempt == 0 || attempt > entry.attempts)
        return NotFound(fmt::format("entry {} has {} attempts", entry.entry_id, entry.attempts))
            .Hint("it has output when it has started");
      path = OutputPath(folder_, entry.entry_id, attempt);
      reply.entries = {entry};
      reply.entries_total = 1;
    }
    Result<std::string> text = ReadWholeFile(path);
    if (!text.ok() && text.error().code != ErrorCode::kNotFound) return std::move(text).error();
    Reply out;
    reply.output = text.ok() ? *text : "";
    const std::string raw = *reply.output;
    out = Reply::Of(std::move(reply));
    out.raw = raw;
    return out;
  }

  Status ChangeAll(const std::vector<Entry>& all, std::vector<std::string>& ids) const {
    if (ids.empty() && action_ == "cancel")
      return InvalidInput("cancel needs an entry").Hint("`neurolens queue ls` lists them");
    if (ids.empty()) {
      for (const Entry& e : all) {
        if (e.state == EntryState::kFailed || e.state == EntryState::kInterrupted) ids.push_back(e.entry_id);
      }
    }
    for (const std::string& id : ids) {
      NL_ASSIGN(const Entry entry, FindEntry(all, id));
      if (action_ == "retry" && !IsOver(entry.state))
        return InvalidInput(fmt::format("entry {} is {}; only one that is over can be queued again", id,
                                        NameOf(entry.state)));
    }
    for (const std::string& id : ids) NL_TRY(ChangeEntry(folder_, id, action_));
    return {};
  }

  Result<Reply> WaitFor(const OpContext& context, const std::vector<std::string>& ids) const {
    for (;;) {
      const bool worked_on = Journal::IsOpen(folder_);  // before the look: a runner may end in between
      NL_ASSIGN(Reply reply, EntriesReply(ids));
      const auto& entries = reply.As<QueueReply>().entries;
      const auto over = [](const Entry& e) { return IsOver(e.state); };
      if (std::all_of(entries.begin(), entries.end(), over)) {
        reply.answer_is_no = std::any_of(entries.begin(), entries.end(),
                                         [](const Entry& e) { return e.state != EntryState::kDone; });
        return reply;
      }
      if (!worked_on) return NotFound("no runner works on this queue").Hint("start one: neurolens queue run");
      std::this_thread::sleep_for(kLookAtQueueEvery);
      if (context.Cancelled()) return Cancelled();
    }
  }

  static std::string TableText(const std::vector<Entry>& entries, const TextStyle& style) {
    TextTable table({{"ENTRY", Align::kLeft, false, 0},
                     {"STATE", Align::kLeft, false, 0},
                     {"ATTEMPTS", Align::kRight, false, 0},
                     {"STATUS", Align::kRight, false, 0},
                     {"OVERLAP", Align::kLeft, false, 0},
                     {"TIME", Align::kRight, false, 0},
                     {"COMMAND", Align::kLeft, true, 12}});
    for (const Entry& e : entries) {
      table.AddRow({e.entry_id.substr(0, kShortEntryId), std::string(NameOf(e.state)), HumanCount(e.attempts),
                    StatusText(e), OverlapText(e), TimeText(e), PrintableName(TitleOf(e), 200)});
    }
    return table.Render(style.width, style.color);
  }

  static std::string RunnerText(const std::optional<RunnerProgress>& runner) {
    if (!runner) return "no runner works on this queue\n";
    std::string out =
        fmt::format("runner {}: {}", runner->pid, NamesOf(runner->phase)[static_cast<size_t>(runner->phase)]);
    if (runner->waiting_for) out += fmt::format(", {}", PrintableText(*runner->waiting_for));
    out += fmt::format(", {} entries left", HumanCount(runner->remaining));
    if (runner->eta_s) out += fmt::format(", about {}", HumanMs(*runner->eta_s * 1000));
    return out + "\n";
  }

  static std::string OneText(const QueueReply& reply) {
    const Entry& e = reply.entries.at(0);
    std::string out;
    const auto line = [&](std::string_view name, const std::string& value) {
      out += fmt::format("{:<12} {}\n", name, PrintableText(value));
    };
    const auto maybe = [&](std::string_view name, const std::optional<std::string>& value) {
      if (value) line(name, *value);
    };
    line("entry", e.entry_id);
    maybe("name", e.name);
    line("command", fmt::format("{}", fmt::join(e.command, " ")));
    if (e.script_bytes) line("script", fmt::format("{} bytes", HumanCount(*e.script_bytes)));
    line("state", fmt::format("{}{}", NameOf(e.state),
                              e.cancel_requested && !IsOver(e.state) ? ", cancel requested" : ""));
    line("folder", e.working_folder);
    line("attempts", fmt::format("{} ({} failed, {} overlapped, {} interrupted)", e.attempts, e.failures,
                                 e.overlaps, e.interruptions));
    line("added", e.created_at);
    maybe("started", e.started_at);
    maybe("finished", e.finished_at);
    if (e.exit_status) line("exit status", std::to_string(*e.exit_status));
    if (e.duration_ms) line("time", HumanMs(*e.duration_ms));
    maybe("reason", e.reason);
    if (e.attempts > 0) line("overlap", e.overlap ? OverlapText(e) : "not known");
    maybe("", e.overlap_reason);
    maybe("slurm job", e.slurm_job);
    maybe("node", e.node);
    for (const std::string& run : e.run_ids) line("run", run);
    maybe("not imported", e.import_problem);
    out += "environment\n";
    for (const auto& [name, value] : *reply.environment)
      out += fmt::format("  {}={}\n", PrintableText(name), PrintableText(value));
    return out;
  }

  static std::string RunText(const QueueReply& reply, const TextStyle& style) {
    const SessionTotals& t = *reply.totals;
    std::string out = fmt::format("{}: {} done, {} failed, {} cancelled, {} interrupted, {} queued again\n",
                                  Counted(t.attempts, "attempt"), t.done, t.failed, t.cancelled,
                                  t.interrupted, t.queued_again);
    if (reply.problem) out += Wrap(PrintableText(*reply.problem), style.width, 2) + "\n";
    if (!reply.entries.empty()) out += "left for another runner:\n" + TableText(reply.entries, style);
    return out;
  }

  std::string action_ = "ls", file_, state_, engine_ = "local", folder_;
  std::vector<std::string> args_;
  Entry entry_;
  int64_t max_attempts_ = 0, limit_ = 50, offset_ = 0, attempt_ = 0;
  bool stay_ = false;
  SlurmOptions slurm_;
};

}  // namespace

std::unique_ptr<Op> Describe() { return std::make_unique<QueueOp>(); }

}  // namespace nl::ops::queue
