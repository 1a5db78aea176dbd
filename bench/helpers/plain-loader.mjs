/**
 * Runs TypeScript as the built package has it: without types, and otherwise unchanged. `tsx` names every function anew
 * when it is created, which takes time from this package and none from its dependencies.
 *
 *   node --import ./bench/helpers/plain-loader.mjs bench/overhead.ts
 */
import { readFile } from "node:fs/promises";
import { register } from "node:module";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { transform } from "esbuild";

// Node 20 runs hooks in a thread of their own.
if (isMainThread) register(import.meta.url);

/** The `load` hook of Node. */
export async function load(url, context, nextLoad) {
  if (!url.startsWith("file:") || !url.endsWith(".ts")) return nextLoad(url, context);
  const source = await readFile(new URL(url), "utf8");
  const sourcefile = fileURLToPath(url);
  const { code } = await transform(source, { loader: "ts", sourcefile, target: "node20" });
  return { format: "module", source: code, shortCircuit: true };
}
