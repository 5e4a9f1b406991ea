// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder of a capture: made, measured, moved, removed. Only files a capture has are ever removed.
// Thread rule: functions without state.

#include <cstdint>
#include <string>

namespace nl::capture {

std::string AbsolutePath(const std::string& path);
// Makes it and its parents; an empty one may be there already. False: `why` is a whole sentence.
bool MakeCaptureDirectory(const std::string& path, std::string& why);
// The capture's own files and the folder, if nothing else is in it.
void RemoveCaptureDirectory(const std::string& path);
// Renames, or copies and removes, the files of one capture folder into another (empty) one.
bool MoveCapture(const std::string& from, const std::string& to, std::string& why);
uint64_t DirectoryBytes(const std::string& path);

}  // namespace nl::capture
