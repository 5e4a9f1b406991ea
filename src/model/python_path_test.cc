// SPDX-License-Identifier: Apache-2.0
#include "model/python_path.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(PythonPath, FilesAreKnownByTheirPackage) {
  EXPECT_EQ(PackagePath("/v/lib/python3.12/site-packages/torch/_dynamo/utils.py"), "torch/_dynamo/utils.py");
  EXPECT_EQ(PackagePath("/usr/lib/python3/dist-packages/numpy/__init__.py"), "numpy/__init__.py");
  EXPECT_EQ(PackagePath("/usr/lib/python3.11/json/decoder.py"), "json/decoder.py");
  EXPECT_EQ(PackagePath("/usr/lib64/python3.9/threading.py"), "threading.py");
  EXPECT_EQ(PackagePath("/home/me/mylib/python3/prog.py"), "prog.py") << "not a folder named lib";
  EXPECT_EQ(PackagePath("prog.py"), "prog.py");
  EXPECT_EQ(PackagePath("<frozen site>"), "<frozen site>");
  EXPECT_EQ(PackagePath(""), "");
}

TEST(PythonPath, ModulesAreNamedAsImportStatementsDo) {
  EXPECT_EQ(ModuleOfFile("torch/_dynamo/utils.py"), "torch._dynamo.utils");
  EXPECT_EQ(ModuleOfFile("torch/__init__.py"), "torch");
  EXPECT_EQ(ModuleOfFile("/v/lib/python3.12/site-packages/torch/nn/__init__.py"), "torch.nn");
  EXPECT_EQ(ModuleOfFile("<frozen site>"), "site");
  EXPECT_EQ(ModuleOfFile("__init__.py"), "__init__") << "an older run has the last part of the path only";
  EXPECT_EQ(ModuleOfFile("libtorch.so"), "");
  EXPECT_EQ(ModuleOfFile("<string>"), "");
}

}  // namespace
}  // namespace nl
