import { useRef } from "preact/hooks";
import type { ApiDocument } from "../../api/document.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { apiUrl, links } from "../../links.ts";
import { bodyOf, type Operation } from "./operations.ts";
import { Method, Prose } from "./endpoint.tsx";
import { typeText } from "./schema-text.ts";
import { SchemaView } from "./schema-view.tsx";
import { TryOperation } from "./try-operation.tsx";

/** One operation: what it takes and answers, and a form that sends it. */
export function OperationView({
  operation,
  document,
}: {
  operation: Operation;
  document: ApiDocument;
}) {
  const { method, path, summary, description } = operation;
  const definitions = document.components.schemas;
  const scopes = operation["x-scopes"] ?? [];
  const body = bodyOf(operation);
  const place = useRef<HTMLElement>(null);
  const toTry = () => {
    place.current?.scrollIntoView();
    place.current?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
  };
  useShortcuts("Operation", [{ keys: "t", does: "Try the operation", run: toTry }]);
  const [good, problems] = [true, false].map((isGood) =>
    Object.entries(operation.responses).filter(([status]) => status < "4" === isGood),
  );
  return (
    <article class="operation">
      <div class="stack">
        <header class="stack">
          <a class="to-list" href={links.reference()}>
            All operations
          </a>
          <h2>{summary}</h2>
          <div class="row endpoint">
            <Method method={method} />
            <code>{path}</code>
            <CopyButton text={() => `${apiUrl}${path}`} label="Copy the address" isIcon />
            <button type="button" class="button small to-try" onClick={toTry}>
              Try it
            </button>
          </div>
          {description !== undefined && (
            <p>
              <Prose text={description} />
            </p>
          )}
          <dl class="facts">
            <dt>Scopes</dt>
            <dd>
              {scopes.length === 0
                ? "none: no key is needed"
                : scopes.map((scope) => <code key={scope}>{scope} </code>)}
            </dd>
            <dt>Name</dt>
            <dd>
              <code>{operation.operationId}</code>
            </dd>
          </dl>
        </header>
        {(operation.parameters ?? []).length > 0 && (
          <section>
            <h3>Parameters</h3>
            <ul class="schema-view">
              {(operation.parameters ?? []).map(({ in: where, name, ...parameter }, index) => (
                <li key={index} class="member">
                  <span class="name">{name}</span>
                  <code class="faint">
                    {where} · {typeText(parameter.schema ?? {}, definitions)}
                  </code>
                  {parameter.required === true && <span class="required">required</span>}
                  {parameter.schema?.default !== undefined && (
                    <span class="faint">
                      default <code>{JSON.stringify(parameter.schema.default)}</code>
                    </span>
                  )}
                  <span class="about">
                    <Prose text={parameter.description} />
                  </span>
                </li>
              ))}
            </ul>
          </section>
        )}
        {body !== null && (
          <section>
            <h3>
              Body <code class="faint">{body.type}</code>
            </h3>
            <SchemaView schema={body.schema} definitions={definitions} />
          </section>
        )}
        <section>
          <h3>Answers</h3>
          {(good ?? []).map(([status, answer]) => (
            <div key={status} class="answer">
              <p>
                <strong class="number">{status}</strong> <Prose text={answer.description} />
              </p>
              {Object.entries(answer.content ?? {}).map(([type, { schema }]) => (
                <div key={type}>
                  <code class="faint">{type}</code>
                  {schema !== undefined && <SchemaView schema={schema} definitions={definitions} />}
                </div>
              ))}
            </div>
          ))}
          <details>
            <summary>Problems</summary>
            <ul class="problems">
              {(problems ?? []).map(([status, answer]) => (
                <li key={status}>
                  <strong class="number">{status}</strong> <Prose text={answer.description} />
                </li>
              ))}
            </ul>
          </details>
        </section>
      </div>
      <section class="try" ref={place} aria-label="Try it">
        <TryOperation operation={operation} document={document} />
      </section>
    </article>
  );
}
