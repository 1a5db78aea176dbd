// @ts-check
// The thread that sandboxed code is run in. Plain JavaScript, since a worker inherits no loader for TypeScript.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { parentPort } from "node:worker_threads";
import releaseSync from "@jitl/quickjs-wasmfile-release-sync";
import { newQuickJSWASMModuleFromVariant, newVariant } from "quickjs-emscripten-core";
import { runJob } from "./run-job.mjs";

/** @import { WorkerJob, WorkerMessage } from "./sandbox-thread.ts" */

// QuickJS asks the host for the local time. Here that is UTC, so that results do not depend on the machine, and say
// nothing of where it is.
Reflect.defineProperty(Date.prototype, "getTimezoneOffset", { value: () => 0 });

const variant = newVariant(releaseSync, { wasmModule: await compiledQuickJS() });

/** Compiled once; each run gets its own instance, created ahead of time. */
async function compiledQuickJS() {
  const { resolve } = createRequire(import.meta.url);
  return WebAssembly.compile(await readFile(resolve("@jitl/quickjs-wasmfile-release-sync/wasm")));
}

let next = newQuickJSWASMModuleFromVariant(variant);

/** @param {WorkerMessage} message */
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
const send = (message) => parentPort?.postMessage(message);

parentPort?.on("message", async (/** @type {WorkerJob} */ job) => {
  const quickjs = await next;
  send({ type: "begun" });
  send({ type: "ended", end: runJob(quickjs, job) });
  next = newQuickJSWASMModuleFromVariant(variant);
});
