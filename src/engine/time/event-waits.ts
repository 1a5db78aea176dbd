import { checkHumanAnswer } from "../../state/human-answer.ts";
import type { PendingRequest } from "../../state/human-request.ts";
import type { Run } from "../../storage/platform/runs/runs.ts";
import type { ThreadEvent } from "../../storage/platform/time/thread-events.ts";
import type { Resumption } from "../../storage/platform/time/timers.ts";
import type { GraphRequest } from "../graph/graph-request.ts";
import type { RunRequest, RunResult } from "../run-request.ts";

/** The first wait of a result for an event; undefined if there is none. */
export function waitFor(
  { waits = [] }: Pick<RunResult, "waits">,
  name: string,
): PendingRequest | undefined {
  return waits.find(({ event }) => event === name);
}

/** Continues the turn of a run with the payload of the event that it waits for; null for one that does not fit. */
export function resumptionWith(
  run: Pick<Run, "kind" | "request">,
  wait: PendingRequest,
  { payload }: Pick<ThreadEvent, "payload">,
): Resumption | null {
  if (!checkHumanAnswer(wait, payload).ok) return null;
  const answers = { [wait.id]: payload };
  if (run.kind === "graph") {
    const { checkpoint_id: _from, ...request } = run.request as unknown as GraphRequest;
    const { definition_id: definitionId } = request;
    return {
      isNewRun: true,
      definitionId,
      request: { ...request, input: null, command: { resume: answers } },
    };
  }
  return { isNewRun: false, request: { ...sharedOf(run), answers } };
}

/** Continues the turn of a run without an answer, so that limits which are over take effect. */
export function resumptionOf(run: Pick<Run, "kind" | "request">): Resumption {
  if (run.kind === "graph") {
    const {
      command: _given,
      checkpoint_id: _from,
      ...request
    } = run.request as unknown as GraphRequest;
    const { definition_id: definitionId } = request;
    return { isNewRun: true, definitionId, request: { ...request, input: null } };
  }
  return { isNewRun: false, request: sharedOf(run) };
}

function sharedOf({ request }: Pick<Run, "request">): RunRequest {
  const { definition_id, turn_id, model, user } = request as unknown as RunRequest;
  const shared = { ...(model !== undefined && { model }), ...(user !== undefined && { user }) };
  return { definition_id, turn_id, ...shared };
}
