import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { api, ApiError, bodyOf } from "../../api/client.ts";
import { asApiError, useQuery } from "../../api/query.ts";
import { Failure, Show } from "../../components/states.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import { titleOf } from "./checkpoint-tree.tsx";
import { type StoredState, useChannel, useStoredState } from "./stored-state.ts";

/** What callers may change, and what a change of it does. */
const modifiable = [
  { name: "input", does: "What the turn was given. Replaces it." },
  { name: "execution", does: "Outlives a failed attempt. Replaces the tier." },
  { name: "attempt", does: "Starts over with each attempt. Replaces the tier." },
  { name: "nodes", does: "Outputs of workflow nodes. Merged by name." },
  { name: "output", does: "The output of the turn so far. Replaces it." },
] as const;

type ChannelName = (typeof modifiable)[number]["name"];
type Texts = Readonly<Partial<Record<ChannelName, string>>>;

/** Edits the state at a checkpoint, and runs on in a new thread. The thread itself stays as it is. */
export function EditAndRun({
  threadId,
  checkpointId,
  onClose,
}: {
  threadId: string;
  checkpointId: string;
  onClose: () => void;
}) {
  const loaded = useStoredState(threadId, checkpointId);
  return (
    <section class="checkpoint-detail" aria-label="Edit and run on">
      <Show loaded={loaded}>
        {(stored) => <Editor threadId={threadId} stored={stored} onClose={onClose} />}
      </Show>
    </section>
  );
}

