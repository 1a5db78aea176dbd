import { isRecord } from "../state/is-record.ts";
import { diffValues, type ValueChange } from "../state/value-diff.ts";

/** One difference between two definitions. */
export type DefinitionChange = ValueChange;

/** Differences that are listed. */
const maxListed = 100;

/**
 * How a definition differs from an earlier one, part by part: `tools.send: removed {…}`,
 * `workflow_graph.nodes[ask].config.prompt: "May I?" → "Go on?"`. What the spec says comes first, without a path in
 * front of it. Equal definitions have no difference.
 *
 * @param before a document that was stored; anything that is none is one change
 */
export function definitionChanges(before: unknown, after: unknown): readonly DefinitionChange[] {
  const { changes } = diffValues(flat(before), flat(after), { limit: maxListed });
  return changes;
}

/** The spec's keys stand beside `agents` and `state`; the tools' definitions take the place of their names. */
function flat(document: unknown): unknown {
  if (!isRecord(document) || !isRecord(document["spec"])) return document;
  const { spec, tools, state, agents, workers } = document;
  const { tools: listed, ...rest } = spec;
  const servers = (Array.isArray(listed) ? listed : []).filter((tool) => typeof tool !== "string");
  return {
    ...rest,
    tools,
    ...(servers.length > 0 && { servers }),
    state,
    agents: isRecord(agents)
      ? Object.fromEntries(Object.entries(agents).map(([name, inner]) => [name, flat(inner)]))
      : agents,
    ...(workers !== undefined && { workers }),
  };
}
