// SPDX-License-Identifier: Apache-2.0
// The speedscope adapter: files of https://www.speedscope.app, any number of profiles each.
// One real profile (py-spy 0.3, shortened):
//   {"shared":{"frames":[{"name":"main","file":"train.py","line":10},{"name":"step"}]},
//    "profiles":[{"type":"sampled","name":"Thread 1","unit":"seconds","startValue":0,
//      "endValue":0.02,"samples":[[0,1],[0]],"weights":[0.01,0.01]}]}
// A sampled profile becomes samples, an evented one spans. Frames may come after the
// profiles, and the kind of a profile after its samples: arrays are found first, then read.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "import/adapters/speedscope/counters.h"
#include "import/adapters/speedscope/stacks.h"
#include "import/read/json_cursor.h"
#include "import/read/whole_file.h"
#include "import/rows/row_writer.h"

namespace nl::adapters::speedscope {

namespace {

constexpr int64_t kNone = NullOf<int64_t>::value;
constexpr size_t kShownBytes = 4096;

struct Profile {
  std::string type, name;
  Unit unit = Unit::kNone;
  std::string start = "0", end;  // as written
  int64_t samples_at = -1, weights_at = -1, events_at = -1;
};

class FileReader {
 public:
  FileReader(ImportFile& file, JsonCursor cursor)
      : file_(file), writer_(file), cursor_(std::move(cursor)), stacks_(writer_.strings(), file.counters) {
    first_lane_ = file.sink.rows(Table::kThread);
    span_ = writer_.strings().Add("span");
    call_ = writer_.strings().Add("call");
  }

  Status Read() {
    Status status = ReadFile();
    if (!status.ok()) {
      if (!cursor_.truncated() || !file_.options.allow_truncated || lanes_.empty()) return status;
      file_.counters.Add(kTruncated, cursor_.offset());
    }
    if (lanes_.empty()) return InvalidInput("a speedscope file without a profile").At(file_.path, 0);
    if (const int64_t n = cursor_.repaired_values(); n > 0) file_.counters.Add(kBadUtf8, -1, {}, n);
    if (timeless_ > 0) file_.counters.Add(kNoTimeline, -1, {}, timeless_);
    PutLanes();
    file_.about.vendor = "cpu";
    file_.about.header = std::move(header_);
    return writer_.Finish();
  }

 private:
  // Where the two arrays are, and everything around them.
  Status ReadFile() {
    NL_TRY(cursor_.Enter('{'));
    std::string key;
    for (;;) {
      NL_ASSIGN(const bool more, cursor_.NextKey(key));
      if (!more) break;
      if (key == "shared") {
        NL_TRY(ReadShared());
      } else if (key == "profiles" && cursor_.Peek() == '[') {
        profiles_at_ = cursor_.offset();
        if (stacks_.frames() > 0) {
          NL_TRY(ReadProfiles());
        } else {
          NL_TRY(cursor_.Skip());
        }
      } else {
        NL_TRY(TakeHeader(key));
      }
    }
    if (cursor_.Peek() != 0) return cursor_.Broken("the end of the file");
    if (profiles_at_ < 0) return InvalidInput("a speedscope file without profiles").At(file_.path, 0);
    if (!lanes_.empty()) return {};
    cursor_.Seek(profiles_at_);
    return ReadProfiles();
  }

  Status TakeHeader(const std::string& key) {
    NL_ASSIGN(Json value, cursor_.Parsed());
    if (key == "exporter" && value.is_string()) {
      const std::string text = value.get<std::string>();
      const size_t at = text.find('@');
      file_.about.tool = text.substr(0, at);
      if (at != std::string::npos) file_.about.tool_version = text.substr(at + 1);
    }
    header_[key] = std::move(value);
    return {};
  }

  Status ReadShared() {
    NL_TRY(cursor_.Enter('{'));
    std::string key;
    for (;;) {
      NL_ASSIGN(const bool more, cursor_.NextKey(key));
      if (!more) return {};
      if (key != "frames" || cursor_.Peek() != '[') {
        NL_TRY(TakeHeader("shared." + key));
        continue;
      }
      NL_TRY(cursor_.Enter('['));
      for (;;) {
        NL_ASSIGN(const bool frame, cursor_.NextElement());
        if (!frame) break;
        NL_ASSIGN(const Json json, cursor_.Parsed());
        stacks_.AddFrame(json);
      }
    }
  }

