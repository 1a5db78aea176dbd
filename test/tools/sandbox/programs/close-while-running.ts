// Closes a sandbox in which code runs for ever, with nothing else that keeps the process.
import { createSandbox } from "../../../../src/tools/sandbox/create-sandbox.ts";
import { SandboxError } from "../../../../src/tools/sandbox/sandbox.ts";

const sandbox = createSandbox();
const run = (source: string) =>
  sandbox.run({
    name: "test",
    source,
    input: null,
    signal: new AbortController().signal,
    timeoutMs: 60_000,
  });

await run("() => 1");
const running = run("() => { for (;;); }").catch((thrown: unknown) => thrown);
// A turn of the event loop, in which the thread gets its job.
await new Promise((resolve) => setImmediate(resolve));
await sandbox.close();
const thrown = await running;
console.log(`closed: ${thrown instanceof SandboxError ? thrown.reason : String(thrown)}`);
