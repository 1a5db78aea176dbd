/** A request as a client sends it. Names in braces stand for ids of earlier answers. */
export interface RecordedRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Reads a stream that stays open up to the end of a run. */
  readonly untilRunEnds?: true;
}

/** What a client sends one after the other. */
export interface Journey {
  readonly name: string;
  readonly requests: readonly RecordedRequest[];
  /** Events that are not compared: with `stream_subgraphs`, `langgraph dev` adds `checkpoints` and never completes messages. */
  readonly ignores?: readonly string[];
  /** Documented differences of the shapes of all answers. */
  readonly differs?: readonly string[];
}

const get = (path: string, headers = {}): RecordedRequest => ({ method: "GET", path, headers });
const post = (path: string, body: unknown): RecordedRequest => ({ method: "POST", path, body });
const said = (content: unknown) => ({
  messages: [{ id: "0a14d6dc-90d7-4fce-9d7a-afa54cc334cd", type: "human", content }],
});
const approval = { decision: "approve" };
const run = "/threads/{thread}/runs/{run}";
const atCheckpoint = {
  checkpoint: { checkpoint_id: "{checkpoint}", checkpoint_ns: "", checkpoint_map: null },
};

/** What `useStream` of `@langchain/langgraph-sdk/react` sends with every run. */
const ofHook = {
  stream_mode: ["messages-tuple", "values"],
  stream_resumable: true,
  assistant_id: "letters",
  on_disconnect: "continue",
};
/** What agent-chat-ui sends with a message. */
const ofChat = {
  stream_mode: ["values", "messages-tuple", "custom"],
  stream_subgraphs: true,
  stream_resumable: true,
  assistant_id: "letters",
  on_disconnect: "cancel",
};
/** What `@ag-ui/langgraph` sends, with messages in two forms and the tools of the page. */
const ofAdapter = {
  stream_mode: ["events", "values", "updates", "messages-tuple"],
  assistant_id: "letters",
};
const withTools = {
  messages: said("Dear all").messages.map((message) => ({ ...message, role: "user" })),
  tools: [],
};
const unknown = "00000000-0000-4000-8000-000000000404";
const start = (input: unknown, configurable = {}) => ({
  id: 1,
  method: "run.start",
  params: {
    input,
    config: { configurable: { thread_id: "{thread}", ...configurable } },
    assistant_id: "letters",
  },
});
const events: RecordedRequest = {
  ...post("/threads/{thread}/stream/events", {
    channels: ["values", "checkpoints", "lifecycle", "input", "messages", "tools"],
    namespaces: [[]],
    depth: 1,
  }),
  untilRunEnds: true,
};

const ofThreads = ["POST /threads + .interrupts", "POST /threads + .values"];

