import { z } from "zod";
import { modelRef } from "./model-ref.ts";
import { tierKey } from "./json-schema.ts";

/** Upper limit of `max_subtasks`: no one can follow a larger plan. */
const maxSubtasks = 5_000;

const nodeName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, "expected a letter, then letters, digits, _ and -")
  .refine((name) => name !== "END" && name !== "START", "END and START are taken");

const writes = tierKey.optional();

const template = z.string().describe("Text with ${expressions}.");

const named = { name: nodeName, description: z.string().optional() };

const llmNode = z.strictObject({
  ...named,
  type: z.literal("llm"),
  config: z
    .strictObject({
      prompt: template.optional().describe("What this node is to do; default: the conversation."),
      model: modelRef.optional(),
      tools: z
        .union([z.array(z.string()), z.enum(["all", "none"])])
        .optional()
        .describe("Default: all where an edge leads to a tool node that runs calls, else none."),
      output_schema: z.record(z.string(), z.unknown()).optional(),
      mode: z.enum(["fast", "deep"]).optional(),
      writes,
    })
    .prefault({}),
});

const toolNode = z.strictObject({
  ...named,
  type: z.literal("tool"),
  config: z
    .strictObject({
      tool: z.string().optional().describe("Left out, the calls of the last llm node are run."),
      args: z.record(z.string(), z.unknown()).optional().describe("With templates."),
      writes,
      concurrency: z.int().min(1).max(64).optional().describe("Calls at once. Default 16."),
    })
    .prefault({}),
});

const routerNode = z.strictObject({
  ...named,
  type: z.literal("router"),
  config: z.strictObject({
    rules: z
      .array(z.strictObject({ when: z.string().describe("CEL."), choice: z.string() }))
      .min(1)
      .optional()
      .describe("Tried in order; the first that holds gives the choice."),
    choices: z
      .array(z.strictObject({ name: z.string(), description: z.string() }))
      .min(1)
      .optional()
      .describe("A model chooses one of these."),
    default: z.string().optional().describe("The choice when no other is made."),
    prompt: template.optional().describe("What the model decides on; default: the conversation."),
    model: modelRef.optional(),
  }),
});

const humanNode = z.strictObject({
  ...named,
  type: z.literal("human"),
  config: z.strictObject({
    kind: z.enum(["approval", "input", "edit"]),
    prompt: template.optional().describe("What the person is asked."),
    proposed: z
      .unknown()
      .optional()
      .describe("The value to approve or edit, with templates; default: the last answer."),
    schema: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("JSON Schema of what the person gives; default: a text."),
    timeout_seconds: z.number().positive().optional().describe("How long the answer may take."),
    on_timeout: z
      .enum(["approve", "reject", "fail"])
      .optional()
      .describe("What no answer in time means. Default fail."),
    writes,
  }),
});

/** Ten years. */
const maxWaitSeconds = 315_576_000;
const durationPattern = /^P(?=.)(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?=\d)(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,9})S)?)?$/;

/** Returns the seconds of a duration: a number of them, or ISO 8601 with weeks, days, hours, minutes and seconds. */
export function durationSeconds(duration: string | number): number {
  if (typeof duration === "number") return duration;
  const units = [604_800, 86_400, 3_600, 60, 1];
  const parts = durationPattern.exec(duration)?.slice(1) ?? [];
  return parts.reduce((sum, part, at) => sum + Number(part ?? 0) * (units[at] ?? 0), 0);
}

const duration = z
  .union([z.number(), z.string().regex(durationPattern)])
  .refine((given) => {
    const seconds = durationSeconds(given);
    return seconds > 0 && seconds <= maxWaitSeconds;
  }, "expected seconds, or a duration as in PT15M, P1D or P1DT12H; more than 0 and at most 10 years");

