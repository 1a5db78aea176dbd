import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { asApiError, type Loaded } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { formatCost, formatCount, formatDuration } from "../../components/format.ts";
import { Page, Tabs } from "../../components/page.tsx";
import { Show } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import { OriginLink, originOf } from "./origin.tsx";
import { useRun, useRuns, useThread } from "./thread-data.ts";
import { isOpenRun, type Run, type Thread } from "./thread-records.ts";
import "../../styles/thread.css";

type TabName = "Steps" | "Timeline" | "Graph" | "Plan" | "Checkpoints";

interface ThreadPageProps {
  readonly threadId: string;
  readonly tab: TabName;
  readonly children: (thread: Thread, runs: readonly Run[]) => ComponentChildren;
}

/** The head of a thread with its tabs, and one of them. */
export function ThreadPage({ threadId, tab, children }: ThreadPageProps) {
  const thread = useThread(threadId);
  const runs = useRuns(threadId);
  const { query } = useLocation();
  const { step, namespace } = query;
  const place = { step, namespace };
  const tabs: readonly { name: TabName; href: string }[] = [
    { name: "Steps", href: links.thread(threadId, place) },
    { name: "Timeline", href: links.timeline(threadId, place) },
    { name: "Graph", href: links.graph(threadId, place) },
    { name: "Plan", href: links.plan(threadId) },
    { name: "Checkpoints", href: links.checkpoints(threadId) },
  ];
  const { data } = thread;
  return (
    <Page
      title={data?.title ?? threadId}
      fills
      trail={<a href={links.threads()}>Threads</a>}
      facts={data !== null && <Badge status={data.status} />}
      actions={data !== null && <Actions thread={data} runs={runs.data ?? []} />}
    >
      {data !== null && <Facts thread={data} runs={runs} />}
      <Tabs label="Parts of the thread" tabs={tabs} current={tab} />
      <div class="thread-body">
        <Show loaded={thread}>
          {(loaded) => (
            <>
              <Failed threadId={threadId} run={runs.data?.[0]} />
              {children(loaded, runs.data ?? [])}
            </>
          )}
        </Show>
      </div>
    </Page>
  );
}

/** One line of what the thread is and has used. */
function Facts({ thread, runs }: { thread: Thread; runs: Loaded<readonly Run[]> }) {
  // Without a known price, calls count as nothing.
  const isUnpriced = thread.cost_usd === 0 && thread.tokens_in > 0;
  const end = thread.completed_at;
  const took =
    thread.started_at === null
      ? null
      : (end === null ? Date.now() : Date.parse(end)) - Date.parse(thread.started_at);
  const origin = originOf(thread.metadata);
  return (
    <dl class="thread-facts">
      <div>
        <dt>Agent</dt>
        <dd>
          {thread.agent_id === null ? (
            (thread.agent ?? "–")
          ) : (
            <a href={links.agent(thread.agent_id)}>{thread.agent ?? thread.agent_id}</a>
          )}
        </dd>
      </div>
      <Fact name="Turns">{formatCount(thread.turns)}</Fact>
      <Fact name="Tokens">
        {formatCount(thread.tokens_in)} in <span class="faint">·</span>{" "}
        {formatCount(thread.tokens_out)} out
      </Fact>
      <Fact name="Cost">{formatCost(isUnpriced ? null : thread.cost_usd)}</Fact>
      <Fact name="Duration">{formatDuration(took)}</Fact>
      <Fact name="Began">
        <Ago at={thread.created_at} />
      </Fact>
      <div>
        <dt>Runs</dt>
        <dd>
          <Runs runs={runs} />
        </dd>
      </div>
      {origin !== null && (
        <div>
          <dt>Forked from</dt>
          <dd>
            <OriginLink origin={origin} />
          </dd>
        </div>
      )}
      <div class="thread-id">
        <dt class="visually-hidden">Id</dt>
        <dd>
          <CopyButton text={() => thread.thread_id} label="Copy id" />
        </dd>
      </div>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{children}</dd>
    </div>
  );
}

