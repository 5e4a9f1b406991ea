// SPDX-License-Identifier: Apache-2.0
// A text of the program, with what stands between backticks as code.
import type { ComponentChildren } from "preact";

export function CodeText({ text }: { text: string }) {
  const parts = text.split("`");
  // An odd backtick belongs to the text.
  if (parts.length % 2 === 0) return <>{text}</>;
  return <>{parts.map((part, i): ComponentChildren => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
}
