import { AIMessage } from "@langchain/core/messages";
import { planningRequest } from "../context/prompts.ts";
import type { AgentModel, ModelRequest } from "../models/agent-model.ts";
import type { GraphState } from "../state/channels.ts";
import { noUsage } from "../state/usage.ts";
import type { Redactions } from "../state/redactions.ts";
import { boundedParts } from "./loop/inherited-bounds.ts";
import { handDownRedactions } from "./loop/inherited-redactions.ts";
import { keptSummaries } from "./loop/kept-summaries.ts";
import type { NodeRun } from "./loop/node-body.ts";
import type { LoopParts } from "./loop/parts.ts";
import { openDesk } from "./loop/open-desk.ts";

/** What is looked at; see `ContextRequest`. */
export interface LookedFor {
  readonly node: string;
  readonly model?: string | undefined;
  readonly budget?: number | undefined;
  readonly superstep?: number | undefined;
  readonly planning?: string | undefined;
  /** What the agents around have redacted. Default nothing. */
  readonly inherited?: Redactions | undefined;
  /** The parts of the agent around, as those around that bound them. Default no agent is around. */
  readonly around?: LoopParts | null | undefined;
}

const none: Redactions = Object.freeze({});

/** Ends a node at the call whose context was wanted. */
export class Asked extends Error {
  constructor(
    readonly model: AgentModel,
    readonly request: ModelRequest,
  ) {
    super("asked");
  }
}

/**
 * A run that the bodies of nodes are given as they are, so that what is looked at is what is sent: up to the call of a
 * step everything is done as in a run, and the call itself is not made.
 */
export function lookingRun(
  agent: { readonly parts: LoopParts; readonly recursionLimit: number },
  state: GraphState,
  of: LookedFor,
): { readonly run: NodeRun; readonly asked: () => number } {
  const { inherited = none, around = null } = of;
  const { recursionLimit } = agent;
  const parts = boundedParts(agent.parts, around);
  const first = state.turn?.first_superstep ?? 0;
  const superstep = of.superstep ?? first;
  let asked = 0;
  const ask: NodeRun["ask"] = async (model, request, unseen) => {
    // What is asked beside the step itself is unseen, and of it only the plan of a step that was made is known.
    if (unseen === undefined || request.answer !== undefined) {
      throw new Asked(model, request);
    }
    asked += 1;
    const isPlan = request.messages.at(-1)?.text.endsWith(planningRequest) === true;
    return replyOf(model, isPlan ? (of.planning ?? "") : "");
  };
  const { signal } = new AbortController();
  const run: NodeRun = {
    node: of.node,
    within: [],
    superstep,
    parts: withBudget(parts, of.budget),
    around: [],
    calls: uncounted,
    inside: () => ({ parts, bounds: [] }),
    config: handDownRedactions({}, inherited),
    context: of.model === undefined ? undefined : { model: of.model },
    signal,
    rails: openDesk({
      parts,
      signal,
      redactions: state.redactions,
      inherited,
      ask,
      emit() {},
    }),
    ended: [],
    begun: [],
    // What nobody is asked for now is not known; what was made was kept.
    summaries: keptSummaries(state.result_summaries, true),
    superstepsLeft: recursionLimit - (superstep - first),
    ask,
    spend() {},
    spent: () => noUsage,
    keep() {},
    emit() {},
    interrupt() {
      throw new TypeError(`node ${of.node} asks a person, and is only looked at`);
    },
  };
  return { run, asked: () => asked };
}

/** No call is made, so that none counts. */
const uncounted: NodeRun["calls"] = {
  maxCalls: undefined,
  count: async (keys) => keys.map(() => true),
  flush: async () => {},
  ofTools: () => 0,
};

function replyOf(model: AgentModel, text: string) {
  return { message: new AIMessage(text), usage: noUsage, model: model.ref, fallback: null };
}

function withBudget(parts: LoopParts, budget: number | undefined): LoopParts {
  if (budget === undefined) return parts;
  const { definition } = parts;
  const { spec } = definition;
  const context_config = { ...spec.context_config, budget };
  return { ...parts, definition: { ...definition, spec: { ...spec, context_config } } };
}
