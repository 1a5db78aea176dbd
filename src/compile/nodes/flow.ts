import { endOfWorkflow, type Branch } from "../../state/branch.ts";
import type { PlanNode, WorkflowPlan } from "../plan/plan-node.ts";

/**
 * How branches go through a planned workflow. A node that branches may meet at waits until no other branch can still
 * come to it; a branch that has come there is kept in the state meanwhile, and the node is triggered by whichever
 * branch was the last it waited for. All of it follows from which branches were there when a superstep began, which
 * every node of the superstep sees alike.
 */
export interface Flow {
  /** Whether the branches at a node have to wait for others. */
  mustWait(name: string, branches: readonly Branch[]): boolean;
  /** The nodes to trigger when a node is done and its branch goes on to `targets`. */
  triggered(
    name: string,
    targets: readonly string[],
    branches: readonly Branch[],
  ): readonly string[];
  /** The nodes that branches stand at and that need not wait, {@link endOfWorkflow} too; each once. */
  running(branches: readonly Branch[]): readonly string[];
  /** The nodes that run in this superstep before others, as far as that makes a difference to what they count. */
  runBefore(name: string, branches: readonly Branch[]): readonly string[];
  /** The place of a node among those that run in this superstep, those that make step records first. */
  recordPlace(name: string, branches: readonly Branch[]): number;
}

export function createFlow(plan: WorkflowPlan): Flow {
  const waits = new Map(plan.nodes.map((node) => [node.name, new Set(node.waitsFor)]));
  waits.set(endOfWorkflow, new Set(plan.endWaitsFor));
  const targetsOf = new Map(plan.nodes.map((node) => [node.name, possibleTargets(node)]));
  const recorders = new Set(plan.nodes.filter(makesRecord).map(({ name }) => name));

  const isBefore = (at: string, target: string) =>
    at !== target && waits.get(target)?.has(at) === true;
  const mustWait = (name: string, branches: readonly Branch[]) =>
    branches.some(({ at }) => isBefore(at, name));
  const running = (branches: readonly Branch[]) =>
    [...new Set(branches.map(({ at }) => at))].filter((at) => !mustWait(at, branches));

  return {
    mustWait,
    running,
    triggered(name, targets, branches) {
      const others = branches.filter(({ at }) => at !== name);
      /** A branch that will still be before `target` when this superstep is over, whatever it does in it. */
      const staysBefore = (at: string, target: string) =>
        isBefore(at, target) &&
        (mustWait(at, branches) ||
          (targetsOf.get(at) ?? []).every((next) => isBefore(next, target)));
      const reached = targets.filter(
        (target) =>
          !targets.some((other) => isBefore(other, target)) &&
          !others.some(({ at }) => staysBefore(at, target)),
      );
      const released = others
        .map(({ at }) => at)
        .filter(
          (at) =>
            isBefore(name, at) &&
            !targets.includes(at) &&
            !targets.some((target) => isBefore(target, at)),
        );
      return [...new Set([...reached, ...released])];
    },
    runBefore(name, branches) {
      return running(branches).filter((at) => at < name);
    },
    recordPlace(name, branches) {
      const sorted = running(branches).toSorted();
      // Those that make one only where they may not run again come last.
      const others = sorted.filter((at) => !recorders.has(at));
      return [...sorted.filter((at) => recorders.has(at)), ...others].indexOf(name);
    },
  };
}

function possibleTargets(node: PlanNode): readonly string[] {
  const targets = node.edges.flatMap(({ to }) => to);
  // An llm node may run again before it goes on.
  return [...new Set(node.type === "llm" ? [...targets, node.name] : targets)];
}

function makesRecord(node: PlanNode): boolean {
  if (node.type === "router") return node.choices.length > 0;
  return node.type === "llm" || (node.type === "tool" && node.tool !== null);
}
