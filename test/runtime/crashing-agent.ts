import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { defineAgent, defineTool, type ModelSource } from "../../src/index.ts";
import { modelProfile } from "../../src/models/model-profile.ts";
import { noUsage } from "../../src/state/usage.ts";
import { seededRandom } from "../helpers/random.ts";

/** Numbers that the agent adds, two in a step. */
export const total = 8;
export const rightAnswer = `added ${range(total).join(",")}`;

const input = z.object({ n: z.number() });
type Input = z.output<typeof input>;

interface Tally {
  readonly tally: readonly number[];
}

/** Appends a line that is on the disk when this returns, and tells who watches this process. */
export function appendLine(log: string, line: string): void {
  const file = openSync(log, "a");
  writeSync(file, `${line}\n`);
  fsyncSync(file);
  closeSync(file);
  console.log("logged");
}

/**
 * Adds every number once, whatever is cut off: each call leaves a line in the log, as its effect in the world, some
 * time after it begins and some time before it ends. What has an unknown outcome is looked up before it is done again.
 */
export function crashingAgent(log: string) {
  const random = seededRandom(basename(log));
  const effect = async (tool: string, { n }: Input, callId: string) => {
    await delay(random() * 8);
    appendLine(log, `ran ${tool} ${n} ${callId}`);
    await delay(random() * 8);
  };
  const add = defineTool({
    name: "add",
    description: "Adds a number, once for each call.",
    input_schema: input,
    handler: async (given, { callId }) => {
      await effect("add", given, callId);
      return "added";
    },
  });
  const note = defineTool({
    name: "note",
    description: "Notes a number; twice is once.",
    input_schema: input,
    execution: { idempotent: true },
    handler: async (given, { callId }) => {
      await effect("note", given, callId);
      return "noted";
    },
  });
  const look = defineTool({
    name: "look",
    description: "Says whether a number was added.",
    input_schema: input,
    execution: { idempotent: true },
    handler: ({ n }) =>
      readFileSync(log, "utf8").includes(`ran add ${n} `) ? "there" : `absent ${randomUUID()}`,
  });
  const tally = defineTool<Tally, object, Input>({
    name: "tally",
    description: "Keeps a number in the state.",
    input_schema: input,
    persistence: "execution",
    handler: async (state, given, { callId }) => {
      await effect("tally", given, callId);
      const { tally: before } = state.execution;
      return {
        newState: { ...state, execution: { tally: [...before, given.n] } },
        toolResult: "tallied",
      };
    },
  });
  return defineAgent({
    name: "crashing",
    initialExecutionState: (): Tally => ({ tally: [] }),
    tools: [add, note, look, tally],
    execution_config: { max_iterations: 100 },
  });
}

/** Decides from the conversation alone, so that a new process goes on as the old one would have; ids are random. */
export const decidingModel: ModelSource = {
  resolve: async () => ({
    ref: "test:deciding",
    toolCalling: true,
    parallelCalls: true,
    profile: modelProfile("test:deciding", { window: 128_000 }),
    call: async ({ messages }) => ({
      message: decide(messages),
      usage: { ...noUsage, tokens_in: 1, tokens_out: 1, llm_calls: 1 },
      model: "test:deciding",
      fallback: null,
      finish: "stop" as const,
      reasoning: null,
      calls: [],
    }),
  }),
};

function decide(messages: readonly BaseMessage[]): AIMessage {
  const { done, unknown } = read(messages);
  const open = range(total).find(
    (n) => !["add", "note", "tally"].every((t) => done.has(`${t} ${n}`)),
  );
  if (unknown.size > 0) return asking([...unknown].map((n) => ["look", n]));
  if (open === undefined) return new AIMessage(rightAnswer);
  const pair = [open - (open % 2), open - (open % 2) + 1];
  const calls = pair.flatMap((n) => ["add", "note", "tally"].map((tool) => [tool, n] as const));
  return asking(calls.filter(([tool, n]) => !done.has(`${tool} ${n}`)));
}

function asking(calls: readonly (readonly [string, number])[]): AIMessage {
  const tool_calls = calls.map(([name, n]) => ({ id: `call-${randomUUID()}`, name, args: { n } }));
  return new AIMessage({ content: "", tool_calls });
}

/** What has been done, and which numbers may or may not have been added. */
function read(messages: readonly BaseMessage[]) {
  const asked = new Map<string | undefined, { name: string; n: number }>();
  const done = new Set<string>();
  const unknown = new Set<number>();
  for (const message of messages) {
    for (const { id, name, args } of (message as AIMessage).tool_calls ?? []) {
      asked.set(id, { name, n: (args as Input).n });
    }
    const call = asked.get((message as { tool_call_id?: string }).tool_call_id);
    if (message.type !== "tool" || call === undefined) continue;
    const { name, n } = call;
    if (name === "add" && message.text.startsWith("error: Outcome unknown")) unknown.add(n);
    else if (name === "look") {
      unknown.delete(n);
      if (message.text === "there") done.add(`add ${n}`);
    } else if (!message.text.startsWith("error:")) done.add(`${name} ${n}`);
  }
  return { done, unknown };
}

export function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => n);
}
