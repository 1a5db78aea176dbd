import { cleanText } from "../../context/clean-text.ts";
import { plainResultText } from "../../context/step-messages.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import type { ToolPrediction, ToolResult } from "../../state/step-record.ts";
import { noUsage } from "../../state/usage.ts";
import { runToolCalls } from "../../tools/run-tool-calls.ts";
import { experimentToolNames } from "../config/run-spec.ts";
import { MemoryChangedError } from "../errors.ts";
import type { LogMessage } from "../log/log-entry.ts";
import { watchedMemory } from "../memory/run-memory.ts";
import { experimentTools } from "../tools.ts";
import type { CycleRun } from "./cycle-run.ts";
import type { CycleState, CycleUpdate } from "./cycle-state.ts";

/**
 * Makes the calls that were asked for, one after the other in their order. What an earlier try of this node changed in
 * the memory is taken back first, so that every call gives again what it gave.
 */
export async function act(state: CycleState, cycle: CycleRun): Promise<CycleUpdate> {
  const { run, memory, otherTools } = cycle.resources;
  await rollbackCycle(state, cycle);
  let { changes } = state;
  const watched = watchedMemory(memory);
  const own = experimentTools({
    memory: watched.memory,
    nextChange: () => (changes += 1),
    onMessage: (message) => cycle.tell({ message }),
  }).filter(({ definition: { name } }) => run.tools.includes(name));
  const tools = new Map<string, AgentTool>([
    ...own.map((tool) => [tool.definition.name, tool] as const),
    ...otherTools,
  ]);
  const said: LogMessage[] = [];
  for (const call of state.calls) {
    cycle.tell({ doing: call.name });
    const result = await makeCall(call, tools, state, cycle);
    watched.throwIfFailed();
    await cycle.write({
      event_type: "TOOL_CALL",
      payload: {
        tool_name: call.name,
        parameters: call.args,
        output: result.outcome === "success" ? result.result : { error: result.error },
      },
    });
    said.push({
      role: "tool",
      tool_call_id: call.id,
      content: cleanText(plainResultText(result)),
    });
  }
  return {
    message_history: [...state.message_history, ...said],
    calls: [],
    changes,
    usage: { ...noUsage, tool_calls: state.calls.length },
    ...cycle.written(),
  };
}

export function afterAct({ iteration, run }: CycleState) {
  return iteration < (run?.max_iterations ?? 0) ? "think" : "reflect";
}

async function makeCall(
  call: ToolPrediction,
  tools: ReadonlyMap<string, AgentTool>,
  state: CycleState,
  { resources: { run }, services, config }: CycleRun,
): Promise<ToolResult> {
  const { clock, secrets, sandbox, journal } = services;
  const threadId: unknown = config.configurable?.["thread_id"];
  // The memory is put back before calls are made again; what other tools did stays, and is not done twice.
  const isKept = journal !== undefined && !experimentToolNames.includes(call.name);
  const step = state.cycle_number * (run.max_iterations + 1) + state.iteration;
  const { results } = await runToolCalls({
    calls: [call],
    callsSoFar: 0,
    tools,
    allowed: "all",
    grants: run.permissions,
    values: { input: null, execution: {}, attempt: {} },
    state: { execution: {}, attempt: {} },
    env: { signal: config.signal ?? new AbortController().signal, clock, secrets, sandbox },
    ...(isKept &&
      typeof threadId === "string" && {
        // Nothing recovers a run but running it again.
        log: { journal, threadId, run: run.run_id, stepOf: () => step, acceptsDamage: true },
      }),
  });
  const [result] = results;
  if (result === undefined) throw new TypeError("A call has no result.");
  return result;
}

/**
 * Takes back what was changed in the memory after the state that a node goes on from.
 * @throws MemoryChangedError where the memory is another one
 */
export async function rollbackCycle(
  { changes }: CycleState,
  { resources }: CycleRun,
): Promise<void> {
  const { memory } = resources;
  await memory.rewind(changes);
  const left = await memory.lastChange();
  if (left !== changes) throw new MemoryChangedError(resources.run.run_id, changes, left);
}
