import { z } from "zod";
import { waitFor, resumptionWith } from "../../engine/time/event-waits.ts";
import { awaiting } from "../../engine/run-results.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import { zodFromJsonSchema } from "../../state/zod-from-json-schema.ts";
import type { Run } from "../../storage/platform/runs/runs.ts";
import type { ThreadEvent } from "../../storage/platform/time/thread-events.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem, jsonPointer } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import { RunDesk } from "./run-desk.ts";
import { resultOf, runPath } from "./run-views.ts";
import { eventBody, runParams } from "./schemas.ts";

/** Bytes of a body. */
const maxBodyBytes = 131_072;

/** Creates the route of events that are sent to a thread. */
export function eventRoutes(base: ApiBase): readonly Route[] {
  const { platform, queue, signals, executor } = base;
  const desk = new RunDesk(base);
  return [
    defineRoute({
      method: "post",
      path: "/v1/agents/{agent_id}/runs/{run_id}/events",
      operationId: "sendEvent",
      summary: "Sends an event to the thread of a run.",
      description:
        "A wait node that waits for it continues with its payload. Else it is kept for a week, for a wait that comes later in the thread. With `as: message`, the turn that runs on the thread gets it as a user message at its next step, or the next turn does; agents with a workflow take none. With an Idempotency-Key it is sent once within a week.",
      tag: "runs",
      scopes: ["runs:write"],
      spends: true,
      params: runParams,
      body: eventBody,
      maxBodyBytes,
      answers: {
        202: {
          description: "What became of the event.",
          schema: z
            .strictObject({
              status: z.enum(["delivered", "kept"]),
              run_id: z
                .string()
                .nullable()
                .describe(
                  "The run that continues, or the running one, which takes a message if it has one more step; else null.",
                ),
            })
            .meta({ id: "SentEvent" }),
        },
      },
      problems: ["conflict", "invalid_input"],
      async handle({ params, body, principal, request }) {
        const { tenantId, keyId } = principal;
        const run = await desk.find(principal, params);
        const key = request.headers.get("idempotency-key");
        const { name = "message" } = body;
        const send = async () => {
          if (body.as === "message") {
            await desk.checkTakesMessages(principal, run);
            const { content } = body.payload;
            return platform.threadEvents.keepMessage(run, { content, name, key });
          }
          const event = { name, payload: body.payload ?? null };
          const decide = (waiting: Run) => resume(waiting, event);
          return platform.threadEvents.send(run, { event, key, decide });
        };
        const sent = await send();
        const subject = `${run.id}/${name}`;
        await platform.audit.append(tenantId, {
          actor: `key:${keyId}`,
          action: "run.event",
          subject,
        });
        if (sent.runId !== null) {
          if (sent.was === "delivered") queue.wake();
          executor.notice(sent.runId);
          signals.notify(sent.runId);
        }
        const Location = runPath(params.agent_id, sent.runId ?? run.id);
        return {
          status: 202,
          body: { status: sent.was, run_id: sent.runId },
          headers: { Location },
        };
      },
    }),
  ];
}

/** What a run does that waits for the event; null if it waits for others. @throws HttpProblem `invalid_input` */
function resume(run: Run, event: ThreadEvent) {
  const result = resultOf(run);
  if (result === null || !awaiting.includes(run.state)) return null;
  const wait = waitFor(result, event.name);
  if (wait === undefined) return null;
  const resumption = resumptionWith(run, wait, event);
  if (resumption === null) throw unfit(wait, event);
  return resumption;
}

function unfit({ schema, node }: PendingRequest, { payload }: ThreadEvent): HttpProblem {
  const { error } = zodFromJsonSchema(schema).safeParse(payload);
  const issues = error?.issues ?? [];
  return new HttpProblem("invalid_input", {
    detail: `The payload does not fit what node "${node}" waits for. Nothing was written.`,
    errors: issues.map(({ path, message }) => ({
      pointer: jsonPointer(["payload", ...path]),
      detail: message.slice(0, 1_000),
    })),
    extensions: { code: "invalid_payload" },
  });
}
