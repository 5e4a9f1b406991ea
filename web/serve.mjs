// SPDX-License-Identifier: Apache-2.0
// A server for tests, benchmarks and pictures: starts `neurolens serve` and resolves when it listens.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// `command`: the program and its words. `env`: what it has besides the environment of this process.
export function listening(command, env = {}) {
  return new Promise((resolve, reject) => {
    const server = spawn(command[0], command.slice(1), {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, ...env },
    });
    createInterface({ input: server.stderr }).on("line", (line) => {
      const found = / at (http:\S+)$/.exec(line);
      if (found) resolve({ server, base: found[1] });
    });
    server.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
}
