import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Paths of files are relative to the page's `base` element, which the server writes.
  base: "./",
  resolve: {
    alias: {
      "d3-transition": fileURLToPath(new URL("components/no-transitions.ts", import.meta.url)),
    },
  },
  build: {
    outDir: fileURLToPath(new URL("../dist/inspector", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    // The page's policy allows no `data:` modules, and a small file costs nothing on a local server.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.txt" },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
});
