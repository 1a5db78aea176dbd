import { z } from "zod";
import { describe, expect, it } from "vitest";
import { openCheckpointer } from "../../checkpointers/open.ts";
import { defineAgent, defineTool } from "../../src/index.ts";
import type { Database } from "../../src/storage/database.ts";
import { useDatabase } from "../helpers/databases.ts";
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
