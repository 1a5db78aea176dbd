import { useLocation } from "preact-iso";
import { api, bodyOf } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import { useQuery } from "../../api/query.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge } from "../../components/badge.tsx";
import { Page } from "../../components/page.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Empty, Failure, Loading } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { VirtualList } from "../../components/virtual-list.tsx";
import { links } from "../../links.ts";
import "../../styles/agents.css";
import { FolderProblems } from "./folder-problems.tsx";

type ListedAgent = components["schemas"]["ListedAgent"];

/** All active agents, newest first, and the problems of definitions in a folder under development. */
export function AgentsView() {
  const { route } = useLocation();
  useShortcuts("Agents", [
    { keys: "n", does: "Create an agent", run: () => route(links.newAgent()) },
  ]);
  const agents = usePages<ListedAgent>(
    "agents list",
    async (cursor, signal) => {
      const query = { limit: 200, ...(cursor !== null && { cursor }) };
      const body = await bodyOf(api.GET("/v1/agents", { params: { query }, signal }));
      return { items: body.agents, next: body.next_cursor };
    },
    { keyOf: ({ id }) => id },
  );
  const runs = useRecentRuns();
  return (
    <Page
      title="Agents"
      fills
      actions={
        <a class="button primary" href={links.newAgent()}>
          New agent
        </a>
      }
    >
      <FolderProblems />
      {agents.error !== null && <Failure error={agents.error} retry={agents.reload} />}
      {agents.items === null ? (
        agents.error === null && <Loading lines={8} />
      ) : agents.items.length === 0 ? (
        <Empty title="No agents yet">
          <p>
            An agent is a definition: a prompt, tools and limits.{" "}
            <a href={links.newAgent()}>Write one here</a>, or put a YAML file into the folder of{" "}
            <code>stratagraph dev</code>.
          </p>
        </Empty>
      ) : (
        <VirtualList
          label="Agents"
          items={agents.items}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => links.agent(id)}
          columns="minmax(10rem, 2fr) 5rem minmax(10rem, 1.5fr) 4rem minmax(13rem, 1fr) 8rem"
          onEnd={agents.more}
          head={
            <>
              <span>Agent</span>
              <span>Version</span>
              <span>Model</span>
              <span class="number">Tools</span>
              <span>Recent runs</span>
              <span>Changed</span>
            </>
          }
          row={(agent) => (
            <>
              <strong class="truncate">{agent.name}</strong>
              <span class="soft">{agent.version}</span>
              <span class="mono truncate soft">{agent.model ?? "server default"}</span>
              <span class="number">{agent.tools ?? "–"}</span>
              <RecentRuns summary={runs.get(agent.id)} />
              <span class="faint">
                <Ago at={agent.updated_at} />
              </span>
            </>
          )}
        />
      )}
    </Page>
  );
}

interface RunCount {
  readonly lastStatus: string;
  readonly count: number;
  readonly failed: number;
}

/** Runs that the counts of all agents are made of: one page, the newest of the tenant. */
const countedRuns = 200;

function useRecentRuns(): ReadonlyMap<string, RunCount> {
  const { data } = useQuery(
    "agents runs",
    (signal) => bodyOf(api.GET("/v1/runs", { params: { query: { limit: countedRuns } }, signal })),
    { refreshOn: () => true },
  );
  const counts = new Map<string, RunCount>();
  for (const { agent_id: id, status } of data?.runs ?? []) {
    // Runs of LangGraph's protocol may be of graphs that are not stored here.
    if (id === null) continue;
    const { lastStatus, count, failed } = counts.get(id) ?? {
      lastStatus: status,
      count: 0,
      failed: 0,
    };
    const isFailed = status === "failed" || status === "dead";
    counts.set(id, { lastStatus, count: count + 1, failed: failed + Number(isFailed) });
  }
  return counts;
}

function RecentRuns({ summary }: { summary: RunCount | undefined }) {
  if (summary === undefined) return <span class="faint">none</span>;
  const { lastStatus, count, failed } = summary;
  return (
    <span class="row recent-runs">
      <Badge status={lastStatus} />
      <span class="number soft" title={`Of the newest ${countedRuns} runs of all agents`}>
        {count} {count === 1 ? "run" : "runs"}
        {failed > 0 && <span class="failed">, {failed} failed</span>}
      </span>
    </span>
  );
}
