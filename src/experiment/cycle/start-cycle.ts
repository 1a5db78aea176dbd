import { headOf } from "../../values/text.ts";
import { noMetrics } from "../log/log-entry.ts";
import { rollbackCycle } from "./act.ts";
import { cyclePrompt } from "./ask-model.ts";
import type { CycleRun } from "./cycle-run.ts";
import type { CycleState, CycleUpdate } from "./cycle-state.ts";

/** Begins a cycle with nothing said but what it begins with. */
export async function startCycle(state: CycleState, cycle: CycleRun): Promise<CycleUpdate> {
  const { resources } = cycle;
  const { run, memory, configHash } = resources;
  await rollbackCycle(state, cycle);
  const number = state.cycle_number + 1;
  const said = cyclePrompt(resources, number);
  const keys = await memory.list();
  await cycle.write(
    {
      event_type: "CYCLE_START",
      payload: {
        model_name: run.model_name,
        seed: run.variant.seed,
        prompt_name: run.variant.system_prompt,
        config_hash: configHash,
        memory_keys: [...keys],
      },
    },
    number,
  );
  const system = systemPrompt({
    prompt: run.system_prompt,
    keys,
    reflections: state.reflection_history,
    shown: run.reflections_shown,
  });
  return {
    cycle_number: number,
    message_history: [
      { role: "system", content: system },
      { role: "user", content: said },
    ],
    iteration: 0,
    calls: [],
    log: cycle.written().log,
    metrics: noMetrics,
  };
}

/** Keys that the system prompt lists; further ones are counted. */
const keysListed = 200;

/** Characters of one reflection that the system prompt repeats. */
const reflectionCharacters = 2000;

/**
 * What a cycle begins with: the run's system prompt, the keys of its memory, and the newest of its earlier reflections,
 * oldest first. Bounded, however long the run.
 */
function systemPrompt(of: {
  readonly prompt: string;
  readonly keys: readonly string[];
  readonly reflections: CycleState["reflection_history"];
  /** Number of reflections in the prompt. */
  readonly shown: number;
}): string {
  const { prompt, keys, reflections, shown } = of;
  return [prompt, memoryPart(keys), reflectionPart(reflections, shown)]
    .filter((part) => part !== "")
    .join("\n\n");
}

function memoryPart(keys: readonly string[]): string {
  if (keys.length === 0) return "Keys in your memory: none.";
  const listed = keys.slice(0, keysListed).map((key) => `- ${JSON.stringify(key)}`);
  const left = keys.length - listed.length;
  const more = left === 0 ? [] : [`- and ${left.toLocaleString("en")} more`];
  return [`Keys in your memory:`, ...listed, ...more].join("\n");
}

function reflectionPart(reflections: readonly string[], shown: number): string {
  if (shown === 0 || reflections.length === 0) return "";
  const first = Math.max(0, reflections.length - shown);
  const told = reflections.slice(first).map((text, at) => {
    const cut =
      text.length > reflectionCharacters ? `${headOf(text, reflectionCharacters)}…` : text;
    return `Cycle ${first + at + 1}: ${cut}`;
  });
  return ["Your reflections on earlier cycles:", ...told].join("\n");
}
