import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createRuntime, type ModelSource, type Runtime } from "../../src/index.ts";
import { modelProfile } from "../../src/models/model-profile.ts";
import { noUsage } from "../../src/state/usage.ts";

/** Where threads are kept. */
export const stores = ["PGlite", "memory", "nothing"] as const;
export type Store = (typeof stores)[number];

/** A runtime whose model says "done" at once, whatever it is asked; a judge that says so misses nothing. */
export async function withRuntime<T>(
  store: Store,
  work: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "stratagraph-bench-"));
  const keeping = {
    PGlite: { folder },
    memory: { checkpointer: new MemorySaver() },
    nothing: { checkpointer: false as const },
  };
  const runtime = await createRuntime({ ...keeping[store], env: {}, models: doneAtOnce });
  try {
    return await work(runtime);
  } finally {
    await runtime.close();
    await rm(folder, { recursive: true });
  }
}

const usage = { ...noUsage, tokens_in: 10, tokens_out: 1, llm_calls: 1 };
const profile = modelProfile("bench:done", { window: 1_000_000 });

const doneAtOnce: ModelSource = {
  resolve: async () => ({
    ref: "bench:done",
    toolCalling: true,
    parallelCalls: true,
    profile,
    call: async () => ({
      message: new AIMessage("done"),
      usage,
      model: "bench:done",
      fallback: null,
      finish: "stop" as const,
      reasoning: null,
      calls: [],
    }),
  }),
};
