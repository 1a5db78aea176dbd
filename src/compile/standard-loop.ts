import { END } from "@langchain/langgraph";
import { restore } from "../guardrails/redaction.ts";
import { transition, type Status } from "../state/lifecycle.ts";
import type { GraphNode } from "./graph-builder.ts";
import { approvalsOf } from "./loop/approval.ts";
import { finalize } from "./loop/finalize.ts";
import { human } from "./loop/human.ts";
import { initialize } from "./loop/initialize.ts";
import type { MoveOn } from "./loop/node-body.ts";
import type { AttemptShape, LoopParts } from "./loop/parts.ts";
import { plan } from "./loop/plan.ts";
import { reason } from "./loop/reason.ts";
import { noAnswer } from "./loop/reasoning.ts";
import { reflect } from "./loop/reflect.ts";
import { tools } from "./loop/tools.ts";

/** The node that begins an attempt, but in graphs that have a channel of that name. */
export const beginning = "plan";

/** The nodes that begin and end a turn, around whatever makes its attempts. */
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
        body: plan,
        edges: [{ to: first }],
        moveOn: (_, { parts }) => parts.attempts.begin("PLANNING", parts).update,
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
 * `START → initialize → plan → reason ⇄ tools → reflect → finalize → END`; `human` where calls wait for approval. An agent
 * around may have any call wait, so that it is there wherever there are tools.
 *
 * @param around `asksPeople`: whether an agent around may have calls wait, so that `human` is drawn
 */
export function standardLoop(
  parts: Pick<LoopParts, "tools" | "needsApproval">,
  around: { readonly asksPeople: boolean },
): readonly GraphNode[] {
  const asksItself = [...parts.tools.keys()].some((tool) => parts.needsApproval(tool));
  const { before, after } = turnNodes({ first: "reason" });
  return [
    ...before,
    {
      name: "reason",
      type: "llm",
      description: "Makes one reasoning step",
      body: reason,
      edges: [
        ...(parts.tools.size > 0 ? [{ to: "human", when: "needs approval" }] : []),
        { to: "tools", when: "uses tools" },
        { to: "reason", when: "goes on" },
        { to: "reflect", when: "answers" },
      ],
    },
    ...(parts.tools.size > 0
      ? [
          {
            name: "human",
            isDrawn: asksItself || around.asksPeople,
            type: "human" as const,
            description: "Waits until a person has approved the calls",
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
  draft: (state) => state.turn?.draft ?? noAnswer("the attempt gave no answer"),
};

/** An edit that acts for the person approves the calls as they are. */
const approves: MoveOn = ({ current_step: step, redactions }) => {
  const rails = { reveal: (value: unknown) => restore(value, redactions) };
  const approvals = approvalsOf(step?.tool_predictions ?? [], rails);
  return { status: "AWAITING_TOOL", turn: { approvals } };
};

/** The status alone says where the turn stands. */
function movesTo(status: Status): MoveOn {
  return () => ({ status });
}

/** Supersteps that a whole turn may take, with room to spare, so that LangGraph's own limit never ends a turn. */
export function superstepLimit(limits: { max_iterations: number; max_attempts: number }): number {
  return limits.max_attempts * (limits.max_iterations * 3 + 6) + 10;
}
