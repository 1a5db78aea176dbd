import type { BoundModel, ContextSource } from "./context.ts";
import type { Redactor } from "../../state/rails.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseStore } from "@langchain/langgraph";
import type { IdSource } from "../../clock.ts";
import type { Rail } from "../../definition/rail.ts";
import type { AgentTool } from "../../definition/tool/tool.ts";
import type { AgentRails } from "../../guardrails/create-rails.ts";
import type { AgentModel } from "../../models/agent-model.ts";
import type { Embeddings } from "../../models/embeddings/embeddings.ts";
import type { RailsOutcome } from "../../guardrails/run-rails.ts";
import type { MemoryEntry } from "../../memory/entry.ts";
import type { Memory } from "../../memory/memory.ts";
import type { MemorySection } from "../../context/reasoning-context.ts";
import type { ModelProfile } from "../../models/model-profile.ts";
import type { CallLog } from "../../models/calls/call-log.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import type { Status } from "../../state/lifecycle.ts";
import type { Draft, TurnMemories } from "../../state/turn.ts";
import {
  type CallBounds,
  isAllowed,
  type OuterBounds,
  type RuleValues,
} from "../../tools/admit-call.ts";
import type { ToolJournal } from "../../tools/journal.ts";
import type { Sandbox } from "../../tools/sandbox/sandbox.ts";
import type { Secrets } from "../../tools/secrets.ts";
import { PrivateConfig } from "../run/run-config.ts";
import type { CallCount, CallOrigin } from "../run/turn-calls.ts";

/** The tools of an agent, and what its calls need. */
export interface ToolConfig {
  readonly tools: ReadonlyMap<string, AgentTool>;
  readonly journal?: ToolJournal | undefined;
  /** The source of secrets; if left out, tools have none. */
  readonly secrets?: Secrets | undefined;
  /** The sandbox for sandboxed tools; if left out, they cannot be called. */
  readonly sandbox?: Sandbox | undefined;
  /** The LangGraph store of tools and of graphs in them, unless the caller gives another. */
  readonly store?: BaseStore | undefined;
  /**
   * The bounds of the agent after those of the outer agents, outermost first. Empty for a planner node's graph, which
   * has the bounds of its agent.
   */
  readonly bounds: readonly ToolBounds[];
  /** Returns whether the calls of a tool need a person's approval. */
  needsApproval(tool: string): boolean;
}

/** The rails of an agent, and what they need. */
export interface RailConfig {
  /** The agent's rails. In a nested agent they include the rails of the outer agents that apply to nested calls. */
  readonly rails: AgentRails;
  readonly embeddings: Embeddings;
  /** Returns the model that a rail calls, by name. */
  railModel(ref: string, rail: Rail): Promise<AgentModel> | AgentModel;
}

/** How turns and attempts of an agent begin and proceed. */
export interface TurnConfig {
  /** Returns a turn's input as the person's message. */
  requestOf(input: unknown): string;
  /** Returns tier 1 at the start of a turn: checked and frozen. */
  initialExecution(input: unknown, rails: Redactor): unknown;
  /** Returns tier 2 at the start of an attempt: checked and frozen. */
  initialAttempt(of: {
    readonly input: unknown;
    readonly execution: unknown;
    readonly attemptNumber: number;
    readonly rails: Redactor;
  }): unknown;
  readonly attempts: AttemptShape;
}

/** Checks and redacts remembered texts with the rails of a node. */
export interface MemoryRails extends Redactor {
  check(
    of: {
      readonly on: "input";
      readonly rails: "memory";
      readonly value: string;
      readonly tool: null;
      readonly request: string;
      readonly evidence: readonly string[];
      readonly isRepeated?: boolean;
    },
    place: {
      readonly turnNumber: number;
      readonly attemptNumber: number;
      readonly stepIndex: null;
      readonly callId: null;
      readonly memoryId: string;
    },
  ): Promise<RailsOutcome>;
}

/** The place of a node that reads or writes memories. */
export interface MemoryNode {
  readonly loop: Pick<LoopConfig, "rails" | "requestOf" | "secrets">;
  readonly state: Pick<GraphState, "turn" | "turn_number" | "attempt_number" | "input">;
  readonly rails: MemoryRails;
  readonly signal: AbortSignal;
  /** Whose memories; undefined for those that all users share. */
  readonly user: string | undefined;
  /** Null outside of a thread. */
  readonly threadId: string | null;
  /** Whether the agent runs in a node of another one, so that its conversation begins with the turn. */
  readonly isInside: boolean;
  /** Whether nothing is written, as in a dry run. */
  readonly isReadOnly: boolean;
  /** Entries that a recovery has read again, for a turn that began with none. Default none. */
  readonly recovered?: readonly MemoryEntry[] | undefined;
}

