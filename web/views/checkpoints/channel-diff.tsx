import { useMemo, useState } from "preact/hooks";
import type { components } from "../../api/schema.d.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { withPlaceholders } from "../../components/placeholders.tsx";
import { Failure } from "../../components/states.tsx";
import { valueAt } from "./json-path.ts";
import { useChannel } from "./stored-state.ts";
import { diffTexts } from "./text-diff.ts";

export type CheckpointDiff = components["schemas"]["CheckpointDiff"];
type Diff = CheckpointDiff["channels"][number];
type Change = Diff["changes"][number];

/** The checkpoints that are compared. */
interface Sides {
  readonly from: string | null;
  readonly to: string;
}

const signs = { added: "+", removed: "−", changed: "~" } as const;

/** What changed in one channel. Where the server has shortened values, the whole ones are loaded. */
export function ChannelDiff({
  threadId,
  sides,
  diff: { channel, kind, changes, omitted },
}: {
  threadId: string;
  sides: Sides;
  diff: Diff;
}) {
  const [isWhole, setWhole] = useState(false);
  const isShort = changes.some(({ before, after }) => isCut(before) || isCut(after));
  const needed = isShort || isWhole;
  const before = useChannel(threadId, needed && kind !== "added" ? sides.from : null, channel);
  const after = useChannel(threadId, needed && kind !== "removed" ? sides.to : null, channel);
  const error = before.error ?? after.error;
  return (
    <section class="channel-diff" aria-label={`Channel ${channel}`}>
      <header class="row">
        <h2>
          <code>{channel}</code>
        </h2>
        <span class={kind}>{kind}</span>
        <span class="faint number">
          {changes.length + omitted === 1 ? "1 change" : `${changes.length + omitted} changes`}
        </span>
        <button
          type="button"
          class="button small plain"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? "Hide whole values" : "Whole values"}
        </button>
      </header>
      {error !== null && <Failure error={error} />}
      <ol>
        {changes.map((change) => (
          <ChangeRow
            key={`${change.kind} ${change.path}`}
            change={change}
            before={before.data?.value}
            after={after.data?.value}
          />
        ))}
        {omitted > 0 && <li class="faint">and {omitted.toLocaleString("en")} more changes</li>}
      </ol>
      {isWhole && (
        <div class="tiers">
          {(
            [
              ["Before", before.data],
              ["After", after.data],
            ] as const
          ).map(([title, loaded]) => (
            <section key={title} aria-label={title}>
              <header>
                <h3>{title}</h3>
              </header>
              {loaded === null ? (
                <p class="faint">Not there.</p>
              ) : (
                <JsonTree value={loaded.value} open={1} />
              )}
            </section>
          ))}
        </div>
      )}
    </section>
  );
}

/** One change. It takes the focus, so that keys lead from one to the next. */
function ChangeRow({
  change: { path, kind, before, after },
  before: whole,
  after: wholeAfter,
}: {
  change: Change;
  before: unknown;
  after: unknown;
}) {
  const parts = useMemo(() => {
    if (kind !== "changed" || !(isCut(before) || isCut(after))) return null;
    const [was, is] = [textAt(whole, path, before), textAt(wholeAfter, path, after)];
    return was === null || is === null ? null : diffTexts(was, is);
  }, [whole, wholeAfter, path, kind]);
  return (
    <li class="change" data-change tabIndex={-1}>
      <span class={`sign ${kind}`}>
        <span aria-hidden="true">{signs[kind]}</span>
        <span class="visually-hidden">{kind}</span>
      </span>
      {path !== "" && <code class="path">{path}</code>}
      {parts === null ? (
        <span class={path === "" ? "values whole" : "values"}>
          {before !== null && <del>{withPlaceholders(before)}</del>}
          {after !== null && <ins>{withPlaceholders(after)}</ins>}
        </span>
      ) : (
        <pre class={path === "" ? "text-diff whole" : "text-diff"} tabIndex={0}>
          {parts.map((part, index) =>
            part.kind === "added" ? (
              <ins key={index}>{part.text}</ins>
            ) : part.kind === "removed" ? (
              <del key={index}>{part.text}</del>
            ) : (
              <span key={index} class={part.kind === "omitted" ? "faint" : undefined}>
                {part.text}
              </span>
            ),
          )}
        </pre>
      )}
    </li>
  );
}

/** Whether the server has shortened a value. */
function isCut(text: string | null): boolean {
  return text?.endsWith("…") === true;
}

/** The text at a path, if it is the one that the server shows the beginning of; else null. */
function textAt(value: unknown, path: string, short: string | null): string | null {
  const text = valueAt(value, path);
  if (typeof text !== "string" || short === null) return null;
  const line = JSON.stringify(text).replaceAll(/\s+/g, " ");
  const isSame = isCut(short) ? line.startsWith(short.slice(0, -1)) : line === short;
  return isSame ? text : null;
}
