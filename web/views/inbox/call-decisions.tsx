import { useId, useState } from "preact/hooks";
import { JsonTree } from "../../components/json-tree.tsx";
import { SchemaFields } from "../../components/schema-form.tsx";
import { answerOfCalls, type Decision, type ProposedCall, schemaOfValue } from "./answers.ts";

interface CallDecisionsProps {
  readonly calls: readonly ProposedCall[];
  readonly isBusy: boolean;
  readonly onAnswer: (answer: unknown) => void;
}

/** Several calls of a step, each with a decision of its own. */
export function CallDecisions({ calls, isBusy, onAnswer }: CallDecisionsProps) {
  const [chosen, choose] = useState<ReadonlyMap<string, Decision>>(new Map());
  const isWhole = calls.every(({ id }) => chosen.has(id));
  const send = (decisionOf: (call: ProposedCall) => Decision) =>
    onAnswer(answerOfCalls(calls.map((call) => ({ call, decision: decisionOf(call) }))));
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (isWhole) send(({ id }) => chosen.get(id) ?? { decision: "approve" });
      }}
    >
      {calls.map((call) => (
        <CallDecision
          key={call.id}
          call={call}
          chosen={chosen.get(call.id) ?? null}
          onChoose={(decision) => choose(new Map(chosen).set(call.id, decision))}
        />
      ))}
      <div class="row">
        <button type="submit" class="button primary" disabled={isBusy || !isWhole}>
          Send decisions
        </button>
        <button
          type="button"
          class="button"
          data-decision="approve"
          disabled={isBusy}
          onClick={() => send(() => ({ decision: "approve" }))}
        >
          Approve all
        </button>
        {!isWhole && (
          <span class="faint">
            {chosen.size} of {calls.length} decided
          </span>
        )}
      </div>
    </form>
  );
}

function CallDecision({
  call,
  chosen,
  onChoose,
}: {
  call: ProposedCall;
  chosen: Decision | null;
  onChoose: (decision: Decision) => void;
}) {
  const name = useId();
  const options: readonly { readonly label: string; readonly decision: Decision }[] = [
    { label: "Approve", decision: { decision: "approve" } },
    { label: "Edit", decision: { decision: "edit", value: call.args } },
    { label: "Reject", decision: { decision: "reject", reason: "" } },
  ];
  return (
    <fieldset class="decision">
      <legend>
        <CallTitle name={call.name} reason={call.reason} />
      </legend>
      {chosen?.decision === "edit" ? (
        <SchemaFields
          schema={schemaOfValue(call.args)}
          value={chosen.value}
          problems={[]}
          onChange={(value) => onChoose({ decision: "edit", value })}
        />
      ) : (
        <JsonTree value={call.args} open={3} />
      )}
      <div class="row">
        {options.map(({ label, decision }) => (
          <label key={label} class="check">
            <input
              type="radio"
              name={name}
              checked={chosen?.decision === decision.decision}
              onChange={() => onChoose(decision)}
            />
            {label}
          </label>
        ))}
      </div>
      {chosen?.decision === "reject" && (
        <label class="field">
          <span class="label">Why not? The agent reads it.</span>
          <textarea
            class="input"
            rows={2}
            value={chosen.reason}
            onInput={(event) => onChoose({ decision: "reject", reason: event.currentTarget.value })}
          />
        </label>
      )}
    </fieldset>
  );
}

/** The name of a call, and why the agent makes it. */
export function CallTitle({ name, reason }: { name: string; reason: string }) {
  return (
    <p class="call-title">
      <code>{name}</code>
      {reason !== "" && <span class="soft">{reason}</span>}
    </p>
  );
}
