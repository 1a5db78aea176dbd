import { z } from "zod";
import { textUpTo } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";
import { checkpointKeySchema, emptyState, stateSchema } from "./state-view.ts";
import { type StateRef, ThreadStates, updateValues } from "./thread-states.ts";
import { threadParams } from "./run-schemas.ts";
import { anything } from "./thread-view.ts";

const tag = "langgraph";
const checkpointId = z.guid();
const fields = z.array(z.string().min(1).max(200)).max(50);

const namespace = z.union([z.literal(""), textUpTo(2_000)]);
const checkpointSchema = z.object({
  checkpoint_id: checkpointId.nullish(),
  checkpoint_ns: namespace.nullish(),
  checkpoint_map: z.record(namespace, checkpointId).nullish(),
});

/** A parameter that is true for `true`, `1` and `yes`. */
const flag = z
  .string()
  .max(10)
  .transform((text) => ["true", "1", "yes"].includes(text.toLowerCase()));
const bodyFlag = z.union([z.boolean(), flag]);
const stateQuery = z.strictObject({
  subgraphs: flag.optional().describe("Whether tasks have the states of nested agents."),
  select: textUpTo(200).optional().describe("One field of the answer, as `values.messages`."),
});

const limitBody = z.int().min(1).max(1_000).default(10);
const limitQuery = z
  .string()
  .regex(/^\d{1,4}$/)
  .transform(Number)
  .pipe(z.int().min(1).max(1_000))
  .default(10);
const before = z.union([
  checkpointId,
  checkpointSchema.extend({ configurable: checkpointSchema.optional() }),
]);

/** Creates the routes of states and histories of LangGraph's protocol. */
export function stateRoutes(base: ApiBase): readonly Route[] {
  const states = new ThreadStates(base);
  const scopes = ["runs:read", "checkpoints:read"] as const;
  const shared = { tag, scopes, problems: ["conflict", "invalid_input"] as const };
  const answers = { 200: { description: "The state.", schema: stateSchema } };
  const list = { 200: { description: "The states, newest first.", schema: z.array(stateSchema) } };

  return [
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/state",
      operationId: "getLangGraphState",
      summary: "Reads the newest state of a thread.",
      ...shared,
      params: threadParams,
      query: stateQuery,
      answers,
      async handle({ params, query, principal }) {
        const state = await states.read(principal, {
          threadId: params.thread_id,
          subgraphs: query.subgraphs ?? false,
          ...(query.select !== undefined && { select: [query.select] }),
        });
        return { status: 200, body: state ?? emptyState };
      },
    }),
    defineRoute({
      method: "post",
      path: "/threads/{thread_id}/state",
      operationId: "updateLangGraphState",
      summary: "Updates the state of a thread, as a node of its agent would.",
      description:
        "Callers write the channels input, messages, execution, attempt, nodes and output. With `as_node` the key needs the scope `requests:answer` too: acting for a node may stand in for a person.",
      tag,
      scopes: ["runs:write"],
      params: threadParams,
      body: z
        .object({
          values: updateValues.nullish(),
          as_node: z.string().min(1).max(200).nullish(),
          checkpoint_id: checkpointId.nullish(),
          checkpoint: checkpointSchema.nullish(),
        })
        .meta({ id: "LangGraphStateUpdate" }),
      answers: {
        200: {
          description: "The checkpoint of the new state.",
          schema: z.strictObject({
            checkpoint: checkpointKeySchema,
            configurable: checkpointKeySchema,
          }),
        },
      },
      problems: ["conflict", "invalid_input", "missing_scope"],
      async handle({ params, body, principal }) {
        const key = await states.update(principal, {
          threadId: params.thread_id,
          checkpoint: refOf({ checkpoint_id: body.checkpoint_id, ...body.checkpoint }),
          supersteps: [{ updates: [{ values: body.values, as_node: body.as_node ?? undefined }] }],
        });
        return { status: 200, body: { checkpoint: key, configurable: key } };
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/state/{checkpoint_id}",
      operationId: "getLangGraphStateAt",
      summary: "Reads the state of a thread at a checkpoint.",
      ...shared,
      params: threadParams.extend({ checkpoint_id: checkpointId.describe("Id of a checkpoint.") }),
      query: stateQuery,
      answers,
      async handle({ params, query, principal }) {
        const state = await states.read(principal, {
          threadId: params.thread_id,
          checkpoint: { checkpoint_id: params.checkpoint_id },
          subgraphs: query.subgraphs ?? false,
          ...(query.select !== undefined && { select: [query.select] }),
        });
        return { status: 200, body: state ?? emptyState };
      },
    }),
    defineRoute({
      method: "post",
      path: "/threads/{thread_id}/state/checkpoint",
      operationId: "getLangGraphCheckpoint",
      summary: "Reads the state of a thread, or of a nested agent, at a checkpoint.",
      ...shared,
      params: threadParams,
      body: z
        .object({
          checkpoint: checkpointSchema.nullish(),
          subgraphs: bodyFlag.optional(),
          select: fields.optional(),
        })
        .meta({ id: "LangGraphCheckpointRequest" }),
      answers,
      async handle({ params, body, principal }) {
        const state = await states.read(principal, {
          threadId: params.thread_id,
          checkpoint: refOf(body.checkpoint ?? {}),
          subgraphs: body.subgraphs ?? false,
          select: body.select,
        });
        return { status: 200, body: state ?? emptyState };
      },
    }),
    defineRoute({
      method: "get",
      path: "/threads/{thread_id}/history",
      operationId: "listLangGraphStates",
      summary: "Lists the states of a thread, newest first.",
      ...shared,
      params: threadParams,
      query: z.strictObject({
        limit: limitQuery.describe("1 to 1,000. Default 10."),
        before: checkpointId.optional().describe("Only states before this checkpoint."),
      }),
      answers: list,
      async handle({ params, query, principal }) {
        const of = { threadId: params.thread_id, limit: query.limit, before: query.before };
        return { status: 200, body: await states.history(principal, of) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/threads/{thread_id}/history",
      operationId: "searchLangGraphStates",
      summary: "Lists the states of a thread, or of a nested agent, newest first.",
      ...shared,
      params: threadParams,
      body: z
        .object({
          limit: limitBody,
          before: before.nullish().describe("A checkpoint, its id, or a config that names it."),
          metadata: anything.nullish().describe("What the metadata of the checkpoints contains."),
          checkpoint: checkpointSchema.nullish(),
          select: fields.optional(),
        })
        .meta({ id: "LangGraphHistoryRequest" }),
      answers: list,
      async handle({ params, body, principal }) {
        const history = await states.history(principal, {
          threadId: params.thread_id,
          limit: body.limit,
          before: beforeOf(body.before),
          metadata: body.metadata ?? undefined,
          checkpoint: refOf(body.checkpoint ?? {}),
          select: body.select,
        });
        return { status: 200, body: history };
      },
    }),
  ];
}

function refOf({
  checkpoint_id,
  checkpoint_ns,
  checkpoint_map,
}: z.output<typeof checkpointSchema>): StateRef {
  return {
    ...(checkpoint_id != null && { checkpoint_id }),
    ...(checkpoint_ns != null && { checkpoint_ns }),
    ...(checkpoint_map != null && { checkpoint_map }),
  };
}

function beforeOf(given: z.output<typeof before> | null | undefined): string | undefined {
  if (given === null || given === undefined) return undefined;
  if (typeof given === "string") return given;
  return given.checkpoint_id ?? given.configurable?.checkpoint_id ?? undefined;
}
