import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { api, type ApiError, bodyOf } from "../../api/client.ts";
import { asApiError } from "../../api/query.ts";
import { Badge } from "../../components/badge.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Page, Tabs } from "../../components/page.tsx";
import { useShortcuts } from "../../components/shortcuts.tsx";
import { Failure, Show } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import "../../styles/agents.css";
import { AgentGraphView } from "./agent-graph-view.tsx";
import { useAgent } from "./agent-query.ts";
import { DefinitionView } from "./definition-view.tsx";
import { RecentRuns } from "./recent-runs.tsx";
import { VersionsView } from "./versions-view.tsx";

/** One agent: what it is made of, its graph and its versions. */
export function AgentView() {
  const { params, query } = useRoute();
  const { route } = useLocation();
  const id = params["agent"] ?? "";
  const tab = params["tab"] ?? "";
  const version = query["version"];
  const [isDeactivating, setDeactivating] = useState(false);
  const agent = useAgent(id, version);
  useShortcuts("Agent", [
    { keys: "e", does: "Edit the definition", run: () => route(links.agentEditor(id)) },
    { keys: "c", does: "Chat with the agent", run: () => route(links.chat(id)) },
    { keys: "v", does: "Show its versions", run: () => route(links.agentVersions(id)) },
  ]);
  const name = agent.data?.name ?? "Agent";
  return (
    <Page
      title={name}
      trail={<a href={links.agents()}>Agents</a>}
      facts={
        agent.data !== null && (
          <>
            <Badge status={agent.data.status} />
            <span class="number soft">{agent.data.version}</span>
            <span class="faint">
              changed <Ago at={agent.data.updated_at} />
            </span>
          </>
        )
      }
      actions={
        <>
          <button type="button" class="button plain" onClick={() => setDeactivating(true)}>
            Deactivate
          </button>
          <a class="button" href={links.agentEditor(id)}>
            Edit
          </a>
          <a class="button primary" href={links.chat(id)}>
            Chat
          </a>
        </>
      }
    >
      <Tabs
        label="Parts of the agent"
        current={tab === "graph" ? "Graph" : tab === "versions" ? "Versions" : "Definition"}
        tabs={[
          { name: "Definition", href: links.agent(id) },
          { name: "Graph", href: links.agentGraph(id) },
          { name: "Versions", href: links.agentVersions(id) },
        ]}
      />
      <div class="agent-tab">
        {tab === "versions" ? (
          <VersionsView agentId={id} />
        ) : tab === "graph" ? (
          <AgentGraphView agentId={id} />
        ) : (
          <Show loaded={agent}>
            {(data) => (
              <>
                {version !== undefined && (
                  <p class="notice wait">
                    <span>
                      This is version {data.version}
                      {data.status === "active"
                        ? ", which is active"
                        : ", which new runs do not take"}
                      . <a href={links.agent(id)}>Show the active one</a>
                    </span>
                  </p>
                )}
                <DefinitionView
                  definition={data.definition}
                  yaml={data.yaml ?? ""}
                  runs={<RecentRuns agentId={id} />}
                />
              </>
            )}
          </Show>
        )}
      </div>
      {isDeactivating && (
        <DeactivateDialog id={id} name={name} onClose={() => setDeactivating(false)} />
      )}
    </Page>
  );
}

function DeactivateDialog({
  id,
  name,
  onClose,
}: {
  id: string;
  name: string;
  onClose: () => void;
}) {
  const { route } = useLocation();
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const deactivate = async () => {
    setBusy(true);
    try {
      await bodyOf(api.DELETE("/v1/agents/{agent_id}", { params: { path: { agent_id: id } } }));
      say(`${name} takes no new runs.`);
      route(links.agents());
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Deactivate ${name}?`} onClose={onClose}>
      <p>
        It takes no new runs and is in no list. Runs under way end as usual, and its threads and
        versions stay readable. The name stays taken.
      </p>
      {error !== null && <Failure error={error} />}
      <div class="row">
        <button
          type="button"
          class="button danger"
          disabled={isBusy}
          onClick={() => void deactivate()}
        >
          Deactivate
        </button>
        <button type="button" class="button plain" onClick={onClose}>
          Keep it
        </button>
      </div>
    </Dialog>
  );
}
