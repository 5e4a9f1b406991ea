// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python files by the package they belong to, as import statements name them, wherever they are installed.
// Thread rule: pure functions.

#include <string>
#include <string_view>

namespace nl {

// "torch/_dynamo/utils.py" of "/opt/lib/python3.12/site-packages/torch/_dynamo/utils.py", "json/decoder.py"
// of a file of the standard library; of any other path its last part.
std::string_view PackagePath(std::string_view path);

// "torch._dynamo.utils" of that path, "torch" of "torch/__init__.py", "site" of "<frozen site>"; empty when
// the path is not one of a Python module.
std::string ModuleOfFile(std::string_view path);

}  // namespace nl