/** The long-term memory of an agent. */
export interface AgentMemory {
  readonly memory: Memory;
  /** Where the agent remembers. */
  namespace(user: string | undefined): readonly string[];
  /**
   * Returns the 10 entries of the agent in a thread that were accessed last, newest access first.
   *
   * @throws MemoryTimeoutError, and errors of the store
   */
  recent(of: {
    readonly threadId: string;
    readonly user: string | undefined;
  }): Promise<readonly MemoryEntry[]>;
  forNode(node: MemoryNode): NodeMemories;
}

/** Memories as a node of a turn reads and writes them. Only `recall` and `remember` fail if the store does. */
export interface NodeMemories {
  /** Finds what a turn begins with, and has the input rails check it. */
  begin(of: {
    readonly request: string;
    readonly turnNumber: number;
    readonly profile: ModelProfile;
  }): Promise<TurnMemories>;
  /** Returns the memory section of a context; null if there is nothing to render. */
  section(profile: ModelProfile, maxTokens?: number): Promise<MemorySection | null>;
  /** Returns the texts of the turn's memories, as models read them. */
  texts(): Promise<readonly string[]>;
  /** Returns the turn's memories if they are recovered entries that it has read here; null if they are stored. */
  adopted(): TurnMemories | null;
  /** Records that the turn uses its memories; returns why that failed, or null. Safe to repeat. */
  recordUses(): Promise<string | null>;
  recall(query: RecallQuery, signal: AbortSignal): Promise<readonly Recalled[]>;
  /** Stores an entry once for each call. */
  remember(
    entry: Remembered,
    call: { readonly callId: string; readonly now: Date },
  ): Promise<RememberedAs>;
}

