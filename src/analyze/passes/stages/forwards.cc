// SPDX-License-Identifier: Apache-2.0
#include "analyze/passes/stages/forwards.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/program/observed.h"

namespace nl::passes::stages {

namespace {

// One op with a known role and parsed shapes.
struct Clue {
  OpRole role = OpRole::kNone;
  std::optional<GemmShape> gemm;
  std::optional<AttentionShape> attention;
  std::optional<EmbeddingShape> embedding;
};

class Finder {
 public:
  Finder(const RunData& data, const TimelineFacts& timeline, const ModelShape& model)
      : data_(data), t_(timeline), model_(model), role_(data.strings->size(), 0xff) {}

  std::vector<Forward> Find() {
    FindTable();
    for (const TimelineFacts::HostThread& thread : t_.threads) {
      for (uint32_t i = thread.first; i < thread.last; ++i) {
        if (t_.host.kind[i] != HostKind::kOp) continue;
        if (const Clue* clue = ClueOf(i)) Take(*clue, i);
      }
      Close();
    }
    CarryContext();
    return std::move(out_);
  }

 private:
  OpRole Role(StringId name) {
    if (IsNull(name)) return OpRole::kNone;
    uint8_t& role = role_[static_cast<uint32_t>(name)];
    if (role == 0xff) role = static_cast<uint8_t>(RoleOf(data_.Text(name)));
    return static_cast<OpRole>(role);
  }

  const Clue* ClueOf(uint32_t node) {
    const OpRole role = Role(t_.host.name[node]);
    const uint32_t row = t_.host.row[node];
    if (role == OpRole::kNone || role == OpRole::kLinear || IsNull(data_.op.input_dims[row])) return nullptr;
    // Its shapes are those of another forward, whose cache may have been shorter.
    if (program::IsInferred(t_, node)) return nullptr;
    const uint64_t key = uint64_t{static_cast<uint32_t>(t_.host.name[node])} << 32 |
                         static_cast<uint32_t>(data_.op.input_dims[row]);
    const auto [it, added] = clues_.try_emplace(key);
    if (added) it->second = Read(role, data_.Text(t_.host.name[node]), data_.Text(data_.op.input_dims[row]));
    return it->second.role == OpRole::kNone ? nullptr : &it->second;
  }

  Clue Read(OpRole role, std::string_view name, std::string_view dims) const {
    const Shapes shapes = ParseShapes(dims);
    Clue clue;
    if (role == OpRole::kGemm) clue.gemm = GemmOf(name, shapes);
    if (role == OpRole::kAttention || role == OpRole::kInnerAttention)
      clue.attention = AttentionOf(name, shapes);
    if (role == OpRole::kEmbedding) clue.embedding = EmbeddingOf(shapes);
    if (role == OpRole::kBatchedGemm) clue.attention = EagerAttention(shapes);
    if (clue.gemm || clue.attention || clue.embedding) clue.role = role;
    return clue;
  }

  // Q x K of [batch * heads, q, head_dim] x [batch * heads, head_dim, kv].
  std::optional<AttentionShape> EagerAttention(const Shapes& s) const {
    if (!model_.heads.value || !model_.head_dim.value || s.size() < 2 || s[0].size() != 3 || s[1].size() != 3)
      return std::nullopt;
    if (s[0][2] != *model_.head_dim.value || s[0][0] % *model_.heads.value != 0) return std::nullopt;
    AttentionShape out;
    out.batch = s[0][0] / *model_.heads.value;
    out.q_len = s[0][1];
    out.kv_len = s[1][2];
    return out;
  }

  // The token table is the largest; position tables and the like are not.
  void FindTable() {
    for (uint32_t i = 0; i < t_.host.size(); ++i) {
      if (t_.host.kind[i] != HostKind::kOp) continue;
      const OpRole role = Role(t_.host.name[i]);
      if (role != OpRole::kEmbedding) continue;
      const Clue* clue = ClueOf(i);
      if (clue == nullptr) continue;
      has_types_ = has_types_ || clue->embedding->rows <= 2;
      if (clue->embedding->rows * clue->embedding->width > rows_ * width_) {
        rows_ = clue->embedding->rows;
        width_ = clue->embedding->width;
      }
    }
    has_table_ = rows_ > 0;
    if (has_table_ || !model_.vocab.value || !model_.d_model.value) return;
    rows_ = *model_.vocab.value;
    width_ = *model_.d_model.value;
  }

