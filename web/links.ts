/** Path of the page, `/inspector/` where nothing else is said: the server writes it into the `base` element. */
export const basePath = new URL(document.baseURI).pathname;

/** Where the API is: beside the page, under the same prefix. */
export const apiUrl = new URL("../", document.baseURI).href.replace(/\/$/, "");

/** Returns the address of a run in the API. */
export function runUrl({
  agent_id: agent,
  run_id: run,
}: {
  readonly agent_id: string;
  readonly run_id: string;
}): string {
  return `${apiUrl}/v1/agents/${encodeURIComponent(agent)}/runs/${encodeURIComponent(run)}`;
}

type Query = Readonly<Record<string, string | number | null | undefined>>;

/** Returns the address of a place in the page. Each part of the path is encoded; absent parts of the query are left out. */
function place(parts: readonly (string | number)[], query: Query = {}): string {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === null || value === undefined || value === "" ? [] : [[name, String(value)]],
    ),
  ).toString();
  const path = parts.map((part) => encodeURIComponent(part)).join("/");
  return `${basePath}${path}${search === "" ? "" : `?${search}`}`;
}

/** The addresses of all views. */
export const links = {
  home: () => place([]),
  threads: (query?: Query) => place(["threads"], query),
  thread: (threadId: string, query?: Query) => place(["threads", threadId], query),
  timeline: (threadId: string, query?: Query) => place(["threads", threadId, "timeline"], query),
  graph: (threadId: string, query?: Query) => place(["threads", threadId, "graph"], query),
  plan: (threadId: string, query?: Query) => place(["threads", threadId, "plan"], query),
  checkpoints: (threadId: string, query?: Query) =>
    place(["threads", threadId, "checkpoints"], query),
  checkpoint: (threadId: string, checkpointId: string, query?: Query) =>
    place(["threads", threadId, "checkpoints", checkpointId], query),
  diff: (threadId: string, query: Query) => place(["threads", threadId, "diff"], query),
  chat: (agentId?: string, query?: Query) =>
    place(["chat", ...(agentId === undefined ? [] : [agentId])], query),
  inbox: (query?: Query) => place(["inbox"], query),
  agents: () => place(["agents"]),
  agent: (agentId: string, query?: Query) => place(["agents", agentId], query),
  agentGraph: (agentId: string) => place(["agents", agentId, "graph"]),
  agentEditor: (agentId: string) => place(["agents", agentId, "edit"]),
  agentVersions: (agentId: string, query?: Query) => place(["agents", agentId, "versions"], query),
  newAgent: () => place(["agents", "new"]),
  memory: (query?: Query) => place(["memory"], query),
  queue: (query?: Query) => place(["queue"], query),
  schedules: (query?: Query) => place(["schedules"], query),
  experiments: () => place(["experiments"]),
  experiment: (experimentId: string, query?: Query) => place(["experiments", experimentId], query),
  reference: (operationId?: string, query?: Query) =>
    place(["api", ...(operationId === undefined ? [] : [operationId])], query),
} as const;
