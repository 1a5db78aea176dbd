import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  defineAgent,
  definePlanner,
  defineTool,
  executeAgent,
  type AgentDefinition,
  type AgentEvent,
} from "../../src/index.ts";
import { around, asker } from "../helpers/nested-agents.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { asGaps, asPlan, codeWorker, plannerReplies } from "../helpers/run-plan.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { illegalMoves, statusesIn } from "../helpers/status-moves.ts";
import { planOf } from "../helpers/subtasks.ts";

const look = defineTool({
  name: "look",
  description: "Looks something up.",
  input_schema: z.object({}),
  handler: () => "found",
});
const send = defineTool({
  name: "send",
  description: "Sends a mail.",
  input_schema: z.object({}),
  requires_approval: true,
  handler: () => "sent",
});
const calls = (name: string): ScriptedReply => ({ calls: [{ name, args: {} }] });

const ask = (name: string) => ({
  name,
  type: "human" as const,
  config: { kind: "input" as const, prompt: `${name}?` },
});
const act = (name: string) => ({ name, type: "tool" as const, config: { tool: "look" } });
const workflow = (nodes: readonly object[], edges: Readonly<Record<string, unknown>>) =>
  defineAgent({
    name: "flow",
    tools: [look],
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: Object.keys(edges)[0]!,
      nodes: nodes as never,
      edges: Object.entries(edges).map(([from, to]) => ({ from, to })) as never,
      output: { message: "done" },
    },
  });

type Given = Parameters<typeof executeAgent>[2] & { readonly input?: string };

/** The events of each run of an agent on one thread. Whatever waits is answered or approved. */
async function runsOf(
  agent: AgentDefinition,
  script: readonly ScriptedReply[],
  ...given: readonly Given[]
): Promise<readonly (readonly AgentEvent[])[]> {
  const { runtime } = await testRuntime(script);
  const runs: AgentEvent[][] = [];
  let waiting: readonly { readonly id: string; readonly kind: string }[] = [];
  for (const { input, ...options } of given) {
    const events: AgentEvent[] = [];
    const answers = Object.fromEntries(
      waiting.map(({ id, kind }) => [id, kind === "input" ? "yes" : "approve"]),
    );
    const answered = input === undefined && waiting.length > 0 && options.signal === undefined;
    const result = await executeAgent(agent, input === undefined ? null : { message: input }, {
      runtime,
      threadId: "t",
      onEvent: (event) => events.push(event),
      ...(answered && { answers }),
      ...options,
    });
    waiting = result.interrupts;
    runs.push(events);
  }
  return runs;
}

const go = { input: "go" };
const goOn = {};
const cancelled = { signal: AbortSignal.abort() };

describe("the statuses that a run tells", () => {
  it.each<[string, AgentDefinition, readonly ScriptedReply[], readonly Given[], string[]]>([
    [
      "a turn with tools, and the next one",
      defineAgent({ name: "a", tools: [look] }),
      [calls("look"), "one", "two"],
      [go, go],
      [
        "CREATED INITIALIZING PLANNING EXECUTING AWAITING_TOOL EXECUTING REFLECTING COMPLETED",
        "INITIALIZING PLANNING EXECUTING REFLECTING COMPLETED",
      ],
    ],
    [
      "calls that are approved",
      defineAgent({ name: "a", tools: [send] }),
      [calls("send"), "one"],
      [go, goOn],
      [
        "CREATED INITIALIZING PLANNING EXECUTING AWAITING_HUMAN",
        "at AWAITING_HUMAN EXECUTING AWAITING_TOOL EXECUTING REFLECTING COMPLETED",
      ],
    ],
    [
      "a workflow of tools alone",
      workflow([act("one"), act("two")], { one: "two", two: "END" }),
      [],
      [go],
      ["CREATED INITIALIZING PLANNING EXECUTING AWAITING_TOOL EXECUTING REFLECTING COMPLETED"],
    ],
    [
      "people who are asked one after the other, and last",
      workflow([ask("who"), act("do"), ask("what")], { who: "do", do: "what", what: "END" }),
      [],
      [go, goOn, goOn],
      [
        "CREATED INITIALIZING PLANNING AWAITING_HUMAN",
        "at AWAITING_HUMAN EXECUTING AWAITING_TOOL AWAITING_HUMAN",
        "at AWAITING_HUMAN EXECUTING REFLECTING COMPLETED",
      ],
    ],
    [
      "a wait that is cancelled and resumed",
      workflow([ask("who")], { who: "END" }),
      [],
      [go, cancelled, goOn, goOn],
      [
        "CREATED INITIALIZING PLANNING AWAITING_HUMAN",
        "at CANCELLED",
        "at AWAITING_HUMAN",
        "at AWAITING_HUMAN EXECUTING REFLECTING COMPLETED",
      ],
    ],
    [
      "a workflow whose nodes tell nothing",
      workflow(
        [{ name: "r", type: "router", config: { rules: [{ when: "true", choice: "on" }] } }],
        { r: "END" },
      ),
      [],
      [go],
      ["CREATED INITIALIZING PLANNING EXECUTING REFLECTING COMPLETED"],
    ],
    [
      "a turn that fails, and the next one",
      defineAgent({
        name: "a",
        execution_config: { max_attempts: 2 },
        validate: () => "never",
      }),
      ["one", "two", "three", "four"],
      [go, go],
      Array.from(
        { length: 2 },
        () =>
          "CREATED INITIALIZING PLANNING EXECUTING REFLECTING PLANNING EXECUTING REFLECTING FAILED",
      ),
    ],
  ])("are those of the lifecycle, move by move: %s", async (_, agent, script, given, expected) => {
    const runs = await runsOf(agent, script, ...given);
    expect(runs.map((events) => statusesIn(events).join(" "))).toEqual(expected);
    expect(runs.flatMap(illegalMoves)).toEqual([]);
  });

  it.each<[string, AgentDefinition, readonly ScriptedReply[], readonly Given[]]>([
    [
      "branches that call and wait beside each other",
      workflow([act("a"), act("b"), act("c"), ask("d"), ask("e"), act("f")], {
        a: ["b", "c", "d", "e"],
        b: "f",
        c: "f",
        d: "f",
        e: "f",
        f: "END",
      }),
      [],
      [go, goOn],
    ],
    [
      "agents within agents that wait",
      around("outer", around("middle", asker)),
      repliesByPrompt({ Before: "ok", Draft: "which", Write: "done" }),
      [go, cancelled, goOn, goOn],
    ],
    [
      "planners that find gaps, with workers that wait and call",
      definePlanner({
        execution_config: { max_attempts: 1 },
        workers: [codeWorker(() => "ok"), asker],
        max_depth: 1,
      }),
      plannerReplies({
        "Break the task": asPlan({
          subtasks: [
            ...planOf({ a: "", b: "a" }).subtasks,
            ...planOf({ q: "", r: "" }, { worker: "asker" }).subtasks,
          ],
        }),
        "Draft ": "Which",
        "Write ": "written",
        "Judge the result": [asGaps("more"), asGaps()],
        "The results so far": asPlan(planOf({ c: "" })),
      }),
      [go, goOn],
    ],
  ])("are those of the lifecycle for each agent: %s", async (_, agent, script, given) => {
    const runs = await runsOf(agent, script, ...given);
    expect(runs.flatMap(illegalMoves)).toEqual([]);
    expect(statusesIn(runs.at(-1) ?? []).at(-1)).toBe("COMPLETED");
  });
});
