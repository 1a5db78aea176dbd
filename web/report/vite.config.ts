import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** Builds one script and one style sheet, which `stratagraph experiment report` writes into its file. */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  build: {
    outDir: fileURLToPath(new URL("../../dist/report", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.txt" },
    rolldownOptions: {
      input: fileURLToPath(new URL("main.tsx", import.meta.url)),
      output: {
        codeSplitting: false,
        entryFileNames: "report.js",
        assetFileNames: "report[extname]",
      },
    },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
});
