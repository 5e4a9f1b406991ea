// SPDX-License-Identifier: Apache-2.0
// What the timeline and the flame graph share: a canvas as wide as its parent, sharp on any screen.
import { useEffect, useRef, useState } from "preact/hooks";

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

// Changes when colours do.
export function useTheme(): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const listener = () => setVersion((v) => v + 1);
    window.addEventListener("themechange", listener);
    return () => window.removeEventListener("themechange", listener);
  }, []);
  return version;
}

export function sharp(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  // Tall canvases give up sharpness before they exceed what browsers allow.
  const scale = Math.min(window.devicePixelRatio || 1, 16000 / Math.max(height, 1), 16000 / Math.max(width, 1));
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  return context;
}

// A label inside a box, when the box has room for some of it.
export function label(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number, perChar: number): void {
  const fits = Math.floor((room - 6) / perChar);
  if (fits < 3) return;
  context.fillText(text.length <= fits ? text : `${text.slice(0, fits - 1)}…`, x + 3, y);
}

// One of ten hues per name, the same in every chart.
export function hueOf(name: string): number {
  let hash = 2166136261;
  for (let i = 0; i < Math.min(name.length, 200); ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return (hash >>> 0) % 10;
}
