import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client.ts";
import type { Loaded } from "../api/query.ts";

/** Says that there is nothing here, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** What to do about problems that users can mend. */
const advice: Readonly<Record<string, string>> = {
  unreachable: "Start the server again, then try again.",
  not_found: "It was deleted, or is of another tenant. Go back to the list.",
  missing_scope: "Use a key with this scope.",
  rate_limited: "Wait a moment, then try again.",
};

/** A failure to load or do something, with what to do next. */
export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <strong>{error.message}</strong>
      {error.errors.length > 0 && (
        <ul>
          {error.errors.map(({ pointer, detail }) => (
            <li key={pointer}>
              <code>{pointer}</code> {detail}
            </li>
          ))}
        </ul>
      )}
      {advice[error.type] !== undefined && <p>{advice[error.type]}</p>}
      {retry !== undefined && (
        <button type="button" class="button small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Lines where text will be. */
export function Loading({ lines = 5 }: { lines?: number }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <i key={index} style={{ width: `${90 - ((index * 23) % 50)}%` }} />
      ))}
    </div>
  );
}

/** Shows loaded data, or why there is none. Data that is there stays in sight while it is loaded again. */
export function Show<Data>({
  loaded,
  children,
}: {
  loaded: Loaded<Data>;
  children: (data: Data) => ComponentChildren;
}) {
  const { data, error, reload } = loaded;
  return (
    <>
      {error !== null && <Failure error={error} retry={reload} />}
      {data !== null ? children(data) : error === null && <Loading />}
    </>
  );
}
