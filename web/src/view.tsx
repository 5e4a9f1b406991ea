// SPDX-License-Identifier: Apache-2.0
// A window on time, shared by the timelines: zoom with Ctrl and the wheel, W and S, + and -; move by dragging, A and D
// or the arrows; 0 shows all.
import { useCallback, useEffect, useState } from "preact/hooks";
import { us } from "./format";
import { color } from "./theme";

export interface View { from: number; to: number }
export const AXIS = 22;

export function ticks(view: View, width: number): number[] {
  const rough = (view.to - view.from) / Math.max(2, width / 110);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= rough) ?? rough;
  const out = [];
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) out.push(at);
  return out;
}

// Times in µs; the labels stand around the height `label`, the lines go from `top` to `bottom`.
export function drawAxis(context: CanvasRenderingContext2D, view: View, width: number, label: number, top: number, bottom: number): void {
  const scale = width / (view.to - view.from);
  context.font = "11px system-ui, sans-serif";
  for (const at of ticks(view, width)) {
    const x = Math.round((at - view.from) * scale) + 0.5;
    context.fillStyle = color("--grid");
    context.fillRect(x, top, 1, bottom - top);
    context.fillStyle = color("--muted");
    const text = us(at);
    context.fillText(text, Math.min(x + 3, width - context.measureText(text).width - 1), label);
  }
}

export interface ViewControl {
  view: View; whole: View; setView: (view: View) => void;
  zoom: (factor: number, at?: number) => void; move: (part: number) => void;
  onKey: (event: KeyboardEvent) => void;
}

// `least` is the shortest span that can be shown, in the units of `end`.
export function useView(end: number, least: number, onEscape: () => void): ViewControl {
  const whole = { from: 0, to: Math.max(end, 1e-6) };
  const [view, setView] = useState<View>(whole);
  const place = (from: number, span: number): View => {
    const start = Math.min(Math.max(0, from), whole.to - span);
    return { from: start, to: start + span };
  };
  const zoom = useCallback((factor: number, at = 0.5) => {
    setView((v) => {
      const span = Math.min(whole.to, Math.max((v.to - v.from) * factor, least));
      return place(v.from + (v.to - v.from) * at - span * at, span);
    });
  }, []);
  const move = useCallback((part: number) => setView((v) => place(v.from + (v.to - v.from) * part, v.to - v.from)), []);
  const onKey = (event: KeyboardEvent) => {
    const act: Record<string, () => void> = {
      w: () => zoom(0.7), s: () => zoom(1.4), a: () => move(-0.2), d: () => move(0.2), ArrowLeft: () => move(-0.2),
      ArrowRight: () => move(0.2), "+": () => zoom(0.7), "-": () => zoom(1.4), "0": () => setView(whole), Escape: onEscape,
    };
    if (event.ctrlKey || event.metaKey || !act[event.key]) return;
    event.preventDefault();
    act[event.key]();
  };
  return { view, whole, setView: (v) => setView(place(v.from, Math.min(whole.to, v.to - v.from))), zoom, move, onKey };
}

// The wheel must be able to stop the page from zooming, which Preact's handlers cannot.
export function useWheelZoom(canvas: { current: HTMLCanvasElement | null }, zoom: ViewControl["zoom"]): void {
  useEffect(() => {
    const element = canvas.current;
    const listener = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX / Math.max(1, element!.clientWidth));
    };
    element?.addEventListener("wheel", listener, { passive: false });
    return () => element?.removeEventListener("wheel", listener);
  }, [zoom]);
}

export function ZoomButtons({ control, all }: { control: ViewControl; all: string }) {
  return (
    <>
      <button type="button" data-act="in" onClick={() => control.zoom(0.5)} aria-label="Zoom in">+</button>
      <button type="button" data-act="out" onClick={() => control.zoom(2)} aria-label="Zoom out">−</button>
      <button type="button" data-act="whole" onClick={() => control.setView(control.whole)}>{all}</button>
    </>
  );
}

// A span of time chosen by dragging over an overview of the whole.
export function brushView(event: MouseEvent, overview: HTMLElement, { whole, setView }: ViewControl): void {
  const { left, width } = overview.getBoundingClientRect();
  const toTime = (x: number) => Math.min(1, Math.max(0, (x - left) / width)) * whole.to;
  const first = toTime(event.clientX);
  const follow = (e: MouseEvent) => {
    const now = toTime(e.clientX);
    if (Math.abs(now - first) * width > 3 * whole.to) setView({ from: Math.min(first, now), to: Math.max(first, now) });
  };
  const stop = () => {
    window.removeEventListener("mousemove", follow);
    window.removeEventListener("mouseup", stop);
  };
  window.addEventListener("mousemove", follow);
  window.addEventListener("mouseup", stop);
}
