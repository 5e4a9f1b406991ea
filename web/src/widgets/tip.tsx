// SPDX-License-Identifier: Apache-2.0
// A box of facts beside the mouse, kept inside of a chart `room` pixels wide.
import type { ComponentChildren } from "preact";
import "./tip.css";

const WIDTH = 300;
const BELOW_MOUSE = 16;

interface Props {
  x: number;
  y: number;
  room: number;
  title: string;
  children: ComponentChildren;
}

export function Tip({ x, y, room, title, children }: Props) {
  const left = Math.min(x + 14, Math.max(0, room - WIDTH));
  return (
    <div class="tip" style={{ left: `${left}px`, top: `${y + BELOW_MOUSE}px` }}>
      <b>{title}</b>
      {children}
    </div>
  );
}
