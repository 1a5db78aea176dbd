import { randomUUID } from "node:crypto";
import {
  Annotation,
  END,
  Send,
  START,
  StateGraph,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import { planLevels } from "../../src/planning/plan-graph.ts";
import type { Subtask } from "../../src/state/plan.ts";

const State = Annotation.Root({
  level: Annotation<number>,
  results: Annotation<Readonly<Record<string, unknown>>>({
    reducer: (results, more) => ({ ...results, ...more }),
    default: () => ({}),
  }),
});

type Sent = { readonly subtask: Subtask; readonly results: Readonly<Record<string, unknown>> };

/**
 * A plan as one writes it in LangGraph: `Send` for each subtask of a level, the next level when all of them have ended.
 *
 * @returns milliseconds from the beginning of the first subtask's work to the end of the last one's
 */
export async function sendLevels(
  subtasks: readonly Subtask[],
  of: {
    readonly maxParallel: number;
    readonly work: (subtask: Subtask) => Promise<unknown>;
    readonly saver: BaseCheckpointSaver | undefined;
  },
): Promise<number> {
  const { maxParallel, work, saver } = of;
  const levels = planLevels(subtasks);
  const byId = new Map(subtasks.map((subtask) => [subtask.id, subtask]));
  let first = Infinity;
  let last = 0;
  const graph = new StateGraph(State)
    .addNode("next", ({ level }) => ({ level: level + 1 }))
    .addNode("work", async (sent: unknown) => {
      const { subtask } = sent as Sent;
      first = Math.min(first, performance.now());
      const result = await work(subtask);
      last = performance.now();
      return { results: { [subtask.id]: result } };
    })
    .addEdge(START, "next")
    .addConditionalEdges(
      "next",
      ({ level, results }) => {
        const ids = levels[level] ?? [];
        if (ids.length === 0) return END;
        return ids.map((id) => {
          const subtask = byId.get(id) as Subtask;
          const before = subtask.dependencies.map((one) => [one, results[one]] as const);
          return new Send("work", { subtask, results: Object.fromEntries(before) });
        });
      },
      ["work", END],
    )
    .addEdge("work", "next")
    .compile(saver === undefined ? {} : { checkpointer: saver });
  await graph.invoke(
    { level: -1 },
    {
      configurable: { thread_id: randomUUID() },
      recursionLimit: 2 * levels.length + 10,
      ...(Number.isFinite(maxParallel) && { maxConcurrency: maxParallel }),
      ...(saver !== undefined && { durability: "async" as const }),
    },
  );
  return last - first;
}
