import { END } from "@langchain/langgraph";
import { unredact } from "../guardrails/redaction.ts";
import { transition, type Status } from "../state/lifecycle.ts";
import type { GraphNode } from "./graph-builder.ts";
import { approvalsOf, human } from "./loop/human.ts";
import { finalize } from "./loop/end-turn.ts";
import { initialize } from "./loop/initialize.ts";
import type { AdvanceState } from "./loop/node.ts";
import type { AttemptShape, LoopConfig } from "./loop/loop-config.ts";
import { beginAttempt } from "./loop/begin-attempt.ts";
import { reason } from "./loop/reason.ts";
import { failedDraft } from "./loop/reasoning-step.ts";
import { reflect } from "./loop/reflect.ts";
import { tools } from "./loop/tools.ts";

/** The node that begins an attempt, except in graphs with a channel of that name. */
export const beginning = "plan";

/** Returns the nodes that begin and end a turn, around those of its attempts. */
export function turnNodes(attempt: { readonly begin?: string; readonly first: string }): {
  readonly before: readonly GraphNode[];
  readonly after: readonly GraphNode[];
} {
  const { begin = beginning, first } = attempt;
  return {
    before: [
      {
        name: "initialize",
        type: "lifecycle",
        description: "Checks the input",
        body: initialize,
        edges: [{ to: begin }],
        moveOn: movesTo("PLANNING"),
        isBounded: false,
      },
      {
        name: begin,
        type: "lifecycle",
        description: "Begins an attempt",
        body: beginAttempt,
        edges: [{ to: first }],
        moveOn: (_, { loop }) => loop.attempts.begin("PLANNING", loop).update,
      },
    ],
    after: [
      {
        name: "reflect",
        type: "lifecycle",
        description: "Judges the answer",
        body: reflect,
        edges: [
          { to: begin, when: "refused" },
          { to: "finalize", when: "accepted" },
        ],
      },
      {
        name: "finalize",
        type: "lifecycle",
        description: "Ends the turn",
        body: finalize,
        edges: [{ to: END }],
        isBounded: false,
      },
    ],
  };
}

/**
 * `START → initialize → plan → reason ⇄ tools → reflect → finalize → END`; `human` if calls wait for approval. Since an
 * outer agent may require approval of any call, `human` exists whenever there are tools.
 *
 * @param around `asksPeople`: whether an outer agent may require approval, so that `human` is drawn
 */
export function standardLoop(
  loop: Pick<LoopConfig, "tools" | "needsApproval">,
  around: { readonly asksPeople: boolean },
): readonly GraphNode[] {
  const asksItself = [...loop.tools.keys()].some((tool) => loop.needsApproval(tool));
  const { before, after } = turnNodes({ first: "reason" });
  return [
    ...before,
    {
      name: "reason",
      type: "llm",
      description: "Makes one reasoning step",
      body: reason,
      edges: [
        ...(loop.tools.size > 0 ? [{ to: "human", when: "needs approval" }] : []),
        { to: "tools", when: "uses tools" },
        { to: "reason", when: "goes on" },
        { to: "reflect", when: "answers" },
      ],
    },
    ...(loop.tools.size > 0
      ? [
          {
            name: "human",
            isDrawn: asksItself || around.asksPeople,
            type: "human" as const,
            description: "Waits for a person to approve the calls",
            body: human,
            edges: [{ to: "tools" }],
            moveOn: approves,
          },
        ]
      : []),
    {
      name: "tools",
      type: "tool",
      description: "Runs the calls of the step",
      body: tools,
      edges: [{ to: "reason" }],
      moveOn: movesTo("EXECUTING"),
    },
    ...after,
  ];
}

export const standardAttempts: AttemptShape = {
  node: beginning,
  begin: (status) => {
    return { update: { status: transition(status, "EXECUTING") }, goto: "reason" };
  },
  next({ status }) {
    if (status === "AWAITING_HUMAN") return ["human"];
    return [status === "AWAITING_TOOL" ? "tools" : "reason"];
  },
  draft: (state) => state.turn?.draft ?? failedDraft("the attempt produced no answer"),
};

/** An edit that acts for the person approves the calls unchanged. */
const approves: AdvanceState = ({ current_step: step, redactions }) => {
  const rails = { unredact: (value: unknown) => unredact(value, redactions) };
  const approvals = approvalsOf(step?.tool_predictions ?? [], rails);
  return { status: "AWAITING_TOOL", turn: { approvals } };
};

/** Returns the advance of a node that only sets the status. */
function movesTo(status: Status): AdvanceState {
  return () => ({ status });
}

/** Returns the recursion limit of a whole turn, with room to spare, so that LangGraph's own limit never ends a turn. */
export function superstepLimit(limits: { max_iterations: number; max_attempts: number }): number {
  return limits.max_attempts * (limits.max_iterations * 3 + 6) + 10;
}
