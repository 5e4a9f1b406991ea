// SPDX-License-Identifier: Apache-2.0
// A canvas as wide as its parent and sharp on any screen.
import { useEffect, useRef, useState } from "preact/hooks";

const MAX_CANVAS_PX = 16000; // browsers refuse larger ones
const NARROW_PX = 3.5; // the narrowest letters of a label

export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    setWidth(Math.floor(element.clientWidth));
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

// The context of a canvas cleared at this size; null when the browser has no memory for it.
export function prepareCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  // A tall canvas gives up sharpness before it exceeds the limit.
  const scale = Math.min(
    window.devicePixelRatio || 1,
    MAX_CANVAS_PX / Math.max(height, 1),
    MAX_CANVAS_PX / Math.max(width, 1),
  );
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  return context;
}

// As much of a text as fits into a box; "" when less than three characters do. Measures once or twice.
export function fittingText(text: string, room: number, measure: (text: string) => number): string {
  const free = room - 6;
  if (free < 3 * NARROW_PX) return "";
  let shown = text.slice(0, Math.floor(free / NARROW_PX));
  const width = measure(shown);
  if (width <= free && shown.length === text.length) return text;
  const fits = Math.floor((shown.length * free) / Math.max(1, width)) - 1;
  if (fits < 3) return "";
  shown = `${text.slice(0, fits)}…`;
  const second = measure(shown);
  return second <= free ? shown : `${text.slice(0, Math.floor((fits * free) / second) - 1)}…`;
}

export function drawLabel(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number): void {
  const shown = fittingText(text, room, (part) => context.measureText(part).width);
  if (shown) context.fillText(shown, x + 3, y);
}

// One of ten hues per name, the same in every chart.
export function hueOf(name: string): number {
  let hash = 2166136261;
  for (let i = 0; i < Math.min(name.length, 200); ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return (hash >>> 0) % 10;
}
