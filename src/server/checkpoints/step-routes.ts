import { z } from "zod";
import type { StoredState } from "../../runtime/threads/threads.ts";
import {
  isStepRecord,
  pairedCalls,
  type StepRecord,
  withObservations,
} from "../../state/step-record.ts";
import { addUsage } from "../../state/usage.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import { toJson } from "../../values/bounded-json.ts";
import { isRecord } from "../../values/json.ts";
import { headOf } from "../../values/text.ts";
import {
  integerParameter,
  optionalInteger,
  pageAnswer,
  pageSchema,
  parameterText,
  textUpTo,
} from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { StateViewer } from "./shown-state.ts";

/** Characters of texts in a list. */
const maxHead = 160;
/** Bytes of JSON of the records of a page, over which its last step may go. */
const maxPageBytes = 4_194_304;
/** Bytes up to which arguments and results are measured exactly. */
const measuredBytes = 1_048_576;

const bytes = z.int().describe("Bytes of JSON; a minimum beyond 1 MiB.");
const stepCall = z.strictObject({
  id: z.string(),
  tool: z.string(),
  outcome: z
    .string()
    .nullable()
    .describe("`success`, `failure`, `error` or `timeout`; null while it has no result."),
  error: z.string().nullable().describe("The beginning of the error."),
  latency_ms: z.number(),
  retries: z.int().describe("Attempts after the first."),
  recovered: z.string().nullable().describe("How it was resolved after a crash; else null."),
  input_bytes: bytes,
  output_bytes: bytes,
});
const count = z.int();
const stepFields = {
  id: z.string().describe("`turn.step`, unique in its namespace."),
  namespace: z.string().describe("Empty for the thread itself."),
  turn: count.describe("From 0 in the thread."),
  attempt: count.describe("From 0 in the turn. Steps of failed attempts stay."),
  step: count.describe("From 0 in the turn, over all attempts."),
  node: z.string(),
  is_open: z.boolean().describe("Whether its tool calls have not all ended."),
  started_at: z.string(),
  duration_ms: z.number().describe("Of its model calls, then of its tool calls."),
  model_ms: z.number(),
  tool_ms: z.number().describe("The longest of calls that ran concurrently, else their sum."),
  mode: z.string(),
  next_action: z.string(),
  progress: z.string(),
  model: z.string().describe("`provider:model`; empty without one."),
  fallback_from: z.string().nullable().describe("The model that it replaced; else null."),
  finish_reason: z.string().nullable().describe("Null for a whole reply."),
  tokens_in: count,
  cached_tokens: count,
  tokens_out: count,
  reasoning_tokens: count,
  llm_calls: count,
  cost_usd: z.number().nullable().describe("Null if a model has no known price."),
  thought: z.string().describe("Its beginning."),
  thought_chars: count,
  problem: z.string().describe("What was wrong with the reply, its beginning; empty if nothing."),
  calls: z.array(stepCall),
};
const record = z
  .record(z.string(), z.unknown())
  .describe("The whole record, with what later steps noted on its results.");
const stepItem = z
  .strictObject({ ...stepFields, record: record.optional() })
  .meta({ id: "StepSummary" });
const stepSchema = z
  .strictObject({ ...stepFields, record, checkpoint_id: z.string(), redacted: z.boolean() })
  .meta({ id: "Step" });

const threadId = textUpTo(255).describe("Id of the thread.");
const stateQuery = {
  checkpoint_id: parameterText.describe("Default: the newest checkpoint.").optional(),
  namespace: textUpTo(2_000)
    .describe("Of a nested agent, as the thread's path lists it. Default: the thread itself.")
    .optional(),
};

