// SPDX-License-Identifier: Apache-2.0
#pragma once
// UploadDesk: how profiles reach the importer over HTTP, besides as the plain body of POST /api/v1/runs.
//
//   POST /api/v1/runs            multipart/form-data: several files, and the fields of `import`
//   POST /api/v1/runs?upload=ID  files that came before, in pieces:
//   POST   /api/v1/uploads       Upload-Length, and the name: 201 and its address in Location
//   PATCH  /api/v1/uploads/ID    a piece at Upload-Offset: 204 and the next offset
//   HEAD   /api/v1/uploads/ID    where it is
//   DELETE /api/v1/uploads/ID    forget it
//
// The last four are the core and the creation of tus 1.0.0 (tus.io), which has clients for every language.
// Thread rule: any thread.

#include <memory>
#include <string>

#include "base/record.h"
#include "serve/http/router.h"
#include "serve/http/server.h"
#include "serve/uploads/upload_store.h"

namespace nl::http {

// An upload in pieces.
struct UploadReply {
  std::string upload_id, name;
  int64_t offset_bytes = 0;
  std::optional<int64_t> length_bytes;
};
void Describe(Record<UploadReply>& r);

// What an import reads: a pipe, or files that were received whole.
struct Received {
  std::optional<uploads::Spool> spool;  // absent: the body is the profile, from the pipe
  Json args = Json::object();           // the fields of a form, and those of the route
  std::vector<std::string> upload_ids;  // to be removed when the import has succeeded
};

class UploadDesk {
 public:
  UploadDesk(const std::string& store_path, int64_t most_bytes)
      : uploads_(store_path), most_bytes_(most_bytes) {}

  // /api/v1/uploads and below.
  Response Answer(const Route& route, Call& call);
  // The input of POST /api/v1/runs; what must be received first is, to the disk.
  Result<Received> Receive(const Route& route, Call& call);
  // After an import from uploads has succeeded.
  void Forget(const std::vector<std::string>& ids);
  void Sweep() const;

  uploads::UploadStore& store() { return uploads_; }

 private:
  Response Create(const Route& route, const Request& request);
  Response Show(const std::string& id) const;
  Response Append(const std::string& id, Call& call);
  Status ReadForm(const RemoteOp& op, const std::string& boundary, Call& call, Received& out);

  uploads::UploadStore uploads_;
  const int64_t most_bytes_;  // of one upload; 0: any
};

}  // namespace nl::http
