import { type Attachment, readAttachments } from "../../compile/attachments/read-attachments.ts";
import { AnswerError, InvalidInputError } from "../../compile/errors.ts";
import { checkAnswers, type GivenAnswers } from "../../compile/guards/answers.ts";
import { checkInput } from "../../compile/input.ts";
import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { RunRequest, RunResult } from "../../engine/run-request.ts";
import { awaiting } from "../../engine/run-results.ts";
import type { WaitingRequest } from "../../state/human-request.ts";
import type { Run } from "../../storage/platform/runs/runs.ts";
import { HttpProblem, jsonPointer } from "../problems.ts";
import type { WrittenAttachment } from "./schemas.ts";

/**
 * Returns the input of a turn, checked by the agent's schema, and its files.
 *
 * @throws HttpProblem `invalid_input`; AttachmentError
 */
export async function inputOf(
  definition: AgentDefinition,
  {
    attachments: written,
    ...input
  }: { readonly attachments?: readonly WrittenAttachment[] | null | undefined },
): Promise<Pick<RunRequest, "input" | "attachments">> {
  try {
    checkInput(definition, input);
  } catch (thrown) {
    if (!(thrown instanceof InvalidInputError)) throw thrown;
    throw new HttpProblem("invalid_input", {
      detail: `The input has ${thrown.issues.length === 1 ? "1 problem" : `${thrown.issues.length} problems`}.`,
      errors: thrown.issues.map((issue) => ({ pointer: "/input", detail: issue.slice(0, 1_000) })),
      extensions: { code: thrown.code },
    });
  }
  if (!written || written.length === 0) return { input };
  const attachments = written.map(attachmentOf);
  // URLs are read when the run is executed.
  await readAttachments(
    attachments.filter((one) => "data" in one),
    {},
  );
  return { input, attachments };
}

function attachmentOf({ name, data, url = "", mime_type, type }: WrittenAttachment): Attachment {
  const mime = mime_type ?? type;
  const shared = { ...(name !== undefined && { name }), ...(mime && { mime_type: mime }) };
  // Without a type, reading it says what is missing.
  return data === undefined ? { ...shared, url } : { mime_type: "", ...shared, data };
}

/** The requests that a run waits with: to people, or for results of client tools. */
export function waitingIn(run: Run, kinds: "people" | "tools"): readonly WaitingRequest[] {
  const result = run.result as unknown as RunResult | null;
  if (!awaiting.includes(run.state) || result === null) return [];
  if (kinds === "people") {
    const asked = result.requests.filter(({ kind }) => kind !== "tool_calls");
    return asked.map((request) => ({ ...request, isOurs: true }));
  }
  const ids = [...new Set(result.tool_calls.map(({ request_id }) => request_id))];
  return ids.map((id) => {
    const calls = result.tool_calls.filter(({ request_id }) => request_id === id);
    const proposed = calls.map(({ call_id, tool, input }) => {
      return { id: call_id, name: tool, args: input, reason: "" };
    });
    return { ...requestForResults, id, proposed };
  });
}

const requestForResults: Omit<WaitingRequest, "id" | "proposed"> = {
  kind: "tool_calls",
  node: "",
  within: [],
  prompt: "",
  schema: {},
  expires_at: null,
  isOurs: true,
};

/** @throws HttpProblem `invalid_input` for answers or results that the run's requests refuse */
export function checkFit(
  run: Run,
  given: GivenAnswers,
  { kinds, place }: { readonly kinds: "people" | "tools"; readonly place: string },
): void {
  const waiting = waitingIn(run, kinds);
  if ("byId" in given && Object.keys(given.byId).length === 0) {
    throw new HttpProblem("invalid_input", {
      detail: "There is no answer.",
      errors: [{ pointer: place, detail: "expected at least one answer" }],
    });
  }
  try {
    checkAnswers(given, { threadId: run.threadId, status: null, waiting });
  } catch (thrown) {
    if (!(thrown instanceof AnswerError)) throw thrown;
    const { interrupt } = thrown as { interrupt?: unknown };
    const isNamed = "byId" in given && typeof interrupt === "string";
    const pointer = isNamed ? `${place}${jsonPointer([interrupt])}` : place;
    const detail = thrown.message.slice(0, 4_000);
    throw new HttpProblem("invalid_input", {
      detail,
      errors: [{ pointer, detail }],
      extensions: { code: thrown.code },
    });
  }
}

/** How a run goes on that waits, by its state. */
const ways = {
  awaiting_tool: { how: "answers: POST its tool_results to /turns", path: "turns" },
  awaiting_event: { how: "a time or an event: POST the event to /events", path: "events" },
  awaiting_human: { how: "answers: POST answers to its requests to /resume", path: "resume" },
} as const;

export function awaitsAnswers(run: Pick<Run, "id" | "state">, path: string | null): HttpProblem {
  const way =
    run.state === "awaiting_tool" || run.state === "awaiting_event"
      ? ways[run.state]
      : ways.awaiting_human;
  return new HttpProblem("conflict", {
    detail: `The run ${run.id} on this thread waits for ${way.how}, or cancel it.`,
    extensions: {
      run_id: run.id,
      run_status: run.state,
      ...(path !== null && { resume: `${path}/${way.path}` }),
    },
  });
}
