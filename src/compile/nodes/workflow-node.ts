import type { Expression } from "../../expression/expression.ts";
import {
  branchOrder,
  endOfWorkflow,
  joinBranches,
  mergeOrder,
  writtenKeys,
  type Branch,
} from "../../state/branch.ts";
import type { GraphState } from "../../state/channels.ts";
import { deepFreeze } from "../../values/json.ts";
import { isTerminal, transition, type Status } from "../../state/lifecycle.ts";
import { tierPatches } from "../../state/tier-patch.ts";
import { turnSteps } from "../../state/turn.ts";
import { addUsage } from "../../state/usage.ts";
import { StratagraphError } from "../../errors.ts";
import { NoRouteError } from "../errors.ts";
import { failedTurn } from "../loop/end-turn.ts";
import { cancelCalls } from "../loop/step.ts";
import type { AdvanceState, NodeBody, NodeResult, NodeContext } from "../loop/node.ts";
import type { LoopConfig } from "../loop/loop-config.ts";
import { failedDraft } from "../loop/reasoning-step.ts";
import type { PlanNode } from "../workflow-plan.ts";
import { countsVisits, nodeTraits } from "./node-traits.ts";
import type { Flow } from "./flow.ts";
import { refusedWrite, withCancelledCalls, written } from "./node-update.ts";
import {
  type AttemptEnd,
  type ExpressionValues,
  type NodeAt,
  type NodeDone,
  type NodeWork,
  refuseConflicts,
  valuesOf,
  valuesRead,
} from "./node-work.ts";

/** A node of a workflow, before it becomes a LangGraph node. */
export interface WorkflowNode {
  readonly plan: PlanNode;
  readonly work: NodeWork;
  /** The work to do instead when the node has reached its limit. */
  readonly atLimit: NodeWork;
  readonly edges: readonly CompiledEdge[];
}

export interface CompiledEdge {
  readonly to: readonly string[];
  readonly condition: Expression | null;
}

/** The data that all nodes of one workflow share. */
export interface WorkflowShape {
  readonly flow: Flow;
  readonly maxVisits: number;
  readonly nodes: ReadonlyMap<string, PlanNode>;
  /** Index of each node in the definition. */
  readonly places: ReadonlyMap<string, number>;
}

/** Supersteps from the end of an attempt to the end of the turn, its judgement included. */
const superstepsToEnd = 5;

const idle: NodeResult = { update: {}, goto: [] };

/**
 * Returns the body of a workflow node: it waits for branches that can still arrive, does the node's work, writes its
 * value and moves its branch on.
 */
export function workflowNode(node: WorkflowNode, shape: WorkflowShape): NodeBody {
  const { plan } = node;
  const { name } = plan;
  const asked = fieldsAskedFor(node);
  return async (state, run) => {
    const [first, ...others] = state.branches.filter(({ at }) => at === name);
    if (first === undefined || isAttemptOver(state)) return idle;
    if (shape.flow.mustWait(name, state.branches)) return idle;
    refuseConflicts(state.branches);
    const arrived = [first, ...others] as const;
    const branch = joinBranches(arrived);
    const at: NodeAt = {
      state,
      run,
      branch,
      values: valuesOf(state, branch),
      stepIndex: nextStepIndex(state) + shape.flow.recordPlace(name, state.branches),
      callsBeside: callsOf(shape.flow.runBefore(name, state.branches), state.branches, shape),
      isParallel: state.branches.length > arrived.length,
      asks: (field) => asked.has(field),
    };
    const isLast =
      (branch.visits[name] ?? 0) > shape.maxVisits || run.superstepsLeft < superstepsToEnd;
    const done = await (isLast ? node.atLimit(at) : node.work(at));
    const leaving = { at, arrived, visits: branch.visits };
    return "end" in done ? endAttempt(done, leaving) : goOn(node, shape, done, leaving);
  };
}

interface Leaving {
  readonly at: NodeAt;
  readonly arrived: readonly Branch[];
  readonly visits: Branch["visits"];
}

