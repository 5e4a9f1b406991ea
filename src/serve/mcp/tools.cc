// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/tools.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/human.h"
#include "base/record_json.h"
#include "base/terminal.h"
#include "serve/jobs/op_work.h"
#include "serve/mcp/page.h"

namespace nl::mcp {

namespace {

// Of the answer, at most this part is text; the rest is for the structured content.
constexpr double kTextShare = 0.45;
constexpr int kMaxAttempts = 8;

// Operations and the tools they are called as, where the two differ.
using ToolNames = std::vector<std::pair<std::string, std::string>>;

// The names of operations in a sentence, in backquotes, as clients call them.
std::string WithToolNames(std::string_view text, const ToolNames& names) {
  std::string out;
  for (bool quoted = false;; quoted = !quoted) {
    const size_t end = text.find('`');
    const std::string_view part = text.substr(0, end);
    const auto name =
        std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == part; });
    out += quoted && end != std::string_view::npos && name != names.end() ? name->second : part;
    if (end == std::string_view::npos) return out;
    out += '`';
    text.remove_prefix(end + 1);
  }
}

std::string Title(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '_' || c == '-'; }, ' ');
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

bool IsOffered(const ParamInfo& param, const OpInfo& op, const Access& access) {
  if (!param.local_only) return true;
  const bool names_command = op.runs_programs && param.kind != ParamKind::kPath;
  return access.local_caller && (access.all_tools || param.required || names_command);
}

bool IsOffered(const OpInfo& op, const Access& access) {
  if (op.hidden || (!access.writes && ChangesStore(op))) return false;
  if (op.runs_programs)
    return access.local_caller && access.programs && (access.all_tools || op.tool.place > 0);
  return !op.local;
}

// What stands for the files of an operation that imports, for a caller that cannot name any.
ParamInfo UploadParam(bool required) {
  ParamInfo out;
  out.name = jobs::kUploadParam;
  out.help = "Finished uploads to import, as one recording: ids that POST /api/v1/uploads gave";
  out.repeated = true;
  out.required = required;
  return out;
}

// What a caller that may name some files of the server says instead.
ParamInfo ServerFilesParam(ParamInfo param) {
  param.help =
      "Instead of `upload`: files or folders of the server, by absolute paths below a folder that it allows";
  param.required = false;
  return param;
}

// A schema for validators that know JSON Schema 2020-12 and nothing else: units become part of the text.
void ToPlainSchema(Json& schema) {
  if (schema.is_array()) {
    for (Json& inner : schema) ToPlainSchema(inner);
  }
  if (!schema.is_object()) return;
  if (const auto unit = schema.find("x-unit"); unit != schema.end()) {
    const std::string name = unit->get<std::string>();
    schema.erase("x-unit");
    if (schema.contains("description"))
      schema["description"] = fmt::format("{} [{}]", schema["description"].get<std::string>(), name);
  }
  if (const auto ref = schema.find("$ref"); ref != schema.end() && ref->is_string()) {
    constexpr std::string_view kOld = "#/definitions/";
    const std::string target = ref->get<std::string>();
    if (target.starts_with(kOld)) *ref = "#/$defs/" + target.substr(kOld.size());
  }
  for (auto& [name, member] : schema.items()) ToPlainSchema(member);
}

Json OutputSchema(const RecordInfo& info) {
  Json schema = JsonSchema(info);
  if (const auto old = schema.find("definitions"); old != schema.end()) {
    Json definitions = std::move(*old);
    schema.erase("definitions");
    schema["$defs"] = std::move(definitions);
  }
  ToPlainSchema(schema);
  return schema;
}

// A second call would run the programs again; what they left in the store has the other rows.
bool HasPages(const Tool& tool) { return !tool.info.runs_programs; }

Json InputSchema(const Tool& tool) {
  Json schema = ParamSchema(tool.params);
  schema["properties"]["max_tokens"] = {
      {"type", "integer"},
      {"minimum", kLeastMaxTokens},
      {"maximum", kMostMaxTokens},
      {"default", kDefaultMaxTokens},
      {"description",
       "Most tokens of the answer (4 bytes each). When it is given and the whole answer fits, "
       "numbers are exact"}};
  if (HasPages(tool))
    schema["properties"]["cursor"] = {
        {"type", "string"},
        {"description", "Where the previous answer ended, to continue it; all other arguments unchanged"}};
  return schema;
}

struct Request {
  Json args = Json::object();  // of the operation
  int64_t max_tokens = kDefaultMaxTokens;
  bool exact = false;
  bool has_pages = true;
  std::string cursor;
};