  Status ReadProfiles() {
    NL_TRY(cursor_.Enter('['));
    for (;;) {
      NL_ASSIGN(const bool more, cursor_.NextElement());
      if (!more) return {};
      Profile profile;
      NL_TRY(FindParts(profile));
      const int64_t after = cursor_.offset();
      NL_TRY(ReadProfile(profile));
      cursor_.Seek(after);
    }
  }

  Status FindParts(Profile& p) {
    NL_TRY(cursor_.Enter('{'));
    std::string key;
    for (;;) {
      NL_ASSIGN(const bool more, cursor_.NextKey(key));
      if (!more) return {};
      const bool array = cursor_.Peek() == '[';
      if (array && key == "samples") p.samples_at = cursor_.offset();
      if (array && key == "weights") p.weights_at = cursor_.offset();
      if (array && key == "events") p.events_at = cursor_.offset();
      if (array) {
        NL_TRY(cursor_.Skip());
        continue;
      }
      NL_ASSIGN(const std::string_view text, cursor_.Value());
      const bool quoted = text.size() >= 2 && text[0] == '"';
      const std::string_view word = quoted ? text.substr(1, text.size() - 2) : text;
      bool bad_utf8 = false;
      if (key == "type") p.type = word;
      if (key == "name" && quoted) p.name = trace_json::Unescape(word, bad_utf8);
      if (key == "unit") p.unit = UnitOf(word);
      if (key == "startValue") p.start = word;
      if (key == "endValue") p.end = word;
    }
  }

  Status ReadProfile(const Profile& p) {
    const auto lane = static_cast<ThreadId>(first_lane_ + static_cast<int64_t>(lanes_.size()));
    lanes_.push_back(p.name);
    if (p.type == "evented" && p.events_at >= 0) return ReadEvents(p, lane);
    if (p.type == "sampled" && p.samples_at >= 0) return ReadSamples(p, lane);
    file_.counters.Add(kUnknownProfile, -1, p.type.empty() ? p.name : p.type);
    return {};
  }

  // ---- sampled ----
  Status ReadSamples(const Profile& p, ThreadId lane) {
    std::vector<int64_t> weights;
    if (p.weights_at >= 0) {
      cursor_.Seek(p.weights_at);
      NL_TRY(cursor_.Enter('['));
      for (;;) {
        NL_ASSIGN(const bool more, cursor_.NextElement());
        if (!more) break;
        const int64_t place = cursor_.offset();
        NL_ASSIGN(const std::string_view text, cursor_.Value());
        weights.push_back(Number(text, p.unit, place));
      }
    }
    int64_t at = IsTime(p.unit) ? Number(p.start, p.unit, -1) : kNone;
    const int64_t began = at;
    std::vector<int64_t> stack;
    size_t count = 0;
    cursor_.Seek(p.samples_at);
    NL_TRY(cursor_.Enter('['));
    for (;; ++count) {
      NL_ASSIGN(const bool more, cursor_.NextElement());
      if (!more) break;
      const int64_t place = cursor_.offset();
      NL_ASSIGN(const std::string_view text, cursor_.Value());
      const int64_t weight = count < weights.size() ? weights[count] : kNone;
      if (!ParseStack(text, stack)) {
        file_.counters.Add(kBadSample, place, text.substr(0, kShownBytes));
      } else {
        NL_TRY(PutSample(p.unit, lane, at, stack, weight, place));
      }
      if (!IsNull(at) && !IsNull(weight)) at += weight;
    }
    if (count != weights.size())
      file_.counters.Add(kWeightsDiffer, -1, fmt::format("{} samples, {} weights", count, weights.size()));
    if (!IsNull(began)) PutWhole(p, lane, began, std::max(at, began));
    return {};
  }

