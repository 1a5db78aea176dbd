import type { PlanNode } from "../workflow-plan.ts";

interface NodeTraits {
  /** Whether its steps call a model, so that their contexts can be inspected. */
  readonly callsModel: boolean;
  /** Whether it may run again before its branch moves on, so that its visits count off cycles too. */
  readonly repeats: boolean;
  /** What it does with the pending calls of its branch. */
  readonly pendingCalls: "requests" | "runs" | "keeps";
  /** The status of a turn whose only branch is there; `by_calls` if that depends on the calls. */
  readonly status: "EXECUTING" | "AWAITING_HUMAN" | "AWAITING_TOOL" | "by_calls";
}

const plainNode = {
  callsModel: false,
  repeats: false,
  pendingCalls: "keeps",
  status: "EXECUTING",
} as const;

/** How nodes of each type take part in a workflow. */
export const nodeTraits: Readonly<Record<PlanNode["type"], NodeTraits>> = {
  llm: { callsModel: true, repeats: true, pendingCalls: "requests", status: "EXECUTING" },
  tool: { ...plainNode, pendingCalls: "runs", status: "by_calls" },
  router: { ...plainNode, callsModel: true },
  human: { ...plainNode, status: "AWAITING_HUMAN" },
  wait: { ...plainNode, status: "AWAITING_TOOL" },
  agent: plainNode,
  planner: plainNode,
};

/** Returns whether the visits of a node count towards its limit. */
export function countsVisits({ type, isCyclic }: PlanNode): boolean {
  return isCyclic || nodeTraits[type].repeats;
}

/** Returns whether a node makes a step record each time it runs. */
export function makesRecord(node: PlanNode): boolean {
  switch (node.type) {
    case "llm":
      return true;
    case "router":
      return node.choices.length > 0;
    case "tool":
      return node.tool !== null;
    case "human":
    case "wait":
    case "agent":
    case "planner":
      return false;
  }
}
