import { END } from "@langchain/langgraph";
import { transition } from "../state/lifecycle.ts";
import type { GraphNode } from "./graph-builder.ts";
import { finalize } from "./loop/finalize.ts";
import { human } from "./loop/human.ts";
import { initialize } from "./loop/initialize.ts";
import type { AttemptShape, LoopNodeName, LoopParts } from "./loop/parts.ts";
import { plan } from "./loop/plan.ts";
import { reason } from "./loop/reason.ts";
import { noAnswer } from "./loop/reasoning.ts";
import { reflect } from "./loop/reflect.ts";
import { tools } from "./loop/tools.ts";

/** The nodes that begin and end a turn, around whatever makes its attempts. */
export function turnNodes(attempt: { first: string }): {
  readonly before: readonly GraphNode[];
  readonly after: readonly GraphNode[];
} {
  return {
    before: [
      { name: "initialize", body: initialize, ends: ["plan"], isBounded: false },
      { name: "plan", body: plan, ends: [attempt.first, "finalize"] },
    ],
    after: [
      { name: "reflect", body: reflect, ends: ["plan", "finalize"] },
      { name: "finalize", body: finalize, ends: [END], isBounded: false },
    ],
  };
}

/** `START → initialize → plan → reason ⇄ tools → reflect → finalize → END`; `human` where calls wait for approval. */
export function standardLoop(
  parts: Pick<LoopParts, "tools" | "needsApproval">,
): readonly GraphNode[] {
  const asksPeople = [...parts.tools.keys()].some((tool) => parts.needsApproval(tool));
  const { before, after } = turnNodes({ first: "reason" });
  const next: LoopNodeName[] = ["tools", "reason", "reflect", "finalize"];
  return [
    ...before,
    { name: "reason", body: reason, ends: asksPeople ? ["human", ...next] : next },
    ...(asksPeople ? [{ name: "human", body: human, ends: ["tools", "finalize"] }] : []),
    { name: "tools", body: tools, ends: ["reason", "finalize"] },
    ...after,
  ];
}

export const standardAttempts: AttemptShape = {
  begin: (status) => {
    return { update: { status: transition(status, "EXECUTING") }, goto: "reason" };
  },
  draft: (state) => state.turn?.draft ?? noAnswer("the attempt gave no answer"),
};

/** Supersteps that a whole turn may take, with room to spare, so that LangGraph's own limit never ends a turn. */
export function superstepLimit(limits: { max_iterations: number; max_attempts: number }): number {
  return limits.max_attempts * (limits.max_iterations * 3 + 6) + 10;
}
