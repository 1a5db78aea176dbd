import { createHash } from "node:crypto";
import type { LoggedModelCall, LoggedSteps, LoggedTurn } from "../../models/calls/call-log.ts";
import { toJson } from "../../values/bounded-json.ts";
import type { ToolResult } from "../../state/step-record.ts";
import { headOf } from "../../values/text.ts";
import type { Queryable } from "../pool.ts";
import type { ValueCipher } from "../encryption/value-cipher.ts";

/** The key of a row in a table with a partition for each day. */
interface RowKey {
  /** UUID. */
  readonly id: string;
  /** ISO 8601: the time in the id, if that is of version 7. */
  readonly at: string;
}

export interface ModelCallRow extends RowKey {
  readonly call: LoggedModelCall;
}

export interface ToolCallRow extends RowKey {
  readonly turnId: string;
  readonly agent: string;
  readonly step: number;
  readonly result: ToolResult;
}

export interface TurnRow extends RowKey {
  readonly turn: LoggedTurn;
  readonly runId: string | null;
  /** Of the thread's instance, if it has none yet. */
  readonly instanceId: string;
  readonly endedAt: string | null;
}

/** Rows of one transaction. */
export interface CallRows {
  readonly modelCalls: readonly ModelCallRow[];
  readonly toolCalls: readonly ToolCallRow[];
  /** By id. */
  readonly turns: ReadonlyMap<string, TurnRow>;
  /** Of instances, by thread. */
  readonly statuses: ReadonlyMap<string, string>;
}

export interface RowTarget {
  /** Quoted name. */
  readonly schema: string;
  readonly tenantId: string;
  readonly values: Pick<ValueCipher, "sealJson">;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns an id as a UUID: itself, or a hash of it. */
export function toUuid(id: string): string {
  return uuid.test(id) ? id : uuidOf(createHash("sha256").update(id).digest("hex"));
}

/** @param hex at least 32 digits */
function uuidOf(hex: string, version: 7 | 8 = 8): string {
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), version + hex.slice(13, 16)];
  return [...parts, variant + hex.slice(17, 20), hex.slice(20, 32)].join("-");
}

/** Days before now, and after it, in which a row may be. */
const [oldestDays, newestDays] = [400, 1];

/**
 * Returns the key of a row. State that was imported may have any id and any time: where they are not within 400 days
 * before `now` and a day after it, the row is of `now`, so that no text of a caller creates partitions of other days.
 *
 * @param at used where the id has no time
 */
export function rowId(id: string, at: Date, now: Date): RowKey {
  const isPlausible = (time: Date) => {
    const days = (time.getTime() - now.getTime()) / 86_400_000;
    return days >= -oldestDays && days <= newestDays;
  };
  const times = uuid.exec(id)?.[1] === "7" ? [timeInId(id), at, now] : [at, now];
  return { id: toUuid(id), at: (times.find(isPlausible) ?? now).toISOString() };
}

function timeInId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** The turn of a tenant's thread. */
interface TurnPlace {
  readonly tenantId: string;
  readonly threadId: string | null;
  /** Unique in its thread. A fork keeps it, and callers may name turns of several threads alike. */
  readonly turnId: string;
}

/** Returns the id of a turn's row: a UUID with the time of the turn's own id, if that has one. */
function turnRowId({ tenantId, threadId, turnId }: TurnPlace): string {
  const hash = createHash("sha256").update(JSON.stringify([tenantId, threadId, turnId]));
  const hex = hash.digest("hex");
  if (uuid.exec(turnId)?.[1] !== "7") return uuidOf(hex);
  return uuidOf(turnId.slice(0, 8) + turnId.slice(9, 13) + hex, 7);
}

/** Returns the key of a turn's row. */
export function turnKey(of: TurnPlace & { readonly startedAt: string }, now: Date): RowKey {
  return rowId(turnRowId(of), new Date(of.startedAt), now);
}

/** Bytes of a tool's input and output that are kept of each. */
const mostBytes = 256 * 1024;
/** Bytes of a request's messages, which are bounded where they are reported. */
const mostMessageBytes = 1024 * 1024;

/**
 * Returns the rows of a step's calls. Their ids follow from the step, so that a step that runs again after a crash has
 * the same ones.
 */
