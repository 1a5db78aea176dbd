import type { Clock, IdSource } from "../clock.ts";
import { waitNode } from "./nodes/wait.ts";
import { toAnswerText } from "../context/answer-form.ts";
import { expressionScope } from "../definition/check/expressions.ts";
import { checkFromJsonSchema } from "../definition/schema/json-schema.ts";
import type { AgentSpec } from "../definition/schema/agent.ts";
import type { WorkflowGraph } from "../definition/schema/workflow.ts";
import { compileExpression, type Scope } from "../expression/expression.ts";
import {
  compileTemplate,
  compileTemplateValue,
  type Template,
  type TemplateValue,
} from "../expression/template.ts";
import { endOfWorkflow, joinBranches, type Branch } from "../state/branch.ts";
import type { GraphState } from "../state/channels.ts";
import { isRecord } from "../values/json.ts";
import type { Draft } from "../state/turn.ts";
import { drawnEdges, type GraphNode } from "./graph-builder.ts";
import { HumanRejectedError } from "./errors.ts";
import type { BoundModel } from "./loop/context.ts";
import type { AttemptShape } from "./loop/loop-config.ts";
import { failedDraft } from "./loop/reasoning-step.ts";
import { agentNode } from "./nodes/agent.ts";
import type { Subagent } from "./nodes/run-subagent.ts";
import { createFlow } from "./nodes/flow.ts";
import { plannerNode } from "./nodes/planner.ts";
import { humanNode } from "./nodes/human.ts";
import { type PromptedModel, type NodeWork, refuseConflicts, valuesOf } from "./nodes/node-work.ts";
import { lastAnswerOf, llmNode } from "./nodes/llm.ts";
import { routerNode } from "./nodes/router.ts";
import { toolNode } from "./nodes/tool.ts";
import { moveBranchOn, statusAt, workflowNode, type WorkflowShape } from "./nodes/workflow-node.ts";
import { countsVisits } from "./nodes/node-traits.ts";
import { type PlanNode, planWorkflow, type WorkflowPlan } from "./workflow-plan.ts";
import { beginning, turnNodes } from "./standard-loop.ts";

/** The dependencies of a workflow's nodes, resolved at compile time. */
export interface WorkflowServices {
  /** The models of llm nodes, and of routers that call a model; by node name. */
  readonly boundModels: ReadonlyMap<string, BoundModel>;
  /** The agent's own model; used if a node without a model must give a final answer. */
  readonly boundModel: BoundModel;
  /** The graphs of agent and planner nodes, by node name. */
  readonly agents: ReadonlyMap<string, Subagent>;
}

/** Returns a workflow as graph nodes between `initialize` and `finalize`, with the start and end of its attempts. */
export function compileWorkflow(
  spec: AgentSpec,
  graph: WorkflowGraph,
  env: { readonly clock: Clock; readonly ids: IdSource },
): {
  readonly plan: WorkflowPlan;
  readonly attempts: AttemptShape;
  nodes(services: WorkflowServices): readonly GraphNode[];
} {
  const plan = planWorkflow(spec, graph);
  const scope = expressionScope(spec, graph);
  const shape: WorkflowShape = {
    flow: createFlow(plan),
    maxVisits: plan.maxVisits,
    nodes: new Map(plan.nodes.map((node) => [node.name, node])),
    places: new Map(plan.nodes.map(({ name }, index) => [name, index])),
  };
  return {
    plan,
    attempts: workflowAttempts(spec, plan, { shape, scope, ...env }),
    nodes: (services) => {
      const { before, after } = turnNodes({ first: plan.entry });
      const making = { shape, scope, services, plan, ...shared(spec, plan, services, scope) };
      const own = plan.nodes.map((node) => graphNode(node, making));
      return [...before, ...own, ...after];
    },
  };
}

interface Making extends ReturnType<typeof shared> {
  readonly shape: WorkflowShape;
  readonly scope: Scope;
  readonly services: WorkflowServices;
  readonly plan: WorkflowPlan;
}