/** Requests of browsers, recorded from the hooks, and written down from the sources of agent-chat-ui and the routes that Studio uses. */
export const journeys: readonly Journey[] = [
  {
    name: "useStream of the SDK",
    differs: [
      ...ofThreads,
      "GET /threads/{thread}/runs/{run} - .kwargs.config.configurable.thread_id",
      "GET /threads/{thread}/state - .metadata.checkpoint_id",
    ],
    requests: [
      post("/threads", { metadata: {} }),
      post("/threads/{thread}/runs/stream", { ...ofHook, input: said("Dear all") }),
      get(run),
      get(`${run}/stream?cancel_on_disconnect=0`, { "last-event-id": "-1" }),
      post("/threads/{thread}/history", { limit: 10 }),
      post("/threads/{thread}/runs/stream", { ...ofHook, command: { resume: approval } }),
      post("/threads/{thread}/history", { limit: 100 }),
      post("/threads/{thread}/runs/stream", {
        ...ofHook,
        ...atCheckpoint,
        input: said("Dear both"),
      }),
      get("/threads/{thread}/state"),
    ],
  },
  {
    name: "useStream of @langchain/react",
    differs: ofThreads,
    requests: [
      post("/threads", {}),
      post("/threads/{thread}/commands", start(said("Dear all"))),
      events,
      post("/threads/{thread}/commands", {
        id: 3,
        method: "input.respond",
        params: { namespace: [], interrupt_id: "{interrupt}", response: approval },
      }),
      { ...events, body: { ...Object(events.body), since: "{seq}" } },
      get("/threads/{thread}/state"),
      post("/threads/{thread}/history", { limit: 20 }),
      post(
        "/threads/{thread}/commands",
        start(said("Dear both"), { checkpoint_id: "{checkpoint}" }),
      ),
    ],
  },
  {
    name: "agent-chat-ui",
    differs: [
      "GET /info - .flags.langsmith_tracing_replicas",
      "POST /threads/search + [].interrupts",
      "POST /threads/search + [].values",
      ...ofThreads,
    ],
    ignores: ["checkpoints"],
    requests: [
      get("/info"),
      post("/threads/search", { metadata: { graph_id: "letters" }, limit: 1, offset: 0 }),
      post("/threads", { metadata: {} }),
      post("/threads/{thread}/runs/stream", {
        ...ofChat,
        input: said([{ type: "text", text: "Dear all" }]),
      }),
      post("/threads/{thread}/history", { limit: 10 }),
      post("/threads/{thread}/runs/stream", {
        ...ofChat,
        input: {},
        command: { resume: approval },
      }),
      post("/threads/{thread}/history", { limit: 10 }),
      // "Regenerate".
      post("/threads/{thread}/runs/stream", { ...ofChat, ...atCheckpoint }),
    ],
  },
  {
    name: "CopilotKit's adapter",
    // They come between others as tasks happen to end.
    ignores: ["events"],
    differs: [
      "POST /assistants/search + [].metadata.agent_version",
      ...ofThreads,
      "GET /threads/{thread}/runs/{run} - .kwargs.config.configurable.thread_id",
    ],
    requests: [
      post("/assistants/search", { graph_id: "letters", limit: 1, offset: 0 }),
      get(`/threads/${unknown}`),
      post("/threads", { metadata: {} }),
      get("/threads/{thread}/state"),
      get("/assistants/letters/schemas"),
      get("/assistants/letters/graph"),
      post("/threads/{thread}/runs/stream", { ...ofAdapter, input: withTools }),
      get(run),
      get("/threads/{thread}"),
      post("/threads/{thread}/runs/stream", {
        ...ofAdapter,
        input: withTools,
        command: { resume: approval },
      }),
      get("/threads/{thread}/state"),
    ],
  },
  {
    name: "Studio",
    // Long messages have fewer partial events here.
    ignores: ["checkpoints", "messages/complete", "messages/partial"],
    differs: [
      "GET /info - .flags.langsmith_tracing_replicas",
      "POST /assistants/search + [].metadata.agent_version",
      ...ofThreads,
      "POST /threads/search + [].interrupts",
      "POST /threads/search + [].values",
      "POST /threads/{thread}/runs/stream ~ .debug[].payload.parent_config: null|object, not object",
      "POST /threads/{thread}/state + .configurable",
    ],
    requests: [
      get("/info"),
      post("/assistants/search", { graph_id: "letters", limit: 10, offset: 0 }),
      get("/assistants/letters/graph?xray=true"),
      get("/assistants/letters/schemas"),
      get("/assistants/letters/subgraphs?recurse=true"),
      post("/threads", { metadata: { graph_id: "letters" } }),
      post("/threads/search", { limit: 1, offset: 0, sort_by: "updated_at", sort_order: "desc" }),
      post("/threads/{thread}/runs/stream", {
        assistant_id: "letters",
        input: { input: { message: "Dear all" } },
        stream_mode: ["debug", "messages"],
        stream_subgraphs: true,
        stream_resumable: true,
        multitask_strategy: "rollback",
        interrupt_before: [],
        config: { configurable: {}, recursion_limit: 100 },
      }),
      get("/threads/{thread}/state?subgraphs=true"),
      post("/threads/{thread}/history", { limit: 1000 }),
      post("/threads/{thread}/state", {
        values: { input: { message: "Dear both" } },
        as_node: "write",
      }),
      post("/threads/{thread}/runs/stream", {
        assistant_id: "letters",
        input: null,
        stream_mode: ["debug", "messages"],
        stream_subgraphs: true,
      }),
      get("/threads/{thread}"),
    ],
  },
];
