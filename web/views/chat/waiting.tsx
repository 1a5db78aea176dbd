import { useId, useState } from "preact/hooks";
import { api, type ApiError, bodyOf } from "../../api/client.ts";
import { asApiError } from "../../api/query.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { SchemaFields, SchemaForm } from "../../components/schema-form.tsx";
import {
  checkValue,
  initialValue,
  isRecord,
  type Problem,
  type Schema,
} from "../../components/schema/fields.ts";
import { Failure } from "../../components/states.tsx";
import { Countdown } from "../../components/time.tsx";
import { type HumanRequest, textOrJson } from "../inbox/answers.ts";
import { RequestForm } from "../inbox/request-form.tsx";
import type { Run } from "./conversation.ts";
import { pathOf } from "./run-requests.ts";

interface WaitingProps {
  readonly run: Run;
  /** Definition of the agent, for the schemas of its client tools. */
  readonly definition: Readonly<Record<string, unknown>>;
  readonly onAnswer: (answers: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly onResults: (results: readonly object[]) => Promise<void>;
  readonly onDone: () => void;
}

/** What a run waits for: people, results of client tools, events. */
export function Waiting({ run, definition, onAnswer, onResults, onDone }: WaitingProps) {
  const { result } = run;
  if (result === null || !run.status.startsWith("awaiting")) return null;
  const { requests, tool_calls: calls, waits = [] } = result.output;
  return (
    <div class="waiting" role="region" aria-label="Waits for you">
      {requests.map((request) => (
        <RequestForm
          key={request.id}
          request={request as HumanRequest}
          onAnswer={(answer) => onAnswer({ [request.id]: answer })}
        />
      ))}
      {calls.length > 0 && (
        <ToolResults
          calls={calls as unknown as readonly ClientCall[]}
          definition={definition}
          onResults={onResults}
        />
      )}
      {waits.map((wait) => (
        <WaitForm key={wait.id} run={run} wait={wait} onDone={onDone} />
      ))}
    </div>
  );
}

interface ClientCall {
  readonly call_id: string;
  readonly request_id: string;
  readonly tool: string;
  readonly input: unknown;
  readonly expires_at: string;
}

interface Given {
  readonly isError: boolean;
  readonly value: unknown;
}

/** Results of client tools, which this page cannot call. */
function ToolResults({
  calls,
  definition,
  onResults,
}: {
  calls: readonly ClientCall[];
  definition: Readonly<Record<string, unknown>>;
  onResults: (results: readonly object[]) => Promise<void>;
}) {
  const [given, give] = useState<ReadonlyMap<string, Given>>(new Map());
  const [problems, setProblems] = useState<ReadonlyMap<string, readonly Problem[]>>(new Map());
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const schemaOf = ({ tool }: ClientCall) => outputSchema(definition, tool);
  const of = (call: ClientCall): Given =>
    given.get(call.call_id) ?? {
      isError: false,
      value: initialValue(schemaOf(call), schemaOf(call)),
    };
  const send = (event: Event) => {
    event.preventDefault();
    const found = new Map(
      calls.map((call) => {
        const { isError, value } = of(call);
        const schema = isError ? errorSchema : schemaOf(call);
        return [call.call_id, checkValue(schema, value, schema)] as const;
      }),
    );
    setProblems(found);
    if ([...found.values()].some((one) => one.length > 0)) return;
    setBusy(true);
    setError(null);
    const results = calls.map((call) => {
      const { isError, value } = of(call);
      const { call_id, request_id } = call;
      return { call_id, request_id, ...(isError ? { error: value } : { output: value }) };
    });
    onResults(results).catch((thrown: unknown) => {
      setError(asApiError(thrown));
      setBusy(false);
    });
  };
  return (
    <form class="request" onSubmit={send}>
      <header>
        <h2>
          {calls.length === 1 ? "This call is made by you" : "These calls are made by you"}, the
          client
        </h2>
        {calls[0] !== undefined && (
          <span class="faint">
            <Countdown until={calls[0].expires_at} />
          </span>
        )}
      </header>
      {calls.map((call) => (
        <ToolResult
          key={call.call_id}
          call={call}
          schema={schemaOf(call)}
          given={of(call)}
          problems={problems.get(call.call_id) ?? []}
          onChange={(next) => give(new Map(given).set(call.call_id, next))}
        />
      ))}
      {error !== null && <Failure error={error} />}
      <div class="row">
        <button type="submit" class="button primary" disabled={isBusy}>
          {calls.length === 1 ? "Send the result" : `Send ${calls.length} results`}
        </button>
      </div>
    </form>
  );
}

const errorSchema: Schema = { title: "What went wrong", type: "string", format: "textarea" };

function ToolResult({
  call,
  schema,
  given,
  problems,
  onChange,
}: {
  call: ClientCall;
  schema: Schema;
  given: Given;
  problems: readonly Problem[];
  onChange: (given: Given) => void;
}) {
  const name = useId();
  const { isError, value } = given;
  const kinds = [
    { label: "It returned a result", isFailed: false },
    { label: "It failed", isFailed: true },
  ];
  return (
    <fieldset class="decision">
      <legend>
        <code>{call.tool}</code>
      </legend>
      <JsonTree value={call.input} open={2} />
      <div class="row">
        {kinds.map(({ label, isFailed }) => (
          <label key={label} class="check">
            <input
              type="radio"
              name={name}
              checked={isError === isFailed}
              onChange={() =>
                onChange({
                  isError: isFailed,
                  value: isFailed ? undefined : initialValue(schema, schema),
                })
              }
            />
            {label}
          </label>
        ))}
      </div>
      <SchemaFields
        key={String(isError)}
        schema={isError ? errorSchema : schema}
        value={value}
        problems={problems}
        onChange={(next) => onChange({ isError, value: next })}
      />
    </fieldset>
  );
}

/** Returns the schema of a tool's results as the definition has it. */
function outputSchema(definition: Readonly<Record<string, unknown>>, name: string): Schema {
  const { tools } = definition;
  const tool = (Array.isArray(tools) ? tools : []).find(
    (one: unknown) => isRecord(one) && one["name"] === name,
  ) as Record<string, unknown> | undefined;
  const schema = tool?.["output_schema"];
  return isRecord(schema) ? schema : { ...textOrJson, title: "Result" };
}

type Wait = NonNullable<NonNullable<Run["result"]>["output"]["waits"]>[number];

/** A wait for a time or an event, which can be sent from here. */
export function WaitForm({
  run,
  wait,
  onDone,
}: {
  run: Pick<Run, "agent_id" | "run_id">;
  wait: Wait;
  onDone: () => void;
}) {
  const { event, prompt, schema, expires_at: expires } = wait;
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const send = (payload: unknown) => {
    setBusy(true);
    bodyOf(
      api.POST("/v1/agents/{agent_id}/runs/{run_id}/events", {
        params: { path: pathOf(run) },
        body: { name: event ?? "", payload } as never,
      }),
    ).then(onDone, (thrown: unknown) => {
      setError(asApiError(thrown));
      setBusy(false);
    });
  };
  return (
    <section class="request" aria-label={prompt || "Waits"}>
      <header>
        <h2>
          {prompt || (event === null ? "Waits for a time" : "Waits for an event")}
          {event !== null && <code> {event}</code>}
        </h2>
        {expires !== null && (
          <span class="faint">
            <Countdown until={expires} />
          </span>
        )}
      </header>
      {event !== null && (
        <SchemaForm
          schema={Object.keys(schema).length === 0 ? { ...textOrJson, title: "Payload" } : schema}
          submitLabel="Send the event"
          isBusy={isBusy}
          onSubmit={send}
          problems={(error?.errors ?? [])
            .filter(({ pointer }) => pointer.startsWith("/payload"))
            .map(({ pointer, detail }) => ({ pointer: pointer.slice(8), detail }))}
        />
      )}
      {error !== null && <Failure error={error} />}
    </section>
  );
}
