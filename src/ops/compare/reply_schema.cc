// SPDX-License-Identifier: Apache-2.0
#include "ops/compare/reply_schema.h"

#include "ops/open_store.h"

namespace nl::ops::compare {

Json CompareReplySchema() {
  return SchemaFromText(R"({"type": "object",
    "definitions": {
      "ms": {"type": ["number", "null"]}, "text": {"type": ["string", "null"]}, "share": {"type": ["number", "null"]},
      "unit": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
      "evidence": {"type": "array", "items": {"type": "object", "required": ["table", "row", "what", "value", "unit"], "properties": {
        "table": {"type": "string"}, "row": {"type": "integer"}, "what": {"type": "string"}, "value": {"$ref": "#/definitions/ms"}, "unit": {"$ref": "#/definitions/text"}}}},
      "part": {"type": "object", "required": ["op", "kernel_a", "kernel_b", "shapes_a", "shapes_b", "change", "count_a", "count_b", "a_ms", "b_ms", "delta_ms"], "properties": {
        "op": {"$ref": "#/definitions/text"}, "kernel_a": {"$ref": "#/definitions/text"}, "kernel_b": {"$ref": "#/definitions/text"},
        "shapes_a": {"$ref": "#/definitions/text"}, "shapes_b": {"$ref": "#/definitions/text"}, "change": {"$ref": "#/definitions/text"},
        "count_a": {"type": "integer"}, "count_b": {"type": "integer"},
        "a_ms": {"$ref": "#/definitions/ms"}, "b_ms": {"$ref": "#/definitions/ms"}, "delta_ms": {"$ref": "#/definitions/ms"}}},
      "contribution": {"type": "object",
        "required": ["rank", "cause", "detail", "stage", "module", "op", "kernel_a", "kernel_b", "shapes_a", "shapes_b", "count_a", "count_b", "a_ms", "b_ms", "delta_ms", "share",
          "count_effect_ms", "speed_effect_ms", "idle_effect_ms", "busy_a_ms", "busy_b_ms", "structural", "significant", "confidence", "p_value", "merged", "evidence_a", "evidence_b", "text", "parts"],
        "properties": {
          "rank": {"type": "integer", "minimum": 1},
          "cause": {"enum": ["kernel_slower", "kernel_faster", "kernel_replaced", "kernels_added", "kernels_removed", "shape_changed", "dtype_changed", "precision_upcast", "host_slower", "host_faster",
            "sync_added", "sync_removed", "copy_added", "copy_removed", "fusion_lost", "fusion_gained", "layout_copy_added", "layout_copy_removed", "attention_impl_changed", "graph_added", "graph_removed",
            "contention", "clock_changed", "work_changed", "noise"]},
          "detail": {"$ref": "#/definitions/text"}, "stage": {"$ref": "#/definitions/text"}, "module": {"$ref": "#/definitions/text"}, "op": {"$ref": "#/definitions/text"},
          "kernel_a": {"$ref": "#/definitions/text"}, "kernel_b": {"$ref": "#/definitions/text"}, "shapes_a": {"$ref": "#/definitions/text"}, "shapes_b": {"$ref": "#/definitions/text"},
          "count_a": {"type": "integer"}, "count_b": {"type": "integer"},
          "a_ms": {"$ref": "#/definitions/ms"}, "b_ms": {"$ref": "#/definitions/ms"}, "delta_ms": {"$ref": "#/definitions/ms"}, "share": {"$ref": "#/definitions/share"},
          "count_effect_ms": {"$ref": "#/definitions/ms"}, "speed_effect_ms": {"$ref": "#/definitions/ms"}, "idle_effect_ms": {"$ref": "#/definitions/ms"},
          "busy_a_ms": {"$ref": "#/definitions/ms"}, "busy_b_ms": {"$ref": "#/definitions/ms"},
          "structural": {"type": "boolean"}, "significant": {"type": "boolean"}, "confidence": {"$ref": "#/definitions/unit"}, "p_value": {"$ref": "#/definitions/unit"},
          "merged": {"type": "integer", "minimum": 0}, "evidence_a": {"$ref": "#/definitions/evidence"}, "evidence_b": {"$ref": "#/definitions/evidence"},
          "text": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/definitions/part"}}}},
      "table": {"type": "array", "items": {"type": "object", "required": ["name", "count_a", "count_b", "a_ms", "b_ms", "delta_ms", "busy_a_ms", "busy_b_ms"], "properties": {
        "name": {"type": "string"}, "count_a": {"type": "integer"}, "count_b": {"type": "integer"}, "a_ms": {"$ref": "#/definitions/ms"}, "b_ms": {"$ref": "#/definitions/ms"},
        "delta_ms": {"$ref": "#/definitions/ms"}, "busy_a_ms": {"$ref": "#/definitions/ms"}, "busy_b_ms": {"$ref": "#/definitions/ms"}}}},
      "runs": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["run_id", "name", "model", "device", "created_at"]}}},
    "required": ["run_a", "run_b", "similarity", "matched_share_a", "matched_share_b", "fingerprint", "wall_a_ms", "wall_b_ms", "delta_ms", "residual_ms", "busy_a_ms", "busy_b_ms", "verdict", "comparability",
      "normalised_by", "normal_a_ms", "normal_b_ms", "drift", "on_host", "contributions", "shifts", "by_kernel", "by_op", "by_module", "by_stage", "counters", "runs", "options", "next", "files"],
    "properties": {
      "run_a": {"type": "string"}, "run_b": {"type": "string"},
      "similarity": {"type": ["number", "null"], "minimum": -1, "maximum": 1}, "matched_share_a": {"$ref": "#/definitions/unit"}, "matched_share_b": {"$ref": "#/definitions/unit"},
      "fingerprint": {"type": "object", "required": ["similarity", "cosine", "plain", "matched_share_a", "matched_share_b", "matched_ops", "substituted", "divergent"]},
      "wall_a_ms": {"$ref": "#/definitions/ms"}, "wall_b_ms": {"$ref": "#/definitions/ms"}, "delta_ms": {"$ref": "#/definitions/ms"}, "residual_ms": {"$ref": "#/definitions/ms"},
      "busy_a_ms": {"$ref": "#/definitions/ms"}, "busy_b_ms": {"$ref": "#/definitions/ms"},
      "verdict": {"type": "object", "required": ["class", "confidence", "p_value", "more_runs_needed", "text"], "properties": {
        "class": {"enum": ["regressed", "improved", "same", "undecided"]}, "confidence": {"$ref": "#/definitions/unit"}, "p_value": {"$ref": "#/definitions/unit"},
        "more_runs_needed": {"type": ["integer", "null"]}, "text": {"type": "string"}}},
      "comparability": {"type": "array", "items": {"type": "object", "required": ["what", "a", "b", "consequence"]}},
      "normalised_by": {"$ref": "#/definitions/text"}, "normal_a_ms": {"$ref": "#/definitions/ms"}, "normal_b_ms": {"$ref": "#/definitions/ms"},
      "drift": {"$ref": "#/definitions/ms"}, "on_host": {"type": "boolean"},
      "walls_a_ms": {"type": "array", "items": {"type": "number"}}, "walls_b_ms": {"type": "array", "items": {"type": "number"}},
      "contributions": {"type": "array", "items": {"$ref": "#/definitions/contribution"}},
      "shifts": {"type": "array", "items": {"type": "object", "required": ["stage", "module", "from", "to", "ms"]}},
      "by_kernel": {"$ref": "#/definitions/table"}, "by_op": {"$ref": "#/definitions/table"}, "by_module": {"$ref": "#/definitions/table"}, "by_stage": {"$ref": "#/definitions/table"},
      "counters": {"type": "array"},
      "runs": {"type": "object", "required": ["a", "b"], "properties": {"a": {"$ref": "#/definitions/runs"}, "b": {"$ref": "#/definitions/runs"}}},
      "options": {"type": "object", "required": ["stage", "step", "time", "metric"]},
      "next": {"type": "array", "items": {"type": "object", "required": ["command", "why"]}},
      "files": {"type": "array", "items": {"type": "object", "required": ["path", "form", "bytes"], "properties": {
        "path": {"type": "string"}, "form": {"enum": ["md", "html", "json"]}, "bytes": {"type": "integer"}}}}}})");
}

}  // namespace nl::ops::compare