  void Take(const Clue& clue, uint32_t node) {
    const bool starts = clue.embedding && clue.embedding->rows == rows_ && clue.embedding->width == width_;
    if (clue.embedding && !starts) return;
    // A forward ends with its LM head, where the next begins, or when it has had every layer.
    const bool full = clue.attention && model_.layers.value && attentions_ >= *model_.layers.value;
    if (starts || (full && !has_table_) || (headed_ && !IsHead(clue))) Close();
    if (!open_) {
      now_ = {};
      now_.thread = t_.host.thread[node];
      now_.start_ns = t_.host.start_ns[node];
      now_.first_node = node;
      open_ = true;
    }
    now_.end_ns = std::max(now_.end_ns, t_.host.end_ns[node]);
    if (starts) TakeIds(clue.embedding->ids);
    from_table_ = from_table_ || starts;
    // aten::scaled_dot_product_attention calls one of the inner ones; compiled models call that directly.
    if (clue.role == OpRole::kAttention) outer_last_ = t_.host.last[node];
    const bool counted = clue.role == OpRole::kInnerAttention && node < outer_last_;
    if (clue.attention && !counted) TakeAttention(*clue.attention);
    if (IsHead(clue)) {
      now_.head_tokens = now_.head_tokens.value_or(0) + clue.gemm->m;
      headed_ = true;
    }
  }

  void TakeIds(const std::vector<int64_t>& ids) {
    now_.tokens = 1;
    for (const int64_t n : ids) now_.tokens = *now_.tokens * n;
    if (ids.size() != 2) return;
    now_.batch = ids[0];
    now_.q_len = ids[1];
  }
  void TakeAttention(const AttentionShape& a) {
    ++attentions_;
    if (a.batch && !now_.batch) {
      now_.batch = a.batch;
      now_.q_len = a.q_len;
    }
    if (!now_.tokens) now_.tokens = a.batch ? *a.batch * a.q_len : a.q_len;
    if (a.kv_len) now_.kv_len = std::max(now_.kv_len.value_or(0), *a.kv_len);
  }
  bool IsHead(const Clue& clue) const {
    return rows_ > 0 && clue.gemm && clue.gemm->k == width_ && clue.gemm->n == rows_;
  }

  // In a run with a token table, what neither begins with it (compiled models fuse the lookup) nor has an LM
  // head is another network: a vision tower, a draft model.
  void Close() {
    if (open_ && now_.tokens && (from_table_ || headed_ || !has_table_)) {
      if (!now_.head_tokens) now_.head_tokens = 0;
      now_.language = from_table_ || headed_;
      now_.text_head = from_table_ && headed_ && !has_types_;
      out_.push_back(now_);
    }
    open_ = headed_ = from_table_ = false;
    attentions_ = 0;
  }

  // Decoding one token lengthens the context by one.
  void CarryContext() {
    for (size_t i = 1; i < out_.size(); ++i) {
      Forward &f = out_[i], &before = out_[i - 1];
      if (f.thread == before.thread && !f.kv_len && f.q_len == 1 && before.kv_len && f.batch == before.batch)
        f.kv_len = *before.kv_len + 1;
    }
  }

  const RunData& data_;
  const TimelineFacts& t_;
  const ModelShape& model_;
  std::vector<uint8_t> role_;
  std::unordered_map<uint64_t, Clue> clues_;
  std::vector<Forward> out_;
  int64_t rows_ = 0, width_ = 0, attentions_ = 0;
  bool has_table_ = false, has_types_ = false, open_ = false, headed_ = false, from_table_ = false;
  uint32_t outer_last_ = 0;
  Forward now_;
};

}  // namespace

std::optional<bool> Forward::IsPrefill() const {
  if (q_len) return *q_len > 1;
  if (tokens && head_tokens && *head_tokens > 0) return *tokens > *head_tokens;
  return std::nullopt;
}

std::string Forward::ToWork(ForwardWork& work) const {
  if (!tokens) return "the number of tokens was not recorded";
  if (!batch || !q_len) return "sequences are packed, and their lengths were not recorded";
  if (!kv_len) return "the context length was not recorded (no attention operator with shapes)";
  work.tokens = static_cast<double>(*tokens);
  work.head_tokens = static_cast<double>(head_tokens.value_or(0));
  work.batch = static_cast<double>(*batch);
  work.q_len = static_cast<double>(*q_len);
  work.kv_len = static_cast<double>(*kv_len);
  return {};
}

bool GenerateTokens(const std::vector<Forward>& forwards) {
  for (size_t i = 0; i < forwards.size(); ++i) {
    const Forward& f = forwards[i];
    const bool one_token = f.q_len == 1 && f.kv_len && *f.kv_len > 1;
    if (f.text_head || (f.language && one_token)) return true;
    if (f.tokens && f.head_tokens && *f.head_tokens > 0 && *f.tokens > *f.head_tokens) return true;
    if (f.head_tokens && *f.head_tokens > 0 && !f.q_len) return true;  // packed sequences: a serving engine
    if (i == 0 || !one_token) continue;
    const Forward& before = forwards[i - 1];
    if (before.thread == f.thread && before.batch == f.batch && before.kv_len &&
        *f.kv_len == *before.kv_len + 1)
      return true;
  }
  return false;
}

std::vector<Forward> FindForwards(const RunData& data, const TimelineFacts& timeline,
                                  const ModelShape& model) {
  return Finder(data, timeline, model).Find();
}

}  // namespace nl::passes::stages
