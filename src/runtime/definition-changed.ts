import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { AgentGraph } from "../compile/agent-graph.ts";
import type { AgentCheckpointer } from "../compile/compile-agent.ts";
import { stampOf } from "../compile/definition-stamps.ts";
import { ownerAt, refuseForeign } from "../compile/thread-owner.ts";
import { definitionChanges, type DefinitionChange } from "../definition/definition-drift.ts";
import { documentOfToday, isStamped } from "../definition/definition-hash.ts";
import { StratagraphError } from "../errors.ts";

/** Changes that a message names. */
const maxNamed = 5;

/** A turn was to go on under another definition than the one it was begun under. Nothing was written. */
export class DefinitionChangedError extends StratagraphError {
  readonly code = "definition_changed";

  constructor(
    readonly threadId: string,
    /** Empty where the earlier definition is not kept. */
    readonly changes: readonly DefinitionChange[],
  ) {
    const named = changes.slice(0, maxNamed).map(({ text }) => text);
    const more = changes.length - named.length;
    const list = [...named, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
    const what = list === "" ? "; what it was is not kept" : `: ${list}`;
    super(`The agent's definition has changed since thread "${threadId}" stopped${what}.`, {
      advice:
        "Go on with the definition that it was begun under, or pass acceptChanges: true to go on with this one.",
    });
  }
}

/** A checkpointer that knows the definitions that checkpoints were made under. */
interface DefinitionSource {
  definitionOf?(hash: string): Promise<unknown>;
}

/** What a thread may go on under beside the agent and the definition that it was begun under. */
export interface AcceptOptions {
  /**
   * Whether to go on with a turn that was begun under a definition that differs from this one. A new turn always may.
   * Default false.
   */
  readonly acceptChanges?: boolean;
  /** Whether to go on with a thread that belongs to another agent, which it then no longer does. Default false. */
  readonly acceptAgent?: boolean;
}

/**
 * Refuses to go on from a checkpoint of another agent, or one that was made under another definition than the graph's.
 * Another agent that is accepted has another definition, which is accepted with it.
 *
 * @throws ForeignThreadError, DefinitionChangedError
 */
export async function refuseOthers(
  graph: AgentGraph,
  tuple: CheckpointTuple | undefined,
  of: Parameters<typeof refuseChanges>[2] & AcceptOptions,
): Promise<void> {
  const name = stampOf(graph)?.document.spec.name ?? graph.getName();
  refuseForeign(name, tuple, of);
  const owner = ownerAt(tuple) ?? name;
  if (owner === name) await refuseChanges(graph, tuple, of);
}

/**
 * Refuses to go on from a checkpoint that was made under another definition than the graph's. A checkpoint that does not
 * say goes on.
 *
 * @throws DefinitionChangedError
 */
export async function refuseChanges(
  graph: AgentGraph,
  tuple: CheckpointTuple | undefined,
  of: Pick<AcceptOptions, "acceptChanges"> & {
    readonly threadId: string;
    readonly checkpointer: DefinitionSource | AgentCheckpointer | undefined;
  },
): Promise<void> {
  const { threadId, acceptChanges = false, checkpointer } = of;
  const stamp = stampOf(graph);
  const madeUnder = definitionHashIn(tuple?.metadata);
  if (stamp === undefined || madeUnder === null || madeUnder === stamp.hash || acceptChanges) {
    return;
  }
  const stored = await (checkpointer as DefinitionSource | undefined)?.definitionOf?.(madeUnder);
  if (stored === undefined) throw new DefinitionChangedError(threadId, []);
  // An earlier version of the package may have known fewer keys.
  const before = documentOfToday(stored);
  if (isStamped(before, stamp)) return;
  throw new DefinitionChangedError(threadId, definitionChanges(before, stamp.document));
}

/** What a checkpoint's metadata says about its definition. */
export function definitionHashIn(metadata: unknown): string | null {
  const hash = (metadata as { definition_hash?: unknown } | null | undefined)?.definition_hash;
  return typeof hash === "string" ? hash : null;
}
