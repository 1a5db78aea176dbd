import type { Expression } from "../../expression/expression.ts";
import type { Template } from "../../expression/template.ts";
import type { Thinker } from "../loop/parts.ts";
import type { RouterNode } from "../plan/plan-node.ts";
import type { NodeWork } from "./node-work.ts";

export interface RouterNodeParts {
  readonly plan: RouterNode;
  readonly rules: readonly { readonly when: Expression; readonly choice: string }[];
  readonly prompt: Template | null;
  /** Null for a router by rule. */
  readonly thinker: Thinker | null;
}

/** Picks the way on: the first rule that holds, or what a model chooses. */
export function routerNode({ plan, rules }: RouterNodeParts): NodeWork {
  return (at) => {
    const taken = rules.find(({ when }) => when.evaluate(at.values) === true);
    const choice = taken?.choice ?? plan.default;
    if (choice === null) throw new TypeError("no choice");
    return { output: { choice, reason: taken?.when.source ?? "" } };
  };
}