export function toToolCallRows(
  { steps, threadId, turnId, agent }: LoggedSteps,
  tenantId: string,
): readonly ToolCallRow[] {
  if (turnId === null) return [];
  const turnRow = turnRowId({ tenantId, threadId, turnId });
  return steps.flatMap((step) => {
    const { turn_number: turn, attempt_number: attempt, step_index: index, node, timestamp } = step;
    const time = new Date(timestamp).getTime();
    const stamp = time.toString(16).padStart(12, "0");
    return step.tool_results.map((result, at) => {
      const place = [turnRow, agent, turn, attempt, index, node, result.id, at];
      const hash = createHash("sha256").update(JSON.stringify(place)).digest("hex");
      const row = { turnId: turnRow, agent: agent ?? "", step: index, result };
      return { id: uuidOf(stamp + hash, 7), at: new Date(time).toISOString(), ...row };
    });
  });
}

/** Returns about how many bytes of memory a call's messages and response take. */
export function modelCallBytes({ messages, response }: LoggedModelCall): number {
  let characters = 0;
  const count = (value: unknown, depth: number): void => {
    if (typeof value === "string") characters += value.length;
    else if (typeof value === "object" && value !== null && depth < 200) {
      characters += 32;
      for (const one of Object.values(value)) count(one, depth + 1);
    }
  };
  count(messages, 0);
  count(response, 0);
  return characters;
}

/** Writes rows, and adds them to the sums of their days. Rows that are there stay as they are, and are not added again. */
export async function writeRows(
  client: Queryable,
  rows: CallRows,
  target: RowTarget,
): Promise<void> {
  // Sent together, in this order.
  await Promise.all([
    ...[...rows.turns.values()].map((row) => writeTurn(client, row, target)),
    rows.statuses.size > 0 && writeStatuses(client, rows.statuses, target),
    rows.modelCalls.length > 0 && writeModelCalls(client, rows.modelCalls, target),
    rows.toolCalls.length > 0 && writeToolCalls(client, rows.toolCalls, target),
  ]);
}

/** Writes a turn as it stands, with the thread's instance, which gives a new turn its number. */
async function writeTurn(
  client: Queryable,
  { id, at, turn, runId, instanceId, endedAt }: TurnRow,
  { schema, tenantId, values }: RowTarget,
): Promise<void> {
  const { threadId, agent, status, startedAt, usage, failure } = turn;
  const seal = (value: unknown) => (value === null ? null : values.sealJson(bounded(value)));
  await client.query(
    `with known as (select tokens_in, tokens_out, cost_usd from ${schema}.turn where tenant_id = $1::uuid and at = $2::timestamptz and id = $3::uuid),
    instance as (
      insert into ${schema}.agent_instance as i (id, tenant_id, agent, thread_id, status, turns, started_at, completed_at, tokens_in, tokens_out, cost_usd)
      values ($4::uuid, $1::uuid, $5, $6, $7, 1, $8::timestamptz, case when $7 in ('COMPLETED', 'FAILED', 'CANCELLED') then $9::timestamptz end,
        $15, $17, coalesce($21::double precision, 0))
      on conflict (tenant_id, thread_id) do update set agent = excluded.agent, status = excluded.status,
        turns = i.turns + case when exists (select from known) then 0 else 1 end,
        started_at = coalesce(i.started_at, excluded.started_at), completed_at = excluded.completed_at,
        tokens_in = i.tokens_in + excluded.tokens_in - coalesce((select tokens_in from known), 0),
        tokens_out = i.tokens_out + excluded.tokens_out - coalesce((select tokens_out from known), 0),
        cost_usd = i.cost_usd + excluded.cost_usd - coalesce((select cost_usd from known), 0)
      returning id, turns
    ), written as (
      insert into ${schema}.turn as t (at, id, tenant_id, instance_id, run_id, turn_number, checkpoint_id, input, output,
        status, cause, tokens_in, cached_tokens, tokens_out, reasoning_tokens, llm_calls, tool_calls, cost_usd, latency_ms, ended_at)
      select $2::timestamptz, $3::uuid, $1::uuid, instance.id, $10::uuid, instance.turns, $11, $12::json, $13::json,
        $7, $14::json, $15, $16, $17, $18, $19, $20, $21::double precision, $22, $9::timestamptz from instance
      on conflict (tenant_id, at, id) do update set run_id = coalesce(excluded.run_id, t.run_id), checkpoint_id = excluded.checkpoint_id,
        input = coalesce(excluded.input, t.input), output = excluded.output, status = excluded.status, cause = excluded.cause,
        tokens_in = excluded.tokens_in, cached_tokens = excluded.cached_tokens, tokens_out = excluded.tokens_out,
        reasoning_tokens = excluded.reasoning_tokens, llm_calls = excluded.llm_calls, tool_calls = excluded.tool_calls,
        cost_usd = excluded.cost_usd, latency_ms = excluded.latency_ms, ended_at = excluded.ended_at
    )
    insert into ${schema}.usage_day as u (tenant_id, day, turns)
    select $1::uuid, ($2::timestamptz at time zone 'UTC')::date, 1 where not exists (select from known)
    on conflict (tenant_id, day) do update set turns = u.turns + 1`,
    [
      tenantId,
      at,
      id,
      instanceId,
      plain(agent),
      threadId,
      status,
      Number.isNaN(Date.parse(startedAt)) ? at : startedAt,
      endedAt,
      runId,
      turn.checkpointId,
      seal(turn.input),
      seal(turn.output),
      seal(failure),
      usage.tokens_in,
      usage.cached_tokens,
      usage.tokens_out,
      usage.reasoning_tokens,
      usage.llm_calls,
      usage.tool_calls,
      usage.cost_usd,
      turn.latencyMs,
    ],
  );
}

