// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attachments: tables that were added to a run after it was committed, such as counters of
// a second recording of the same program. The run's own files never change: an attachment
// is a folder of its own, files/attached/<id>/ below the run's, which holds its tables and
// attachment.json (what it was made of). It is staged, synced and renamed into place, so a
// reader sees the whole of it or nothing. Ids are UUIDv7: sorted, they are in order of time.
// SQL views and snapshots show the rows of a run and after them those of its attachments.
// Thread rule: free functions; any number of processes on one store.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "ledger/store.h"

namespace nl {

inline constexpr char kAttachedFolder[] = "files/attached";
inline constexpr char kAttachmentFile[] = "attachment.json";

// Folders of a run's attachments, oldest first.
std::vector<std::string> AttachmentFolders(const std::string& run_folder);

struct AttachOutcome {
  std::string attachment_id;
  bool duplicate = false;  // the run has one of this content: that one is named
};
// Makes the staged tables an attachment of a run. `about` becomes attachment.json and has
// content_sha256; with plain_sha256 it is also compared with what version 0.1 attached.
Result<AttachOutcome> AttachTables(Store& store, const std::string& run_id, StagedRun&& staged, Json about);

// First thing wrong with the attachments of a run; empty: none.
std::string AttachmentDefect(const std::string& run_folder);

}  // namespace nl
