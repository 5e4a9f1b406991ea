// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs/op_work.h"

#include <exception>
#include <new>

#include <fmt/format.h>

#include "base/near_names.h"
#include "base/terminal.h"

namespace nl::jobs {

namespace {
constexpr int kTextColumns = 100;
}

std::string ReplyText(const Op& op, const Reply& reply) {
  const std::string text = reply.raw.empty() ? op.Text(reply, {kTextColumns, false}) : reply.raw;
  return PrintableText(text, Keep::kLines);
}

Result<const RemoteOp*> OpWork::Find(const std::string& op) const {
  if (uploads_ != nullptr && op == ops_.upload().info.name) return &ops_.upload();
  if (const RemoteOp* found = ops_.Find(op)) return found;
  std::vector<std::string> names;
  for (const RemoteOp& offered : ops_.all()) names.push_back(offered.info.name);
  const std::string guess = DidYouMean(Nearest(op, names));
  return NotFound(fmt::format("unknown operation '{}'", PrintableName(op, 80)))
      .Hint(guess.empty() ? "/openapi.json lists the operations" : guess);
}

std::vector<std::string> UploadsOf(const Json& params) {
  std::vector<std::string> out;
  const auto given = params.find(kUploadParam);
  if (given == params.end()) return out;
  if (given->is_string()) out.push_back(given->get<std::string>());
  if (!given->is_array()) return out;
  for (const Json& id : *given) {
    if (id.is_string()) out.push_back(id.get<std::string>());
  }
  return out;
}

Status OpWork::CheckFiles(const Json& params, const std::string& owner) const {
  if (params.contains(kUploadParam)) return InvalidInput("an import takes either 'upload' or 'paths'");
  const Json& paths = params["paths"];
  if (!paths.is_array() || paths.empty()) return InvalidInput("parameter 'paths' must be a list of paths");
  for (const Json& path : paths) {
    // Another process runs the job, in another folder.
    if (!path.is_string() || !path.get_ref<const std::string&>().starts_with('/'))
      return InvalidInput("a job takes absolute paths of files");
    if (owner != kLocalOwner) NL_TRY(ResolveAllowed(ops_.roots(), path.get<std::string>()));
  }
  return {};
}

Status OpWork::Check(const std::string& op, const Json& params, const std::string& owner) const {
  NL_ASSIGN(const RemoteOp* offered, Find(op));
  Json args = params;
  if (IsUpload(*offered) && NamesFiles(params)) {
    NL_TRY(CheckFiles(params, owner));
    args.erase("paths");
  } else if (IsUpload(*offered)) {
    NL_TRY(uploads_->CheckFinished(UploadsOf(params)));
    args.erase(kUploadParam);
  }
  for (const auto& [name, value] : args.items()) {
    if (offered->Param(name) == nullptr) return InvalidInput(fmt::format("unknown parameter '{}'", name));
  }
  if (IsUpload(*offered)) args["paths"] = Json::array({"-"});
  ParamBinder binder;
  const std::unique_ptr<Op> made = offered->make();
  made->Bind(binder);
  return binder.Fill(args);
}

bool OpWork::MayRepeat(const std::string& op) const {
  const Result<const RemoteOp*> offered = Find(op);
  return offered.ok() && ((*offered)->reads_only() || (*offered)->info.repeatable);
}

// The edge of a job: whatever third-party code threw past its wrapper ends here.
Result<JobOutput> OpWork::Run(const Job& job, OpContext& context) {
  try {
    const Json& params = job.params;
    NL_TRY(Check(job.op, params, job.owner));  // the journal may be of another version
    NL_ASSIGN(const RemoteOp* offered, Find(job.op));
    context.settings = &settings_;
    context.remote = job.owner != kLocalOwner;
    Json args = params;
    std::optional<uploads::Spool> spool;
    context.roots = ops_.roots();
    if (IsUpload(*offered) && !NamesFiles(params)) {
      NL_ASSIGN(spool, uploads_->Gather(UploadsOf(params)));
      args.erase(kUploadParam);
      args["paths"] = spool->files();
      context.received = spool->path();
    }
    const std::unique_ptr<Op> made = offered->make();
    const Result<Reply> reply = RunOp(*made, args, context);
    if (!reply.ok()) return uploads::WithoutFolder(reply.error(), context.received);
    return JobOutput{reply->JsonText(2) + "\n", ReplyText(*made, *reply)};
  } catch (const std::bad_alloc&) {
    return Limit("not enough memory");
  } catch (const std::exception& e) {
    return Internal(fmt::format("unexpected exception: {}", e.what()));
  } catch (...) {
    return Internal("unexpected exception of unknown type");
  }
}

}  // namespace nl::jobs