/** What the `recall` tool looks for. */
export interface RecallQuery {
  readonly query: string;
  readonly types?: readonly ("short_term" | "episodic" | "semantic" | "procedural")[] | undefined;
  /** ISO 8601. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly top_k?: number | undefined;
}

/** An entry that the `recall` tool returns. */
export interface Recalled {
  readonly id: string;
  readonly type: string;
  /** When it was said or happened, ISO 8601. */
  readonly said: string;
  readonly speaker: string;
  readonly score: number;
  /** The matching words and names. */
  readonly why: string;
  readonly content: string;
}

/** What the `remember` tool stores. */
export interface Remembered {
  readonly content: string;
  readonly type?: "semantic" | "episodic" | "procedural" | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly expires_in_days?: number | undefined;
}

export interface RememberedAs {
  readonly id: string;
  /** The text as it is stored: with absolute dates, and without secrets and redacted values. */
  readonly content: string;
}

/** The configuration of an agent's loop nodes, resolved once at compile time. */
export interface LoopConfig extends ContextSource, ToolConfig, RailConfig, TurnConfig {
  readonly ids: IdSource;
  /** Receives what the agent's turns do; if left out, nothing is logged. */
  readonly calls?: CallLog | undefined;
  /** Null without long-term and procedural memory. */
  readonly memory: AgentMemory | null;
  /** The model that extracts facts of finished turns; null if rules do. */
  readonly extractor: AgentModel | null;
}

/** The memories of a running node, for the handlers of its tools. */
export const nodeMemories = new PrivateConfig<NodeMemories | null>("memories");

/** Entries that a recovery has read again, for the outermost agent of the run. */
export const recoveredMemories = new PrivateConfig<readonly MemoryEntry[]>("recovered_memories");

/** `turn.run` of the outermost turn, which the calls of nested agents are logged for. */
export const outermostTurn = new PrivateConfig<{
  readonly threadId: string;
  readonly turnId: string;
}>("outermost_turn");

/** Whose memories the agents of a run read and write: that of the outermost turn, also after a resume. */
export const memoryUser = new PrivateConfig<{ readonly user: string | undefined }>("memory_user");

/** The tool rails and permissions of an agent, which bound its own calls and all nested ones. */
export interface ToolBounds extends Omit<CallBounds, "values"> {
  readonly agent: string;
  /** Names of the tools whose calls need a person's approval. */
  readonly approval: readonly string[] | "all";
  readonly maxCalls: number | undefined;
}

/** The nodes between `plan` and `reflect`. */
export interface AttemptShape {
  /** The node that begins an attempt. */
  readonly node: string;
  /** Whether they make plans, which have channels of their own. */
  readonly plans?: true;
  /** Returns the first update of an attempt, and its first node. */
  begin(
    status: Status,
    loop: Pick<LoopConfig, "needsApproval">,
  ): { readonly update: Omit<GraphUpdate, "turn">; readonly goto: string };
  /** Returns the next nodes of a running attempt, from the state alone. */
  next(state: GraphState): readonly string[];
  /** Returns the outcome of an attempt; null while another branch is still running. */
  draft(state: GraphState): Draft | null;
}

/** The bounds of one outer agent for nested calls, with its call count. */
export interface AgentBounds extends OuterBounds {
  readonly count: CallCount;
  /** How calls reach the agent: through one of its nodes, or through the handler of one of its tools. */
  readonly origin: CallOrigin;
}

/** @param at `values`: the values that the agent's argument rules read, unredacted */
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

/** The bounds of a nested agent. */
export interface BoundsAround {
  /** The configuration of the outer agent, with the bounds of all agents around it applied. */
  readonly loop: LoopConfig;
  /** Outermost first. */
  readonly bounds: readonly AgentBounds[];
}

/** Passes the bounds to nested agents. */
const boundsAround = new PrivateConfig<BoundsAround>("bounds");

/** Returns null in an agent that is not nested. */
export function inheritedBounds(config: RunnableConfig): BoundsAround | null {
  return boundsAround.in(config) ?? null;
}

/** Returns the config for an agent that runs within a node, or within the handler of a tool. */
export function propagateBounds(config: RunnableConfig, bounds: BoundsAround): RunnableConfig {
  return boundsAround.with(config, bounds);
}

/** Sets the bounds of the agents that run within tool handlers of a running node, in its config. */
export function setToolBounds(config: RunnableConfig, bounds: BoundsAround): void {
  boundsAround.set(config, bounds);
}

const bounded = new WeakMap<LoopConfig, WeakMap<LoopConfig, LoopConfig>>();

/**
 * Returns an agent's configuration within that of the outer agent, which is itself bounded. Calls that the outer agent
 * requires approval for wait, its rails on tool results and on people's answers come first, and only tools that it
 * allows are offered. Returns the same object for the same pair.
 */
export function boundedConfig(loop: LoopConfig, around: LoopConfig | null): LoopConfig {
  if (around === null) return loop;
  const known = bounded.get(around) ?? new WeakMap<LoopConfig, LoopConfig>();
  bounded.set(around, known);
  const made = known.get(loop) ?? narrowed(loop, around);
  known.set(loop, made);
  return made;
}

function narrowed(loop: LoopConfig, around: LoopConfig): LoopConfig {
  const outer = new Set([
    ...around.rails.tool_result,
    ...around.rails.answer,
    ...around.rails.memory,
  ]);
  const rails: AgentRails = {
    ...loop.rails,
    answer: [...around.rails.answer, ...loop.rails.answer],
    memory: [...around.rails.memory, ...loop.rails.memory],
    tool_result: [...around.rails.tool_result, ...loop.rails.tool_result],
  };
  const made: LoopConfig = {
    ...loop,
    bounds: [...around.bounds, ...loop.bounds],
    rails,
    // A rail's judge is a model of the agent that defines the rail, as that agent resolves it.
    railModel: (ref, rail) => (outer.has(rail) ? around : loop).railModel(ref, rail),
    needsApproval: (tool) =>
      loop.needsApproval(tool) || (loop.tools.has(tool) && requiresApproval(tool, around)),
  };
  return { ...made, boundModel: narrowBoundModel(loop.boundModel, made) };
}

function requiresApproval(tool: string, { bounds }: LoopConfig): boolean {
  return bounds.some(({ approval }) => approval === "all" || approval.includes(tool));
}

const boundModels = new WeakMap<BoundModel, WeakMap<LoopConfig, BoundModel>>();

/** Returns a model with only the tools that all outer agents allow. */
export function narrowBoundModel(boundModel: BoundModel, loop: LoopConfig): BoundModel {
  const mayCall = ({ definition: { name } }: AgentTool) =>
    loop.bounds.every((bounds) => isAllowed(name, bounds));
  if (boundModel.candidates.every(mayCall)) return boundModel;
  const known = boundModels.get(boundModel) ?? new WeakMap<LoopConfig, BoundModel>();
  boundModels.set(boundModel, known);
  const made = known.get(loop) ?? boundModel.restrictedTo(mayCall);
  known.set(loop, made);
  return made;
}
