// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace nl {

namespace {

// Up to here a search per key is cheaper than sorting the keys once at the end.
constexpr size_t kSearchedMembers = 32;

// Builds the document without the library's own builder, whose search for an equal key
// before every insertion makes an object of n members cost n * n.
class DocumentBuilder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(value); }
  bool number_unsigned(number_unsigned_t value) override { return Put(value); }
  bool number_float(number_float_t value, const string_t&) override { return Put(value); }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return Refuse("binary values are not JSON"); }

  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }
  bool end_object() override {
    if (members().size() > kSearchedMembers) MergeEqualKeys();
    return Close();
  }

  bool key(string_t& name) override {
    auto& object = members();
    member_ = nullptr;
    if (object.size() < kSearchedMembers) {
      const auto it = object.find(name);
      if (it != object.end()) member_ = &it->second;
    } else if (object.size() >= kMaxJsonMembers) {
      return Refuse("an object with more than " + std::to_string(kMaxJsonMembers) + " members");
    }
    if (member_ == nullptr) {
      object.emplace_back(std::move(name), nullptr);
      member_ = &object.back().second;
    }
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& why) override {
    error_ = InvalidInput(std::string("not valid JSON: ") + why.what());
    error_.byte_offset = static_cast<int64_t>(position);
    return false;
  }

  Json& root() { return root_; }
  Error& error() { return error_; }

 private:
  bool Refuse(const std::string& what) {
    error_ = InvalidInput("cannot take this JSON: " + what);
    return false;
  }

  template <class T>
  Json* Place(T&& value) {
    if (open_.empty()) {
      root_ = Json(std::forward<T>(value));
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& array = *open_.back()->get_ptr<Json::array_t*>();
      array.emplace_back(std::forward<T>(value));
      return &array.back();
    }
    *member_ = Json(std::forward<T>(value));
    return member_;
  }

  template <class T>
  bool Put(T&& value) {
    Place(std::forward<T>(value));
    return true;
  }

  bool Open(Json container) {
    if (open_.size() >= kMaxJsonDepth)
      return Refuse("nesting of more than " + std::to_string(kMaxJsonDepth) + " levels");
    // A container moves only when its parent grows, and that is after it is closed.
    open_.push_back(Place(std::move(container)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  Json::object_t& members() { return *open_.back()->get_ptr<Json::object_t*>(); }

  // As everywhere: the last value of a repeated key counts, at the place of the first.
  void MergeEqualKeys() {
    auto& object = members();
    const auto at = [&object](size_t i) -> auto& { return object.begin()[static_cast<ptrdiff_t>(i)]; };
    std::vector<uint32_t> order(object.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&at](uint32_t a, uint32_t b) {
      const int compared = at(a).first.compare(at(b).first);
      return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<bool> repeated(object.size());
    bool any = false;
    for (size_t i = 0, first = 0; i < order.size(); ++i) {
      if (i == 0 || at(order[i]).first != at(order[first]).first) {
        first = i;
        continue;
      }
      at(order[first]).second = std::move(at(order[i]).second);
      repeated[order[i]] = any = true;
    }
    if (!any) return;
    Json::object_t kept;
    for (size_t i = 0; i < object.size(); ++i) {
      if (!repeated[i]) kept.emplace_back(at(i).first, std::move(at(i).second));
    }
    object.swap(kept);
  }

  Json root_;
  std::vector<Json*> open_;  // containers not yet closed, outermost first
  Json* member_ = nullptr;   // where the value of the last key goes
  Error error_;
};

}  // namespace

Result<Json> ParseJson(std::string_view text) {
  DocumentBuilder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.error());
  return std::move(builder.root());
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nl
