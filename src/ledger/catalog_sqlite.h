// SPDX-License-Identifier: Apache-2.0
#pragma once
// The embedded catalog: one SQLite file in WAL mode, so that readers never wait
// for an importer and a commit survives a power cut.
// Migrations run in one transaction at open; `PRAGMA user_version` counts them.

#include <memory>
#include <string>

#include "base/result.h"
#include "ledger/catalog.h"

namespace nl {

enum class CatalogMode { kReadOnly, kReadWrite };

// The hint of every error that means "the file itself is damaged".
inline constexpr char kDamagedCatalogHint[] = "neurolens doctor --repair rebuilds it from the run folders";

// kReadWrite creates the file when absent; kReadOnly then answers NotFound.
// A damaged file is Io with the hint to run `neurolens doctor --repair`; a file
// written by a newer NeuroLens is Unsupported.
Result<std::unique_ptr<Catalog>> OpenSqliteCatalog(const std::string& path, CatalogMode mode);

}  // namespace nl
