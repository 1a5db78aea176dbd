import { setTimeout as delay } from "node:timers/promises";
import { AIMessage } from "@langchain/core/messages";
import { defineAgent, definePlanner, defineWorker, type ModelSource } from "../../src/index.ts";
import { modelProfile } from "../../src/models/model-profile.ts";
import type { TaskPlan } from "../../src/state/task-plan.ts";
import { appendLine, range } from "./crashing-agent.ts";

/** Subtasks that run at once, each with one after it. */
export const atOnce = 20;
export const ids = ["first", "second"].flatMap((name) => range(atOnce).map((n) => `${name}${n}`));

/** Half of it is done by code, and half by an agent. */
export const plan: TaskPlan = {
  subtasks: ids.map((id, place) => ({
    id,
    description: `Do ${id}.`,
    dependencies: place < atOnce ? [] : [`first${place - atOnce}`],
    worker: place % 2 === 0 ? "code" : "agent",
  })),
  success_criteria: "",
};

/** Leaves a line in the log, as its effect in the world, somewhere within 50 to 300 milliseconds. */
async function work(log: string, id: string): Promise<string> {
  await delay(25 + Math.random() * 125);
  appendLine(log, `ran ${id}`);
  await delay(25 + Math.random() * 125);
  return `${id} done`;
}

export function crashingPlanner(log: string) {
  const code = defineWorker({
    name: "code",
    description: "Does it in code.",
    run: ({ id }) => work(log, id),
  });
  const agent = defineAgent({ name: "agent", description: "Does it as an agent." });
  return definePlanner({ workers: [code, agent], max_parallel: atOnce });
}

/** Joins, finds no gaps, and does subtasks as code does. */
export function workingModel(log: string): ModelSource {
  return {
    resolve: async () => ({
      ref: "test:working",
      toolCalling: true,
      parallelCalls: true,
      profile: modelProfile("test:working", { window: 128_000 }),
      call: async ({ messages, answer }) => ({
        message: new AIMessage(await said(log, messages.at(-1)?.text ?? "", answer?.name)),
        usage: { tokens_in: 1, tokens_out: 1, llm_calls: 1, tool_calls: 0, cost_usd: 0 },
        model: "test:working",
        fallback: null,
      }),
    }),
  };
}

async function said(log: string, asked: string, answer: string | undefined): Promise<string> {
  if (answer === "judge") return '{"gaps": []}';
  const [, id] = /^Do (\w+)\./.exec(asked) ?? [];
  return id === undefined ? "joined" : work(log, id);
}
