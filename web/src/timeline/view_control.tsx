// SPDX-License-Identifier: Apache-2.0
// How the reader moves a window on time: Ctrl and the wheel, W and S, + and - zoom; dragging, A and D and the arrows
// move; 0 shows everything; a drag across an overview selects.
import type { RefObject } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { View } from "./view";
import { moveView, placeView, zoomView } from "./view";

export interface ViewControl {
  view: View;
  whole: View;
  setView: (view: View) => void;
  zoom: (factor: number, at?: number) => void;
  move: (part: number) => void;
  onKey: (event: KeyboardEvent) => void;
}

const CLICK_PX = 3; // a drag shorter than this is a click

// `least` is the shortest window, in the units of `end`.
export function useView(end: number, least: number, onEscape: () => void): ViewControl {
  const whole = useMemo(() => ({ from: 0, to: Math.max(end, 1e-6) }), [end]);
  const [view, set] = useState<View>(whole);
  const setView = useCallback((v: View) => set(placeView(v.from, v.to - v.from, whole.to)), [whole]);
  const zoom = useCallback(
    (factor: number, at = 0.5) => set((v) => zoomView(v, factor, at, least, whole.to)),
    [whole, least],
  );
  const move = useCallback((part: number) => set((v) => moveView(v, part, whole.to)), [whole]);
  const onKey = (event: KeyboardEvent) => {
    const actions: Record<string, () => void> = {
      w: () => zoom(0.7),
      s: () => zoom(1.4),
      a: () => move(-0.2),
      d: () => move(0.2),
      ArrowLeft: () => move(-0.2),
      ArrowRight: () => move(0.2),
      "+": () => zoom(0.7),
      "-": () => zoom(1.4),
      "0": () => setView(whole),
      Escape: onEscape,
    };
    const action = actions[event.key];
    if (event.ctrlKey || event.metaKey || !action) return;
    event.preventDefault();
    action();
  };
  return { view, whole, setView, zoom, move, onKey };
}

// Preact's handlers cannot stop the page from zooming with the wheel: theirs are passive.
export function useWheelZoom(canvas: RefObject<HTMLCanvasElement>, zoom: ViewControl["zoom"]): void {
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const listener = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX / Math.max(1, element.clientWidth));
    };
    element.addEventListener("wheel", listener, { passive: false });
    return () => element.removeEventListener("wheel", listener);
  }, [canvas, zoom]);
}

interface DragHandlers {
  onMouseDown: (event: MouseEvent) => void;
  onMouseMove: (event: MouseEvent) => void;
  onMouseUp: (event: MouseEvent) => void;
  onMouseLeave: () => void;
}

// Dragging moves the window; the rest is hovering (null when the mouse is gone) or a click.
export function useDrag(
  { view, setView }: ViewControl,
  width: number,
  onHover: (event: MouseEvent | null) => void,
  onClick: (event: MouseEvent) => void,
): DragHandlers {
  const drag = useRef<{ x: number; view: View; moved: boolean } | null>(null);
  return {
    onMouseDown: (event) => {
      drag.current = { x: event.offsetX, view, moved: false };
    },
    onMouseMove: (event) => {
      const held = drag.current;
      if (!held) {
        onHover(event);
        return;
      }
      const px = held.x - event.offsetX;
      if (Math.abs(px) > CLICK_PX) held.moved = true;
      const by = (px / Math.max(1, width)) * (held.view.to - held.view.from);
      setView({ from: held.view.from + by, to: held.view.to + by });
      onHover(null);
    },
    onMouseUp: (event) => {
      const held = drag.current;
      drag.current = null;
      if (held && !held.moved) onClick(event);
    },
    onMouseLeave: () => {
      drag.current = null;
      onHover(null);
    },
  };
}

// Selects the time range that the mouse is dragged across.
export function startBrush(event: MouseEvent, { whole, setView }: ViewControl): void {
  if (!(event.currentTarget instanceof HTMLElement)) return;
  const { left, width } = event.currentTarget.getBoundingClientRect();
  const timeOf = (e: MouseEvent) => Math.min(1, Math.max(0, (e.clientX - left) / Math.max(1, width))) * whole.to;
  const first = timeOf(event);
  const follow = (e: MouseEvent) => {
    const now = timeOf(e);
    if (Math.abs(now - first) * width > CLICK_PX * whole.to)
      setView({ from: Math.min(first, now), to: Math.max(first, now) });
  };
  const stop = () => {
    window.removeEventListener("mousemove", follow);
    window.removeEventListener("mouseup", stop);
  };
  window.addEventListener("mousemove", follow);
  window.addEventListener("mouseup", stop);
}

export function ZoomButtons({ control, all }: { control: ViewControl; all: string }) {
  return (
    <>
      <button type="button" data-act="in" onClick={() => control.zoom(0.5)} aria-label="Zoom in">
        +
      </button>
      <button type="button" data-act="out" onClick={() => control.zoom(2)} aria-label="Zoom out">
        −
      </button>
      <button type="button" data-act="whole" onClick={() => control.setView(control.whole)}>
        {all}
      </button>
    </>
  );
}
