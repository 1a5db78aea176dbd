import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  compilePlanner,
  defineAgent,
  definePlanner,
  defineWorker,
  executeAgent,
  type AgentDefinition,
  type AgentGraph,
} from "../../src/index.ts";

interface Task {
  message: string;
  plan?: unknown;
}
const counter = defineWorker({ name: "counter", description: "Counts.", run: () => 1 });

describe("definePlanner", () => {
  it("takes a task and gives a message where nothing is said", () => {
    const planner = definePlanner({ workers: [counter] });
    expectTypeOf(planner).toEqualTypeOf<AgentDefinition<Task, { message: string }>>();
    const run = () => executeAgent(planner, { message: "go", plan: { subtasks: [] } });
    type Result = Awaited<ReturnType<typeof run>>;
    expectTypeOf<Result["output"]>().toEqualTypeOf<{ message: string } | null>();
    // @ts-expect-error: a task has a message
    void (() => executeAgent(planner, { task: "go" }));
  });

  it("infers the output from a zod schema, whatever its workers give", () => {
    const worker = defineAgent({ name: "w", output_schema: z.object({ text: z.string() }) });
    const output_schema = z.object({ n: z.number() });
    const planner = definePlanner({ workers: [worker, counter], output_schema, max_parallel: 2 });
    expectTypeOf(planner).toEqualTypeOf<AgentDefinition<Task, { n: number }>>();
    const run = () => executeAgent(planner, { message: "go" });
    type Result = Awaited<ReturnType<typeof run>>;
    expectTypeOf<Result["output"]>().toEqualTypeOf<{ n: number } | null>();
    expectTypeOf(() => compilePlanner({ workers: [planner], output_schema })).returns.toEqualTypeOf<
      Promise<AgentGraph>
    >();
  });

  it("refuses options that there are not", () => {
    expectTypeOf(definePlanner).toBeFunction();
    // @ts-expect-error: no such option
    definePlanner({ workers: [counter], max_paralel: 3 });
    // @ts-expect-error: a planner has workers
    definePlanner({});
    // @ts-expect-error: the task is its input
    definePlanner({ workers: [counter], task: "Count" });
  });
});
