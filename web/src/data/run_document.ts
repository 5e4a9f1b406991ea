// SPDX-License-Identifier: Apache-2.0
// The parts of a run document (schemas/run.schema.json) that a report includes.

export interface DevicePeakRates {
  source: string;
  peak_dram_gbps?: number | null;
  peak_tflops?: number | null;
  fp64_tflops?: number | null;
  fp32_tflops?: number | null;
  tf32_tflops?: number | null;
  bf16_tflops?: number | null;
  fp16_tflops?: number | null;
  fp8_tflops?: number | null;
  fp4_tflops?: number | null;
  int8_tops?: number | null;
  sm_clock_mhz?: number | null;
}

export interface HardwareDevice {
  index: number;
  name: string | null;
  memory_gb: number | null;
  sm_count: number | null;
  compute_capability: string | null;
  driver_version: string | null;
  peaks?: DevicePeakRates;
}

export interface HardwareHost {
  cpu_model: string | null;
  cores: number | null;
  memory_gb: number | null;
  os: string | null;
  kernel: string | null;
}

export interface HardwareLink {
  from: number;
  to: number;
  kind: "nvlink" | "xgmi" | "pcie" | "system" | "other";
  bandwidth_gbps?: number | null;
}

export interface Hardware {
  vendor: "nvidia" | "amd" | "intel" | "cpu";
  devices: HardwareDevice[];
  host: HardwareHost;
  hostname_hash?: string | null;
  topology?: { links: HardwareLink[] };
}

export interface Software {
  backend: "torch" | "onnxrt" | "tensorrt" | "jax" | "tensorflow" | "cuda" | "triton" | "other";
  version: string | null;
  precision: "fp64" | "fp32" | "tf32" | "bf16" | "fp16" | "fp8" | "fp4" | "int8" | "int4" | "mixed" | "unknown";
  frameworks?: Record<string, string>;
  cuda_version?: string | null;
  python_version?: string | null;
  cupti_version?: string | null;
}

export interface ModelDims {
  layers?: number | null;
  d_model?: number | null;
  d_ff?: number | null;
  heads?: number | null;
  kv_heads?: number | null;
  head_dim?: number | null;
  vocab?: number | null;
  experts?: number | null;
  active_experts?: number | null;
}

export interface Model {
  name: string | null;
  batch_size?: number | null;
  sequence_length?: number | null;
  parameters_millions?: number | null;
  framework_opset?: number | null;
  dims?: ModelDims;
}

export interface SourceFile {
  name: string;
  bytes: number;
  sha256: string;
  hash?: "sha256" | "sha256-tree-32k" | null;
}

export interface Source {
  adapter: string;
  adapter_version: string;
  files: SourceFile[];
  tool: string | null;
  tool_version: string | null;
  command?: string[] | null;
  exit_code?: number | null;
}

export interface DeviceClock {
  index: number;
  offset_ns?: number | null;
  drift_ppm?: number | null;
  error_bound_ns?: number | null;
  samples?: number | null;
}

export interface Clock {
  source: string;
  error_bound_ns: number | null;
  causality_violations: number | null;
  devices?: DeviceClock[];
}

export interface Capture {
  overhead_pct: number | null;
  lost_records: number | null;
  dropped_bytes: number | null;
  suspect_records: number | null;
  kinds?: string[];
  partial?: boolean;
  duty_cycle?: number | null;
  pauses?: { start_ns: number; end_ns: number }[];
}

export interface Rank {
  rank: number;
  world_size?: number | null;
  local_rank?: number | null;
  backend?: string | null;
  hostname_hash?: string | null;
  devices?: number[];
  file?: string | null;
  clock_offset_ns?: number | null;
  clock_error_bound_ns?: number | null;
}