Result<Request> RequestOf(const Tool& tool, const Json& arguments) {
  Request out;
  out.has_pages = HasPages(tool);
  for (const auto& [key, value] : arguments.items()) {
    const std::string& name = key;  // clang 14 does not capture structured bindings
    if (name == "max_tokens") {
      if (!value.is_number_integer() || value.get<double>() < kLeastMaxTokens ||
          value.get<double>() > kMostMaxTokens)
        return InvalidInput(fmt::format("parameter 'max_tokens' must be an integer between {} and {}",
                                        kLeastMaxTokens, kMostMaxTokens));
      out.max_tokens = value.get<int64_t>();
      out.exact = true;
    } else if (name == "cursor" && out.has_pages) {
      if (!value.is_string()) return InvalidInput("parameter 'cursor' must be a string");
      out.cursor = value.get<std::string>();
    } else if (std::none_of(tool.params.begin(), tool.params.end(),
                            [&](const ParamInfo& p) { return p.name == name; })) {
      return InvalidInput(fmt::format("unknown parameter '{}'", name));
    } else {
      out.args[name] = value;
    }
  }
  return out;
}

Json TextBlock(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

std::string ErrorText(const Error& error) {
  Error bare = error;
  bare.hint.clear();
  std::string out = fmt::format("{}: {}", ErrorCodeName(error.code), bare.ToString());
  if (!error.hint.empty()) out += fmt::format("\nhint: {}", error.hint);
  return PrintableText(out, Keep::kLines);
}

Json ErrorMeta(const Error& error) {
  Json out{{"code", ErrorCodeName(error.code)}, {"message", error.message}};
  if (!error.file.empty()) out["file"] = error.file;
  if (error.byte_offset >= 0) out["byte_offset"] = error.byte_offset;
  if (!error.hint.empty()) out["hint"] = error.hint;
  return out;
}

// What the page leaves out, in words for clients that show texts only.
std::string PageNote(const Page& page) {
  std::string out;
  for (const ListPart& part : page.parts) {
    out += out.empty() ? "Rows in structuredContent: " : "; ";
    out += part.shown == 0
               ? fmt::format("{} none of {}", part.list, HumanCount(static_cast<int64_t>(part.total)))
               : fmt::format("{} {} to {} of {}", part.list, part.first + 1, part.first + part.shown,
                             HumanCount(static_cast<int64_t>(part.total)));
  }
  if (out.empty()) return out;
  out += ".";
  if (!page.next_cursor.empty())
    out += fmt::format(" For more, call again with cursor \"{}\" or a larger max_tokens.", page.next_cursor);
  return out;
}

Json PageMeta(const Page& page) {
  Json rows = Json::object();
  for (const ListPart& part : page.parts)
    rows[part.list] = {{"first", part.first}, {"shown", part.shown}, {"total", part.total}};
  Json out{{"neurolens/rows", std::move(rows)}};
  if (!page.next_cursor.empty()) out["neurolens/next_cursor"] = page.next_cursor;
  return out;
}

// The whole reply in one page of `bytes`, with what surrounds it. The first page has the operation's text
// beside the structured content; later ones have their rows as JSON in both, as the text would be the same
// again.
Result<Json> PageResult(const Json& document, const std::string& text, const std::vector<Error>& problems,
                        const Request& request, size_t bytes) {
  NL_ASSIGN(Page page, PageOf(document, bytes, request.cursor));
  if (!request.has_pages) page.next_cursor.clear();
  Json content = Json::array();
  content.push_back(TextBlock(request.cursor.empty() ? text : DumpJson(page.value)));
  if (std::string note = PageNote(page); !note.empty()) content.push_back(TextBlock(std::move(note)));
  for (const Error& problem : problems) content.push_back(TextBlock(ErrorText(problem)));
  Json out{{"content", std::move(content)},
           {"structuredContent", std::move(page.value)},
           {"isError", !problems.empty()}};
  if (!page.parts.empty()) out["_meta"] = PageMeta(page);
  return out;
}

// A reply as the caller wants it. `text` is what a person reads.
Result<Json> ResultOf(Json document, const RecordInfo& info, const std::string& whole_text,
                      const std::vector<Error>& problems, const Request& request) {
  const size_t most = static_cast<size_t>(request.max_tokens) * kBytesPerToken;
  const auto text_bytes = static_cast<size_t>(kTextShare * static_cast<double>(most));
  const std::string text = request.cursor.empty() ? FirstLines(whole_text, text_bytes) : "";
  if (request.exact && request.cursor.empty()) {
    NL_ASSIGN(Json whole, PageResult(document, text, problems, request, SIZE_MAX));
    if (DumpJson(whole).size() <= most) return whole;
  }
  RoundNumbers(document, info);
  // What surrounds the page depends on the page: give it less until both fit.
  size_t bytes = most;
  for (int attempt = 0;; ++attempt) {
    NL_ASSIGN(Json result, PageResult(document, text, problems, request, bytes));
    const size_t found = DumpJson(result).size();
    if (found <= most || attempt == kMaxAttempts) return result;
    const size_t over = request.cursor.empty() ? found - most : (found - most) / 2 + 1;
    const size_t used = DumpJson(result["structuredContent"]).size();
    bytes = used - std::min(used, over);
  }
}

}  // namespace

Json ErrorResult(const Error& error) {
  return {{"content", Json::array({TextBlock(ErrorText(error))})},
          {"isError", true},
          {"_meta", {{"neurolens/error", ErrorMeta(error)}}}};
}

