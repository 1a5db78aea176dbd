import "../../styles/checkpoints.css";
import { useLocation } from "preact-iso";
import { useRef } from "preact/hooks";
import { api, ApiError, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Page } from "../../components/page.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Show } from "../../components/states.tsx";
import { links } from "../../links.ts";
import { ChannelDiff, type CheckpointDiff } from "./channel-diff.tsx";

/** What changed between two checkpoints of a thread: by default between one and its parent. */
export function DiffView({ threadId }: { threadId: string }) {
  const { query, route } = useLocation();
  const { from, to } = query;
  const loaded = useDiff(threadId, { from, to });
  const list = useRef<HTMLDivElement>(null);
  const move = (step: 1 | -1) => {
    const changes = [...(list.current?.querySelectorAll<HTMLElement>("[data-change]") ?? [])];
    if (changes.length === 0) return;
    const at = changes.findIndex((one) => one === document.activeElement);
    const next =
      at === -1 && step === -1 ? changes.length - 1 : (at + step + changes.length) % changes.length;
    changes[next]?.focus();
    changes[next]?.scrollIntoView({ block: "nearest" });
  };
  useShortcuts("Differences", [
    { keys: "n", does: "Next change", run: () => move(1) },
    { keys: "p", does: "Previous change", run: () => move(-1) },
    {
      keys: "s",
      does: "Swap the sides",
      run: () => {
        const { data } = loaded;
        if (data?.from != null) route(links.diff(threadId, { from: data.to, to: data.from }), true);
      },
    },
  ]);
  const { data } = loaded;
  const of = (id: string) => links.checkpoint(threadId, id);
  return (
    <Page
      title="Differences"
      trail={
        <>
          <a href={links.threads()}>Threads</a> / <a href={links.thread(threadId)}>{threadId}</a> /{" "}
          <a href={links.checkpoints(threadId, { a: data?.from, b: data?.to })}>Checkpoints</a>
        </>
      }
      facts={data !== null && <Counts diff={data} />}
      actions={
        data !== null &&
        data.channels.length > 0 && (
          <>
            {data.from !== null && (
              <a class="button plain" href={links.diff(threadId, { from: data.to, to: data.from })}>
                Swap
              </a>
            )}
            <button type="button" class="button" onClick={() => move(-1)}>
              Previous <kbd>p</kbd>
            </button>
            <button type="button" class="button" onClick={() => move(1)}>
              Next <kbd>n</kbd>
            </button>
          </>
        )
      }
    >
      <Show loaded={loaded}>
        {(diff) => (
          <div class="diff" ref={list}>
            <dl class="facts">
              <dt>From</dt>
              <dd>
                {diff.from === null ? (
                  "nothing: the first checkpoint has no parent"
                ) : (
                  <a href={of(diff.from)}>
                    <code>{diff.from}</code>
                  </a>
                )}
              </dd>
              <dt>To</dt>
              <dd>
                <a href={of(diff.to)}>
                  <code>{diff.to}</code>
                </a>
              </dd>
            </dl>
            {diff.channels.length === 0 && (
              <Empty title="The states are equal">
                <p>
                  Mark two other checkpoints with <kbd>a</kbd> and <kbd>b</kbd> in the{" "}
                  <a href={links.checkpoints(threadId)}>list of checkpoints</a>.
                </p>
              </Empty>
            )}
            {diff.channels.map((channel) => (
              <ChannelDiff
                key={channel.channel}
                threadId={threadId}
                sides={{ from: diff.from, to: diff.to }}
                diff={channel}
              />
            ))}
          </div>
        )}
      </Show>
    </Page>
  );
}

function useDiff(
  threadId: string,
  { from, to }: { from: string | undefined; to: string | undefined },
) {
  return useQuery(`diff ${threadId} ${from ?? ""} ${to ?? ""}`, async (signal) => {
    const thread = { thread_id: threadId };
    const id = to ?? (await newestOf(thread, signal));
    const path = { ...thread, checkpoint_id: id };
    const query = from === undefined ? {} : { from };
    return bodyOf(
      api.GET("/v1/threads/{thread_id}/checkpoints/{checkpoint_id}/diff", {
        params: { path, query },
        signal,
      }),
    );
  });
}

async function newestOf(path: { thread_id: string }, signal: AbortSignal): Promise<string> {
  const { checkpoints } = await bodyOf(
    api.GET("/v1/threads/{thread_id}/checkpoints", {
      params: { path, query: { limit: 1 } },
      signal,
    }),
  );
  const [newest] = checkpoints;
  if (newest === undefined) throw new ApiError("The thread has no checkpoints.", 404, "not_found");
  return newest.id;
}

/** How many changes there are, by kind. */
function Counts({ diff: { channels } }: { diff: CheckpointDiff }) {
  const changes = channels.flatMap((channel) => channel.changes);
  const omitted = channels.reduce((sum, channel) => sum + channel.omitted, 0);
  const count = (kind: string) => changes.filter((change) => change.kind === kind).length;
  const total = changes.length + omitted;
  return (
    <span class="soft number" role="status">
      {total === 1 ? "1 change" : `${total.toLocaleString("en")} changes`} in{" "}
      {channels.length === 1 ? "1 channel" : `${channels.length} channels`}:{" "}
      <span class="added">+{count("added")}</span> <span class="removed">−{count("removed")}</span>{" "}
      <span class="changed">~{count("changed")}</span>
    </span>
  );
}