function Editor({
  threadId,
  stored,
  onClose,
}: {
  threadId: string;
  stored: StoredState;
  onClose: () => void;
}) {
  const { route } = useLocation();
  const { checkpoint } = stored;
  const run = useQuery(`run-of ${threadId}`, async (signal) => {
    const query = { thread_id: threadId, limit: 1 };
    const { runs } = await bodyOf(api.GET("/v1/runs", { params: { query }, signal }));
    return { run: runs[0] ?? null };
  });
  const [texts, setTexts] = useState<Texts>({});
  const [mode, setMode] = useState<"replay" | "fork">("replay");
  const [error, setError] = useState<ApiError | null>(null);
  const [isSending, setSending] = useState(false);
  const parsed = parse(texts);
  const problems = problemsOf(error);
  const isAtEnd = checkpoint.next.length === 0;
  const agentRun = run.data?.run;
  const send = async (event: Event) => {
    event.preventDefault();
    if (parsed.problems.size > 0) {
      document.querySelector<HTMLElement>(".editor [aria-invalid=true]")?.focus();
      return;
    }
    setSending(true);
    setError(null);
    const body = {
      checkpoint_id: checkpoint.id,
      ...(Object.keys(parsed.values).length > 0 && { modified_state: parsed.values }),
    };
    try {
      const made =
        mode === "fork"
          ? await bodyOf(
              api.POST("/v1/threads/{thread_id}/fork", {
                params: { path: { thread_id: threadId } },
                body,
              }),
            )
          : await bodyOf(
              api.POST("/v1/agents/{agent_id}/runs/{run_id}/replay", {
                params: {
                  path: { agent_id: agentRun?.agent_id ?? "", run_id: agentRun?.run_id ?? "" },
                },
                body,
              }),
            );
      say(mode === "fork" ? "Forked into a new thread" : "Runs again in a new thread");
      route(mode === "fork" ? links.checkpoints(made.thread_id) : links.thread(made.thread_id));
    } catch (thrown) {
      setError(asApiError(thrown));
      setSending(false);
    }
  };
  return (
    <form class="editor stack" onSubmit={(event) => void send(event)}>
      <header class="row">
        <h2>Edit and run on</h2>
        <span class="soft">
          from {titleOf(checkpoint)}, before{" "}
          {isAtEnd ? "the next turn" : checkpoint.next.join(", ")}
        </span>
      </header>
      <p class="soft">
        A new thread begins at this checkpoint. This thread stays as it is. Tools are called again,
        and people are asked again.
      </p>
      <fieldset class="modes">
        <legend class="visually-hidden">What to do</legend>
        {(
          [
            ["replay", "Run again from here", "A run is queued at once."],
            ["fork", "Only fork", "Nothing runs until you send something."],
          ] as const
        ).map(([value, title, says]) => (
          <label key={value}>
            <input
              type="radio"
              name="mode"
              value={value}
              checked={mode === value}
              onChange={() => setMode(value)}
            />
            <span>
              {title} <span class="faint">{says}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {mode === "replay" && isAtEnd && (
        <div class="notice wait">
          The turn has ended at this checkpoint: there is nothing to run. Choose an earlier one, or
          only fork.
        </div>
      )}
      {mode === "replay" && run.data !== null && (agentRun?.agent_id ?? null) === null && (
        <div class="notice wait">
          This thread has no run of a stored agent, which a replay needs. Only fork, then send a
          message.
        </div>
      )}
      {modifiable.map(({ name, does }) => (
        <ChannelEditor
          key={name}
          name={name}
          does={does}
          threadId={threadId}
          stored={stored}
          text={texts[name]}
          problems={[parsed.problems.get(name) ?? [], problems.of.get(name) ?? []].flat()}
          onText={(text) => {
            setError(null);
            setTexts((before) => {
              const others = Object.entries(before).filter(([other]) => other !== name);
              return Object.fromEntries(text === undefined ? others : [...others, [name, text]]);
            });
          }}
        />
      ))}
      {error !== null && <Failure error={problems.rest ?? error} />}
      <div class="row">
        <button
          type="submit"
          class="button primary"
          disabled={isSending || (mode === "replay" && (isAtEnd || !agentRun?.agent_id))}
        >
          {mode === "replay" ? "Run in a new thread" : "Fork"}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <span class="faint">
          {changedText(Object.keys(parsed.values).length + parsed.problems.size)}
        </span>
      </div>
    </form>
  );
}

function changedText(count: number): string {
  if (count === 0) return "The state is unchanged";
  return count === 1 ? "1 channel is changed" : `${count} channels are changed`;
}

/** The JSON text of one channel. A channel that was not opened is not sent. */
function ChannelEditor({
  name,
  does,
  threadId,
  stored,
  text,
  problems,
  onText,
}: {
  name: ChannelName;
  does: string;
  threadId: string;
  stored: StoredState;
  /** Undefined while the channel is as it was. */
  text: string | undefined;
  problems: readonly string[];
  onText: (text: string | undefined) => void;
}) {
  const channel = stored.channels.find((one) => one.name === name);
  const [isOpen, setOpen] = useState(false);
  const isUnloaded = channel !== undefined && channel.loaded === null;
  const loaded = useChannel(threadId, isOpen && isUnloaded ? stored.checkpoint.id : null, name);
  const value = channel?.loaded ?? loaded.data;
  const before =
    channel === undefined ? "" : value === null ? null : JSON.stringify(value.value, null, 2);
  const id = `edit-${name}`;
  return (
    <div class="field channel-editor">
      <div class="row">
        <button
          type="button"
          class="button small plain"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> <code>{name}</code>
        </button>
        <span class="faint">{does}</span>
        {text !== undefined && (
          <button type="button" class="button small plain" onClick={() => onText(undefined)}>
            Undo changes
          </button>
        )}
      </div>
      {isOpen && before === null && <Show loaded={loaded}>{() => null}</Show>}
      {isOpen && before !== null && (
        <>
          <label class="visually-hidden" for={id}>
            {name} as JSON
          </label>
          <textarea
            id={id}
            class="input mono"
            rows={Math.min(24, Math.max(4, (text ?? before).split("\n", 24).length))}
            spellcheck={false}
            value={text ?? before}
            placeholder='Not set. JSON, as { "limit": 5 }'
            aria-invalid={problems.length > 0}
            aria-describedby={problems.length > 0 ? `${id}-problems` : undefined}
            onInput={({ currentTarget: { value: typed } }) =>
              onText(typed === before ? undefined : typed)
            }
          />
        </>
      )}
      {problems.length > 0 && (
        <div class="problem" id={`${id}-problems`} role="alert">
          {problems.map((problem) => (
            <p key={problem}>{problem}</p>
          ))}
        </div>
      )}
    </div>
  );
}

/** Reads the texts of channels that were changed. */
function parse(texts: Texts): {
  readonly values: Readonly<Record<string, unknown>>;
  readonly problems: ReadonlyMap<string, string>;
} {
  const values: Record<string, unknown> = {};
  const problems = new Map<string, string>();
  for (const [name, text] of Object.entries(texts)) {
    try {
      values[name] = JSON.parse(text) as unknown;
    } catch (thrown) {
      problems.set(name, `Not JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }
  return { values, problems };
}

/** Sorts the problems of an answer by the channel that they point into; `rest` has the others. */
function problemsOf(error: ApiError | null): {
  readonly of: ReadonlyMap<string, readonly string[]>;
  readonly rest: ApiError | null;
} {
  const of = new Map<string, string[]>();
  const rest: ApiError["errors"][number][] = [];
  for (const problem of error?.errors ?? []) {
    const [, root, name, ...inner] = problem.pointer.split("/");
    if (root !== "modified_state" || name === undefined) {
      rest.push(problem);
      continue;
    }
    const place = inner.length === 0 ? "" : `/${inner.join("/")} `;
    of.set(name, [...(of.get(name) ?? []), place + problem.detail]);
  }
  if (error === null) return { of, rest: null };
  return { of, rest: new ApiError(error.message, error.status, error.type, rest) };
}
