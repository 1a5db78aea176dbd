// Runs code in a sandbox, leaves it open, and ends only if nothing keeps it.
import { createSandbox } from "../../../../src/tools/sandbox/create-sandbox.ts";

process.env["TZ"] = "Asia/Tokyo";
process.env["NODE_OPTIONS"] = "--no-such-option";

const result = await createSandbox().run({
  name: "sum",
  source:
    "({ a, b }) => ({ sum: a + b, offset: new Date().getTimezoneOffset(), env: typeof process })",
  input: { a: 1, b: 2 },
  signal: new AbortController().signal,
  timeoutMs: 5_000,
});
console.log(JSON.stringify(result));
