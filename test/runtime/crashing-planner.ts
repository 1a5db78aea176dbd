import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import {
  defineAgent,
  definePlanner,
  defineTool,
  defineWorker,
  type ModelSource,
} from "../../src/index.ts";
import { modelProfile } from "../../src/models/model-profile.ts";
import type { TaskPlan } from "../../src/state/plan.ts";
import { noUsage } from "../../src/state/usage.ts";
import { seededRandom } from "../helpers/random.ts";
import { appendLine, range } from "./crashing-agent.ts";

/** Subtasks that run at once, each with one after it. */
const atOnce = 20;
export const ids = ["first", "second"].flatMap((name) => range(atOnce).map((n) => `${name}${n}`));

/** Half of it is done by code, and half by agents. */
export const plan: TaskPlan = {
  subtasks: ids.map((id, place) => ({
    id,
    description: `Do ${id}.`,
    dependencies: place < atOnce ? [] : [`first${place - atOnce}`],
    worker: place % 2 === 0 ? "code" : "agent",
  })),
  success_criteria: "",
};

const random = seededRandom("crashing-planner");

/** Leaves a line in the log, as its effect in the world, somewhere within 50 to 300 milliseconds. */
async function work(log: string, id: string): Promise<string> {
  await delay(25 + random() * 125);
  appendLine(log, `ran ${id}`);
  await delay(25 + random() * 125);
  return `${id} done`;
}

/** Each agent does its subtask with a call of a tool. */
export function crashingPlanner(log: string) {
  const code = defineWorker({
    name: "code",
    description: "Does it in code.",
    run: ({ id }) => work(log, id),
  });
  const doIt = defineTool({
    name: "do_it",
    description: "Does it.",
    input_schema: z.object({ id: z.string() }),
    handler: ({ id }) => work(log, id),
  });
  const agent = defineAgent({ name: "agent", description: "Does it with a tool.", tools: [doIt] });
  return definePlanner({ workers: [code, agent], max_parallel: atOnce });
}

/** Joins, finds no gaps, and as an agent calls the tool until that says that it is done. */
export const decidingModel: ModelSource = {
  resolve: async () => ({
    ref: "test:deciding",
    toolCalling: true,
    parallelCalls: true,
    profile: modelProfile("test:deciding", { window: 128_000 }),
    call: async ({ messages, answer }) => ({
      message: decide(messages, answer?.name),
      usage: { ...noUsage, tokens_in: 1, tokens_out: 1, llm_calls: 1 },
      model: "test:deciding",
      fallback: null,
      finish: "stop" as const,
      reasoning: null,
      calls: [],
    }),
  }),
};

function decide(messages: readonly BaseMessage[], answer: string | undefined): AIMessage {
  if (answer === "judge") return new AIMessage('{"gaps": []}');
  const [, id] = messages.map(({ text }) => /^Do (\w+)\./.exec(text)).find(Boolean) ?? [];
  if (id === undefined) return new AIMessage("joined");
  const last = messages.at(-1);
  if (last?.type === "tool" && last.text === `${id} done`) return new AIMessage(last.text);
  const call = { id: `call-${randomUUID()}`, name: "do_it", args: { id } };
  return new AIMessage({ content: "", tool_calls: [call] });
}