/** Creates the routes of the steps of threads. */
export function stepRoutes({ platform, runtimes }: ApiBase): readonly Route[] {
  /** Calls `read` with the steps at a checkpoint. @throws NotFoundError for a thread of another tenant */
  const withSteps = async <Result>(
    principal: Principal,
    of: { thread_id: string; checkpoint_id?: string | undefined; namespace?: string | undefined },
    read: (steps: StepsAt) => Promise<Result>,
  ): Promise<Result> => {
    const { tenantId } = principal;
    const { thread_id: thread, checkpoint_id: checkpointId, namespace } = of;
    if ((await platform.instances.onThread(tenantId, thread)) === null)
      throw new NotFoundError("thread", thread);
    return runtimes.use(tenantId, async ({ runtime }) => {
      const viewer = new StateViewer(runtime, thread, principal);
      const state = await viewer.stateAt(checkpointId, namespace);
      if (checkpointId === undefined && namespace === undefined) viewer.setLatest(state.values);
      return read({ viewer, state, steps: stepsIn(state.values) });
    });
  };

  return [
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}/steps",
      operationId: "listSteps",
      summary: "Lists the steps of a thread, oldest first.",
      description:
        "Steps of all turns and attempts, as a checkpoint has them. With `brief`, texts are cut, and arguments and results are left out. A page may have fewer steps than `limit`: it ends after 4 MiB. `cursor` may be the `id` of any step. Values that rails redacted are placeholders, unless the key has the scope `checkpoints:unredacted`.",
      tag: "threads",
      scopes: ["checkpoints:read"],
      params: z.strictObject({ thread_id: threadId }),
      query: z.strictObject({
        limit: integerParameter({ from: 1, to: 500, default: 50, description: "Steps of a page." }),
        cursor: parameterText.describe("`next_cursor` of the page before.").optional(),
        turn: optionalInteger("Only steps of this turn."),
        attempt: optionalInteger("Only steps of attempts with this number."),
        brief: z.enum(["true", "false"]).default("false").describe("Without records."),
        ...stateQuery,
      }),
      answers: { 200: { description: "A page of steps.", schema: pageSchema("steps", stepItem) } },
      problems: ["invalid_cursor", "conflict", "invalid_input"],
      async handle({ params, query, principal, request }) {
        const { turn, attempt, limit, cursor } = query;
        const isBrief = query.brief === "true";
        const place = { ...query, ...params };
        const page = await withSteps(principal, place, async ({ viewer, state, steps }) => {
          const found = steps.filter(
            ({ record: one }) =>
              (turn === undefined || one.turn_number === turn) &&
              (attempt === undefined || one.attempt_number === attempt),
          );
          const begin =
            cursor === undefined ? 0 : 1 + found.findIndex((one) => idOf(one) === cursor);
          if (begin === 0 && cursor !== undefined) throw unknownCursor();
          const shown = pageOf(found.slice(begin, begin + limit), { state, isBrief });
          const { items } = await viewer.shown({ items: shown }, state);
          const last = found[begin + shown.length - 1];
          const isLast = begin + shown.length >= found.length;
          return { items: items.map(withHeads), next: isLast ? null : last && idOf(last) };
        }).catch(emptyBeforeFirst(place));
        const next = page.next ?? null;
        return pageAnswer(request, { ...page, next }, { name: "steps", item: (item) => item });
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}/steps/{turn}/{step}",
      operationId: "getStep",
      summary: "Reads a step of a thread, whole.",
      tag: "threads",
      scopes: ["checkpoints:read"],
      params: z.strictObject({
        thread_id: threadId,
        turn: z.string().max(100).describe("Number of the turn, from 0."),
        step: z.string().max(100).describe("Number of the step in its turn, from 0."),
      }),
      query: z.strictObject(stateQuery),
      answers: { 200: { description: "The step.", schema: stepSchema } },
      problems: ["conflict", "invalid_input"],
      handle: ({ params, query, principal }) =>
        withSteps(principal, { ...query, ...params }, async ({ viewer, state, steps }) => {
          const id = `${params.turn}.${params.step}`;
          const found = steps.find((one) => idOf(one) === id);
          if (found === undefined) throw new NotFoundError("step", id);
          const item = { ...summaryOf(found, state), record: found.record };
          const shown = await viewer.shown({ item }, state);
          const at = { checkpoint_id: state.id, redacted: viewer.isRedacted };
          return { status: 200, body: { ...withHeads(shown.item), ...at } };
        }),
    }),
  ];
}

interface StepsAt {
  readonly viewer: StateViewer;
  readonly state: StoredState;
  readonly steps: readonly StateStep[];
}

interface StateStep {
  /** Without results while it is open. */
  readonly record: StepRecord;
  readonly isOpen: boolean;
}

function idOf({ record: { turn_number: turn, step_index: step } }: StateStep): string {
  return `${turn}.${step}`;
}

function unknownCursor(): HttpProblem {
  return new HttpProblem("invalid_cursor", {
    detail: "Use `next_cursor` of the page before, with the same parameters.",
  });
}

