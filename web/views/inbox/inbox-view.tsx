import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { asApiError, useQuery } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge } from "../../components/badge.tsx";
import { Page } from "../../components/page.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading, Show } from "../../components/states.tsx";
import { Countdown } from "../../components/time.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import "../../styles/inbox.css";
import { WaitForm } from "../chat/waiting.tsx";
import { useAgents } from "../threads/threads-view.tsx";
import type { HumanRequest } from "./answers.ts";
import { RequestForm } from "./request-form.tsx";

type Asked = components["schemas"]["WaitingRequest"] & HumanRequest;
type Wait = components["schemas"]["ListedWait"];

/** Requests and waits that are shown at most. */
const maxShown = 500;

/** Everything that waits for people or events, over all threads, oldest first. */
export function InboxView() {
  const requests = useQuery("inbox", (signal) => loadRequests(signal), { refreshOn: () => true });
  const waits = useQuery("inbox waits", (signal) => loadWaits(signal), { refreshOn: () => true });
  const isEmpty = requests.data?.length === 0 && waits.data?.length === 0;
  const names = new Map(useAgents().map(({ id, name }) => [id, name]));
  const nameOf = (id: string) => names.get(id) ?? id;
  return (
    <Page title="Inbox">
      {isEmpty && (
        <Empty title="Nothing waits for you">
          <p>
            Approvals and questions of agents come here, from all threads. Ask for approvals with{" "}
            <code>requires_approval</code> of a tool.
          </p>
        </Empty>
      )}
      <Show loaded={requests}>
        {(asked) => <Requests asked={asked} nameOf={nameOf} reload={requests.reload} />}
      </Show>
      <Show loaded={waits}>
        {(listed) =>
          listed.length === 0 ? null : (
            <section class="stack waits" aria-label="Waits for times and events">
              <ul>
                {listed.map((wait) => (
                  <li key={keyOf(wait)}>
                    <Facts of={wait} nameOf={nameOf} />
                    <WaitForm
                      run={wait}
                      wait={wait}
                      onDone={() => {
                        say("Sent. The run goes on.");
                        waits.reload();
                      }}
                    />
                  </li>
                ))}
              </ul>
            </section>
          )
        }
      </Show>
    </Page>
  );
}

interface Answered {
  readonly prompt: string;
  readonly agent_id: string;
  readonly run_id: string;
  readonly thread_id: string;
}

function Requests({
  asked,
  nameOf,
  reload,
}: {
  asked: readonly Asked[];
  nameOf: (agentId: string) => string;
  reload: () => void;
}) {
  const { query, route } = useLocation();
  const [answered, setAnswered] = useState<Answered | null>(null);
  const own = useRef(new Set<string>());
  const open = asked.filter((one) => !own.current.has(keyOf(one)));
  const named = query["request"];
  const selected =
    named === undefined
      ? (open.find(({ run_id: id }) => id === query["run"]) ?? open[0])
      : open.find((one) => keyOf(one) === named);
  const gone = useGone(open, own.current);
  const select = (at: number) => {
    const next = open[Math.max(0, Math.min(open.length - 1, at))];
    if (next !== undefined) route(links.inbox({ request: keyOf(next) }), true);
  };
  const at = Math.max(0, selected === undefined ? 0 : open.indexOf(selected));
  const press = (decision: string) => {
    const detail = document.querySelector<HTMLElement>(".inbox-detail");
    const button = detail?.querySelector<HTMLElement>(`[data-decision="${decision}"]`);
    if (button) button.click();
    else detail?.querySelector<HTMLElement>("input, textarea, select")?.focus();
  };
  useShortcuts("Inbox", [
    { keys: "j", does: "Next request", run: () => select(at + 1) },
    { keys: "k", does: "Request before", run: () => select(at - 1) },
    { keys: "a", does: "Approve, or go to the answer", run: () => press("approve") },
    { keys: "r", does: "Reject", run: () => press("reject") },
  ]);
  if (open.length === 0 && answered === null && gone === null) return null;
  const answer = async (request: Asked, given: unknown) => {
    const { agent_id, run_id, thread_id, prompt, id } = request;
    try {
      await bodyOf(
        api.POST("/v1/agents/{agent_id}/runs/{run_id}/resume", {
          params: { path: { agent_id, run_id } },
          body: { answers: { [id]: given } } as never,
        }),
      );
    } catch (thrown) {
      const { status } = asApiError(thrown);
      if (status !== 409 && status !== 404) throw thrown;
      say("This was answered already.");
      reload();
      return;
    }
    own.current.add(keyOf(request));
    setAnswered({ prompt, agent_id, run_id, thread_id });
    const next = open[at + 1] ?? open[at - 1];
    route(links.inbox(next === undefined ? {} : { request: keyOf(next) }), true);
    reload();
  };
  return (
    <>
      {answered !== null && <AnsweredNote key={answered.run_id} answered={answered} />}
      <div class="inbox">
        <ul class="inbox-list" aria-label="Requests">
          {open.map((request) => (
            <li key={keyOf(request)}>
              <a
                href={links.inbox({ request: keyOf(request) })}
                aria-current={request === selected ? "true" : undefined}
              >
                <span class="truncate">{request.prompt}</span>
                <span class="faint truncate">
                  {nameOf(request.agent_id)}
                  {request.expires_at !== null && (
                    <>
                      {" · "}
                      <Countdown until={request.expires_at} />
                    </>
                  )}
                </span>
              </a>
            </li>
          ))}
        </ul>
        <div class="inbox-detail">
          {selected !== undefined ? (
            <Detail key={keyOf(selected)} request={selected} nameOf={nameOf} onAnswer={answer} />
          ) : named !== undefined ? (
            <div class="notice" role="status">
              <strong>This request waits no longer</strong>
              <p>It was answered elsewhere, its time was over, or its run was cancelled.</p>
              {gone !== null && <a href={links.thread(gone.thread_id)}>Open its thread</a>}
            </div>
          ) : null}
        </div>
      </div>
    </>
  );
}

