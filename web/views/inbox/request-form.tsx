import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type ApiError } from "../../api/client.ts";
import { asApiError } from "../../api/query.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { SchemaForm } from "../../components/schema-form.tsx";
import { Failure } from "../../components/states.tsx";
import { Countdown } from "../../components/time.tsx";
import "../../styles/requests.css";
import {
  answerOf,
  type HumanRequest,
  proposedCalls,
  schemaOfValue,
  valueSchema,
} from "./answers.ts";
import { CallDecisions, CallTitle } from "./call-decisions.tsx";

interface RequestFormProps {
  readonly request: HumanRequest;
  /** Sends an answer. Rejects with an {@link ApiError} that is shown with the form. */
  readonly onAnswer: (answer: unknown) => Promise<void>;
}

/** What a person is asked, with what is proposed, and the ways to answer. */
export function RequestForm({ request, onAnswer }: RequestFormProps) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const answer = (given: unknown) => {
    setBusy(true);
    setError(null);
    onAnswer(given).catch((thrown: unknown) => {
      setError(asApiError(thrown));
      setBusy(false);
    });
  };
  const { problem } = request;
  const calls = proposedCalls(request);
  return (
    <section class="request" aria-label={request.prompt}>
      <header>
        <h2>{request.prompt}</h2>
        {request.expires_at !== null && (
          <span class="faint">
            <Countdown until={request.expires_at} />
          </span>
        )}
      </header>
      {typeof problem === "string" && <p class="problem">The last answer: {problem}</p>}
      {calls.length > 1 ? (
        <CallDecisions calls={calls} isBusy={isBusy} onAnswer={answer} />
      ) : request.kind === "input" ? (
        <InputForm request={request} isBusy={isBusy} onAnswer={answer} />
      ) : (
        <DecisionForm request={request} isBusy={isBusy} onAnswer={answer} />
      )}
      {error !== null && <Failure error={error} />}
    </section>
  );
}

interface PartProps {
  readonly request: HumanRequest;
  readonly isBusy: boolean;
  readonly onAnswer: (answer: unknown) => void;
}

/** Approve, edit or reject one call or value. */
function DecisionForm({ request, isBusy, onAnswer }: PartProps) {
  const [mode, setMode] = useState<"choose" | "edit" | "reject">("choose");
  const [call] = proposedCalls(request);
  const proposed = call === undefined ? request.proposed : call.args;
  const back = (
    <button type="button" class="button" onClick={() => setMode("choose")}>
      Back
    </button>
  );
  if (mode === "reject")
    return (
      <RejectForm
        isBusy={isBusy}
        onReject={(reason) => onAnswer(answerOf(request, { decision: "reject", reason }))}
        back={back}
      />
    );
  return (
    <>
      {call !== undefined && <CallTitle name={call.name} reason={call.reason} />}
      {mode === "edit" ? (
        <SchemaForm
          schema={call === undefined ? valueSchema(request) : schemaOfValue(call.args)}
          initial={proposed}
          submitLabel="Approve with changes"
          isBusy={isBusy}
          onSubmit={(value) => onAnswer(answerOf(request, { decision: "edit", value }))}
          actions={back}
        />
      ) : (
        <>
          <JsonTree value={proposed} open={3} />
          <div class="row">
            <button
              type="button"
              class="button primary"
              data-decision="approve"
              disabled={isBusy}
              onClick={() => onAnswer(answerOf(request, { decision: "approve" }))}
            >
              Approve
            </button>
            <button
              type="button"
              class="button"
              data-decision="edit"
              disabled={isBusy}
              onClick={() => setMode("edit")}
            >
              {call === undefined ? "Edit" : "Edit arguments"}
            </button>
            <button
              type="button"
              class="button"
              data-decision="reject"
              disabled={isBusy}
              onClick={() => setMode("reject")}
            >
              Reject
            </button>
          </div>
        </>
      )}
    </>
  );
}

/** A value that a person supplies. */
function InputForm({ request, isBusy, onAnswer }: PartProps) {
  const [isRejecting, setRejecting] = useState(false);
  if (isRejecting)
    return (
      <RejectForm
        isBusy={isBusy}
        onReject={(reason) => onAnswer({ decision: "reject", reason })}
        back={
          <button type="button" class="button" onClick={() => setRejecting(false)}>
            Back
          </button>
        }
      />
    );
  return (
    <>
      {request.proposed !== null && request.proposed !== undefined && (
        <JsonTree value={request.proposed} open={3} />
      )}
      <SchemaForm
        schema={valueSchema(request)}
        submitLabel="Answer"
        isBusy={isBusy}
        onSubmit={onAnswer}
        actions={
          <button
            type="button"
            class="button"
            data-decision="reject"
            onClick={() => setRejecting(true)}
          >
            Decline
          </button>
        }
      />
    </>
  );
}

function RejectForm({
  isBusy,
  onReject,
  back,
}: {
  isBusy: boolean;
  onReject: (reason: string) => void;
  back: ComponentChildren;
}) {
  const [reason, setReason] = useState("");
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        onReject(reason);
      }}
    >
      <label class="field">
        <span class="label">Why not? The agent reads it.</span>
        <textarea
          class="input"
          rows={3}
          value={reason}
          ref={(element) => element?.focus()}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      <div class="row">
        <button type="submit" class="button danger" disabled={isBusy}>
          Reject
        </button>
        {back}
      </div>
    </form>
  );
}
