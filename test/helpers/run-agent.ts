import { MemorySaver, type BaseCheckpointSaver } from "@langchain/langgraph";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/app.ts";
import type { Clock } from "../../src/clock.ts";
import type { AgentEvent } from "../../src/state/events.ts";
import { ManualClock } from "./manual-clock.ts";
import { ScriptedModel, type ScriptedReply } from "./scripted-model.ts";

export interface TestRun {
  readonly runtime: Runtime;
  readonly model: ScriptedModel;
  readonly clock: ManualClock;
  readonly events: AgentEvent[];
  /** Pass as `onEvent`. */
  readonly onEvent: (event: AgentEvent) => void;
}

let made = 0;

/** A runtime in memory with a scripted model, a clock that stands still and ids that count. */
export async function testRuntime(
  script: readonly ScriptedReply[],
  options: {
    toolCalling?: boolean;
    checkpointer?: BaseCheckpointSaver | false;
    clock?: Clock;
  } & Pick<RuntimeOptions, "rails" | "tools" | "env" | "sandbox"> = {},
): Promise<TestRun> {
  const { toolCalling, checkpointer, ...others } = options;
  const model = new ScriptedModel(script, toolCalling ?? true);
  const clock = new ManualClock();
  const runtime = await createRuntime({
    env: {},
    clock,
    ...others,
    models: model,
    checkpointer: checkpointer ?? new MemorySaver(),
    ids: () => `id-${String((made += 1)).padStart(4, "0")}`,
  });
  const events: AgentEvent[] = [];
  return { runtime, model, clock, events, onEvent: (event) => void events.push(event) };
}