  static bool ParseStack(std::string_view json, std::vector<int64_t>& to) {
    to.clear();
    if (json.size() < 2 || json.front() != '[' || json.back() != ']') return false;
    json = json.substr(1, json.size() - 2);
    while (!json.empty()) {
      const size_t comma = std::min(json.find(','), json.size());
      std::string_view item = json.substr(0, comma);
      while (!item.empty() && trace_json::IsSpace(item.front())) item.remove_prefix(1);
      while (!item.empty() && trace_json::IsSpace(item.back())) item.remove_suffix(1);
      int64_t frame = 0;
      if (!trace_json::ParseInt64(item, frame)) return item.empty() && comma == json.size() && to.empty();
      to.push_back(frame);
      json.remove_prefix(std::min(comma + 1, json.size()));
    }
    return true;
  }

  Status PutSample(Unit unit, ThreadId lane, int64_t at, const std::vector<int64_t>& stack, int64_t weight,
                   int64_t place) {
    if (stack.empty()) return {};  // nothing ran
    CpuSampleRow r;
    r.thread_id = lane;
    r.stack = stacks_.Text(stack, place);
    if (IsTime(unit)) {
      r.start_ns = at;
      r.weight_ns = weight;
    } else {
      r.weight = weight;
      r.unit = writer_.strings().Add(unit == Unit::kBytes ? "bytes" : "samples");
      ++timeless_;
    }
    writer_.batch.cpu_sample.Add(r);
    return writer_.Flow();
  }

  // The recording as a whole, as its start and end say: samples have no length of their own.
  void PutWhole(const Profile& p, ThreadId lane, int64_t began, int64_t ended) {
    const int64_t told = p.end.empty() ? kNone : Number(p.end, p.unit, -1);
    RangeRow r;
    r.thread_id = lane;
    r.start_ns = began;
    r.dur_ns = (IsNull(told) || told < ended ? ended : told) - began;
    r.name = writer_.strings().Add(p.name.empty() ? "profile" : p.name);
    r.category = writer_.strings().Add("Trace");
    r.kind = span_;
    writer_.batch.range.Add(r);
  }

  // ---- evented ----
  struct Open {
    int64_t frame, at;
  };

  Status ReadEvents(const Profile& p, ThreadId lane) {
    std::vector<Open> open;
    int64_t last = IsTime(p.unit) ? kNone : Number(p.start, p.unit, -1);
    cursor_.Seek(p.events_at);
    NL_TRY(cursor_.Enter('['));
    for (;;) {
      NL_ASSIGN(const bool more, cursor_.NextElement());
      if (!more) break;
      const int64_t place = cursor_.offset();
      NL_ASSIGN(const std::string_view text, cursor_.Value());
      const std::string shown(text.substr(0, kShownBytes));
      Event event;
      if (!ParseEvent(text, p.unit, event)) {
        file_.counters.Add(kBadSample, place, shown);
        continue;
      }
      if (!IsTime(p.unit)) NL_TRY(PutInterval(p.unit, lane, open, event.at - last, place));
      last = event.at;
      if (event.opens) {
        open.push_back({event.frame, event.at});
      } else {
        NL_TRY(Close(p, lane, open, event, place));
      }
    }
    for (; !open.empty(); open.pop_back()) {
      file_.counters.Add(kBeginWithoutEnd);
      if (IsTime(p.unit)) NL_TRY(PutSpan(lane, open.back(), kNone, -1));
    }
    return {};
  }

  struct Event {
    bool opens = false;
    int64_t frame = kNone, at = kNone;
  };

  static bool ParseEvent(std::string_view json, Unit unit, Event& to) {
    std::string type, at;
    bool frame = false;
    ForEachField(json, [&](std::string_view key, std::string_view value) {
      if (key == "type" && value.size() == 3) type = value.substr(1, 1);
      if (key == "frame") frame = trace_json::ParseInt64(value, to.frame);
      if (key == "at") at = value;
    });
    to.opens = type == "O";
    return frame && (to.opens || type == "C") && Scaled(at, unit, to.at);
  }