async function writeStatuses(
  client: Queryable,
  statuses: ReadonlyMap<string, string>,
  { schema, tenantId }: RowTarget,
): Promise<void> {
  await client.query(
    `update ${schema}.agent_instance i set status = new.status, completed_at = null
    from unnest($2::text[], $3::text[]) new(thread_id, status)
    where i.tenant_id = $1::uuid and i.thread_id = new.thread_id and i.status <> new.status`,
    [tenantId, [...statuses.keys()], [...statuses.values()]],
  );
}

async function writeModelCalls(
  client: Queryable,
  rows: readonly ModelCallRow[],
  { schema, tenantId, values }: RowTarget,
): Promise<void> {
  const calls = rows.map(({ call }) => call);
  // Postgres refuses what is nested deeply, as the arguments of a call may be.
  const seal = (value: unknown) =>
    value === null ? null : values.sealJson(toJson(value, mostMessageBytes).value);
  await client.query(
    `with added as (
      insert into ${schema}.llm_call (tenant_id, at, id, turn_id, agent, step, purpose, model, provider, attempt, messages,
        response, finish_reason, tokens_in, cached_tokens, tokens_out, reasoning_tokens, latency_ms, first_token_ms, cost_usd)
      select $1::uuid, at, id, turn_id, agent, step, purpose, model, split_part(model, ':', 1), attempt, messages::json,
        response::json, finish_reason, tokens_in, cached_tokens, tokens_out, reasoning_tokens, latency_ms, first_token_ms, cost_usd
      from unnest($2::timestamptz[], $3::uuid[], $4::uuid[], $5::text[], $6::integer[], $7::text[], $8::text[], $9::integer[],
        $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::integer[],
        $18::integer[], $19::double precision[]) new(at, id, turn_id, agent, step, purpose, model, attempt, messages, response,
        finish_reason, tokens_in, cached_tokens, tokens_out, reasoning_tokens, latency_ms, first_token_ms, cost_usd)
      on conflict (tenant_id, at, id) do nothing returning at, tokens_in, cached_tokens, tokens_out, reasoning_tokens, cost_usd
    )
    insert into ${schema}.usage_day as u (tenant_id, day, llm_calls, tokens_in, cached_tokens, tokens_out, reasoning_tokens,
      cost_usd, unpriced_calls)
    select $1::uuid, (at at time zone 'UTC')::date, count(*), sum(tokens_in), sum(cached_tokens), sum(tokens_out),
      sum(reasoning_tokens), coalesce(sum(cost_usd), 0), count(*) filter (where cost_usd is null) from added group by 2
    on conflict (tenant_id, day) do update set llm_calls = u.llm_calls + excluded.llm_calls,
      tokens_in = u.tokens_in + excluded.tokens_in, cached_tokens = u.cached_tokens + excluded.cached_tokens,
      tokens_out = u.tokens_out + excluded.tokens_out, reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
      cost_usd = u.cost_usd + excluded.cost_usd, unpriced_calls = u.unpriced_calls + excluded.unpriced_calls`,
    [
      tenantId,
      rows.map(({ at }) => at),
      rows.map(({ id }) => id),
      calls.map(({ threadId, turnId }) => turnId && turnRowId({ tenantId, threadId, turnId })),
      calls.map(({ agent }) => agent && plain(agent)),
      calls.map(({ step }) => step),
      calls.map(({ purpose }) => purpose),
      calls.map(({ model }) => plain(model)),
      calls.map(({ attempt }) => attempt),
      calls.map(({ messages }) => seal(messages)),
      calls.map(({ response }) => seal(response)),
      calls.map(({ outcome }) => outcome),
      calls.map(({ usage }) => usage.tokens_in),
      calls.map(({ usage }) => usage.cached_tokens),
      calls.map(({ usage }) => usage.tokens_out),
      calls.map(({ usage }) => usage.reasoning_tokens),
      calls.map(({ latency_ms }) => latency_ms),
      calls.map(({ first_token_ms }) => first_token_ms),
      calls.map(({ usage }) => usage.cost_usd),
    ],
  );
}

