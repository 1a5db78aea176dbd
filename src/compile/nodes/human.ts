import type { Template } from "../../expression/template.ts";
import type { TemplateValue } from "../../expression/template-value.ts";
import type { HumanNode } from "../plan/plan-node.ts";
import type { NodeWork } from "./node-work.ts";

export interface HumanNodeParts {
  readonly plan: HumanNode;
  readonly prompt: Template | null;
  readonly proposed: TemplateValue | null;
}

/** Stops the run until a person answers. */
export function humanNode({ plan }: HumanNodeParts): NodeWork {
  return () => {
    throw new TypeError(`human node "${plan.name}" is not there yet`);
  };
}
