import { useState } from "preact/hooks";
import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Empty, Show } from "../../components/states.tsx";
import { links } from "../../links.ts";

/** Agents that are shown at once; the search finds the others. */
const maxShown = 50;

/** The agents to talk to, with a search by name. */
export function AgentPicker() {
  const [search, setSearch] = useState("");
  const agents = useQuery("agents to talk to", (signal) => loadAgents(signal));
  return (
    <Show loaded={agents}>
      {(all) => {
        if (all.length === 0)
          return (
            <Empty title="No agents yet">
              <p>
                <a href={links.newAgent()}>Create an agent</a>, or start the server with a folder of
                definitions.
              </p>
            </Empty>
          );
        const words = search.toLowerCase().split(/\s+/).filter(Boolean);
        const found = all.filter(({ name }) =>
          words.every((word) => name.toLowerCase().includes(word)),
        );
        return (
          <div class="picker">
            <input
              class="input"
              type="search"
              aria-label="Search agents"
              placeholder="Search agents"
              value={search}
              onInput={(event) => setSearch(event.currentTarget.value)}
            />
            {found.length === 0 && <Empty title="No agent has this name" />}
            <ul aria-label="Agents">
              {found.slice(0, maxShown).map(({ id, name, version }) => (
                <li key={id}>
                  <a href={links.chat(id)}>
                    <strong class="truncate">{name}</strong>
                    <span class="faint number">{version}</span>
                    <Description agentId={id} />
                  </a>
                </li>
              ))}
            </ul>
            {found.length > maxShown && (
              <p class="faint">{found.length - maxShown} more. Search for one by its name.</p>
            )}
          </div>
        );
      }}
    </Show>
  );
}

/** All agents, page by page. */
async function loadAgents(signal: AbortSignal) {
  const agents: { readonly id: string; readonly name: string; readonly version: string }[] = [];
  let cursor: string | null = null;
  do {
    const page: { agents: typeof agents; next_cursor: string | null } = await bodyOf(
      api.GET("/v1/agents", {
        params: { query: { limit: 200, ...(cursor !== null && { cursor }) } },
        signal,
      }),
    );
    agents.push(...page.agents);
    cursor = page.next_cursor;
  } while (cursor !== null && agents.length < 2_000);
  return agents.toSorted((a, b) => a.name.localeCompare(b.name));
}

function Description({ agentId }: { agentId: string }) {
  const { data } = useAgent(agentId);
  const description = data?.definition["description"];
  return typeof description === "string" && description !== "" ? (
    <span class="soft">{description}</span>
  ) : null;
}

/** An agent with its definition. */
export function useAgent(agentId: string) {
  return useQuery(`agent ${agentId}`, (signal) =>
    bodyOf(api.GET("/v1/agents/{agent_id}", { params: { path: { agent_id: agentId } }, signal })),
  );
}
