// SPDX-License-Identifier: Apache-2.0
// One file out: script and style go into index.html, and a content policy lets nothing else run, whatever the names
// in a trace are.
import { createHash } from "node:crypto";
import type { Plugin } from "vite";
import { defineConfig } from "vite";

function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "", style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") script += file.code;
        else if (name.endsWith(".css")) style += file.source;
        else continue;
        delete bundle[name];
      }
      // "</script" can only stand inside of strings and patterns of the script, where this means the same.
      script = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const hash = createHash("sha256").update(script).digest("base64");
      const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:`;
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("no index.html");
      page.source = String(page.source)
        .replace(/<script type="module"[^>]*><\/script>\s*/, "")
        .replace(/<link rel="(stylesheet|modulepreload)"[^>]*>\s*/g, "")
        .replace("<title>", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<title>`)
        .replace("</head>", () => `<style>${style}</style>\n</head>`)
        .replace("</body>", () => `<script>${script}</script>\n</body>`);
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: { output: { format: "iife" } },
  },
});
