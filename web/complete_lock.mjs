// SPDX-License-Identifier: Apache-2.0
// complete_lock.mjs: adds to package-lock.json the platform packages that the registry did not have when npm wrote the
// lock file. `npm ci` requires an entry for each, but installs only those of its own platform. Use: npm run lock.
import { readFileSync, writeFileSync } from "node:fs";

const CPUS = ["arm64", "x64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32"];
const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];

const path = new URL("package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(path, "utf8"));
const added = {};
for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const place = `node_modules/${name}`;
    if (lock.packages[place]) continue;
    const words = name.split(/[/-]/);
    const os = SYSTEMS.filter((s) => words.includes(s));
    const cpu = CPUS.filter((c) => words.includes(c));
    if (os.length + cpu.length === 0) throw new Error(`${name} names no platform`);
    added[place] = {
      version,
      ...(cpu.length > 0 && { cpu }),
      ...(entry.dev && { dev: true }),
      ...(words.includes("musl") && { libc: ["musl"] }),
      optional: true,
      ...(os.length > 0 && { os }),
    };
  }
}
const all = Object.entries({ ...lock.packages, ...added });
lock.packages = Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${Object.keys(added).length} platform packages added`);
