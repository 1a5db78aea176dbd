import type {
  ModelCallPage,
  ModelCallQuery,
  StoredModelCall,
} from "../../models/calls/call-log.ts";
import { StratagraphError } from "../../errors.ts";
import type { Queryable } from "../pool.ts";
import type { ValueCipher } from "../encryption/value-cipher.ts";

/** A cursor of model calls is none that a page returned. */
class InvalidCallCursorError extends StratagraphError {
  readonly code = "invalid_cursor";

  constructor() {
    super("Expected the `next` of an earlier page of model calls as a cursor. Begin without one.");
  }
}

type CallRow = Omit<
  StoredModelCall,
  "at" | "tokens_in" | "cached_tokens" | "tokens_out" | "reasoning_tokens"
> & {
  readonly at: Date;
  readonly tokens_in: string;
  readonly cached_tokens: string;
  readonly tokens_out: string;
  readonly reasoning_tokens: string;
};

/** The time of a call and its id. Postgres has no year 0. */
const cursorForm =
  /^([1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Reads one page of a thread's model calls. @throws InvalidCallCursorError, SealedValueError */
export async function readModelCalls(
  client: Queryable,
  { threadId, runId, turn, whole = false, limit = 100, cursor }: ModelCallQuery,
  of: {
    readonly schema: string;
    readonly tenantId: string;
    readonly values: Pick<ValueCipher, "openJson">;
  },
): Promise<ModelCallPage> {
  const { schema, tenantId, values } = of;
  const [at, id] = cursor === undefined ? [null, null] : readCursor(cursor);
  const most = Math.min(1_000, Math.max(1, Math.trunc(limit)));
  const { rows } = await client.query<CallRow>(
    `select c.id, c.at, t.turn_number - 1 as turn, c.agent, c.step, c.purpose, c.model, c.provider, c.attempt, c.finish_reason,
      c.tokens_in, c.cached_tokens, c.tokens_out, c.reasoning_tokens, c.latency_ms, c.first_token_ms, c.cost_usd
      ${whole ? ", c.messages, c.response" : ""}
    from ${schema}.agent_instance i join ${schema}.turn t on t.instance_id = i.id join ${schema}.llm_call c on c.turn_id = t.id
    where i.tenant_id = $1::uuid and i.thread_id = $2 and ($3::integer is null or t.turn_number = $3::integer + 1)
      and ($4::timestamptz is null or (c.at, c.id) > ($4::timestamptz, $5::uuid))
      and ($7::uuid is null or t.run_id = $7::uuid)
    order by c.at, c.id limit $6`,
    [tenantId, threadId, turn ?? null, at, id, most + 1, runId ?? null],
  );
  const items = rows.slice(0, most).map((row): StoredModelCall => ({
    ...row,
    at: row.at.toISOString(),
    tokens_in: Number(row.tokens_in),
    cached_tokens: Number(row.cached_tokens),
    tokens_out: Number(row.tokens_out),
    reasoning_tokens: Number(row.reasoning_tokens),
    ...(whole && {
      messages: values.openJson(row.messages),
      response: values.openJson(row.response),
    }),
  }));
  const last = items.at(-1);
  const next = rows.length > most && last !== undefined ? `${last.at}_${last.id}` : null;
  return { items, next };
}

/** @throws InvalidCallCursorError */
function readCursor(cursor: string): readonly [at: string, id: string] {
  const [, at, id] = cursorForm.exec(cursor) ?? [];
  if (at === undefined || id === undefined || !isTime(at)) throw new InvalidCallCursorError();
  return [at, id];
}

/** Whether the calendar has the time: a day of February may be too large for its month. */
function isTime(text: string): boolean {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text;
}
