import { z } from "zod";
import { describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/postgres.ts";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { waitingThread } from "../helpers/waiting-thread.ts";

let runs: string[] = [];
const send = defineTool({
  name: "send",
  description: "Sends a mail.",
  input_schema: z.object({ to: z.string() }),
  requires_approval: true,
  handler: ({ to }) => {
    runs.push(to);
    return `sent to ${to}`;
  },
});

const agent = defineAgent({
  name: "waits",
  tools: [send],
  workflow_graph: {
    entry_point: "ask",
    nodes: [
      { name: "ask", type: "human", config: { kind: "input", writes: "execution.name" } },
      {
        name: "left",
        type: "human",
        config: { kind: "input", schema: { type: "integer" }, writes: "execution.left" },
      },
      { name: "right", type: "tool", config: { tool: "send", args: { to: "${execution.name}" } } },
      { name: "join", type: "human", config: { kind: "approval", proposed: "${execution.left}" } },
    ],
    edges: [
      { from: "ask", to: ["left", "right"] },
      { from: "left", to: "join" },
      { from: "right", to: "join" },
      { from: "join", to: "END" },
    ],
  },
});

/** How threads wait for people on any database that keeps them. */
export function waitingContract(kind: Database["kind"]): void {
  const database = useDatabase(kind);

  describe.skipIf(!database.available)(`threads that wait for people on ${kind}`, () => {
    it("are read and answered where LangGraph stored one interrupt and no list", async () => {
      runs = [];
      const open = async () =>
        testRuntime([], { checkpointer: await openCheckpointer(database.shared) });
      const threadId = "waits since LangGraph 1.4";
      const { runtime: before } = await open();
      const { interrupts } = await executeAgent(
        agent,
        { message: "go" },
        { runtime: before, threadId },
      );
      const saver = await openCheckpointer(database.shared);
      const { config, pendingWrites = [] } = (await saver.getTuple({
        configurable: { thread_id: threadId },
      }))!;
      const asked = pendingWrites.filter(([, channel]) => channel === "__interrupt__");
      expect(asked).toHaveLength(1);
      for (const [task, channel, list] of asked) {
        await saver.putWrites(config, [[channel, (list as unknown[])[0]]], task);
      }

      const { runtime } = await open();
      const recovery = await runtime.threads.recover(agent, { threadId });
      expect(recovery).toMatchObject({ reason: "waiting", waiting: interrupts });
      const again = await executeAgent(agent, null, { runtime, threadId });
      expect(again.interrupts).toEqual(interrupts);
      const { items } = await runtime.threads.history(threadId);
      expect(items[0]!.nodeOutcomes).toMatchObject({ ask: "interrupted" });
      const answers = { [interrupts[0]!.id]: "ada" };
      const half = await executeAgent(agent, null, { runtime, threadId, answers });
      expect(half.interrupts.map(({ node }) => node)).toEqual(["left", "right"]);
    });

    it("keep every answer in another runtime, and run nothing twice", async () => {
      runs = [];
      const reopened = async () =>
        waitingThread(agent, [], { checkpointer: await openCheckpointer(database.shared) });
      expect((await (await reopened()).start()).status).toBe("AWAITING_HUMAN");
      await (await reopened()).answer([7]);
      await (await reopened()).answer({ decision: "approve" });
      expect((await (await reopened()).request()).problem).toBe(
        'Expected the decision answer, edit or reject; got "approve".',
      );
      await (await reopened()).answer("ada");

      for (const left of ["one", "two", 1.5, false]) {
        await (await reopened()).answerNodes({ left, right: "maybe" });
      }
      await (await reopened()).answerNodes({ right: true });
      const halfway = await reopened();
      expect(runs).toEqual(["ada"]);
      expect((await halfway.waiting()).map(({ node, problem }) => [node, problem])).toEqual([
        [
          "left",
          "The value does not fit its schema: Invalid input: expected number, received boolean; got false.",
        ],
      ]);
      await halfway.again();
      await (await reopened()).answerNodes({ left: 3 });

      const last = await reopened();
      expect((await last.state()).execution).toEqual({ name: "ada", left: 3 });
      expect((await last.request()).proposed).toBe(3);
      const state = await last.answer("approve");
      expect([state.status, state.output]).toEqual(["COMPLETED", { message: "3" }]);
      expect(runs).toEqual(["ada"]);
    });
  });
}
