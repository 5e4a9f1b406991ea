// SPDX-License-Identifier: Apache-2.0
#include "ops/param_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/near_names.h"

namespace nl {

Result<Json> ValueFromText(const ParamInfo& param, const std::string& shown, const std::string& text) {
  const char* end = text.data() + text.size();
  switch (param.kind) {
    case ParamKind::kInt: {
      int64_t number = 0;
      const auto [stop, error] = std::from_chars(text.data(), end, number);
      if (error == std::errc::result_out_of_range) {
        return InvalidInput(fmt::format("{}: '{}' is too large", shown, text));
      }
      if (error != std::errc() || stop != end) {
        return InvalidInput(fmt::format("{} must be a whole number, not '{}'", shown, text));
      }
      return Json(number);
    }
    case ParamKind::kNumber: {
      double number = 0;
      const auto [stop, error] = std::from_chars(text.data(), end, number);
      if (error != std::errc() || stop != end || !std::isfinite(number)) {
        return InvalidInput(fmt::format("{} must be a number, not '{}'", shown, text));
      }
      return Json(number);
    }
    case ParamKind::kBool: {
      if (text == "true" || text == "false") return Json(text == "true");
      return InvalidInput(fmt::format("{} must be true or false, not '{}'", shown, text));
    }
    case ParamKind::kChoice: {
      if (std::find(param.choices.begin(), param.choices.end(), text) != param.choices.end()) {
        return Json(text);
      }
      return InvalidInput(
                 fmt::format("{} must be one of {}, not '{}'", shown, fmt::join(param.choices, ", "), text))
          .Hint(DidYouMean(Nearest(text, param.choices)));
    }
    default: return Json(text);
  }
}

}  // namespace nl