/** Returns the data that all nodes share. */
function shared(spec: AgentSpec, plan: WorkflowPlan, services: WorkflowServices, scope: Scope) {
  const { boundModel, boundModels } = services;
  const llms = plan.nodes.filter((node) => node.type === "llm");
  const asksPeople = plan.nodes.some((node) => node.type === "human" && node.kind !== "input");
  const agent: PromptedModel = { boundModel, prompt: null };
  return {
    /** Models and prompts of llm nodes, by name; tool nodes use them to reflect on their calls. */
    askers: new Map(
      llms.map(({ name, prompt }): [string, PromptedModel] => {
        return [
          name,
          { boundModel: boundModels.get(name) ?? boundModel, prompt: template(prompt, scope) },
        ];
      }),
    ),
    agent,
    /** A workflow with model calls answers from the known results, unless a person must see answers first. */
    answersAtLimit: llms.length > 0 && !asksPeople,
    lastAnswer: lastAnswerOf(agent, spec.execution_config.mode),
  };
}

function graphNode(plan: PlanNode, making: Making): GraphNode {
  const { shape, scope, services } = making;
  const { work, lastAnswer } = workOf(plan, making);
  const edges = plan.edges.map(({ to, condition }) => {
    return { to, condition: condition === null ? null : compiledCondition(condition, scope) };
  });
  const subagent = services.agents.get(plan.name);
  const node = { plan, edges, work, atLimit: limitOf(plan, making, lastAnswer) };
  return {
    name: plan.name,
    type: plan.type,
    description: plan.description,
    body: workflowNode(node, shape),
    edges: drawnEdges(plan),
    moveOn: moveBranchOn(node, shape),
    ...(subagent !== undefined && {
      subgraphs: [subagent.graph],
      endsItself: true,
    }),
  };
}

function workOf(plan: PlanNode, making: Making): { work: NodeWork; lastAnswer?: NodeWork } {
  const { scope, services } = making;
  switch (plan.type) {
    case "llm":
      return llmNode({
        plan,
        ...(making.askers.get(plan.name) ?? making.agent),
        outputSchema: plan.outputSchema === null ? null : checkFromJsonSchema(plan.outputSchema),
      });
    case "tool": {
      const args = plan.tool === null ? null : templateValue(plan.args, scope);
      const askedBy = (name: string) => making.askers.get(name) ?? making.agent;
      return { work: toolNode({ plan, args, askedBy }) };
    }
    case "router": {
      const rules = plan.rules.map(({ when, choice }) => {
        return { when: compiledCondition(when, scope), choice };
      });
      const prompt = template(plan.prompt, scope);
      const boundModel = services.boundModels.get(plan.name) ?? null;
      return { work: routerNode({ plan, rules, prompt, boundModel }) };
    }
    case "human": {
      const prompt = template(plan.prompt, scope);
      const proposed = plan.proposed === null ? null : templateValue(plan.proposed, scope);
      return { work: humanNode({ plan, prompt, proposed }) };
    }
    case "wait": {
      const until = template(plan.until, scope);
      const fallback = plan.fallback === undefined ? null : templateValue(plan.fallback, scope);
      return { work: waitNode({ plan, until, fallback }) };
    }
    case "agent": {
      const input = plan.input === null ? null : templateValue(plan.input, scope);
      const agent = services.agents.get(plan.name);
      if (agent === undefined) throw new TypeError(`no graph for agent node "${plan.name}"`);
      return { work: agentNode({ plan, input, agent }) };
    }
    case "planner": {
      const planner = services.agents.get(plan.name);
      if (planner === undefined) throw new TypeError(`no graph for planner node "${plan.name}"`);
      const task = template(plan.task, scope);
      const criteria = template(plan.criteria, scope);
      const given = plan.plan === null ? null : templateValue(plan.plan, scope);
      return { work: plannerNode({ plan, task, given, criteria, planner }) };
    }
  }
}

/** Returns the work of a node that has reached its limit. */
function limitOf(node: PlanNode, making: Making, lastAnswer = making.lastAnswer): NodeWork {
  if (making.answersAtLimit) return lastAnswer;
  const { plan } = making;
  const problem = `node "${node.name}" has run ${plan.maxVisits} times, as often as execution_config.max_iterations allows`;
  return ({ branch }) => {
    const rejected = branch.rejections?.at(-1);
    // Another attempt would repeat the request to the person.
    if (rejected !== undefined) {
      throw new HumanRejectedError(rejected.node, rejected.reason, problem);
    }
    return { end: failedDraft(problem) };
  };
}

