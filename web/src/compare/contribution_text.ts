// SPDX-License-Identifier: Apache-2.0
// The words for one change.
import type { Contribution } from "../data/replies";
import { count, cut, pct, plain } from "../widgets/format";

export function causeText(c: Pick<Contribution, "cause" | "detail">): string {
  return plain(cut(c.cause, 60)) + (c.detail ? ` (${cut(c.detail, 60)})` : "");
}

export function placeText(c: { stage: string | null; module: string | null; op?: string | null }): string {
  const parts = [c.stage, c.module, c.op].filter((part): part is string => !!part);
  return parts.map((part) => cut(part, 70)).join(" · ");
}

// Noise is not a claim, so it has no confidence.
export function confidenceText({
  cause,
  confidence,
  merged,
}: Pick<Contribution, "cause" | "confidence" | "merged">): string {
  if (merged > 0) return "";
  if (cause === "noise" || cause === "recording") return "–";
  return confidence > 0.995 && confidence < 1 ? ">99\u00a0%" : pct(confidence, 0);
}

// "x" when both sides agree or one has none, otherwise "x → y".
export function pairText(a: string | null, b: string | null): string {
  if (!a || !b || a === b) return a || b || "";
  return `${a} → ${b}`;
}

export function callsText({ count_a: a, count_b: b }: Pick<Contribution, "count_a" | "count_b">): string {
  return a === b ? count(a) : `${count(a)} → ${count(b)}`;
}

export function significanceText(c: Pick<Contribution, "structural" | "significant">): string {
  if (c.structural) return "structural change";
  return c.significant ? "statistically significant" : "not significant";
}
