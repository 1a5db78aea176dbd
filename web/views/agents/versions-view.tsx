import { useLocation } from "preact-iso";
import { api, bodyOf } from "../../api/client.ts";
import { usePages } from "../../api/pages.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge } from "../../components/badge.tsx";
import { Empty, Failure, Loading, Show } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { links } from "../../links.ts";
import { useAgent } from "./agent-query.ts";
import { DiffView } from "./diff-view.tsx";

type Version = components["schemas"]["AgentVersion"];

/** The versions of an agent, and what differs between two of them, which the address names. */
export function VersionsView({ agentId }: { agentId: string }) {
  const { query, route } = useLocation();
  const versions = usePages<Version>(
    `versions ${agentId}`,
    async (cursor, signal) => {
      const body = await bodyOf(
        api.GET("/v1/agents/{agent_id}/versions", {
          params: {
            path: { agent_id: agentId },
            query: { limit: 100, ...(cursor !== null && { cursor }) },
          },
          signal,
        }),
      );
      return { items: body.versions, next: body.next_cursor };
    },
    { keyOf: ({ version_id: id }) => id },
  );
  if (versions.items === null)
    return versions.error === null ? (
      <Loading />
    ) : (
      <Failure error={versions.error} retry={versions.reload} />
    );
  const [newest, second] = versions.items;
  const to = query["to"] ?? newest?.version ?? "";
  const from = query["from"] ?? olderThan(versions.items, to) ?? second?.version ?? "";
  const compare = (part: "from" | "to", version: string) =>
    route(links.agentVersions(agentId, { from, to, [part]: version }));
  return (
    <div class="versions">
      <div class="version-list">
        <table>
          <thead>
            <tr>
              <th>From</th>
              <th>To</th>
              <th>Version</th>
              <th>Written</th>
            </tr>
          </thead>
          <tbody>
            {versions.items.map((one) => (
              <tr key={one.version_id}>
                {(["from", "to"] as const).map((part) => (
                  <td key={part}>
                    <input
                      type="radio"
                      name={`version-${part}`}
                      aria-label={`Compare ${part} ${one.version}`}
                      checked={(part === "from" ? from : to) === one.version}
                      onChange={() => compare(part, one.version)}
                    />
                  </td>
                ))}
                <td>
                  <a class="number" href={links.agent(agentId, { version: one.version })}>
                    {one.version}
                  </a>{" "}
                  {one.is_active && <Badge status="active" />}
                </td>
                <td class="faint">
                  <Ago at={one.created_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {versions.hasMore && (
          <button type="button" class="button small" onClick={versions.more}>
            Older versions
          </button>
        )}
      </div>
      {from === "" ? (
        <Empty title="There is one version so far">
          <p>
            Each saved change is a version of its own.{" "}
            <a href={links.agentEditor(agentId)}>Edit the definition</a> to make the next one.
          </p>
        </Empty>
      ) : (
        <Comparison agentId={agentId} from={from} to={to} />
      )}
    </div>
  );
}

function olderThan(versions: readonly Version[], version: string): string | undefined {
  const at = versions.findIndex((one) => one.version === version);
  return at < 0 ? undefined : versions[at + 1]?.version;
}

function Comparison({ agentId, from, to }: { agentId: string; from: string; to: string }) {
  const before = useAgent(agentId, from);
  const after = useAgent(agentId, to);
  return (
    <section class="comparison" aria-label="Difference">
      <h2 class="number">
        {from} → {to}
      </h2>
      <Show loaded={before}>
        {(one) => (
          <Show loaded={after}>
            {(other) => (
              <DiffView
                before={one.yaml ?? ""}
                after={other.yaml ?? ""}
                label={`${from} to ${to}`}
              />
            )}
          </Show>
        )}
      </Show>
    </section>
  );
}
