// SPDX-License-Identifier: Apache-2.0
// The fingerprint as `neurolens fingerprint` gives and writes it.
#include "analyze/facts/fingerprint.h"

namespace nl {

void Describe(Record<FingerprintHardware>& r) {
  r.Name("FingerprintHardware", "Hardware that the vectors are scaled by");
  r.Field("device", &FingerprintHardware::device, "Name of the first device");
  r.Field("devices", &FingerprintHardware::devices, "Number of devices");
  r.Field("peaks", &FingerprintHardware::peaks, "Its peaks, where known");
}

void Describe(Record<FingerprintVectorSpec>& r) {
  r.Name("FingerprintVectorSpec", "Meaning of the vectors");
  r.Field("version", &FingerprintVectorSpec::version, "Version of this list");
  r.Field("fields", &FingerprintVectorSpec::fields, "Name of each position of a vector");
}

void Describe(Record<FingerprintRow>& r) {
  using T = FingerprintRow;
  r.Name("FingerprintRow", "Vector of one operator");
  r.Field("sig", &T::sig,
          "Hash of type, shapes, dtypes, module and occurrence; stable when other operators change");
  r.Field("name", &T::name, "Name of the operator");
  r.Field("type", &T::type, "Type of the operator");
  r.Field("index", &T::index, "Position in the run document");
  r.Field("vector", &T::vector, "Values in the order of vector_spec.fields; null: not measured");
  r.Field("ai_source", &T::ai_source, "What the arithmetic intensity was taken from");
}

void Describe(Record<FingerprintSection>& r) {
  using T = FingerprintSection;
  r.Name("Fingerprint", "A short vector per operator of a run");
  r.Field("run_id", &T::run_id, "The run");
  r.Field("source_run_sha", &T::source_run_sha,
          "SHA-256 of the run document without its id and creation time");
  r.Field("hardware_norm", &T::hardware_norm, "Hardware that the vectors are scaled by");
  r.Field("vector_spec", &T::vector_spec, "Meaning of the vectors");
  r.Field("ops", &T::ops, "Operators, in the order of the run document");
  r.Field("summary", &T::summary, "Summary of the run document");
  r.Field("created_at", &T::created_at, "When the run was stored");
}

FingerprintSection SectionOf(const FingerprintFacts& facts, const RunData& data) {
  const auto text = [&](const char* name) -> std::optional<std::string> {
    const auto it = data.document.find(name);
    if (it == data.document.end() || !it->is_string()) return std::nullopt;
    return it->get<std::string>();
  };
  FingerprintSection out;
  out.run_id = text("run_id");
  out.source_run_sha = facts.source_run_sha;
  out.hardware_norm = facts.hardware;
  for (const std::string_view name : FingerprintFacts::kVector) out.vector_spec.fields.emplace_back(name);
  for (const auto& op : facts.ops) {
    out.ops.push_back(
        {op.sig, op.name, op.type, op.index, {op.values.begin(), op.values.end()}, op.ai_source});
  }
  const auto summary = data.document.find("summary");
  out.summary = summary == data.document.end() ? Json() : *summary;
  out.created_at = text("created_at");
  return out;
}

}  // namespace nl
