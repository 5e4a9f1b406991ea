// SPDX-License-Identifier: Apache-2.0
// Unit tests of logic that needs no page: *.test.ts beside the code. The pages themselves are driven by test/*.mjs.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts"],
    css: true,
    environment: "node",
    pool: "threads",
    isolate: false,
    maxWorkers: 1,
  },
});
