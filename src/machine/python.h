// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Python environments of $VIRTUAL_ENV, $CONDA_PREFIX and PATH, with the packages that matter to models on
// GPUs: read from their *.dist-info folders, without starting Python.
// Thread rule: pure functions of the files and the process's environment.

#include <string_view>
#include <vector>

#include "machine/root_files.h"
#include "machine/system.h"

namespace nl::machine {

std::vector<PythonEnvironment> ReadPython(const RootFiles& files);

// Whether `version` fits a specifier such as ">=2.1,<3" or "==3.2.0". The parts of PEP 440 that packages use
// between each other: releases, wildcards and local versions; a pre-release counts as before its release.
bool VersionFits(std::string_view version, std::string_view specifier);
// Below 0: a is older than b.
int CompareVersions(std::string_view a, std::string_view b);

}  // namespace nl::machine