const waitNode = z.strictObject({
  ...named,
  type: z.literal("wait"),
  config: z.strictObject({
    until: template.optional().describe("Waits until this time, ISO 8601 with a time zone."),
    for: duration
      .optional()
      .describe("Waits for so long: seconds, or an ISO 8601 duration as in PT15M."),
    event: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_.-]{0,99}$/, "expected a letter, then letters, digits, _, . and -")
      .optional()
      .describe("Waits for an event with this name."),
    schema: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("JSON Schema of the event's payload; default: any."),
    timeout: duration
      .optional()
      .describe("How long the event may take: seconds, or an ISO 8601 duration."),
    default: z
      .unknown()
      .optional()
      .describe("The value if no event comes in time, with templates; left out: an edge or a failure."),
    writes,
  }),
});

const agentNode = z.strictObject({
  ...named,
  type: z.literal("agent"),
  config: z.strictObject({
    agent: z.string(),
    input: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("With templates. Default: the turn's own input."),
    conversation: z
      .enum(["own", "shared"])
      .default("own")
      .describe("shared: it reads the conversation so far."),
    writes,
  }),
});

const plannerNode = z.strictObject({
  ...named,
  type: z.literal("planner"),
  config: z
    .strictObject({
      workers: z
        .array(z.string().min(1))
        .min(1)
        .optional()
        .describe(
          "Agents, by name or path, and code workers. Default: all that came with the definition; files name them.",
        ),
      task: template.optional().describe("The task. Default: the turn's own input."),
      plan: z
        .unknown()
        .optional()
        .describe(
          "A plan to run instead of one that the model makes: a map with subtasks, or a template that gives one.",
        ),
      success_criteria: template
        .optional()
        .describe("What the result is judged by. Default: what the plan says."),
      max_subtasks: z
        .int()
        .min(1)
        .max(maxSubtasks)
        .default(100)
        .describe("Of all plans for a task. Default 100."),
      max_parallel: z
        .int()
        .min(1)
        .max(256)
        .default(8)
        .describe("Subtasks at once, of planners within it too. Default 8."),
      max_depth: z
        .int()
        .min(0)
        .max(10)
        .default(2)
        .describe("Plans for gaps, after the first plan. Default 2."),
      timeout_seconds: z
        .number()
        .positive()
        .max(86_400)
        .default(300)
        .describe("One attempt of a subtask. Default 300."),
      retries: z
        .int()
        .min(0)
        .max(10)
        .default(2)
        .describe(
          "Further attempts of a subtask after timeouts, rate limits and outages. Default 2.",
        ),
      max_result_bytes: z
        .int()
        .min(1)
        .max(16_777_216)
        .default(1_048_576)
        .describe("Of one subtask's result as JSON. Default 1 MiB."),
      on_failure: z
        .enum(["replan", "partial", "fail"])
        .default("replan")
        .describe(
          "What happens after a subtask has exhausted its retries: a new plan for the gaps, a partial result, or the node's failure. Default replan.",
        ),
      approve: z
        .boolean()
        .optional()
        .describe(
          "Whether a person must approve every plan before it runs, plans for gaps included. Default false.",
        ),
      model: modelRef.optional().describe("Plans, joins and judges. Default: the agent's own."),
      writes,
    })
    .prefault({}),
});

const edge = z.strictObject({
  from: z.string(),
  to: z.union([z.string(), z.array(z.string()).min(1)]).describe("A list runs in parallel."),
  condition: z
    .string()
    .nullable()
    .transform((condition) => condition ?? undefined)
    .optional()
    .describe("CEL; left out or null, the edge is the default."),
});

/** The nodes and edges of an agent that replaces the standard loop. */
export const workflowGraphSchema = z.strictObject({
  entry_point: z.string(),
  nodes: z
    .array(
      z.discriminatedUnion("type", [
        llmNode,
        toolNode,
        routerNode,
        humanNode,
        waitNode,
        agentNode,
        plannerNode,
      ]),
    )
    .min(1),
  edges: z.array(edge),
  output: z
    .union([z.string(), z.record(z.string(), z.unknown())])
    .optional()
    .describe("The turn's output, with templates; default: what the last node gave."),
});

export type WorkflowGraph = z.output<typeof workflowGraphSchema>;
export type WorkflowNode = WorkflowGraph["nodes"][number];
export type NodeOfType<Type extends WorkflowNode["type"]> = Extract<WorkflowNode, { type: Type }>;
