import { pinCheckpointer } from "../checkpointers/pin.ts";
import { compileExperiment, createRuntime } from "../src/index.ts";

// With DATABASE_URL set its runs are those of the command line; without, the server keeps them, and memories last as
// long as the server.
const runtime = await createRuntime(process.env["DATABASE_URL"] ? {} : { checkpointer: false });
const compiled = await compileExperiment(runtime, {
  logFolder: process.env["STRATAGRAPH_LOGS"] ?? "logs",
});

export const graph = runtime.checkpointer
  ? pinCheckpointer(compiled, runtime.checkpointer)
  : compiled;
