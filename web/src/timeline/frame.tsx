// SPDX-License-Identifier: Apache-2.0
// What timelines share: the overview, across which a time range is dragged, above the canvas with the lanes.
import type { ComponentChildren, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { useWidth } from "../widgets/canvas";
import type { ViewControl } from "./view_control";
import { startBrush, useDrag, useView, useWheelZoom } from "./view_control";
import "./timeline.css";

export const HOW_TO_MOVE =
  "Drag to move. Zoom with Ctrl and the wheel, or with W and S. Drag across the overview to select a time range.";

export interface Frame {
  box: RefObject<HTMLDivElement>;
  overview: RefObject<HTMLCanvasElement>;
  canvas: RefObject<HTMLCanvasElement>;
  width: number;
  control: ViewControl;
}

// `end` and `least` as useView takes them.
export function useFrame(end: number, least: number, onEscape: () => void): Frame {
  const [box, width] = useWidth();
  const overview = useRef<HTMLCanvasElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const control = useView(end, least, onEscape);
  useWheelZoom(canvas, control.zoom);
  return { box, overview, canvas, width, control };
}

interface Props {
  frame: Frame;
  labels: { overview: string; lanes: string };
  onHover: (event: MouseEvent | null) => void;
  onClick: (event: MouseEvent) => void;
  children: ComponentChildren; // the tip
}

export function TimelineFrame({ frame, labels, onHover, onClick, children }: Props) {
  const { box, overview, canvas, width, control } = frame;
  const drag = useDrag(control, width, onHover, onClick);
  return (
    <div class="lanes" ref={box}>
      <canvas
        ref={overview}
        class="overview"
        role="img"
        aria-label={labels.overview}
        onMouseDown={(e) => startBrush(e, control)}
      />
      <div class="lanes-scroll">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="img"
          aria-label={labels.lanes}
          {...drag}
          onDblClick={(e) => control.zoom(0.4, e.offsetX / width)}
          onKeyDown={control.onKey}
        />
      </div>
      {children}
    </div>
  );
}