bool ChangesStore(const OpInfo& info) { return info.writes && !info.writes_by_import; }

std::string FirstLines(std::string text, size_t bytes) {
  if (text.size() <= bytes) return text;
  const size_t end = text.rfind('\n', bytes);
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text + "...\n";
}

std::vector<Tool> ToolsOf(const std::vector<OpEntry>& ops, const Access& access) {
  std::vector<Tool> out;
  ToolNames names;
  for (const OpEntry& entry : ops) {
    const std::unique_ptr<Op> op = entry.make();
    Tool tool{std::string(entry.name), &entry, op->Info(), {}};
    if (!tool.info.tool.name.empty()) {
      tool.name = tool.info.tool.name;
      names.emplace_back(entry.name, tool.name);
    }
    if (!IsOffered(tool.info, access)) continue;
    tool.reads_only =
        access.local_caller ? !tool.info.writes && !tool.info.runs_programs : !ChangesStore(tool.info);
    ParamBinder binder;
    op->Bind(binder);
    bool usable = true;
    tool.takes_uploads = tool.info.role == ServerRole::kUpload && !access.local_caller;
    if (tool.takes_uploads) tool.params.push_back(UploadParam(!access.server_files));
    for (const ParamInfo& param : binder.params()) {
      if (IsOffered(param, tool.info, access)) {
        tool.params.push_back(param);
      } else if (tool.takes_uploads && access.server_files && param.kind == ParamKind::kPath) {
        tool.params.push_back(ServerFilesParam(param));
      } else if (param.required && !tool.takes_uploads) {
        usable = false;
      }
    }
    if (usable) out.push_back(std::move(tool));
  }
  for (Tool& tool : out) {
    for (std::string* text : {&tool.info.summary, &tool.info.choose_when})
      *text = WithToolNames(std::move(*text), names);
  }
  const auto rank = [](const Tool& tool) {
    return tool.info.tool.place > 0 ? tool.info.tool.place : std::numeric_limits<int>::max();
  };
  std::stable_sort(out.begin(), out.end(), [&](const Tool& a, const Tool& b) { return rank(a) < rank(b); });
  if (access.all_tools) return out;
  for (size_t i = 0; i < out.size(); ++i) out[i].listed = i < kDefaultTools && out[i].info.tool.place > 0;
  std::erase_if(out, [](const Tool& tool) { return !tool.listed && ChangesStore(tool.info); });
  return out;
}

const Tool* FindTool(const std::vector<Tool>& tools, std::string_view name) {
  auto it = std::find_if(tools.begin(), tools.end(), [&](const Tool& tool) { return tool.name == name; });
  if (it == tools.end())
    it = std::find_if(tools.begin(), tools.end(),
                      [&](const Tool& tool) { return IsNameOf(name, tool.entry->name); });
  return it == tools.end() ? nullptr : &*it;
}

Json ToolJson(const Tool& tool) {
  Json out{{"name", tool.name},
           {"title", Title(tool.name)},
           {"description", fmt::format("{}\nSelection: {}", tool.info.summary, tool.info.choose_when)},
           {"inputSchema", InputSchema(tool)}};
  if (tool.info.reply != nullptr) out["outputSchema"] = OutputSchema(tool.info.reply());
  out["annotations"] = {
      {"title", Title(tool.name)},
      {"readOnlyHint", tool.reads_only},
      {"destructiveHint", tool.info.destructive || tool.info.runs_programs},
      {"idempotentHint", !tool.info.runs_programs && (!ChangesStore(tool.info) || tool.info.repeatable)},
      {"openWorldHint", tool.info.runs_programs}};
  if (tool.as_task) out["execution"] = {{"taskSupport", "optional"}};
  return out;
}

Json CallTool(const Tool& tool, const Json& arguments, OpContext& context) {
  const Result<Request> request = RequestOf(tool, arguments);
  if (!request.ok()) return ErrorResult(request.error());
  const std::unique_ptr<Op> op = tool.entry->make();
  const Result<Reply> reply = RunOp(*op, request->args, context);
  if (!reply.ok()) return ErrorResult(reply.error());
  Result<Json> result = ResultOf(reply->Document(), reply->value.info(), jobs::ReplyText(*op, *reply),
                                 reply->problems, *request);
  return result.ok() ? *std::move(result) : ErrorResult(result.error());
}

Result<Json> OperationArguments(const Tool& tool, const Json& arguments) {
  NL_ASSIGN(Request request, RequestOf(tool, arguments));
  return std::move(request.args);
}

Json StoredResult(const Tool& tool, const Json& arguments, const std::string& reply,
                  const std::string& text) {
  const Result<Request> request = RequestOf(tool, arguments);
  if (!request.ok()) return ErrorResult(request.error());
  Result<Json> document = ParseJson(reply);
  if (!document.ok()) return ErrorResult(document.error());
  Result<Json> result = ResultOf(*std::move(document), tool.info.reply(), text, {}, *request);
  return result.ok() ? *std::move(result) : ErrorResult(result.error());
}

}  // namespace nl::mcp
