import { z } from "zod";

const nodeName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, "expected a letter, then letters, digits, _ and -")
  .refine((name) => name !== "END" && name !== "START", "END and START are taken");

const writes = z
  .string()
  .regex(/^(execution|attempt)\.[A-Za-z_][A-Za-z0-9_]*$/, "expected execution.key or attempt.key")
  .optional();

const named = { name: nodeName, description: z.string().optional() };

const llmNode = z.strictObject({
  ...named,
  type: z.literal("llm"),
  config: z
    .strictObject({
      prompt: z.string().optional(),
      model: z.string().optional(),
      tools: z.union([z.array(z.string()), z.enum(["all", "none"])]).optional(),
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
      tool: z.string().optional(),
      args: z.record(z.string(), z.unknown()).optional(),
      writes,
      concurrency: z.int().min(1).optional(),
    })
    .prefault({}),
});

const routerNode = z.strictObject({
  ...named,
  type: z.literal("router"),
  config: z.strictObject({
    rules: z.array(z.strictObject({ when: z.string(), choice: z.string() })).optional(),
    choices: z.array(z.strictObject({ name: z.string(), description: z.string() })).optional(),
    default: z.string().optional(),
  }),
});

const humanNode = z.strictObject({
  ...named,
  type: z.literal("human"),
  config: z.strictObject({
    kind: z.enum(["approval", "input", "edit"]),
    prompt: z.string().optional(),
    timeout_seconds: z.number().positive().optional(),
    on_timeout: z.string().optional(),
  }),
});

const agentNode = z.strictObject({
  ...named,
  type: z.literal("agent"),
  config: z.strictObject({
    agent: z.string(),
    input: z.record(z.string(), z.unknown()).optional(),
    writes,
  }),
});

const plannerNode = z.strictObject({
  ...named,
  type: z.literal("planner"),
  config: z
    .strictObject({
      workers: z.array(z.string()).optional(),
      max_parallel: z.int().min(1).optional(),
      max_depth: z.int().min(0).optional(),
      success_criteria: z.string().optional(),
    })
    .prefault({}),
});

const edge = z.strictObject({
  from: z.string(),
  to: z.union([z.string(), z.array(z.string()).min(1)]).describe("A list runs in parallel."),
  condition: z.string().optional().describe("CEL; left out, the edge is the default."),
});

/** The nodes and edges of an agent that does not use the standard loop. */
export const workflowGraphSchema = z.strictObject({
  entry_point: z.string(),
  nodes: z
    .array(
      z.discriminatedUnion("type", [
        llmNode,
        toolNode,
        routerNode,
        humanNode,
        agentNode,
        plannerNode,
      ]),
    )
    .min(1),
  edges: z.array(edge),
});

export type WorkflowGraph = z.output<typeof workflowGraphSchema>;
