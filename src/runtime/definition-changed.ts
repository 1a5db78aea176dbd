import { durableSaver } from "../durable-saver.ts";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { type AgentGraph, stampOf } from "../compile/agent-graph.ts";
import { ownerAt, refuseForeign } from "../compile/guards/threads.ts";
import {
  type DefinitionChange,
  definitionChanges,
  normalizeDocument,
  isStamped,
} from "../definition/definition-hash.ts";
import { StratagraphError } from "../errors.ts";

/** Number of changes that a message lists. */
const maxNamed = 5;

/** A turn cannot resume under another definition than the one it began with. Nothing was written. */
export class DefinitionChangedError extends StratagraphError {
  readonly code = "definition_changed";

  constructor(
    readonly threadId: string,
    /** Empty if the earlier definition is not stored. */
    readonly changes: readonly DefinitionChange[],
  ) {
    const named = changes.slice(0, maxNamed).map(({ text }) => text);
    const more = changes.length - named.length;
    const list = [...named, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
    const what = list === "" ? "; the earlier definition is not stored" : `: ${list}`;
    super(`The agent's definition has changed since thread "${threadId}" stopped${what}.`, {
      advice:
        "Resume with the definition that it began with, or pass acceptChanges: true to resume with this one.",
    });
  }
}

/** Consent to resume a thread under another agent or a changed definition. */
export interface AcceptOptions {
  /** Whether to resume a turn that began under a different definition. A new turn is always allowed. Default false. */
  readonly acceptChanges?: boolean;
  /** Whether to take over a thread that belongs to another agent. Default false. */
  readonly acceptAgent?: boolean;
}

/**
 * Refuses to resume from a checkpoint of another agent or of another definition than the graph's. Accepting another
 * agent also accepts its definition.
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
 * Refuses to resume from a checkpoint that was made under another definition than the graph's. A checkpoint without a
 * definition hash is accepted.
 *
 * @throws DefinitionChangedError
 */
export async function refuseChanges(
  graph: AgentGraph,
  tuple: CheckpointTuple | undefined,
  of: Pick<AcceptOptions, "acceptChanges"> & {
    readonly threadId: string;
    readonly checkpointer: object | undefined;
  },
): Promise<void> {
  const { threadId, acceptChanges = false, checkpointer } = of;
  const stamp = stampOf(graph);
  const madeUnder = definitionHashIn(tuple?.metadata);
  if (stamp === undefined || madeUnder === null || madeUnder === stamp.hash || acceptChanges) {
    return;
  }
  const stored = await durableSaver(checkpointer, ["definitionOf"])?.definitionOf(madeUnder);
  if (stored === undefined) throw new DefinitionChangedError(threadId, []);
  // An earlier version of the package may have known fewer keys.
  const before = normalizeDocument(stored);
  if (isStamped(before, stamp)) return;
  throw new DefinitionChangedError(threadId, definitionChanges(before, stamp.document));
}

/** Returns the definition hash in a checkpoint's metadata; null if it has none. */
export function definitionHashIn(metadata: unknown): string | null {
  const hash = (metadata as { definition_hash?: unknown } | null | undefined)?.definition_hash;
  return typeof hash === "string" ? hash : null;
}
