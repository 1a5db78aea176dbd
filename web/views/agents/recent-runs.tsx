import { api, bodyOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { Show } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { links } from "../../links.ts";

/** The newest runs of an agent, as they change. */
export function RecentRuns({ agentId }: { agentId: string }) {
  const runs = useQuery(
    `agent runs ${agentId}`,
    (signal) =>
      bodyOf(
        api.GET("/v1/agents/{agent_id}/runs", {
          params: { path: { agent_id: agentId }, query: { limit: 8 } },
          signal,
        }),
      ),
    { refreshOn: ({ agent_id: id }) => id === agentId || id === "*" },
  );
  return (
    <Show loaded={runs}>
      {({ runs: newest, next_cursor: next }) =>
        newest.length === 0 ? (
          <p class="faint">
            None yet. <a href={links.chat(agentId)}>Start a chat</a>
          </p>
        ) : (
          <>
            <ul class="run-list">
              {newest.map((run) => (
                <li key={run.run_id}>
                  <a href={links.thread(run.thread_id)}>
                    <Badge status={run.status} />
                    <span class="mono truncate">{run.thread_id}</span>
                    <span class="faint">
                      <Ago at={run.created_at} />
                    </span>
                  </a>
                </li>
              ))}
            </ul>
            {next !== null && <a href={links.threads({ agent: agentId })}>All threads</a>}
          </>
        )
      }
    </Show>
  );
}
