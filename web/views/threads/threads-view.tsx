import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import type { components, operations } from "../../api/schema.d.ts";
import { usePages } from "../../api/pages.ts";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { formatCost, formatCount } from "../../components/format.ts";
import { Page } from "../../components/page.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { links } from "../../links.ts";

type Thread = components["schemas"]["ThreadSummary"];

type Status = NonNullable<NonNullable<operations["listThreads"]["parameters"]["query"]>["status"]>;

const statuses: readonly Status[] = [
  "CREATED",
  "INITIALIZING",
  "PLANNING",
  "EXECUTING",
  "AWAITING_TOOL",
  "AWAITING_HUMAN",
  "REFLECTING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
];

/** All threads of the tenant, the newest activity first, as they change. */
export function ThreadsView() {
  const { query, route } = useLocation();
  const { status = "", agent = "", q = "" } = query;
  const agents = useAgents();
  const [isCut, setCut] = useState(false);
  const threads = usePages<Thread>(
    `threads ${status} ${agent} ${q}`,
    async (cursor, signal) => {
      const body = await bodyOf(
        api.GET("/v1/threads", {
          params: {
            query: {
              limit: 200,
              order: "activity",
              ...(cursor !== null && { cursor }),
              ...(status !== "" && { status: status as Status }),
              ...(agent !== "" && { agent_id: agent }),
              ...(q !== "" && { q }),
            },
          },
          signal,
        }),
      );
      setCut(body.is_cut);
      return { items: body.threads, next: body.next_cursor };
    },
    { keyOf: ({ thread_id: id }) => id, refreshOn: () => true },
  );
  const set = (name: string, value: string) => route(links.threads({ ...query, [name]: value }));
  const isFiltered = status !== "" || agent !== "" || q !== "";
  return (
    <Page
      title="Threads"
      fills
      actions={
        <a class="button primary" href={links.chat()}>
          New chat
        </a>
      }
    >
      <div class="toolbar">
        <Search
          value={q}
          onChange={(value) => route(links.threads({ ...query, q: value }), true)}
        />
        <select
          class="input"
          aria-label="Agent"
          value={agent}
          onChange={(event) => set("agent", event.currentTarget.value)}
        >
          <option value="">All agents</option>
          {agents.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        <select
          class="input"
          aria-label="Status"
          value={status}
          onChange={(event) => set("status", event.currentTarget.value)}
        >
          <option value="">Every status</option>
          {statuses.map((one) => (
            <option key={one} value={one}>
              {one.toLowerCase().replaceAll("_", " ")}
            </option>
          ))}
        </select>
      </div>
      {isCut && (
        <p class="faint" role="status">
          More threads begin with this than are searched. Write more of the title or the id.
        </p>
      )}
      {threads.error !== null && <Failure error={threads.error} retry={threads.reload} />}
      {threads.items === null ? (
        threads.error === null && <Loading lines={12} />
      ) : threads.items.length === 0 ? (
        <Empty title={isFiltered ? "No thread fits the filter" : "No threads yet"}>
          {isFiltered ? (
            <>
              {q !== "" && (
                <p>
                  The search compares the beginnings of titles and of thread ids. If values are
                  encrypted, it does not read titles from messages.
                </p>
              )}
              <a class="button" href={links.threads()}>
                Show all threads
              </a>
            </>
          ) : (
            <p>
              Each conversation with an agent is a thread. <a href={links.chat()}>Start a chat</a>,
              or send a run over the <a href={links.reference("createRun")}>API</a>.
            </p>
          )}
        </Empty>
      ) : (
        <VirtualList
          label="Threads"
          items={threads.items}
          keyOf={({ thread_id: id }) => id}
          hrefOf={({ thread_id: id }) => links.thread(id)}
          columns="minmax(12rem, 2fr) minmax(7rem, 1fr) 9rem 4rem 6rem 5rem 7rem"
          narrowColumns="minmax(0, 1fr) auto"
          onEnd={threads.more}
          head={
            <>
              <span>Thread</span>
              <span class="wide-only">Agent</span>
              <span>Status</span>
              <span class="wide-only number">Turns</span>
              <span class="wide-only number">Tokens</span>
              <span class="wide-only number">Cost</span>
              <span class="wide-only">Active</span>
            </>
          }
          row={(thread) => (
            <>
              <span
                class={`truncate${thread.title === null ? " mono" : ""}`}
                title={thread.thread_id}
              >
                {thread.title ?? thread.thread_id}
              </span>
              <span class="truncate wide-only">{thread.agent ?? "–"}</span>
              <span>
                <Badge status={thread.status} />
              </span>
              <span class="number wide-only">{formatCount(thread.turns)}</span>
              <span class="number wide-only">
                {formatCount(thread.tokens_in + thread.tokens_out)}
              </span>
              <span class="number wide-only">{formatCost(thread.cost_usd)}</span>
              <span class="faint wide-only">
                <Ago at={thread.updated_at} />
              </span>
            </>
          )}
        />
      )}
    </Page>
  );
}

/** Milliseconds without a key before a search begins. */
const pauseMs = 250;

/** The field of the search, which `/` leads to. Its text becomes part of the address after a pause. */
function Search({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const [text, setText] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  const sent = useRef(value);
  const send = useRef(onChange);
  send.current = onChange;
  useEffect(() => {
    // The address has changed by other means.
    if (value !== sent.current) setText(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    const given = text.trim();
    if (given === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = given;
      send.current(given);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  useShortcuts("Threads", [
    { keys: "/", does: "Search threads", run: () => field.current?.select() },
  ]);
  return (
    <input
      ref={field}
      class="input grow"
      type="search"
      maxLength={200}
      aria-label="Search threads by title or id"
      placeholder="Search by title or id"
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}

/** The active agents, for filters and pickers. */
export function useAgents() {
  const { data } = useQuery("agents", (signal) =>
    bodyOf(api.GET("/v1/agents", { params: { query: { limit: 100 } }, signal })),
  );
  return data?.agents ?? [];
}
