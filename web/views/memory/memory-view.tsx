import "../../styles/memory.css";
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { useQuery } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Page } from "../../components/page.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { say } from "../../components/toast.tsx";
import { TypedField } from "../../components/typed-field.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { links } from "../../links.ts";
import { useAgents } from "../threads/threads-view.tsx";
import { AddMemory } from "./add-memory.tsx";
import { type Entry, type Found, forgottenText, type MemoryType, memoryTypes } from "./entries.ts";
import { EntryDetail } from "./entry-detail.tsx";

/** What agents remember: newest first, or what fits a text and why. */
export function MemoryView() {
  const { query, route } = useLocation();
  const agents = useAgents();
  const agent = query["agent"] ?? agents[0]?.id ?? "";
  const { q = "", type = "", user = "", entry, archived } = query;
  const [dialog, setDialog] = useState<"add" | "consolidate" | "forget" | null>(null);
  const [round, setRound] = useState(0);
  const set = (more: Record<string, string | null>) =>
    route(links.memory({ ...query, ...more }), true);
  const listed = useEntries({ agent, type, user, archived: archived === "1", round });
  const searched = useSearch({ agent, q, type, user, round });
  const items: readonly Found[] | null = q === "" ? listed.items : (searched.data?.entries ?? null);
  const error = q === "" ? listed.error : searched.error;
  const selected = items?.find(({ id }) => id === entry);
  const changed = () => setRound((count) => count + 1);
  useShortcuts("Memory", [
    {
      keys: "/",
      does: "Search",
      run: () => document.querySelector<HTMLElement>("#memory-search")?.focus(),
    },
    { keys: "n", does: "Add a memory", run: () => setDialog("add") },
    { keys: "Escape", does: "Close the entry", run: () => set({ entry: null }) },
  ]);
  const name = agents.find(({ id }) => id === agent)?.name ?? agent;
  return (
    <Page
      title="Memory"
      fills
      actions={
        agent !== "" && (
          <>
            {user !== "" && (
              <button type="button" class="button danger" onClick={() => setDialog("forget")}>
                Forget this user
              </button>
            )}
            <button type="button" class="button" onClick={() => setDialog("consolidate")}>
              Consolidate
            </button>
            <button type="button" class="button primary" onClick={() => setDialog("add")}>
              Add memory
            </button>
          </>
        )
      }
    >
      <div class="toolbar">
        <TypedField
          grows
          id="memory-search"
          label="Search memories"
          value={q}
          onChange={(text) => set({ q: text, entry: null })}
        />
        <select
          class="input"
          aria-label="Agent"
          value={agent}
          onChange={(event) => set({ agent: event.currentTarget.value, entry: null })}
        >
          {agents.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
        <select
          class="input"
          aria-label="Type"
          value={type}
          onChange={(event) => set({ type: event.currentTarget.value })}
        >
          <option value="">Every type</option>
          {memoryTypes.map((one) => (
            <option key={one} value={one}>
              {one.replace("_", "-")}
            </option>
          ))}
        </select>
        <TypedField
          id="memory-user"
          label="User"
          value={user}
          onChange={(text) => set({ user: text, entry: null })}
        />
        {q === "" && (
          <label class="row">
            <input
              type="checkbox"
              checked={archived === "1"}
              onChange={(event) => set({ archived: event.currentTarget.checked ? "1" : null })}
            />
            Archived
          </label>
        )}
      </div>
      {q !== "" && searched.data !== null && (
        <p class="faint search-note" role="status">
          {searched.data.entries.length === 1
            ? "1 memory fits"
            : `${searched.data.entries.length} memories fit`}
          , best first,{" "}
          {searched.data.embedding_model === null
            ? "by words alone"
            : `by words and meaning (${searched.data.embedding_model})`}
          {user === "" ? ", among those of no user." : `, among those of user ${user}.`}
        </p>
      )}
      {error !== null && <Failure error={error} retry={changed} />}
      {items === null ? (
        error === null && (agent === "" ? <NoMemories q="" /> : <Loading lines={10} />)
      ) : items.length === 0 ? (
        <NoMemories q={q} />
      ) : (
        <div class={selected === undefined ? "memory" : "memory split"}>
          <VirtualList
            label="Memories"
            items={items}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => links.memory({ ...query, agent, entry: id })}
            isSelected={({ id }) => id === entry}
            columns={`${q === "" ? "" : "6rem "}minmax(0, 1fr)${selected === undefined ? " 6rem 6rem" : ""} 7rem`}
            onEnd={q === "" ? listed.more : () => undefined}
            head={
              <>
                {q !== "" && <span>Score</span>}
                <span>Memory</span>
                {selected === undefined && <span>Type</span>}
                {selected === undefined && <span>User</span>}
                <span>Stored</span>
              </>
            }
            row={(one) => (
              <>
                {one.score !== undefined && (
                  <span class="score">
                    <span class="number">{one.score.toFixed(2)}</span>
                    <i class="bar" aria-hidden="true">
                      <i style={{ width: `${one.score * 100}%` }} />
                    </i>
                  </span>
                )}
                <span class="truncate" dir="auto">
                  {(one.summary ?? one.content).slice(0, 400)}
                </span>
                {selected === undefined && (
                  <>
                    <span class="soft">{one.memory_type.replace("_", "-")}</span>
                    <span class="soft truncate">{one.user ?? "–"}</span>
                  </>
                )}
                <span class="faint">
                  <Ago at={one.created_at} />
                </span>
              </>
            )}
          />
          {selected !== undefined && (
            <EntryDetail
              key={selected.id}
              agentId={agent}
              entry={selected}
              onForgotten={() => {
                set({ entry: null });
                changed();
              }}
            />
          )}
        </div>
      )}
      {dialog === "add" && (
        <AddMemory agentId={agent} user={user} onAdded={changed} onClose={() => setDialog(null)} />
      )}
      {dialog === "forget" && (
        <Confirm
          title={`Forget ${user}?`}
          action={`Forget all memories of ${user}`}
          onClose={() => setDialog(null)}
          run={async () => {
            const gone = await bodyOf(
              api.DELETE("/v1/agents/{agent_id}/memory", {
                params: { path: { agent_id: agent }, query: { user } },
              }),
            );
            say(forgottenText(gone));
            set({ entry: null });
            changed();
          }}
        >
          <p>
            All memories of the user <strong>{user}</strong> that the agent <strong>{name}</strong>{" "}
            has go, with their archived copies and their references from contexts. This cannot be
            undone.
          </p>
          <p class="soft">
            Messages and answers in threads stay: they end with their thread. Other agents keep what
            they know.
          </p>
        </Confirm>
      )}
      {dialog === "consolidate" && (
        <Confirm
          title="Consolidate?"
          action="Consolidate"
          onClose={() => setDialog(null)}
          run={async () => {
            const counts = await bodyOf(
              api.POST("/v1/agents/{agent_id}/memory/consolidate", {
                params: { path: { agent_id: agent } },
                body: user === "" ? {} : { user },
              }),
            );
            say(consolidatedText(counts));
            changed();
          }}
        >
          <p>
            Short-term memories of <strong>{name}</strong>
            {user === "" ? "" : ` of the user ${user}`} that matter become long-term ones; equal
            ones are merged, the others are evicted, and archived unless its definition says
            otherwise. It may call models, and take some minutes.
          </p>
        </Confirm>
      )}
    </Page>
  );
}

