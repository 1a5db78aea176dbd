import "../../styles/checkpoints.css";
import { useLocation, useRoute } from "preact-iso";
import { isOfThread } from "../../api/changes.ts";
import { api, bodyOf } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { Badge } from "../../components/badge.tsx";
import { Page } from "../../components/page.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading } from "../../components/states.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import { OriginLink, originOf } from "../thread/origin.tsx";
import { useThread } from "../thread/thread-data.ts";
import { CheckpointDetail } from "./checkpoint-detail.tsx";
import { CheckpointTree } from "./checkpoint-tree.tsx";
import { DiffView } from "./diff-view.tsx";
import { EditAndRun } from "./edit-and-run.tsx";
import type { Checkpoint } from "./stored-state.ts";

/** The checkpoints of a thread, and the differences of two of them. */
export function CheckpointsView() {
  const { params, path } = useRoute();
  const { thread = "", checkpoint } = params;
  const isDiff = checkpoint === undefined && path.endsWith("/diff");
  return isDiff ? <DiffView threadId={thread} /> : <TreeView threadId={thread} />;
}

/** The branches of a thread, and the state at the checkpoint that is selected. */
function TreeView({ threadId }: { threadId: string }) {
  const { query, route } = useLocation();
  const { params } = useRoute();
  const checkpoints = useCheckpoints(threadId);
  const { items } = checkpoints;
  const selected = params["checkpoint"] ?? query["at"] ?? items?.[0]?.id;
  const { a, b } = query;
  const isEdited = query["edit"] === "1";
  const go = (id: string | undefined, more: Record<string, string | null>) => {
    const { at: _, ...rest } = query;
    const whole = { ...rest, ...more };
    const to =
      id === undefined ? links.checkpoints(threadId, whole) : links.checkpoint(threadId, id, whole);
    route(to, true);
  };
  /** Marks the checkpoint that has the focus, else the one that is selected. */
  const mark = (name: "a" | "b", id = focusedId(items) ?? selected) => {
    if (id === undefined) return;
    go(params["checkpoint"] ?? query["at"], { [name]: query[name] === id ? null : id });
    say(
      query[name] === id ? `Mark ${name.toUpperCase()} removed` : `Marked as ${name.toUpperCase()}`,
    );
  };
  const parent = items?.find(({ id }) => id === selected)?.parent_id;
  const compared =
    a !== undefined && b !== undefined
      ? { from: a, to: b }
      : selected === undefined
        ? null
        : { from: a ?? b ?? parent, to: selected };
  const comparison = compared === null ? null : links.diff(threadId, compared);
  useShortcuts("Checkpoints", [
    { keys: "a", does: "Mark as A, the earlier side of a comparison", run: () => mark("a") },
    { keys: "b", does: "Mark as B, the later side of a comparison", run: () => mark("b") },
    {
      keys: "d",
      does: "Compare A with B, or the selected one with its parent",
      run: () => comparison !== null && route(comparison),
    },
    {
      keys: "e",
      does: "Edit the state and run on",
      run: () => selected !== undefined && go(selected, { edit: isEdited ? null : "1" }),
    },
    {
      keys: "x",
      does: "Remove the marks",
      run: () => go(params["checkpoint"], { a: null, b: null }),
    },
  ]);
  return (
    <Page
      title="Checkpoints"
      fills
      trail={
        <>
          <a href={links.threads()}>Threads</a> / <a href={links.thread(threadId)}>{threadId}</a>
        </>
      }
      facts={<ThreadFacts threadId={threadId} />}
      actions={
        comparison !== null && (
          <>
            <a class="button" href={comparison}>
              {a !== undefined && b !== undefined ? "Compare A with B" : "Compare"}
            </a>
            {!isEdited && selected !== undefined && (
              <button
                type="button"
                class="button primary"
                onClick={() => go(selected, { edit: "1" })}
              >
                Edit and run on
              </button>
            )}
          </>
        )
      }
    >
      {checkpoints.error !== null && (
        <Failure error={checkpoints.error} retry={checkpoints.reload} />
      )}
      {items === null ? (
        checkpoints.error === null && <Loading lines={12} />
      ) : items.length === 0 ? (
        <Empty title="No checkpoints yet">
          <p>
            A thread has its first checkpoint when its first run begins. This page shows it as soon
            as it is there.
          </p>
        </Empty>
      ) : (
        <div class={`checkpoints${params["checkpoint"] === undefined ? "" : " has-selected"}`}>
          <CheckpointTree
            items={items}
            selected={selected}
            marks={{ a, b }}
            hrefOf={(id) => {
              const { at: _, edit: __, ...rest } = query;
              return links.checkpoint(threadId, id, rest);
            }}
            onEnd={checkpoints.more}
          />
          {selected !== undefined &&
            (isEdited ? (
              <EditAndRun
                key={selected}
                threadId={threadId}
                checkpointId={selected}
                onClose={() => go(selected, { edit: null })}
              />
            ) : (
              <CheckpointDetail
                key={selected}
                threadId={threadId}
                checkpointId={selected}
                marks={{ a, b }}
                onMark={(name) => mark(name, selected)}
              />
            ))}
        </div>
      )}
    </Page>
  );
}

/** The status of a thread, and where it was forked from. */
function ThreadFacts({ threadId }: { threadId: string }) {
  const { data } = useThread(threadId);
  if (data === null) return null;
  const origin = originOf(data.metadata);
  return (
    <>
      <Badge status={data.status} />
      {origin !== null && (
        <span class="soft">
          From <OriginLink origin={origin} />
        </span>
      )}
    </>
  );
}

/** The checkpoints of a thread, newest first, as they are written. */
function useCheckpoints(threadId: string) {
  return usePages<Checkpoint>(
    `checkpoints ${threadId}`,
    async (cursor, signal) => {
      const body = await bodyOf(
        api.GET("/v1/threads/{thread_id}/checkpoints", {
          params: {
            path: { thread_id: threadId },
            query: { limit: 200, ...(cursor !== null && { cursor }) },
          },
          signal,
        }),
      );
      return { items: body.checkpoints, next: body.next_cursor };
    },
    { keyOf: ({ id }) => id, refreshOn: isOfThread(threadId) },
  );
}

function focusedId(items: readonly Checkpoint[] | null): string | undefined {
  const row = document.activeElement?.closest<HTMLElement>(".checkpoints [data-index]");
  return row === null || row === undefined ? undefined : items?.[Number(row.dataset["index"])]?.id;
}
