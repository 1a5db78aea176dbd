import { endOfWorkflow, type Branch } from "../../state/branch.ts";
import type { PlanNode, WorkflowPlan } from "../workflow-plan.ts";
import { makesRecord, nodeTraits } from "./node-traits.ts";

/**
 * The movement of branches through a planned workflow. A join waits until no other branch can still reach it. Branches
 * that have arrived stay in the state meanwhile, and the last awaited branch triggers the node. Everything depends only
 * on the branches at the start of a superstep, which all its nodes see alike.
 */
export interface Flow {
  /** Returns whether the branches at a node must wait for others. */
  mustWait(name: string, branches: readonly Branch[]): boolean;
  /** Returns the nodes to trigger when a node is done and its branch moves on to `targets`. */
  triggered(
    name: string,
    targets: readonly string[],
    branches: readonly Branch[],
  ): readonly string[];
  /** Returns the nodes with branches that need not wait, {@link endOfWorkflow} included; each once. */
  running(branches: readonly Branch[]): readonly string[];
  /** Returns the nodes that run before others in this superstep, if that affects their counts. */
  runBefore(name: string, branches: readonly Branch[]): readonly string[];
  /** Returns the index of a node among those of this superstep; nodes that make step records come first. */
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
      /** A branch that will still be before `target` after this superstep, whatever its node does. */
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
      // Nodes that make a record only when they may not run again come last.
      const others = sorted.filter((at) => !recorders.has(at));
      return [...sorted.filter((at) => recorders.has(at)), ...others].indexOf(name);
    },
  };
}

function possibleTargets(node: PlanNode): readonly string[] {
  const targets = node.edges.flatMap(({ to }) => to);
  return [...new Set(nodeTraits[node.type].repeats ? [...targets, node.name] : targets)];
}
