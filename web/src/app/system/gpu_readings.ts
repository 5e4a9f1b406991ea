// SPDX-License-Identifier: Apache-2.0
// What was read from the GPUs since the page was opened, the newest readings only.
import type { SystemGpu } from "../../data/generated";

export interface GpuReadings {
  power_w: number[];
}

const MOST_READINGS = 100;

/** The readings with one more of each GPU whose power is known. GPUs that are gone are dropped. */
export function withReading(before: ReadonlyMap<number, GpuReadings>, gpus: SystemGpu[]): Map<number, GpuReadings> {
  const out = new Map<number, GpuReadings>();
  for (const gpu of gpus) {
    const power_w = before.get(gpu.index)?.power_w ?? [];
    out.set(gpu.index, {
      power_w: gpu.power_w === null ? power_w : [...power_w, gpu.power_w].slice(-MOST_READINGS),
    });
  }
  return out;
}

const LIMITS: Record<string, string> = {
  idle: "idle",
  power_cap: "the power limit",
  application_clocks: "application clocks",
  hw_slowdown: "a hardware slowdown",
  hw_thermal_slowdown: "heat (hardware)",
  sw_thermal_slowdown: "heat (driver)",
  hw_power_brake: "the power brake of the board",
  sync_boost: "sync boost",
  display_clocks: "display clocks",
};

/** What holds the clocks down now; "": nothing, or not known. */
export function limitText(reasons: string[] | null): string {
  if (!reasons || reasons.length === 0) return "";
  const named = reasons.map((r) => LIMITS[r] ?? r.replaceAll("_", " "));
  return reasons.length === 1 && reasons[0] === "idle" ? "" : `Clocks are limited by ${named.join(", ")}.`;
}
