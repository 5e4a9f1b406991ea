// SPDX-License-Identifier: Apache-2.0
// One page, one file: script and style go into the page, and a content policy lets nothing else run, whatever the names
// in a trace are. `--mode compare` builds compare.html, otherwise it is index.html, the report. `--mode app` builds the
// application, whose script and style are files of their own with a hash in their names.
import { createHash } from "node:crypto";
import type { Plugin } from "vite";
import { defineConfig } from "vite";

function oneFile(name: string): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "",
        style = "";
      for (const [key, file] of Object.entries(bundle)) {
        if (file.type === "chunk") script += file.code;
        else if (key.endsWith(".css")) style += file.source;
        else continue;
        delete bundle[key];
      }
      // "</script" can only stand inside of strings and patterns of the script, where this means the same.
      script = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const hash = createHash("sha256").update(script).digest("base64");
      const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:`;
      const page = bundle[name];
      if (page?.type !== "asset") throw new Error(`no ${name}`);
      page.source = String(page.source)
        .replace(/<script type="module"[^>]*><\/script>\s*/, "")
        .replace(/<link rel="(stylesheet|modulepreload)"[^>]*>\s*/g, "")
        .replace("<title>", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<title>`)
        .replace("</head>", () => `<style>${style}</style>\n</head>`)
        .replace("</body>", () => `<script>${script}</script>\n</body>`);
    },
  };
}

const jsx = { jsx: { runtime: "automatic", importSource: "preact" } } as const;

export default defineConfig(({ mode }) => {
  if (mode === "app")
    return {
      oxc: jsx,
      build: {
        target: "es2022",
        modulePreload: false,
        cssCodeSplit: false,
        assetsInlineLimit: 0,
        rollupOptions: { input: "app.html", output: { format: "es" } },
      },
    };
  const page = mode === "compare" ? "compare.html" : "index.html";
  return {
    plugins: [oneFile(page)],
    oxc: jsx,
    build: {
      target: "es2022",
      modulePreload: false,
      cssCodeSplit: false,
      rollupOptions: { input: page, output: { format: "iife" } },
    },
  };
});
