import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { DatabasePool, Queryable } from "../../src/storage/pool.ts";

/**
 * LangGraph's own Postgres saver on tables that belong to the checkpointer, for rows as it wrote them before the
 * checkpointer took its tables over: it knows no tenants, so its conflict targets are completed on the way.
 */
export function stockSaver(pool: DatabasePool, schema = "public"): PostgresSaver {
  const query =
    (database: Queryable): Queryable["query"] =>
    (text, values) =>
      database.query((text as string).replace("ON CONFLICT (", "ON CONFLICT (tenant_id, "), values);
  const completed = {
    query: query(pool),
    async connect() {
      const client = await pool.connect();
      return { query: query(client), release: () => client.release() };
    },
  };
  // It uses the members of a pg.Pool that are here.
  const options = { schema: schema.replaceAll('"', '""') };
  return new PostgresSaver(completed as never, undefined, options);
}