  // The innermost frame of that number is closed; those inside it never were.
  Status Close(const Profile& p, ThreadId lane, std::vector<Open>& open, const Event& event, int64_t place) {
    const auto it =
        std::find_if(open.rbegin(), open.rend(), [&](const Open& o) { return o.frame == event.frame; });
    if (it == open.rend()) {
      file_.counters.Add(kEndWithoutBegin, place);
      return {};
    }
    while (open.back().frame != event.frame) {
      file_.counters.Add(kBeginWithoutEnd, place);
      if (IsTime(p.unit)) NL_TRY(PutSpan(lane, open.back(), kNone, place));
      open.pop_back();
    }
    const Open closed = open.back();
    open.pop_back();
    if (!IsTime(p.unit)) return {};
    if (event.at < closed.at) file_.counters.Add(kBadDuration, place);
    return PutSpan(lane, closed, event.at < closed.at ? kNone : event.at - closed.at, place);
  }

  Status PutSpan(ThreadId lane, const Open& open, int64_t dur_ns, int64_t place) {
    RangeRow r;
    r.thread_id = lane;
    r.start_ns = open.at;
    r.dur_ns = dur_ns;
    r.name = stacks_.Frame(open.frame, place);
    r.category = call_;
    r.kind = IsNull(dur_ns) ? writer_.strings().Add("unfinished") : span_;
    writer_.batch.range.Add(r);
    return writer_.Flow();
  }

  // Between two events of a profile that counts something else than time.
  Status PutInterval(Unit unit, ThreadId lane, const std::vector<Open>& open, int64_t weight, int64_t place) {
    if (open.empty() || weight <= 0) return {};
    std::vector<int64_t> stack;
    for (const Open& o : open) stack.push_back(o.frame);
    return PutSample(unit, lane, kNone, stack, weight, place);
  }

  int64_t Number(std::string_view text, Unit unit, int64_t place) {
    int64_t value = kNone;
    if (Scaled(text, unit, value)) return value;
    file_.counters.Add(kBadSample, place, text.substr(0, kShownBytes));
    return kNone;
  }

  void PutLanes() {
    EventBatch& batch = writer_.batch;
    ProcessRow process;
    process.labels = writer_.strings().Add("CPU");
    const auto process_id = static_cast<ProcessId>(writer_.NextRow(Table::kProcess, batch.process));
    batch.process.Add(process);
    for (const std::string& name : lanes_) {
      ThreadRow lane;
      lane.process_id = process_id;
      lane.name = lane.tid_text = writer_.strings().Add(name.empty() ? "profile" : name);
      batch.thread.Add(lane);
    }
  }

  ImportFile& file_;
  RowWriter writer_;
  JsonCursor cursor_;
  Stacks stacks_;
  Json header_ = Json::object();
  std::vector<std::string> lanes_;  // names of the profiles
  int64_t first_lane_ = 0, profiles_at_ = -1, timeless_ = 0;
  StringId span_, call_;
};

class SpeedscopeAdapter final : public Adapter {
 public:
  AdapterInfo Info() const override {
    return {"speedscope",
            1,
            "Speedscope files, sampled and evented profiles",
            "speedscope, py-spy, rbspy, neurolens flame",
            {".speedscope.json", ".json"}};
  }

  int Score(std::string_view head, std::string_view) const override {
    if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
    const size_t brace = head.find_first_not_of(" \n\r\t");
    if (brace == std::string_view::npos || head[brace] != '{') return 0;
    const auto has = [head](std::string_view word) { return head.find(word) != std::string_view::npos; };
    if (has("speedscope.app/file-format-schema.json")) return 95;
    const bool profiles = has("\"profiles\"") && (has("\"sampled\"") || has("\"evented\""));
    return has("\"shared\"") && has("\"frames\"") ? 60 : profiles && has("\"unit\"") ? 50 : 0;
  }

  Status Import(ImportFile& file) const override {
    NL_ASSIGN(const std::unique_ptr<WholeFile> whole, WholeFile::Open(file));
    NL_ASSIGN(JsonCursor cursor, JsonCursor::Open(whole->path(), file));
    NL_TRY(FileReader(file, std::move(cursor)).Read());
    return whole->Finish();
  }
};

}  // namespace

const Adapter& Describe() {
  static const SpeedscopeAdapter adapter;
  return adapter;
}

}  // namespace nl::adapters::speedscope
