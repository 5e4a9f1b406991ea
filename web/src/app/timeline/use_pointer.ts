// SPDX-License-Identifier: Apache-2.0
// The mouse, the touchpad and the finger on a timeline: dragging moves, Ctrl and the wheel (or two fingers) zoom,
// a sideways wheel moves, Shift and dragging selects. The plain wheel scrolls the lanes.
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { View } from "../../timeline/view";
import type { ViewControl } from "../../timeline/view_control";

interface Actions {
  onHover: (event: MouseEvent | null) => void;
  onClick: (event: MouseEvent) => void;
  onArea: (left: number, right: number) => void;
}

interface Held {
  x: number;
  view: View;
  isArea: boolean;
  moved: boolean;
}

const CLICK_PX = 3;

export function usePointer(
  canvas: RefObject<HTMLCanvasElement>,
  control: ViewControl,
  width: number,
  actions: Actions,
) {
  const held = useRef<Held | null>(null);
  const latest = useRef({ control, width });
  latest.current = { control, width };
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const onWheel = (event: WheelEvent) => {
      const { zoom, move } = latest.current.control;
      const room = Math.max(1, latest.current.width);
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), event.offsetX / room);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        move((event.deltaX || event.deltaY) / room);
      }
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [canvas]);
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      if (event.currentTarget instanceof Element) event.currentTarget.setPointerCapture(event.pointerId);
      held.current = { x: event.offsetX, view: control.view, isArea: event.shiftKey, moved: false };
    },
    onPointerMove: (event: PointerEvent) => {
      const now = held.current;
      if (!now) {
        actions.onHover(event);
        return;
      }
      const px = now.x - event.offsetX;
      if (Math.abs(px) > CLICK_PX) now.moved = true;
      if (!now.moved) return;
      actions.onHover(null);
      if (now.isArea) {
        actions.onArea(Math.min(now.x, event.offsetX), Math.max(now.x, event.offsetX));
        return;
      }
      const by = (px / Math.max(1, width)) * (now.view.to - now.view.from);
      control.setView({ from: now.view.from + by, to: now.view.to + by });
    },
    onPointerUp: (event: PointerEvent) => {
      const now = held.current;
      held.current = null;
      if (now && !now.moved) actions.onClick(event);
    },
    onPointerLeave: () => {
      if (!held.current) actions.onHover(null);
    },
  };
}
