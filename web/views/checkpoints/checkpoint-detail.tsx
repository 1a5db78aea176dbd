import { CopyButton } from "../../components/copy-button.tsx";
import { Badge } from "../../components/badge.tsx";
import { formatBytes } from "../../components/format.ts";
import { JsonTree } from "../../components/json-tree.tsx";
import { Show } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { links } from "../../links.ts";
import { type Marks, stoppedNodes, titleOf, triggerText } from "./checkpoint-tree.tsx";
import { StateChannels } from "./state-channels.tsx";
import { type CheckpointState, type StoredState, useStoredState } from "./stored-state.ts";

/** One checkpoint: where it stands, what waits, and its state. */
export function CheckpointDetail({
  threadId,
  checkpointId,
  marks,
  onMark,
}: {
  threadId: string;
  checkpointId: string;
  marks: Marks;
  onMark: (name: "a" | "b") => void;
}) {
  const loaded = useStoredState(threadId, checkpointId);
  return (
    <section class="checkpoint-detail" aria-label="Selected checkpoint" tabIndex={0}>
      <Show loaded={loaded}>
        {(stored) => (
          <>
            <header class="row">
              <h2>{titleOf(stored.checkpoint)}</h2>
              {stoppedNodes(stored.checkpoint).map(({ node, outcome }) => (
                <Badge
                  key={node}
                  status={`${node} ${outcome === "failure" ? "failed" : "waits"}`}
                  tone={outcome === "failure" ? "bad" : "wait"}
                />
              ))}
              <span class="row side">
                {(["a", "b"] as const).map((name) => (
                  <button
                    key={name}
                    type="button"
                    class="button small"
                    aria-pressed={marks[name] === checkpointId}
                    onClick={() => onMark(name)}
                  >
                    Mark {name.toUpperCase()}
                  </button>
                ))}
              </span>
            </header>
            <Facts threadId={threadId} checkpoint={stored.checkpoint} />
            <Waiting checkpoint={stored.checkpoint} />
            <Redactions stored={stored} />
            <StateChannels threadId={threadId} stored={stored} />
          </>
        )}
      </Show>
    </section>
  );
}

function Facts({ threadId, checkpoint }: { threadId: string; checkpoint: CheckpointState }) {
  const { forked_from: origin, parent_id: parent, integrity_hash: hash, next } = checkpoint;
  return (
    <dl class="facts">
      <dt>Checkpoint</dt>
      <dd>
        <code>{checkpoint.id}</code> <CopyButton text={() => checkpoint.id} label="Copy id" />
      </dd>
      <dt>Written</dt>
      <dd>
        <Ago at={checkpoint.created_at} />, {triggerText(checkpoint)}, step{" "}
        {checkpoint.sequence_num} of its branch, {formatBytes(checkpoint.bytes)} stored
      </dd>
      {checkpoint.status !== null && (
        <>
          <dt>Status</dt>
          <dd>
            <Badge status={checkpoint.status} />
          </dd>
        </>
      )}
      <dt>Runs next</dt>
      <dd>{next.length === 0 ? "nothing: the turn has ended here" : next.join(", ")}</dd>
      {origin !== null && (
        <>
          <dt>Copied from</dt>
          <dd>
            <a href={links.checkpoint(origin.thread_id, origin.checkpoint_id)}>
              checkpoint <code>{origin.checkpoint_id}</code> of thread{" "}
              <code>{origin.thread_id}</code>
            </a>
          </dd>
        </>
      )}
      {parent !== null && (
        <>
          <dt>Parent</dt>
          <dd>
            <a href={links.checkpoint(threadId, parent)}>
              <code>{parent}</code>
            </a>
          </dd>
        </>
      )}
      <dt>Integrity hash</dt>
      <dd>
        {hash === null ? (
          <span class="faint">none</span>
        ) : (
          <>
            <code title={hash}>{hash.slice(0, 16)}…</code>{" "}
            <CopyButton text={() => hash} label="Copy hash" />
          </>
        )}
      </dd>
    </dl>
  );
}

/** What waits here for people or for results. */
function Waiting({ checkpoint: { requests } }: { checkpoint: CheckpointState }) {
  if (requests.length === 0) return null;
  return (
    <div class="notice wait">
      <strong>
        {requests.length === 1 ? "A request waits" : `${requests.length} requests wait`} here
      </strong>
      <JsonTree value={requests} open={2} />
      <a href={links.inbox()}>Answer in the inbox</a>
    </div>
  );
}

/** Which values rails have redacted, and whether this key sees them. */
function Redactions({ stored: { checkpoint, channels } }: { stored: StoredState }) {
  const redactions = channels.find(({ name }) => name === "redactions")?.loaded?.value;
  const placeholders = Object.keys(Object(redactions) as object);
  if (placeholders.length === 0) return null;
  const shown = placeholders.slice(0, 12);
  return (
    <div class="notice">
      <span>
        {checkpoint.redacted
          ? "Rails have redacted values, which these placeholders stand for. A key with the scope "
          : "Rails have redacted values that these placeholders stand for in what models read. This key sees them: it has the scope "}
        <code>checkpoints:unredacted</code>
        {checkpoint.redacted ? " sees them." : "."}
      </span>
      <span class="row">
        {shown.map((one) => (
          <span key={one} class="redacted mono">
            {one}
          </span>
        ))}
        {placeholders.length > shown.length && (
          <span class="faint">and {placeholders.length - shown.length} more</span>
        )}
      </span>
    </div>
  );
}
