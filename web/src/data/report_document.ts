// SPDX-License-Identifier: Apache-2.0
// The report as `neurolens report` writes it (docs/report.md). Times are milliseconds, shares 0..1.

import type {
  AccountingSection,
  AttributionSection,
  CopyTotals,
  CriticalPathSection,
  DeviceTime,
  Diagnosis,
  FindingsSection,
  IdleSection,
  LaunchSection,
  NameTotals,
  RanksSection,
  RooflineSection,
  StagesSection,
} from "./generated";
import type { PathStrip } from "./report_time";
import type { Capture, Clock, Hardware, Model, Rank, Software, Source } from "./run_document";

// One slice of the wall time. The slices sum to the wall time times the number of devices.
export interface BreakdownPart {
  what: string;
  label: string;
  ms: number;
  share: number;
  idle: boolean;
}

// The calls of one operator or kernel. `family` is null for operators, `device` when all devices are summed.
// A call tree in one list; `parent` is an index into it, null for a root. Parents come before their children.
export interface FlameNode {
  name: string;
  kind: "root" | "host" | "device" | "unlinked" | "other";
  parent: number | null;
  host_self_ms: number;
  device_self_ms: number;
}

export interface Flame {
  nodes: FlameNode[];
  folded: number;
}

// The spans of one stream or thread: arrays of equal length. `count` is present when spans were merged.
export interface TimelineLane {
  name: string;
  kind: "device" | "host";
  depth_max: number;
  start_us: number[];
  dur_us: number[];
  name_id: number[];
  category: number[];
  depth: number[];
  count?: number[];
}

export interface Timeline {
  wall_us: number;
  events_total: number;
  events_drawn: number;
  merged_below_us: number | null;
  categories: string[];
  names: string[];
  lanes: TimelineLane[];
}

export interface Memory {
  events: number;
  peaks: { device: number; allocated_bytes: number; reserved_bytes: number }[];
  series: { device: number; at_ms: number[]; allocated_bytes: number[] }[];
}

// How many records an import lost or doubted, for one reason.
export interface ImportReason {
  name: string;
  severity: string;
  count: number;
  advice: string | null;
}

export interface ReportRun {
  environment: { hardware: Hardware; software: Software; model: Model; ranks?: Rank[] };
  provenance: {
    source: Source;
    created_at: string;
    tags?: Record<string, string>;
    config?: Record<string, string | number | boolean | null>;
    clock?: Clock;
    notes?: string[];
  };
  counters: { lost: number; reasons: ImportReason[] };
  capture: Capture | null;
  overhead_pct: number | null;
}

export interface GlossaryTerm {
  name: string;
  unit: string;
  meaning: string;
}

export interface ReportDocument {
  schema_version: number;
  generated_from: string;
  run: ReportRun;
  wall_ms: number;
  verdict: string;
  diagnosis?: Diagnosis;
  breakdown: BreakdownPart[];
  devices: DeviceTime[];
  operators: NameTotals[];
  operators_total: number;
  kernels: NameTotals[];
  kernels_total: number;
  copies: CopyTotals[];
  timeline: Timeline;
  glossary: GlossaryTerm[];
  flame?: Flame;
  memory?: Memory;
  attribution: AttributionSection;
  findings: FindingsSection;
  roofline: RooflineSection;
  stages: StagesSection;
  // Absent when the source recorded durations without start times.
  accounting?: AccountingSection;
  idle?: IdleSection;
  launch?: LaunchSection;
  critical_path?: CriticalPathSection & { strip?: PathStrip };
  // Absent when there are no collectives.
  ranks?: RanksSection;
}
