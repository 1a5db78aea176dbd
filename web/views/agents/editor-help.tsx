import { useMemo } from "preact/hooks";
import { type JsonSchema } from "../../api/document.ts";
import { apiUrl } from "../../links.ts";
import { problemOf, send } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import type { DefinitionCheck } from "./check-definition.ts";
import { completionsAt, helpAt, type SchemaHelp } from "./schema-place.ts";
import { findPlace } from "./yaml-place.ts";

/** Help and completions for places of a text, from the JSON Schema of definitions. */
export function useSchemaHelp(text: string) {
  const { data: root } = useQuery("agent schema", readSchema);
  return useMemo(
    () => ({
      at(caret: number): SchemaHelp | null {
        return root === null ? null : helpAt({ root, ...findPlace(text, caret) });
      },
      complete(caret: number) {
        const found = findPlace(text, caret);
        const options = root === null ? [] : completionsAt({ root, ...found });
        return { from: found.place.from, options };
      },
    }),
    [root, text],
  );
}

async function readSchema(signal: AbortSignal): Promise<JsonSchema> {
  const response = await send(`${apiUrl}/v1/schemas/agent`, { signal });
  const body: unknown = await response.json();
  if (!response.ok) throw problemOf(response.status, body);
  return body as JsonSchema;
}

/** What the schema says of the place of the caret, and the keys of the editor. */
export function CaretHelp({ help }: { help: SchemaHelp | null }) {
  return (
    <footer class="caret-help">
      <p aria-live="polite">
        {help === null ? (
          <span class="faint">Nothing is known of this place.</span>
        ) : (
          <>
            <code class="name">{help.name}</code>{" "}
            <code class="faint type" title={help.type}>
              {help.type}
            </code>
            {help.fallback !== null && (
              <span class="soft">
                {" "}
                default <code>{help.fallback}</code>
              </span>
            )}
            {help.isRequired && <span class="required"> required</span>}
            <span class="about">{help.description}</span>
          </>
        )}
      </p>
      <p class="faint keys" id="editor-keys">
        <kbd>Ctrl</kbd> <kbd>Space</kbd> lists keys and values. <kbd>Tab</kbd> indents;{" "}
        <kbd>Esc</kbd> then <kbd>Tab</kbd> leaves. <kbd>Ctrl</kbd> <kbd>S</kbd> saves. Comments are
        not stored.
      </p>
    </footer>
  );
}

/** Problems that are shown. */
const maxShown = 200;

/** The problems of the text, each of which leads to its line. */
export function Problems({
  check,
  isCurrent,
  onOpen,
}: {
  check: DefinitionCheck | null;
  isCurrent: boolean;
  onOpen: (place: { line: number; column: number }) => void;
}) {
  const problems = check?.problems ?? [];
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  return (
    <section class="problems" aria-label="Problems">
      <p role="status">
        {check === null ? (
          <span class="faint">Checking</span>
        ) : check.ok ? (
          <Badge status="No problems" tone={isCurrent ? "good" : "idle"} />
        ) : (
          <Badge status={count} tone={isCurrent ? "bad" : "idle"} />
        )}
      </p>
      {problems.length > 0 && (
        <ul>
          {problems.slice(0, maxShown).map((problem, index) => (
            <li key={index}>
              <button
                type="button"
                onClick={() => onOpen({ line: problem.line ?? 1, column: problem.column ?? 1 })}
              >
                <span class="number place">
                  {problem.line ?? 1}:{problem.column ?? 1}
                </span>
                <span>
                  <code>{problem.path}</code> {problem.message}
                  {typeof problem.suggestion === "string" && (
                    <>
                      {" "}
                      – did you mean <code>{problem.suggestion}</code>?
                    </>
                  )}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
