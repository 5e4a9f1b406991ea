// SPDX-License-Identifier: Apache-2.0
// report.json (docs/report.md): the generated Report, with the parts that it copies from the run document.
import type { Report, ReportRun } from "./generated";
import type { Capture, Clock, Hardware, Model, Rank, Software, Source } from "./run_document";

export interface RecordedRun extends ReportRun {
  environment: { hardware: Hardware; software: Software; model: Model; ranks?: Rank[] };
  provenance: {
    source: Source;
    created_at: string;
    tags?: Record<string, string>;
    config?: Record<string, string | number | boolean | null>;
    clock?: Clock;
    notes?: string[];
  };
  capture: Capture | null;
}

export interface ReportDocument extends Report {
  run: RecordedRun;
}