/** Returns the steps of a state in the order of their ends, then those whose calls have not ended, each once. */
function stepsIn(values: StoredState["values"]): readonly StateStep[] {
  const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
  const ended = list(values["steps"]).filter(isStepRecord);
  const open = [
    ...list(values["branches"]).flatMap((one) => (isRecord(one) ? list(one["open"]) : [])),
    values["current_step"],
  ];
  const steps = withObservations(ended).map((one) => ({ record: one, isOpen: false }));
  const known = new Map(steps.map((step) => [idOf(step), step]));
  for (const one of open) {
    if (!isRecord(one)) continue;
    const step = { ...one, tool_results: [], concurrent_execution: false };
    if (!isStepRecord(step)) continue;
    const opened = { record: step, isOpen: true };
    if (!known.has(idOf(opened))) known.set(idOf(opened), opened);
  }
  return [...known.values()];
}

/** Returns a page that is bounded in bytes; at least one step. Texts are whole: they are cut after they were redacted. */
function pageOf(
  steps: readonly StateStep[],
  { state, isBrief }: { readonly state: StoredState; readonly isBrief: boolean },
) {
  let left = maxPageBytes;
  const items: (StepSummary & { readonly record?: StepRecord })[] = [];
  for (const step of steps) {
    const item = { ...summaryOf(step, state), ...(!isBrief && { record: step.record }) };
    left -= toJson(item, Math.max(1, left)).bytes;
    if (left < 0 && items.length > 0) break;
    items.push(item);
  }
  return items;
}

type StepSummary = z.output<z.ZodObject<typeof stepFields>>;

function summaryOf({ record: step, isOpen }: StateStep, { namespace }: StoredState): StepSummary {
  const usage = addUsage(step.usage ?? {}, {});
  const { tokens_in, cached_tokens, tokens_out, reasoning_tokens, llm_calls, cost_usd } = usage;
  const results = isOpen ? [] : pairedCalls(step);
  const times = results.map(({ execution_time_ms: ms }) => (Number.isFinite(ms) ? ms : 0));
  const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
  const toolMs = step.concurrent_execution ? Math.max(0, ...times) : sum(times);
  const modelMs = sum((step.model_calls ?? []).map(({ latency_ms }) => latency_ms));
  const thought = textOf(step.thought);
  const open = isOpen ? step.tool_predictions : [];
  return {
    id: idOf({ record: step, isOpen }),
    namespace,
    turn: step.turn_number,
    attempt: step.attempt_number,
    step: step.step_index,
    node: textOf(step.node),
    is_open: isOpen,
    started_at: textOf(step.timestamp),
    duration_ms: modelMs + toolMs,
    model_ms: modelMs,
    tool_ms: toolMs,
    mode: textOf(step.mode),
    next_action: textOf(step.next_action),
    progress: textOf(step.progress),
    model: textOf(step.model),
    fallback_from: step.fallback?.from ?? null,
    finish_reason: step.finish_reason ?? null,
    tokens_in,
    cached_tokens,
    tokens_out,
    reasoning_tokens,
    llm_calls,
    cost_usd,
    thought,
    thought_chars: thought.length,
    problem: textOf(step.problem),
    calls: [
      ...open.map(({ id, name, args }) => ({
        id,
        tool: name,
        outcome: null,
        error: null,
        latency_ms: 0,
        retries: 0,
        recovered: null,
        input_bytes: bytesOf(args),
        output_bytes: 0,
      })),
      ...results.map((call) => ({
        id: call.id,
        tool: call.name,
        outcome: call.outcome,
        error: call.error,
        latency_ms: call.execution_time_ms,
        retries: call.retries ?? 0,
        recovered: call.recovered ?? null,
        input_bytes: bytesOf(call.args),
        output_bytes: bytesOf(call.result),
      })),
    ],
  };
}

/** Cuts the texts of a step. A text that was cut before could show half of a redacted value. */
function withHeads<Step extends StepSummary>(step: Step): Step {
  return {
    ...step,
    thought: headOf(step.thought, maxHead),
    problem: headOf(step.problem, maxHead),
    calls: step.calls.map((call) => ({
      ...call,
      error: call.error === null ? null : headOf(call.error, maxHead),
    })),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function bytesOf(value: unknown): number {
  return toJson(value, measuredBytes / 16).bytes;
}

/** A thread has no checkpoint before its first run began. */
function emptyBeforeFirst(of: {
  checkpoint_id?: string | undefined;
  namespace?: string | undefined;
}) {
  return (thrown: unknown): { items: readonly never[]; next: null } => {
    const isFirst = of.checkpoint_id === undefined && of.namespace === undefined;
    const isNone = (Object(thrown) as { code?: unknown }).code === "no_checkpoint";
    if (!isFirst || !isNone) throw thrown;
    return { items: [], next: null };
  };
}