function workflowAttempts(
  spec: AgentSpec,
  plan: WorkflowPlan,
  made: {
    readonly shape: WorkflowShape;
    readonly scope: Scope;
    readonly clock: Clock;
    readonly ids: IdSource;
  },
): AttemptShape {
  const { flow, nodes } = made.shape;
  const { scope, clock, ids } = made;
  const output = plan.output === null ? null : templateValue(plan.output, scope);
  return {
    node: beginning,
    begin(status, loop) {
      const entry = nodes.get(plan.entry);
      const counted = entry !== undefined && countsVisits(entry);
      const branch: Branch = {
        id: ids(),
        superstep: -1,
        at: plan.entry,
        from: "",
        since: clock.now().toISOString(),
        last: null,
        steps: [],
        open: [],
        wrote: [],
        visits: counted ? { [plan.entry]: 1 } : {},
      };
      return {
        update: {
          nodes: null,
          branches: { only: [branch] },
          status: statusAt(status, { node: entry, branch, loop }),
        },
        goto: plan.entry,
      };
    },
    next: ({ branches }) =>
      flow.running(branches).map((at) => (at === endOfWorkflow ? "reflect" : at)),
    draft(state): Draft | null {
      const ended = state.turn?.draft ?? null;
      if (ended !== null) return ended;
      const arrived = state.branches.filter(({ at }) => at === endOfWorkflow);
      const [first, ...others] = arrived;
      if (first === undefined || flow.mustWait(endOfWorkflow, state.branches)) return null;
      refuseConflicts(state.branches);
      const from = state.nodes[first.from];
      if (output !== null) {
        const value = output.render(valuesOf(state, joinBranches([first, ...others])));
        return finished(toAnswerText(value, spec.output_schema), null, isCut(state, arrived));
      }
      const node = nodes.get(first.from);
      const value = mainValue(node, from) ?? null;
      if (value === null) {
        return failedDraft(
          `the workflow ended at node "${first.from}", which has no output; set workflow_graph.output`,
        );
      }
      const messageId = isRecord(from) ? from["message_id"] : null;
      return finished(
        toAnswerText(value, spec.output_schema),
        typeof messageId === "string" ? messageId : null,
        isCut(state, arrived),
      );
    },
  };
}

function finished(answer: string, message_id: string | null, cut: boolean): Draft {
  const reason = cut && ({ incomplete_reason: "length" } as const);
  return { answer, message_id, incomplete: cut, ...reason, problem: null };
}

/** Returns whether the last reply of a node that the workflow ended with was cut off at the output limit. */
function isCut(
  { steps, turn_number: turn }: GraphState,
  arrived: readonly { readonly from: string }[],
): boolean {
  return arrived.some(({ from }) => {
    const last = steps.findLast((step) => step.turn_number === turn && step.node === from);
    return last?.finish_reason === "length";
  });
}

/** Returns the value of a node's output, without its metadata. */
function mainValue(node: PlanNode | undefined, output: unknown): unknown {
  if (!isRecord(output)) return null;
  switch (node?.type) {
    case "llm":
      return node.outputSchema === null ? output["text"] : output["output"];
    case "tool":
      return node.tool === null ? output["results"] : output["result"];
    case "router":
      return output["choice"];
    case "human":
    case "wait":
      return output["value"];
    case "agent":
    case "planner":
      return output["output"];
    default:
      return (node satisfies undefined) ?? null;
  }
}

// Everything was compiled when the definition was checked, so nothing can be refused here.

function compiledCondition(source: string, scope: Scope) {
  return unwrap(compileExpression(source, scope, "bool"), source);
}

function template(source: string | null, scope: Scope): Template | null {
  return source === null ? null : unwrap(compileTemplate(source, scope), source);
}

function templateValue(value: unknown, scope: Scope): TemplateValue {
  return unwrap(compileTemplateValue(value, scope), JSON.stringify(value));
}

function unwrap<T>(compiled: { ok: true; value: T } | { ok: false }, source: string): T {
  if (compiled.ok) return compiled.value;
  throw new TypeError(`the definition was checked with another expression than '${source}'`);
}
