import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { Confirm } from "../../components/confirm.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { JsonTree } from "../../components/json-tree.tsx";
import { Ago } from "../../components/time.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import { type Found, forgottenText } from "./entries.ts";

/** The parts of a score, with the weight that each has in it. */
const parts = [
  { name: "keyword", says: "words", weight: 1 },
  { name: "meaning", says: "meaning", weight: 0.5 },
  { name: "neighbours", says: "entries around it", weight: 1 },
  { name: "session", says: "its thread", weight: 0.25 },
  { name: "importance", says: "importance", weight: 0.05 },
  { name: "recency", says: "recency", weight: 0.05 },
] as const;

/** One memory, and why it scored. */
export function EntryDetail({
  agentId,
  entry,
  onForgotten,
}: {
  agentId: string;
  entry: Found;
  onForgotten: () => void;
}) {
  const [isAsked, setAsked] = useState(false);
  const { metadata } = entry;
  return (
    <section class="entry stack" aria-label="Selected memory" tabIndex={0}>
      <p class="content" dir="auto">
        {entry.content}
      </p>
      <Why entry={entry} />
      <dl class="facts">
        <dt>Memory</dt>
        <dd>
          <code>{entry.id}</code> <CopyButton text={() => entry.id} label="Copy id" />
        </dd>
        <dt>Type</dt>
        <dd>{entry.memory_type.replace("_", "-")}</dd>
        <dt>User</dt>
        <dd>{entry.user ?? <span class="faint">no user</span>}</dd>
        <dt>Thread</dt>
        <dd>
          {entry.thread_id === null ? (
            <span class="faint">none</span>
          ) : (
            <a class="mono" href={links.thread(entry.thread_id)}>
              {entry.thread_id}
            </a>
          )}
        </dd>
        <dt>Importance</dt>
        <dd class="number">{entry.importance.toFixed(2)}</dd>
        <dt>Read</dt>
        <dd>
          {entry.access_count === 0 ? (
            "by no turn yet"
          ) : (
            <>
              <span class="number">{entry.access_count}</span> times,{" "}
              <Ago at={entry.last_accessed} />
            </>
          )}
        </dd>
        <dt>Stored</dt>
        <dd>
          <Ago at={entry.created_at} />
        </dd>
        {entry.expires_at !== null && (
          <>
            <dt>Expires</dt>
            <dd>
              <Ago at={entry.expires_at} />
            </dd>
          </>
        )}
        <dt>Vector</dt>
        <dd>
          {entry.embedding_model ?? <span class="faint">none: found by its words alone</span>}
        </dd>
        {metadata.tags.length > 0 && (
          <>
            <dt>Tags</dt>
            <dd>{metadata.tags.join(", ")}</dd>
          </>
        )}
        {metadata.entities.length > 0 && (
          <>
            <dt>Names</dt>
            <dd>{metadata.entities.join(", ")}</dd>
          </>
        )}
      </dl>
      <JsonTree value={metadata} open={0} />
      <div>
        <button type="button" class="button danger" onClick={() => setAsked(true)}>
          Forget
        </button>
      </div>
      {isAsked && (
        <Confirm
          title="Forget this memory?"
          action="Forget"
          onClose={() => setAsked(false)}
          run={async () => {
            const path = { agent_id: agentId, entry_id: entry.id };
            const gone = await bodyOf(
              api.DELETE("/v1/agents/{agent_id}/memory/{entry_id}", { params: { path } }),
            );
            say(forgottenText(gone));
            onForgotten();
          }}
        >
          <p>
            The entry goes, with its archived copy and its references: contexts of threads show
            nothing in its place. This cannot be undone.
          </p>
          <p class="soft">Messages and answers in threads stay.</p>
        </Confirm>
      )}
    </section>
  );
}

function Why({ entry: { score, why } }: { entry: Found }) {
  if (score === undefined || why === undefined) return null;
  const hasMeaning = why.meaning !== null;
  return (
    <div class="why">
      <h2>
        Score <span class="number">{score.toFixed(2)}</span>
      </h2>
      <dl>
        {parts.map(({ name, says, weight }) => {
          const value = why[name];
          if (value === null) return null;
          // With an encoder, words count as much as the meaning.
          const part = value * (name === "keyword" && hasMeaning ? 0.5 : weight);
          return (
            <>
              <dt key={name}>{says}</dt>
              <dd>
                <i class="bar" aria-hidden="true">
                  <i style={{ width: `${Math.min(100, part * 100)}%` }} />
                </i>
                <span class="number">{value.toFixed(2)}</span>
              </dd>
            </>
          );
        })}
      </dl>
      {why.terms.length > 0 && <p class="faint">Words: {why.terms.join(", ")}</p>}
      {why.entities.length > 0 && <p class="faint">Names: {why.entities.join(", ")}</p>}
    </div>
  );
}
