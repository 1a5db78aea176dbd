import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { api, ApiError, bodyOf } from "../../api/client.ts";
import { asApiError } from "../../api/query.ts";
import { Page } from "../../components/page.tsx";
import { Failure, Show } from "../../components/states.tsx";
import { say } from "../../components/toast.tsx";
import { links } from "../../links.ts";
import "../../styles/agents.css";
import "../../styles/editor.css";
import { DrawnGraph } from "./agent-graph-view.tsx";
import { useAgent } from "./agent-query.ts";
import { type DefinitionCheck, useDefinitionCheck } from "./check-definition.ts";
import { DiffView } from "./diff-view.tsx";
import { useDraft } from "./draft.ts";
import { CaretHelp, Problems, useSchemaHelp } from "./editor-help.tsx";
import { createMergePatch } from "./merge-patch.ts";
import { TextEditor } from "./text-editor.tsx";

/** A version of an agent, as the API answers with it. */
type Agent = NonNullable<ReturnType<typeof useAgent>["data"]>;

const firstText = `name: helper
description: Answers questions.
system_prompt: |
  You are a helpful assistant.
tools:
  - calculator
`;

/** Edits the definition of an agent as YAML, or writes that of a new one. */
export function EditorView() {
  const { params } = useRoute();
  const agentId = params["agent"];
  return agentId === undefined ? (
    <Editor key="new" agent={null} />
  ) : (
    <StoredAgent key={agentId} agentId={agentId} />
  );
}

function StoredAgent({ agentId }: { agentId: string }) {
  const agent = useAgent(agentId);
  if (agent.data !== null) return <Editor agent={agent.data} />;
  return (
    <Page title="Edit" trail={<a href={links.agents()}>Agents</a>}>
      <Show loaded={agent}>{() => null}</Show>
    </Page>
  );
}

function Editor({ agent }: { agent: Agent | null }) {
  const { route } = useLocation();
  const [stored, setStored] = useState(agent);
  const kept = useDraft(agent?.id ?? null);
  const { draft } = kept;
  const [caret, setCaret] = useState(0);
  const [goTo, setGoTo] = useState<{ line: number; column: number } | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isSaving, setSaving] = useState(false);
  // A draft of an earlier version conflicts with what is stored now.
  const isStale = draft !== null && stored !== null && draft.base !== stored.version;
  const storedText = stored?.yaml ?? firstText;
  const text = draft?.text ?? storedText;
  const { check, isCurrent, error: checkError, retry } = useDefinitionCheck(text);
  const help = useSchemaHelp(text);
  const edit = (next: string, base = draft?.base ?? stored?.version ?? null) => {
    if (next === storedText && base === (stored?.version ?? null)) kept.clear();
    else kept.change({ text: next, base });
  };
  const isValid = isCurrent && check?.ok === true;

  const save = async () => {
    if (!isValid || isSaving || isStale) return;
    const { definition } = check;
    setSaving(true);
    setError(null);
    try {
      if (stored === null) {
        const created = await bodyOf(api.POST("/v1/agents", { body: definition as never }));
        kept.clear();
        say(`${created.name} is created.`);
        route(links.agent(created.id));
      } else {
        const saved = await saveVersion(stored, definition ?? {});
        if (saved !== null) say(`Saved as version ${saved.version}.`);
        if (saved !== null) setStored(saved);
        kept.clear();
      }
    } catch (thrown) {
      const problem = asApiError(thrown);
      if (problem.status === 412 && stored !== null) setStored(await readAgent(stored.id));
      else setError(problem);
    } finally {
      setSaving(false);
    }
  };
  const title = stored === null ? "New agent" : `Edit ${stored.name}`;
  return (
    <Page
      title={title}
      fills
      trail={
        <>
          <a href={links.agents()}>Agents</a>
          {stored !== null && (
            <>
              {" / "}
              <a href={links.agent(stored.id)}>{stored.name}</a>
            </>
          )}
        </>
      }
      facts={
        <span class="soft" role="status">
          {draft === null
            ? stored === null
              ? ""
              : `version ${stored.version}, no changes`
            : "not saved"}
        </span>
      }
      actions={
        <>
          {draft !== null && (
            <button
              type="button"
              class="button plain"
              onClick={() => {
                kept.clear();
                setError(null);
              }}
            >
              Discard changes
            </button>
          )}
          <button
            type="button"
            class="button primary"
            disabled={!isValid || isSaving || isStale || (stored !== null && draft === null)}
            title="Ctrl+S"
            onClick={() => void save()}
          >
            {stored === null ? "Create agent" : "Save as a new version"}
          </button>
        </>
      }
    >
      {error !== null && <Failure error={error} />}
      {checkError !== null && <Failure error={checkError} retry={retry} />}
      {isStale && (
        <Conflict
          theirs={stored}
          base={draft.base ?? ""}
          mine={text}
          onKeepMine={() => edit(withVersion(text, draft.base, stored.version), stored.version)}
          onTakeTheirs={() => kept.clear()}
        />
      )}
      <div
        class="definition-editor"
        onKeyDown={(event) => {
          if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void save();
        }}
      >
        <div class="writing">
          <TextEditor
            label="Definition in YAML"
            describedBy="editor-keys"
            text={text}
            onChange={edit}
            onCaret={setCaret}
            marks={isCurrent ? markedProblems(check) : []}
            goTo={goTo}
            complete={(at) => help.complete(at)}
          />
          <CaretHelp help={help.at(caret)} />
        </div>
        <div class="outcome">
          <Problems
            check={check}
            isCurrent={isCurrent}
            onOpen={(problem) => setGoTo({ ...problem })}
          />
          {check?.ok === false && (
            <p class="faint">The graph is that of the last text without problems.</p>
          )}
          <div class="drawn">
            <DrawnGraph graph={lastGraph(stored?.id ?? "new", check)} />
          </div>
        </div>
      </div>
    </Page>
  );
}