/** Returns whether a concurrent branch has ended the attempt or the turn. */
function isAttemptOver({ status = "CREATED", turn }: GraphState): boolean {
  return isTerminal(status) || (turn?.draft ?? null) !== null;
}

/** Returns the index after the last record of the turn and the open steps. */
function nextStepIndex({ steps, branches, turn_number = 0, attempt_number = 0 }: GraphState) {
  const turn = turnSteps(steps, { turnNumber: turn_number, attemptNumber: attempt_number });
  const underWay = branches.flatMap(({ open }) => open.map(({ step_index }) => step_index));
  return Math.max(turn.lastIndex, ...underWay) + 1;
}

/** Returns the number of tool calls that nodes are about to make. */
function callsOf(
  names: readonly string[],
  branches: readonly Branch[],
  { nodes }: WorkflowShape,
): number {
  const counts = names.map((name) => {
    const node = nodes.get(name);
    if (node?.type !== "tool") return 0;
    if (node.tool !== null) return 1;
    const open = branches.filter(({ at }) => at === name).flatMap((branch) => branch.open);
    return open.reduce((sum, step) => sum + step.tool_predictions.length, 0);
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

function fieldsAskedFor({ plan, edges }: WorkflowNode): ReadonlySet<string> {
  const fields = edges.flatMap(({ condition }) =>
    (condition?.references ?? []).flatMap(([variable, node, field]) =>
      variable === "nodes" && node === plan.name && field !== undefined ? [field] : [],
    ),
  );
  return new Set(fields);
}

/** Ends the attempt: concurrent branches see the draft and stop. */
function endAttempt({ end, update = {} }: AttemptEnd, { at, arrived }: Leaving): NodeResult {
  const { state, run, isParallel } = at;
  const dropped = cancelCalls(at.branch.open, run, "the attempt ended before");
  run.emit({ type: "node", output: null, next: [endOfWorkflow] });
  return {
    update: {
      ...withCancelledCalls(update, dropped),
      ...changedTiers(at, update),
      ...(!isParallel && { status: moved(state.status, "REFLECTING") }),
      branches: { leave: arrived.map(({ id }) => id), enter: [] },
    },
    turn: { draft: end },
    goto: "reflect",
  };
}

function goOn(
  node: WorkflowNode,
  shape: WorkflowShape,
  done: NodeDone,
  { at, arrived, visits }: Leaving,
): NodeResult {
  const { plan } = node;
  const { state, run, isParallel } = at;
  const carried = { ...at.branch, ...done.branch };
  const { update, failure } = written(plan, done, at);
  const refused = refusedWrite(plan, update, run);
  if (refused !== null) {
    const end = { end: failedDraft(refused), ...(done.update && { update: done.update }) };
    return endAttempt(end, { at: { ...at, branch: carried }, arrived, visits });
  }
  const after: GraphState = {
    ...state,
    execution: update.execution ?? state.execution,
    attempt: update.attempt ?? state.attempt,
    nodes: { ...state.nodes, [plan.name]: done.output },
    steps: update.steps === undefined ? state.steps : [...state.steps, ...update.steps],
    usage: addUsage(addUsage(state.usage, run.usage()), update.usage ?? {}),
  };
  const changed = changedTiers(at, update);
  const leave = arrived.map(({ id }) => id);
  const nodes = { [plan.name]: deepFreeze(done.output) };
  const ways =
    failure !== null ? { failure } : waysOn(node, done, valuesOf(after, carried, "EXECUTING"));
  if ("failure" in ways) {
    const closed = cancelCalls(carried.open, run, "the turn failed before");
    const left = { ...withCancelledCalls(update, closed), ...changed, nodes };
    return failedTurn(state, ways.failure, { ...left, branches: { leave, enter: [] } });
  }
  const targets = ways.to;
  const taker = takerOfCalls(targets, shape);
  const leftOver = taker === null ? carried.open : [];
  const dropped = cancelCalls(leftOver, run, `the workflow moved on to ${targets.join(", ")}`);
  const { merge: merges } = run.loop.definition.spec.state_config;
  const enter = branchesTo(targets, {
    node: plan.name,
    state,
    run,
    arrived,
    branch: { ...carried, visits },
    patches: changed,
    wrote: isParallel ? writtenKeys(changed, merges) : [],
    shape,
  });
  run.emit({ type: "node", output: done.output, next: targets });
  return {
    update: {
      ...withCancelledCalls(update, dropped),
      ...changed,
      nodes,
      ...(!isParallel && { status: statusAfter(state, enter, shape, run.loop) }),
      branches: { leave, enter },
    },
    ...(done.turn !== undefined && { turn: done.turn }),
    goto: shape.flow
      .triggered(plan.name, targets, state.branches)
      .map((target) => (target === endOfWorkflow ? "reflect" : target)),
  };
}

/** Returns the order in which the node's changes of merged keys apply among the branches. */
function orderOf({ state, run }: Pick<NodeAt, "state" | "run">) {
  const { merge: merges } = run.loop.definition.spec.state_config;
  return mergeOrder(state.branches, { node: run.node, superstep: run.superstep, merges });
}

/** Returns the changed keys of the tiers, so that concurrent branches can change other keys. */
function changedTiers(at: Pick<NodeAt, "state" | "run">, update: NonNullable<NodeDone["update"]>) {
  return tierPatches(at.state, { ...at.state, ...update }, orderOf(at));
}

function waysOn(node: WorkflowNode, done: NodeDone, values: ExpressionValues) {
  return done.again ? { to: [node.plan.name] } : route(node, values);
}

/** Moves the branches at a node along its edges when an edit has replaced its work. Its pending calls are cancelled. */
export function moveBranchOn(
  node: Pick<WorkflowNode, "plan" | "edges">,
  shape: WorkflowShape,
): AdvanceState {
  const { name, type } = node.plan;
  return (state, { superstep, loop }) => {
    const [first, ...others] = state.branches.filter(({ at }) => at === name);
    if (first === undefined || isAttemptOver(state)) return null;
    if (shape.flow.mustWait(name, state.branches)) return null;
    // The node has just run and will run again: the update may as well be for its last run.
    if (first.from === name) return null;
    const arrived = [first, ...others] as const;
    const joined = joinBranches(arrived);
    const { pendingCalls } = nodeTraits[type];
    const branch = pendingCalls === "requests" ? { ...joined, last: name } : joined;
    const { to } = takenEdge(node, valuesOf(state, branch, "EXECUTING"));
    const enter = branchesTo(to, {
      node: name,
      state,
      run: { superstep, loop },
      arrived,
      branch: { ...branch, open: pendingCalls === "runs" ? [] : branch.open },
      patches: {},
      wrote: [],
      shape,
    });
    const isParallel = state.branches.length > arrived.length;
    return {
      branches: { leave: arrived.map(({ id }) => id), enter },
      ...(!isParallel && { status: statusAfter(state, enter, shape, loop) }),
    };
  };
}

/** Returns the branches that leave a node, one for each target. */
function branchesTo(
  targets: readonly string[],
  of: {
    readonly node: string;
    readonly state: GraphState;
    readonly run: Pick<NodeContext, "superstep" | "loop">;
    readonly arrived: readonly Branch[];
    readonly branch: Pick<Branch, "last" | "steps" | "open" | "visits" | "rejections">;
    readonly patches: Parameters<typeof branchOrder>[1]["patches"];
    readonly wrote: Branch["wrote"];
    readonly shape: WorkflowShape;
  },
): readonly Branch[] {
  const { node, state, run, arrived, branch, patches, wrote, shape } = of;
  const { superstep, loop } = run;
  const taker = takerOfCalls(targets, shape);
  const { merge: merges } = loop.definition.spec.state_config;
  const order = mergeOrder(state.branches, { node, superstep, merges });
  const isMerged = Object.keys(merges).length > 0;
  const since = loop.clock.now().toISOString();
  const { rejections = [] } = branch;
  return targets.map((target, index): Branch => {
    const place = { order, patches, target: index, targets: targets.length };
    return {
      id: branchId(superstep, node, target, shape),
      superstep,
      at: target,
      from: node,
      since,
      last: branch.last,
      steps: branch.steps,
      open: target === taker ? branch.open : [],
      wrote,
      visits: visited(branch.visits, shape.nodes.get(target)),
      ...(rejections.length > 0 && { rejections }),
      ...(isMerged && branchOrder(arrived, place)),
    };
  });
}

/**
 * Returns an id that is unique in the thread, because a node runs once per superstep. All providers accept it as the id
 * of a call, which it becomes if a named tool runs next.
 */
function branchId(superstep: number, from: string, to: string, { places }: WorkflowShape): string {
  return `branch-${superstep}-${places.get(from) ?? 0}-${places.get(to) ?? "end"}`;
}

/** Returns the targets of the branch; or why there are none, which must not lose the node's work. */
function route(
  node: WorkflowNode,
  values: ExpressionValues,
): { readonly to: readonly string[] } | { readonly failure: StratagraphError } {
  try {
    return { to: takenEdge(node, values).to };
  } catch (thrown) {
    if (thrown instanceof StratagraphError && thrown.kind === "run") return { failure: thrown };
    throw thrown;
  }
}

/** @throws NoRouteError, ExpressionError */
function takenEdge(
  { plan, edges }: Pick<WorkflowNode, "plan" | "edges">,
  values: ExpressionValues,
): CompiledEdge {
  const taken = edges.find(
    ({ condition }) => condition === null || condition.evaluate(values) === true,
  );
  if (taken !== undefined) return taken;
  const conditions = edges.flatMap(({ condition }) => condition ?? []);
  throw new NoRouteError(
    plan.name,
    conditions.map(({ source }) => source),
    valuesRead(conditions, values),
  );
}

/** Returns the next node that takes over the open steps: one that runs calls, else one that such a node may follow. */
function takerOfCalls(targets: readonly string[], { nodes }: WorkflowShape): string | null {
  const next = targets.flatMap((target) => nodes.get(target) ?? []);
  const runner = next.find((node) => node.type === "tool" && node.tool === null);
  return (
    (runner ?? next.find(({ type }) => nodeTraits[type].pendingCalls !== "requests"))?.name ?? null
  );
}

function visited(visits: Branch["visits"], target: PlanNode | undefined): Branch["visits"] {
  if (target === undefined || !countsVisits(target)) return visits;
  return { ...visits, [target.name]: (visits[target.name] ?? 0) + 1 };
}

/** Returns the status when this branch moves on alone. Several branches are EXECUTING together. */
function statusAfter(
  state: GraphState,
  enter: readonly Branch[],
  { nodes }: WorkflowShape,
  loop: Pick<LoopConfig, "needsApproval">,
): Status {
  const [branch, ...others] = enter;
  if (branch === undefined || others.length > 0) return moved(state.status, "EXECUTING");
  if (branch.at === endOfWorkflow) return moved(state.status, "REFLECTING");
  return statusAt(state.status, { node: nodes.get(branch.at), branch, loop });
}

/** Returns the status when the only branch has reached a node. */
export function statusAt(
  status: Status | undefined,
  of: {
    readonly node: PlanNode | undefined;
    readonly branch: Pick<Branch, "open">;
    readonly loop: Pick<LoopConfig, "needsApproval">;
  },
): Status {
  const { node, branch, loop } = of;
  const at = node === undefined ? "EXECUTING" : nodeTraits[node.type].status;
  if (at !== "by_calls") return moved(status, at);
  const asked = branch.open.flatMap((step) => step.tool_predictions.map(({ name }) => name));
  const calls = node?.type === "tool" && node.tool !== null ? [node.tool] : asked;
  const waits = calls.some((call) => loop.needsApproval(call));
  return moved(status, waits ? "AWAITING_HUMAN" : "AWAITING_TOOL");
}

/** Moves the status, via EXECUTING if the lifecycle has no direct move. */
function moved(from: Status = "CREATED", to: Status): Status {
  return transition(from === "EXECUTING" ? from : transition(from, "EXECUTING"), to);
}
