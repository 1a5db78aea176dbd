import { useLocation, useRoute } from "preact-iso";
import { useRef } from "preact/hooks";
import { type ApiDocument, useApiDocument } from "../../api/document.ts";
import { Page } from "../../components/page.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Show } from "../../components/states.tsx";
import { apiUrl, links } from "../../links.ts";
import "../../styles/reference.css";
import { OperationView } from "./operation-view.tsx";
import { Method } from "./endpoint.tsx";
import { type Operation, operationsOf, searchOperations } from "./operations.ts";

/** The reference of the HTTP API, from the server's own document, in which each operation can be tried. */
export function ReferenceView() {
  const document = useApiDocument();
  return (
    <Page title="API" fills facts={<code class="soft">{apiUrl}</code>}>
      <Show loaded={document}>{(data) => <Reference document={data} />}</Show>
    </Page>
  );
}

function Reference({ document }: { document: ApiDocument }) {
  const { params } = useRoute();
  const { query, route } = useLocation();
  const search = query["q"] ?? "";
  const input = useRef<HTMLInputElement>(null);
  const all = operationsOf(document);
  const found = searchOperations(all, search);
  const current = all.find(({ operationId }) => operationId === params["operation"]);
  const move = (by: number) => {
    const at = found.findIndex(({ operationId }) => operationId === current?.operationId);
    const next = found[at + by] ?? (at < 0 ? found[0] : undefined);
    if (next !== undefined) route(links.reference(next.operationId, { q: search }));
  };
  useShortcuts("API", [
    { keys: "/", does: "Search operations", run: () => input.current?.focus() },
    { keys: "j", does: "Next operation", run: () => move(1) },
    { keys: "k", does: "Previous operation", run: () => move(-1) },
  ]);
  return (
    <div class={`reference${params["operation"] === undefined ? "" : " has-operation"}`}>
      <nav class="operations" aria-label="Operations">
        <input
          ref={input}
          type="search"
          class="input"
          aria-label="Search operations"
          placeholder="Search operations"
          value={search}
          onInput={(event) =>
            route(links.reference(params["operation"], { q: event.currentTarget.value }), true)
          }
        />
        <OperationList operations={found} current={current} search={search} />
      </nav>
      <div class="operation-place" id="operation">
        {current !== undefined ? (
          <OperationView key={current.operationId} operation={current} document={document} />
        ) : params["operation"] === undefined ? (
          <Overview document={document} operations={all} />
        ) : (
          <Empty title="This server has no such operation">
            <p>
              It may be of another version. <a href={links.reference()}>Show all operations</a>
            </p>
          </Empty>
        )}
      </div>
    </div>
  );
}

function OperationList({
  operations,
  current,
  search,
}: {
  operations: readonly Operation[];
  current: Operation | undefined;
  search: string;
}) {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return (
    <div class="operation-list" role="region" aria-label="All operations" tabIndex={0}>
      {tags.map((tag) => (
        <section key={tag}>
          <h2>{tag}</h2>
          <ul>
            {operations
              .filter((one) => one.tag === tag)
              .map((one) => (
                <li key={one.operationId}>
                  <a
                    href={links.reference(one.operationId, { q: search })}
                    aria-current={one === current ? "page" : undefined}
                    title={one.summary}
                  >
                    <Method method={one.method} />
                    <span class="truncate">{shortPath(one.path)}</span>
                  </a>
                </li>
              ))}
          </ul>
        </section>
      ))}
      {operations.length === 0 && (
        <p class="faint">No operation has these words. Search for a path, a name or a scope.</p>
      )}
    </div>
  );
}

/** Characters of a path that the list has room for. */
const pathRoom = 34;

/** A path whose beginning is left out where it is long: its end tells it from others. */
function shortPath(path: string): string {
  const parts = path.split("/");
  let short = path;
  while (short.length > pathRoom && parts.length > 2) {
    parts.shift();
    short = `…/${parts.join("/")}`;
  }
  return short;
}

function Overview({
  document,
  operations,
}: {
  document: ApiDocument;
  operations: readonly Operation[];
}) {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return (
    <div class="stack overview">
      <h2>
        {document.info.title} {document.info.version}
      </h2>
      <p>
        {operations.length} operations. Requests are sent with the key of this tab, and bodies are
        JSON. The whole document is at{" "}
        <a href={`${apiUrl}/v1/openapi.json`} target="_blank" rel="noopener">
          /v1/openapi.json
        </a>
        ; the same as a page without scripts is at{" "}
        <a href={`${apiUrl}/v1/docs`} target="_blank" rel="noopener">
          /v1/docs
        </a>
        .
      </p>
      <ul class="tags">
        {tags.map((tag) => (
          <li key={tag}>
            <a href={links.reference(undefined, { q: tag })}>
              {tag}{" "}
              <span class="faint number">{operations.filter((one) => one.tag === tag).length}</span>
            </a>
          </li>
        ))}
      </ul>
      <p class="faint">
        <kbd>/</kbd> searches, <kbd>j</kbd> and <kbd>k</kbd> go to the next and the previous
        operation.
      </p>
    </div>
  );
}