/** A text with the version that it is based on now, unless it has one of its own. */
function withVersion(text: string, before: string | null, after: string): string {
  return text.replace(/^version: *["']?([\d.]+)["']? *$/m, (line: string, written: string) =>
    written === before ? `version: ${after}` : line,
  );
}

function markedProblems(check: DefinitionCheck | null) {
  return (check?.problems ?? []).flatMap(({ line, column, message }) =>
    typeof line === "number" ? [{ line, column: column ?? 1, message }] : [],
  );
}

/** The newest graph of each text that was valid: it stays in sight while the text is not. */
const graphs = new Map<string, unknown>();

function lastGraph(name: string, check: DefinitionCheck | null): unknown {
  if (check?.ok === true && check.graph !== undefined && check.graph !== null)
    graphs.set(name, check.graph);
  return graphs.get(name) ?? null;
}

async function readAgent(agentId: string): Promise<Agent> {
  return bodyOf(
    api.GET("/v1/agents/{agent_id}", {
      params: { path: { agent_id: agentId }, query: { format: "yaml" } },
    }),
  );
}

/**
 * Saves a definition as the next version; null if nothing differs.
 *
 * @throws ApiError `version_mismatch` if another version was saved since
 */
async function saveVersion(
  stored: Agent,
  definition: Readonly<Record<string, unknown>>,
): Promise<Agent | null> {
  const made = createMergePatch(stored.definition, definition);
  if (!made.ok)
    throw new ApiError(
      `The null at ${made.path.join(".")} cannot be saved in a change. Leave the key out.`,
      0,
      "null_in_patch",
    );
  if (Object.keys(made.patch).length === 0) return null;
  await bodyOf(
    api.PATCH("/v1/agents/{agent_id}", {
      params: { path: { agent_id: stored.id }, header: { "If-Match": `"${stored.version}"` } },
      body: made.patch,
    }),
  );
  return readAgent(stored.id);
}

function Conflict({
  theirs,
  base,
  mine,
  onKeepMine,
  onTakeTheirs,
}: {
  theirs: Agent;
  base: string;
  mine: string;
  onKeepMine: () => void;
  onTakeTheirs: () => void;
}) {
  return (
    <section class="notice wait conflict" role="alert" aria-label="Another version was saved">
      <strong>
        Version {theirs.version} was saved since you began with {base}.
      </strong>
      <p>
        Nothing of yours is lost. These are the lines by which your text differs from version{" "}
        {theirs.version}:
      </p>
      <DiffView
        before={theirs.yaml ?? ""}
        after={mine}
        label={`version ${theirs.version} to your text`}
      />
      <div class="row">
        <button type="button" class="button" onClick={onKeepMine}>
          Keep my text, on top of {theirs.version}
        </button>
        <button type="button" class="button" onClick={onTakeTheirs}>
          Take version {theirs.version}
        </button>
      </div>
    </section>
  );
}
