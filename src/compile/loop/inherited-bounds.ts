import type { RunnableConfig } from "@langchain/core/runnables";
import type { AgentTool } from "../../definition/tool.ts";
import type { AgentRails } from "../../guardrails/create-rails.ts";
import { isAllowed, type OuterBounds } from "../../tools/admit-call.ts";
import type { RuleValues } from "../../tools/argument-rules.ts";
import { PrivateConfig } from "../private-config.ts";
import type { CallCount, CallOrigin } from "../turn-calls.ts";
import type { LoopParts, Thinker, ToolBounds } from "./parts.ts";

/** What one agent around lets be called inside of it, with the count of its calls. */
export interface AgentBounds extends OuterBounds {
  readonly count: CallCount;
  /** How calls reach the agent from inside: through a node of it, or through the handler of one of its tools. */
  readonly origin: CallOrigin;
}

/** @param at `values`: what the agent's argument rules read, with nothing redacted in it */
export function agentBounds(
  rules: ToolBounds,
  at: {
    readonly values: () => RuleValues;
    readonly calls: CallCount;
    readonly origin: CallOrigin;
  },
): AgentBounds {
  const { agent, allowed, grants, argumentRules } = rules;
  return {
    agent,
    allowed,
    grants,
    argumentRules,
    get values() {
      return at.values();
    },
    count: at.calls,
    origin: at.origin,
  };
}

/** What bounds an agent that runs inside of another. */
export interface BoundsAround {
  /** The parts of the agent around, as those around that bound them. */
  readonly parts: LoopParts;
  /** Outermost first. */
  readonly bounds: readonly AgentBounds[];
}

/** Where an agent finds what bounds it. */
const boundsAround = new PrivateConfig<BoundsAround>("bounds");

/** Null in an agent that runs inside of no other. */
export function inheritedBounds(config: RunnableConfig): BoundsAround | null {
  return boundsAround.in(config) ?? null;
}

/** The config for an agent that runs inside of a node, or inside of the handler of a tool. */
export function handDownBounds(config: RunnableConfig, bounds: BoundsAround): RunnableConfig {
  return boundsAround.with(config, bounds);
}

const bounded = new WeakMap<LoopParts, WeakMap<LoopParts, LoopParts>>();

/**
 * An agent's parts within those of the agent around it, which are bounded themselves: every call that the latter has a
 * person approve waits, its rails on tool results and on people's answers come first, and only tools that it allows are
 * offered. The same object for the same two.
 */
export function boundedParts(parts: LoopParts, around: LoopParts | null): LoopParts {
  if (around === null) return parts;
  const known = bounded.get(around) ?? new WeakMap<LoopParts, LoopParts>();
  bounded.set(around, known);
  const made = known.get(parts) ?? narrowed(parts, around);
  known.set(parts, made);
  return made;
}

function narrowed(parts: LoopParts, around: LoopParts): LoopParts {
  const outer = new Set([...around.rails.tool_result, ...around.rails.answer]);
  const rails: AgentRails = {
    ...parts.rails,
    answer: [...around.rails.answer, ...parts.rails.answer],
    tool_result: [...around.rails.tool_result, ...parts.rails.tool_result],
  };
  const made: LoopParts = {
    ...parts,
    bounds: [...around.bounds, ...parts.bounds],
    rails,
    // A rail's judge is a model of the agent that has the rail, as that agent reaches it.
    railModel: (ref, rail) => (outer.has(rail) ? around : parts).railModel(ref, rail),
    needsApproval: (tool) =>
      parts.needsApproval(tool) || (parts.tools.has(tool) && requiresApproval(tool, around)),
  };
  return { ...made, thinker: boundedThinker(parts.thinker, made) };
}

function requiresApproval(tool: string, { bounds }: LoopParts): boolean {
  return bounds.some(({ approval }) => approval === "all" || approval.includes(tool));
}

const thinkers = new WeakMap<Thinker, WeakMap<LoopParts, Thinker>>();

/** A thinker that is offered, and told of, the tools alone that all agents around allow. */
export function boundedThinker(thinker: Thinker, parts: LoopParts): Thinker {
  const mayCall = ({ definition: { name } }: AgentTool) =>
    parts.bounds.every((bounds) => isAllowed(name, bounds));
  if (thinker.candidates.every(mayCall)) return thinker;
  const known = thinkers.get(thinker) ?? new WeakMap<LoopParts, Thinker>();
  thinkers.set(thinker, known);
  const made = known.get(parts) ?? thinker.within(mayCall);
  known.set(parts, made);
  return made;
}
