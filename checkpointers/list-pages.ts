import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointListOptions, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { CheckpointReader } from "./checkpoint-reader.ts";
import { toJsonb } from "./jsonb.ts";
import { checkName } from "./place.ts";

/** A first page that costs little to throw away, and larger ones for those who read on. */
const FIRST_PAGE = 16;
const LARGEST_PAGE = 128;

/** Checkpoints newest first, read in pages as they are asked for. */
export async function* listPages(
  config: RunnableConfig,
  { filter, before, limit }: CheckpointListOptions = {},
  reader: Pick<CheckpointReader, "page">,
): AsyncGenerator<CheckpointTuple> {
  const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
  const conditions: [condition: string, value: unknown][] = [];
  const condition = (key: string, text: string, value: unknown) =>
    conditions.push([text, checkName(key, String(value))]);
  if (thread_id) condition("thread_id", "c.thread_id = ?", thread_id);
  if (checkpoint_ns !== undefined && checkpoint_ns !== null) {
    condition("checkpoint_ns", "c.checkpoint_ns = ?", checkpoint_ns);
  }
  if (checkpoint_id) condition("checkpoint_id", "c.checkpoint_id = ?", checkpoint_id);
  if (filter && Object.keys(filter).length > 0) {
    conditions.push(["c.metadata @> ?::jsonb", JSON.stringify(toJsonb(filter))]);
  }
  const beforeId: unknown = before?.configurable?.["checkpoint_id"];
  if (beforeId !== undefined) condition("checkpoint_id", "c.checkpoint_id < ?", beforeId);
  let left = limit === undefined ? Number.POSITIVE_INFINITY : Math.trunc(limit);
  let after: readonly string[] = [];
  for (let size = FIRST_PAGE; left > 0; size = Math.min(2 * size, LARGEST_PAGE)) {
    const wanted = limit === undefined ? size : Math.min(left, LARGEST_PAGE);
    const values = [...conditions.map(([, value]) => value), ...after];
    const texts = conditions.map(([text], at) => text.replace("?", `$${at + 1}`));
    if (after.length > 0) {
      const places = after.map((_, at) => `$${conditions.length + at + 1}`);
      texts.push(`(c.checkpoint_id, c.thread_id, c.checkpoint_ns) < (${places.join(", ")})`);
    }
    const where = texts.length === 0 ? "" : `where ${texts.join(" and ")}`;
    const { rows, load } = await reader.page({ where, values, limit: wanted });
    for (const row of rows) yield await load(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < wanted) return;
    left -= rows.length;
    after = [last.checkpoint_id, last.thread_id, last.checkpoint_ns];
  }
}
