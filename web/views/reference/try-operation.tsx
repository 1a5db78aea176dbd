import { useEffect, useRef, useState } from "preact/hooks";
import { apiKey, type ApiError, send } from "../../api/client.ts";
import type { ApiDocument } from "../../api/document.ts";
import { parseEvents, type StreamEvent } from "../../api/events.ts";
import { asApiError } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { formatBytes, formatDuration } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { SchemaForm } from "../../components/schema-form.tsx";
import { Failure } from "../../components/states.tsx";
import { apiUrl } from "../../links.ts";
import {
  curlCommand,
  isSafe,
  type Operation,
  prepareRequest,
  type PreparedRequest,
  type RequestValues,
  requestSchema,
} from "./operations.ts";

/** What came of a request. */
interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly headers: readonly (readonly [string, string])[];
  /** JSON, a text, or the events of a stream so far. */
  readonly content:
    | { readonly kind: "json"; readonly value: unknown }
    | { readonly kind: "text"; readonly text: string; readonly bytes: number }
    | {
        readonly kind: "events";
        readonly events: readonly StreamEvent[];
        readonly isOpen: boolean;
      };
}

/** Characters of an answer that are shown; the rest is left out. */
const maxText = 200_000;
/** Events of a stream that are shown, the newest ones. */
const maxEvents = 500;

/** A form for all values of a request, which is sent with the key of the tab, and its answer. */
export function TryOperation({
  operation,
  document,
}: {
  operation: Operation;
  document: ApiDocument;
}) {
  const schema = requestSchema(operation, document);
  const [values, setValues] = useState<RequestValues>({});
  const [asked, setAsked] = useState<PreparedRequest | null>(null);
  const { answer, error, isBusy, run, stop } = useRequest();
  const prepare = (value: unknown) => prepareRequest(operation, value as RequestValues, apiUrl);
  const submit = (value: unknown) => {
    const request = prepare(value);
    if (isSafe(operation)) void run(request);
    else setAsked(request);
  };
  const label = `Send ${operation.method.toUpperCase()}`;
  const curl = curlCommand(prepare(values), { hasKey: apiKey.value !== null });
  return (
    <div class="stack">
      <h3>Try it</h3>
      {schema === null ? (
        <div class="row">
          <button type="button" class="button primary" disabled={isBusy} onClick={() => submit({})}>
            {label}
          </button>
        </div>
      ) : (
        <SchemaForm
          schema={schema as Readonly<Record<string, unknown>>}
          submitLabel={label}
          isBusy={isBusy}
          onSubmit={submit}
          onChange={(value) => setValues(Object(value) as RequestValues)}
        />
      )}
      {isBusy && (
        <div class="row">
          <Badge status="running" />
          <button type="button" class="button small" onClick={stop}>
            Stop
          </button>
        </div>
      )}
      {error !== null && <Failure error={error} />}
      {answer !== null && <AnswerView answer={answer} />}
      <section class="curl">
        <div class="row">
          <h4>With curl</h4>
          <CopyButton text={() => curl} label="Copy the command" isIcon />
        </div>
        <pre class="code" tabIndex={0} aria-label="curl command">
          {curl}
        </pre>
      </section>
      {asked !== null && (
        <Dialog title={`${label}?`} onClose={() => setAsked(null)}>
          <p>
            {operation.summary} This is done on the real server:
            <br />
            <code>
              {asked.method} {asked.url}
            </code>
          </p>
          <div class="row">
            <button
              type="button"
              class={`button ${operation.method === "delete" ? "danger" : "primary"}`}
              onClick={() => {
                setAsked(null);
                void run(asked);
              }}
            >
              {label}
            </button>
            <button type="button" class="button plain" onClick={() => setAsked(null)}>
              Do not send
            </button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** Sends one request at a time. Events of a stream are shown as they come, until it ends or is stopped. */
function useRequest() {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const aborted = useRef<AbortController | null>(null);
  useEffect(() => () => aborted.current?.abort(), []);
  const run = async ({ method, url, headers, body }: PreparedRequest) => {
    aborted.current?.abort();
    const own = new AbortController();
    aborted.current = own;
    setAnswer(null);
    setError(null);
    setBusy(true);
    const began = performance.now();
    try {
      const response = await send(url, { method, headers, body, signal: own.signal });
      const head = {
        status: response.status,
        ms: performance.now() - began,
        headers: [...response.headers].map(([name, value]) => [name, value] as const),
      };
      if (/^text\/event-stream\b/.test(response.headers.get("content-type") ?? "")) {
        let events: readonly StreamEvent[] = [];
        const show = (isOpen: boolean) =>
          setAnswer({ ...head, content: { kind: "events", events, isOpen } });
        show(true);
        await parseEvents(response, (event) => {
          events = [...events.slice(1 - maxEvents), event];
          show(true);
        }).finally(() => show(false));
      } else {
        setAnswer({ ...head, content: contentOf(await response.text()) });
      }
    } catch (thrown) {
      if (!own.signal.aborted) setError(asApiError(thrown));
    } finally {
      if (aborted.current === own) setBusy(false);
    }
  };
  return { answer, error, isBusy, run, stop: () => aborted.current?.abort() };
}

function contentOf(text: string): Answer["content"] {
  try {
    return { kind: "json", value: JSON.parse(text) };
  } catch {
    return { kind: "text", text: text.slice(0, maxText), bytes: new Blob([text]).size };
  }
}

function AnswerView({ answer: { status, ms, headers, content } }: { answer: Answer }) {
  return (
    <section class="answer-view" aria-label="Answer">
      <div class="row" role="status">
        <Badge status={String(status)} tone={status < 400 ? "good" : "bad"} />
        <span class="number soft">{formatDuration(ms)}</span>
        {content.kind === "events" && (
          <span class="soft">
            {content.events.length} events{content.isOpen ? " so far" : ""}
          </span>
        )}
      </div>
      <details>
        <summary>{headers.length} headers</summary>
        <dl class="facts">
          {headers.map(([name, value]) => (
            <>
              <dt key={name}>{name}</dt>
              <dd>{value}</dd>
            </>
          ))}
        </dl>
      </details>
      {content.kind === "json" ? (
        <JsonTree value={content.value} open={2} />
      ) : content.kind === "events" ? (
        <ol class="events" tabIndex={0} aria-label="Events">
          {content.events.map(({ id, event, data }, index) => (
            <li key={`${id} ${index}`}>
              <code>{event}</code> <span class="faint number">{id}</span>
              <JsonTree value={data} open={0} />
            </li>
          ))}
        </ol>
      ) : content.text === "" ? (
        <p class="faint">No body.</p>
      ) : (
        <>
          <pre class="code" tabIndex={0} aria-label="Body">
            {content.text}
          </pre>
          {content.bytes > maxText && (
            <p class="faint">The beginning of {formatBytes(content.bytes)}.</p>
          )}
        </>
      )}
    </section>
  );
}