function consolidatedText(counts: components["schemas"]["MemoryConsolidated"]): string {
  const { consolidated, merged, evicted, archived, left, busy } = counts;
  return `${consolidated} consolidated, ${merged} merged, ${evicted} evicted, ${archived} archived, ${left} left, ${busy} threads busy`;
}

function NoMemories({ q }: { q: string }) {
  if (q !== "")
    return (
      <Empty title="No memory fits">
        <p>Search reads what a turn would read: those of the user that is set, or of no user.</p>
      </Empty>
    );
  return (
    <Empty title="No memories">
      <p>
        Agents with <code>memory_config.long_term.enabled</code> leave memories when their turns
        end. Add one by hand, or choose another filter.
      </p>
    </Empty>
  );
}

interface Filter {
  readonly agent: string;
  readonly type: string;
  readonly user: string;
  /** Rises when memories were changed by this page. */
  readonly round: number;
}

function useEntries({ agent, type, user, archived, round }: Filter & { archived: boolean }) {
  return usePages<Entry>(
    `memory ${agent} ${type} ${user} ${archived} ${round}`,
    async (cursor, signal) => {
      if (agent === "") return { items: [], next: null };
      const query = {
        limit: 100,
        ...(cursor !== null && { cursor }),
        ...(type !== "" && { memory_type: type as MemoryType }),
        ...(user !== "" && { user }),
        ...(archived && { archived: "true" as const }),
      };
      const params = { path: { agent_id: agent }, query };
      const body = await bodyOf(api.GET("/v1/agents/{agent_id}/memory", { params, signal }));
      return { items: body.entries, next: body.next_cursor };
    },
    {
      keyOf: ({ id }) => id,
      // A turn leaves its memories when it ends.
      refreshOn: ({ status }) => !["queued", "running"].includes(status),
    },
  );
}

function useSearch({ agent, q, type, user, round }: Filter & { q: string }) {
  const key =
    q === "" || agent === "" ? null : `memory-search ${agent} ${q} ${type} ${user} ${round}`;
  return useQuery(key, (signal) =>
    bodyOf(
      api.POST("/v1/agents/{agent_id}/memory/query", {
        params: { path: { agent_id: agent } },
        body: {
          query: q,
          top_k: 50,
          min_score: 0,
          ...(user !== "" && { user }),
          ...(type !== "" && { memory_types: [type as MemoryType] }),
        },
        signal,
      }),
    ),
  );
}
