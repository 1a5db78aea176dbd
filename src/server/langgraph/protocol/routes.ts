import { z } from "zod";
import type { ApiBase } from "../../ports.ts";
import { defineRoute, eventStreamType, type Route } from "../../route.ts";
import { EventStreams } from "../../runs/event-streams.ts";
import { maxRunBodyBytes } from "../../runs/schemas.ts";
import { GraphRuns } from "../graph-runs.ts";
import { threadParams } from "../run-schemas.ts";
import { ThreadStates } from "../thread-states.ts";
import { Commands } from "./commands.ts";
import { threadEvents } from "./thread-events.ts";

const label = z.string().max(1_000);
const command = z
  .object({
    id: z.int().min(0),
    method: z.string().max(1_000),
    params: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: "LangGraphCommand" });
const filter = z
  .strictObject({
    channels: z.array(label).max(100),
    namespaces: z.array(z.array(label).max(50)).max(200).optional(),
    depth: z.int().min(0).optional(),
    since: z.int().min(0).optional(),
  })
  .meta({ id: "LangGraphEventFilter" });

/** Creates the routes of LangGraph's event streaming: commands, and the events of a thread. */
export function protocolRoutes(base: ApiBase): readonly Route[] {
  const commands = new Commands(base, {
    runs: new GraphRuns(base),
    states: new ThreadStates(base),
  });
  const streams = new EventStreams(base, 1_000);
  const tag = "langgraph";
  return [
    defineRoute({
      method: "post",
      path: "/threads/{thread_id}/commands",
      operationId: "sendLangGraphCommand",
      summary: "Starts a run on a thread, answers what it waits for, or reads its state.",
      tag,
      scopes: ["runs:write"],
      spends: true,
      maxBodyBytes: maxRunBodyBytes,
      params: threadParams,
      body: command,
      answers: { 200: { description: "Success or error.", schema: z.unknown() } },
      problems: ["conflict", "invalid_input", "not_found"],
      handle: async (call) => ({
        status: 200,
        body: await commands.answer(call, call.params.thread_id, call.body),
      }),
    }),
    defineRoute({
      method: "post",
      path: "/threads/{thread_id}/stream/events",
      operationId: "streamLangGraphEvents",
      summary: "Streams the events of the runs of a thread that commands have started.",
      tag,
      scopes: ["runs:read"],
      params: threadParams,
      body: filter,
      answers: {
        200: { description: "The events.", schema: z.string(), mediaType: eventStreamType },
      },
      async handle(call) {
        const { principal, params, body } = call;
        streams.check(principal);
        const of = { tenantId: principal.tenantId, threadId: params.thread_id, filter: body };
        return streams.respondWith(call, (signal) => threadEvents(base, of, signal), {});
      },
    }),
  ];
}