/** Says of requests that they wait no longer, if they were not answered here. Returns the last one. */
function useGone(open: readonly Asked[], own: ReadonlySet<string>): Asked | null {
  const before = useRef<readonly Asked[]>(open);
  const [last, setLast] = useState<Asked | null>(null);
  useEffect(() => {
    const now = new Set(open.map(keyOf));
    const lost = before.current.filter((one) => !now.has(keyOf(one)) && !own.has(keyOf(one)));
    before.current = open;
    const [first] = lost;
    if (first === undefined) return;
    setLast(first);
    say(
      lost.length === 1
        ? `Waits no longer: ${first.prompt.slice(0, 80)}`
        : `${lost.length} requests wait no longer.`,
    );
  }, [open.map(keyOf).join(" ")]);
  return last;
}

function Detail({
  request,
  nameOf,
  onAnswer,
}: {
  request: Asked;
  nameOf: (agentId: string) => string;
  onAnswer: (request: Asked, answer: unknown) => Promise<void>;
}) {
  const { agent_id, run_id, id, truncated } = request;
  // The list has the beginning of a large request. People approve what they can see.
  const run = useQuery(truncated === true ? `request ${keyOf(request)}` : null, (signal) =>
    bodyOf(
      api.GET("/v1/agents/{agent_id}/runs/{run_id}", {
        params: { path: { agent_id, run_id } },
        signal,
      }),
    ),
  );
  const whole = run.data?.result?.output.requests.find((one) => one.id === id);
  const shown = truncated === true ? (whole as HumanRequest | undefined) : request;
  return (
    <>
      <Facts of={request} nameOf={nameOf} />
      {run.error !== null && <Failure error={run.error} retry={run.reload} />}
      {shown === undefined ? (
        run.error === null && <Loading />
      ) : (
        <RequestForm request={shown} onAnswer={(answer) => onAnswer(request, answer)} />
      )}
    </>
  );
}

function Facts({
  of: { agent_id: agentId, thread_id: threadId },
  nameOf,
}: {
  of: { readonly agent_id: string; readonly thread_id: string };
  nameOf: (agentId: string) => string;
}) {
  return (
    <div class="request-facts">
      <a href={links.agent(agentId)}>{nameOf(agentId)}</a>
      <a href={links.chat(agentId, { thread: threadId })}>Open chat</a>
      <a class="mono truncate" href={links.thread(threadId)}>
        {threadId}
      </a>
    </div>
  );
}

/** What became of the run that was answered last. */
function AnsweredNote({ answered }: { answered: Answered }) {
  const { agent_id, run_id, thread_id, prompt } = answered;
  const { data } = useQuery(
    `answered ${run_id}`,
    (signal) =>
      bodyOf(
        api.GET("/v1/agents/{agent_id}/runs/{run_id}", {
          params: { path: { agent_id, run_id } },
          signal,
        }),
      ),
    { refreshOn: (change) => change.run_id === run_id || change.run_id === "*" },
  );
  return (
    <div class="answered" role="status">
      <span>Answered:</span>
      <span class="truncate">{prompt}</span>
      {data !== null && <Badge status={data.status} />}
      <a href={links.chat(agent_id, { thread: thread_id })}>Watch the run</a>
    </div>
  );
}

function keyOf({ run_id, id }: { readonly run_id: string; readonly id: string }): string {
  return `${run_id}.${id}`;
}

async function loadRequests(signal: AbortSignal): Promise<readonly Asked[]> {
  const found: Asked[] = [];
  for (let cursor: string | null = ""; cursor !== null && found.length < maxShown;) {
    const page: { requests: readonly unknown[]; next_cursor: string | null } = await bodyOf(
      api.GET("/v1/requests", {
        params: { query: { limit: 100, ...(cursor !== "" && { cursor }) } },
        signal,
      }),
    );
    found.push(...(page.requests as readonly Asked[]));
    cursor = page.next_cursor;
  }
  return found.toReversed();
}

async function loadWaits(signal: AbortSignal): Promise<readonly Wait[]> {
  const found: Wait[] = [];
  for (let cursor: string | null = ""; cursor !== null && found.length < maxShown;) {
    const page: { waits: readonly Wait[]; next_cursor: string | null } = await bodyOf(
      api.GET("/v1/waits", {
        params: { query: { limit: 100, ...(cursor !== "" && { cursor }) } },
        signal,
      }),
    );
    found.push(...page.waits);
    cursor = page.next_cursor;
  }
  return found.toReversed();
}
