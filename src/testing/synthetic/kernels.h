// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests: operator calls as PyTorch makes them, with the kernels that a Hopper GPU runs
// for them. Names are spelled as CUPTI spells them; times follow from shapes (700 TFLOP/s,
// 3.8 TB/s, a few us of fixed cost), which is within 10 % of the recorded ones.
// Thread rule: pure functions.

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "testing/synthetic/script.h"

namespace nl::synthetic {

enum class Type : uint8_t { kBf16, kHalf, kFloat };
const char* TypeName(Type t);
double Bytes(Type t);

using Shape = std::vector<int64_t>;
double Elements(const Shape& s);
std::string DimsText(const std::vector<Shape>& shapes);
std::string TypesText(const std::vector<std::string>& types);

Work Kernel(const std::string& name, double us, double blocks = 1);
double MemoryUs(double bytes);

std::string GemmName(Type t, int64_t m);
double GemmUs(Type t, double m, double n, double k);

// aten::linear as a product: [m,k] x [k,n].
Call Linear(const std::string& site, Type t, int64_t m, int64_t n, int64_t k);

// One pointwise kernel; reads and writes what its inputs say.
Call Pointwise(const std::string& site, const std::string& op, const std::string& functor, Type t,
               const std::vector<Shape>& inputs);

// A copy that changes the type: aten::to > aten::_to_copy > aten::copy_.
Call Cast(const std::string& site, Type to, Type from, const Shape& shape);

// aten::contiguous of a transposed tensor.
Call Contiguous(const std::string& site, Type t, const Shape& shape, double us = 0);

Call Reduce(const std::string& site, const std::string& op, const std::string& what, Type t,
            const Shape& shape);

Call Concat(const std::string& site, Type t, const Shape& a, const Shape& b);

// A copy by the copy engine. Pageable memory makes the call wait.
Call EngineCopy(const std::string& site, const std::string& kind, bool pageable, double bytes);

// aten::item: 4 bytes to the host, and waiting for them.
void Item(Writer& w, const std::string& site);

Work Nccl(const std::string& what, double us, uint64_t collective);

}  // namespace nl::synthetic