/** All runs of the thread, behind their number. */
function Runs({ runs }: { runs: Loaded<readonly Run[]> }) {
  const [isOpen, setOpen] = useState(false);
  const count = runs.data?.length ?? 0;
  return (
    <>
      <button type="button" class="link" onClick={() => setOpen(true)}>
        {count === 100 ? "100+" : count}
        <span class="visually-hidden"> runs of the thread</span>
      </button>
      {isOpen && (
        <Dialog title="Runs of the thread" onClose={() => setOpen(false)}>
          <Show loaded={runs}>
            {(list) => (
              <ul class="stack">
                {list.map((run) => (
                  <li key={run.run_id} class="row">
                    <Badge status={run.status} />
                    <span class="mono">{run.run_id}</span>
                    <span class="faint">
                      <Ago at={run.created_at} />
                    </span>
                    <span class="soft number">
                      {formatDuration(durationOf(run))}
                      {run.attempts > 1 && `, ${run.attempts} tries`}
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </Show>
        </Dialog>
      )}
    </>
  );
}

function durationOf({ started_at: start, ended_at: end }: Run): number | null {
  if (start === null) return null;
  return (end === null ? Date.now() : Date.parse(end)) - Date.parse(start);
}

/** Why the newest run has failed, and the way to the step in which it did. */
function Failed({ threadId, run }: { threadId: string; run: Run | undefined }) {
  const isFailed = run !== undefined && ["failed", "dead"].includes(run.status);
  const { data } = useRun(isFailed ? run : undefined);
  const cause = data?.cause;
  if (!isFailed) return null;
  return (
    <div class="notice bad thread-failure" role="status">
      <p>{cause?.message ?? "The run has ended without a result."}</p>
      <span class="row">
        {cause !== null && cause !== undefined && <code>{cause.code}</code>}
        <a href={links.thread(threadId, { step: "failed" })}>Go to where it failed</a>
      </span>
    </div>
  );
}

/** What can be done with the thread now. */
function Actions({ thread, runs }: { thread: Thread; runs: readonly Run[] }) {
  const { route } = useLocation();
  const [isDeleting, setDeleting] = useState(false);
  const [newest] = runs;
  const open = runs.find(isOpenRun);
  const of = async (run: Run, what: "cancel" | "retry") => {
    const params = { path: { agent_id: run.agent_id ?? "", run_id: run.run_id } };
    await attempt(
      what === "cancel"
        ? bodyOf(api.POST("/v1/agents/{agent_id}/runs/{run_id}/cancel", { params }))
        : bodyOf(api.POST("/v1/agents/{agent_id}/runs/{run_id}/retry", { params })),
      what === "cancel" ? "The run is being cancelled." : "The run is queued again.",
    );
  };
  const remove = async () => {
    setDeleting(false);
    const params = { path: { thread_id: thread.thread_id } };
    const done = await attempt(
      bodyOf(api.DELETE("/v1/threads/{thread_id}", { params })),
      "The thread is deleted.",
    );
    if (done) route(links.threads());
  };
  return (
    <>
      {open !== undefined && open.agent_id !== null && (
        <button type="button" class="button" onClick={() => void of(open, "cancel")}>
          Cancel run
        </button>
      )}
      {newest?.status === "dead" && newest.agent_id !== null && (
        <button type="button" class="button" onClick={() => void of(newest, "retry")}>
          Retry run
        </button>
      )}
      <button
        type="button"
        class="button plain"
        disabled={open !== undefined}
        title={open === undefined ? undefined : "Cancel the run first"}
        onClick={() => setDeleting(true)}
      >
        Delete
      </button>
      {thread.agent_id !== null && (
        <a class="button primary" href={links.chat(thread.agent_id, { thread: thread.thread_id })}>
          Open chat
        </a>
      )}
      {isDeleting && (
        <Dialog title="Delete the thread?" onClose={() => setDeleting(false)}>
          <p>
            Its messages, steps and checkpoints are removed. What its agent remembers from it stays.
            This cannot be undone.
          </p>
          <div class="row">
            <button type="button" class="button danger" onClick={() => void remove()}>
              Delete thread
            </button>
            <button type="button" class="button" onClick={() => setDeleting(false)}>
              Keep it
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Says how a request has ended, and returns whether it went well. */
async function attempt(request: Promise<unknown>, done: string): Promise<boolean> {
  try {
    await request;
    say(done);
    return true;
  } catch (thrown) {
    say(asApiError(thrown).message);
    return false;
  }
}
