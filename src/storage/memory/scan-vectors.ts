import { isZero } from "../../memory/check-entry.ts";
import type { MemoryVector } from "../../memory/entry.ts";
import type { MemoryFilter, NearestEntry } from "../../memory/store.ts";
import { similarity } from "../../models/embeddings/embeddings.ts";
import type { TenantTransaction } from "./transaction.ts";
import { conditionOf, fromBytes, Values } from "./rows.ts";

/** Entries whose vectors are in memory at once. */
const page = 1_000;

export interface ScanOptions {
  /** Checked. */
  readonly filter: MemoryFilter;
  readonly query: MemoryVector;
  readonly limit: number;
}

/** Compares a vector with all others of its model, in pages, so that no more than a page of vectors is in memory.
 * `condition` is one more on entries `e`. */
export async function scanVectors(
  { client, schema, tenantId, now }: TenantTransaction,
  { filter, query: { model, vector }, limit }: ScanOptions,
  condition = "true",
): Promise<readonly NearestEntry[]> {
  if (isZero(vector)) return [];
  let best: readonly NearestEntry[] = [];
  let after: string | undefined;
  for (;;) {
    const values = new Values();
    let where = conditionOf(filter, { tenantId, now }, values);
    where += ` and ${condition}`;
    if (after !== undefined) where += ` and e.id > ${values.add(after, "uuid")}`;
    const { rows } = await client.query<{ id: string; embedding: Buffer }>(
      `select e.id, e.embedding from ${schema}.memory_entry e where ${where}
        and e.embedding_model = ${values.add(model, "text")}
        and e.dimensions = ${values.add(vector.length, "integer")}
      order by e.id limit ${page}`,
      values.list,
    );
    const found = rows.flatMap(({ id, embedding }) => {
      const own = fromBytes(embedding);
      return isZero(own) ? [] : [{ id, similarity: similarity(own, vector) }];
    });
    best = [...best, ...found].toSorted(bySimilarity).slice(0, limit);
    after = rows.at(-1)?.id;
    if (rows.length < page) return best;
  }
}

export function bySimilarity(a: NearestEntry, b: NearestEntry): number {
  return b.similarity - a.similarity || (a.id < b.id ? -1 : 1);
}
