import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { namespaceOf } from "../../compile/pending-tasks.ts";
import type { Redactions } from "../../state/redactions.ts";

/**
 * What the agents around the one of a checkpoint had redacted when it ran: at the checkpoints that it ran from, or as they are
 * now where these are gone.
 */
export async function redactionsAround(
  source: Pick<BaseCheckpointSaver, "getTuple">,
  inside: CheckpointTuple,
): Promise<Redactions> {
  const namespace = namespaceOf(inside);
  if (namespace === "") return {};
  const thread_id: unknown = inside.config.configurable?.["thread_id"];
  const { parents = {} } = inside.metadata ?? {};
  const path = namespace.split("|");
  const around = await Promise.all(
    path.map(async (_, depth) => {
      const checkpoint_ns = path.slice(0, depth).join("|");
      const now = { thread_id, checkpoint_ns };
      const checkpoint_id = parents[checkpoint_ns];
      const then =
        checkpoint_id === undefined
          ? undefined
          : await source.getTuple({ configurable: { ...now, checkpoint_id } });
      const tuple = then ?? (await source.getTuple({ configurable: now }));
      return tuple === undefined ? {} : redactionsIn(tuple);
    }),
  );
  return Object.assign({}, ...around) as Redactions;
}

export function redactionsIn({ checkpoint }: Pick<CheckpointTuple, "checkpoint">): Redactions {
  return (checkpoint.channel_values["redactions"] as Redactions | undefined) ?? {};
}