async function writeToolCalls(
  client: Queryable,
  rows: readonly ToolCallRow[],
  { schema, tenantId, values }: RowTarget,
): Promise<void> {
  const results = rows.map(({ result }) => result);
  await client.query(
    `with added as (
      insert into ${schema}.tool_call (tenant_id, at, id, turn_id, agent, step, call_id, tool_name, input, output, outcome,
        status, latency_ms)
      select $1::uuid, at, id, turn_id, agent, step, call_id, tool_name, input::json, output::json, outcome, status, latency_ms
      from unnest($2::timestamptz[], $3::uuid[], $4::uuid[], $5::text[], $6::integer[], $7::text[], $8::text[], $9::text[],
        $10::text[], $11::text[], $12::text[], $13::integer[]) new(at, id, turn_id, agent, step, call_id, tool_name, input,
        output, outcome, status, latency_ms)
      on conflict (tenant_id, at, id) do nothing returning at
    )
    insert into ${schema}.usage_day as u (tenant_id, day, tool_calls)
    select $1::uuid, (at at time zone 'UTC')::date, count(*) from added group by 2
    on conflict (tenant_id, day) do update set tool_calls = u.tool_calls + excluded.tool_calls`,
    [
      tenantId,
      rows.map(({ at }) => at),
      rows.map(({ id }) => id),
      rows.map(({ turnId }) => turnId),
      rows.map(({ agent }) => plain(agent)),
      rows.map(({ step }) => step),
      results.map(({ id }) => plain(id)),
      results.map(({ name }) => plain(name)),
      results.map(({ args }) => values.sealJson(bounded(args))),
      results.map(({ result, error }) =>
        values.sealJson(bounded(error === null ? result : { error })),
      ),
      results.map(({ outcome }) => outcome),
      results.map(({ outcome }) => (outcome === "success" ? "success" : "error")),
      results.map(({ execution_time_ms: ms }) => Math.round(ms)),
    ],
  );
}

/** Removes the rows of a thread, and has its archives removed. The sums of its days stay. */
export async function forgetThread(
  client: Queryable,
  {
    schema,
    tenantId,
    threadId,
  }: Pick<RowTarget, "schema" | "tenantId"> & { readonly threadId: string },
): Promise<void> {
  const instance = `select id from ${schema}.agent_instance where tenant_id = $1::uuid and thread_id = $2`;
  const turns = `select id from ${schema}.turn where instance_id in (${instance})`;
  const of = [tenantId, threadId];
  for (const table of ["llm_call", "tool_call"]) {
    await client.query(`delete from ${schema}.${table} where turn_id in (${turns})`, of);
  }
  const runs = `select id from ${schema}.run where instance_id in (${instance})`;
  await client.query(`delete from ${schema}.run_event where run_id in (${runs})`, of);
  await client.query(`delete from ${schema}.turn where instance_id in (${instance})`, of);
  await client.query(`delete from ${schema}.agent_instance where id in (${instance})`, of);
  // Upkeep removes the objects.
  await client.query(
    `update ${schema}.archive set state = 'removing' where tenant_id = $1::uuid and thread_id = $2`,
    of,
  );
}

/** Returns a value within the limit; of a longer one what stands before it, with a flag. */
function bounded(value: unknown): unknown {
  const copy = toJson(value, mostBytes);
  return copy.whole ? copy.value : { truncated: true, bytes: copy.bytes, value: copy.value };
}

/** Returns a name from a model as Postgres can store it: short, without NUL characters and halves of surrogate pairs. */
function plain(text: string): string {
  return Buffer.from(headOf(text, 200).replaceAll("\0", "\uFFFD")).toString();
}
