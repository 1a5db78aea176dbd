import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import type { components, operations } from "../../api/schema.d.ts";
import { usePages } from "../../api/pages.ts";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { Page } from "../../components/page.tsx";
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

/** All threads of the tenant, newest first, as they change. */
export function ThreadsView() {
  const { query, route } = useLocation();
  const { status = "", agent = "" } = query;
  const agents = useAgents();
  const threads = usePages<Thread>(
    `threads ${status} ${agent}`,
    async (cursor, signal) => {
      const body = await bodyOf(
        api.GET("/v1/threads", {
          params: {
            query: {
              limit: 200,
              ...(cursor !== null && { cursor }),
              ...(status !== "" && { status: status as Status }),
              ...(agent !== "" && { agent_id: agent }),
            },
          },
          signal,
        }),
      );
      return { items: body.threads, next: body.next_cursor };
    },
    { keyOf: ({ thread_id: id }) => id, refreshOn: () => true },
  );
  const set = (name: string, value: string) => route(links.threads({ ...query, [name]: value }));
  const isFiltered = status !== "" || agent !== "";
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
        <JumpToThread />
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
      {threads.error !== null && <Failure error={threads.error} retry={threads.reload} />}
      {threads.items === null ? (
        threads.error === null && <Loading lines={12} />
      ) : threads.items.length === 0 ? (
        <Empty title={isFiltered ? "No thread fits the filter" : "No threads yet"}>
          {isFiltered ? (
            <a class="button" href={links.threads()}>
              Show all threads
            </a>
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
          columns="minmax(14rem, 2fr) minmax(7rem, 1fr) 9rem 4rem 8rem"
          narrowColumns="minmax(0, 1fr) auto"
          onEnd={threads.more}
          head={
            <>
              <span>Thread</span>
              <span class="wide-only">Agent</span>
              <span>Status</span>
              <span class="wide-only">Turns</span>
              <span class="wide-only">Began</span>
            </>
          }
          row={(thread) => (
            <>
              <span class="mono truncate">{thread.thread_id}</span>
              <span class="truncate wide-only">{thread.agent ?? "–"}</span>
              <span>
                <Badge status={thread.status} />
              </span>
              <span class="number wide-only">{thread.turns}</span>
              <span class="faint wide-only">
                <Ago at={thread.created_at} />
              </span>
            </>
          )}
        />
      )}
    </Page>
  );
}

/** Opens a thread by its id. */
function JumpToThread() {
  const { route } = useLocation();
  const [id, setId] = useState("");
  return (
    <form
      class="grow"
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim() !== "") route(links.thread(id.trim()));
      }}
    >
      <input
        class="input"
        style={{ width: "100%" }}
        aria-label="Open a thread by its id"
        placeholder="Open a thread by its id"
        value={id}
        onInput={(event) => setId(event.currentTarget.value)}
      />
    </form>
  );
}

/** The active agents, for filters and pickers. */
export function useAgents() {
  const { data } = useQuery("agents", (signal) =>
    bodyOf(api.GET("/v1/agents", { params: { query: { limit: 100 } }, signal })),
  );
  return data?.agents ?? [];
}
