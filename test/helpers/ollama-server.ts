import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createdAt, respond, send, type OllamaAnswer, type OllamaChat } from "./ollama-replies.ts";

export { Silence } from "./openai-server.ts";
export type { OllamaAnswer } from "./ollama-replies.ts";

export interface OllamaRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed; null where there is none. */
  readonly body: unknown;
}

export interface OllamaServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`, for OLLAMA_HOST or `ollama_client_config.host`. */
  readonly url: string;
  /** Everything that came in, in order, also what was refused. */
  readonly requests: readonly OllamaRequest[];
  /** The bodies of the chats among them. */
  readonly chats: readonly OllamaChat[];
  close(): Promise<void>;
}

export interface OllamaServerOptions {
  /** Capabilities by name with its tag. Default {@link defaultModels}. */
  readonly models?: Readonly<Record<string, readonly string[]>>;
}

/** What Ollama's own models of these names can do: the first takes no tools. */
const defaultModels: Readonly<Record<string, readonly string[]>> = {
  "llama3:latest": ["completion"],
  "llama3.2:latest": ["completion", "tools"],
  "qwen3:latest": ["completion", "tools", "thinking"],
};

/**
 * A server on loopback that speaks Ollama's protocol: `/api/chat` whole and as a stream, `/api/show`, `/api/tags` and
 * `/api/version`. Unknown models, tools for a model that takes none, and thinking for one that does not think are refused
 * in Ollama's words, and take nothing from the script.
 * @param script answers in order (the chat after the last one gets status 400), or a function of the chat and its number from 0
 */
export async function ollamaServer(
  script: readonly OllamaAnswer[] | ((chat: OllamaChat, index: number) => OllamaAnswer),
  { models = defaultModels }: OllamaServerOptions = {},
): Promise<OllamaServer> {
  const requests: OllamaRequest[] = [];
  let answered = 0;
  function next(chat: OllamaChat): OllamaAnswer {
    const index = answered++;
    if (typeof script === "function") return script(chat, index);
    return script[index] ?? { status: 400, error: "The script is at its end" };
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const { method = "", url: path = "", headers } = request;
      const body: unknown = text === "" ? null : JSON.parse(text);
      requests.push({ method, path, headers, body });
      const route = routes[`${method} ${path}`];
      if (route === undefined) response.writeHead(404).end("404 page not found");
      else route(body as never, response);
    });
  });

  const routes: Record<string, (body: never, response: ServerResponse) => void> = {
    "GET /api/version": (_, response) => send(response, 200, { version: "0.12.6" }),
    "GET /api/tags": (_, response) => send(response, 200, { models: Object.keys(models).map(tag) }),
    "POST /api/show": ({ model }: { model: string }, response) => {
      const capabilities = models[tagged(model)];
      if (capabilities === undefined) send(response, 404, { error: notFound(model) });
      else send(response, 200, { details: tag(model).details, model_info: {}, capabilities });
    },
    "POST /api/chat": (chat: OllamaChat, response) => {
      const refusal = refused(chat, models[tagged(chat.model)]);
      const answer = refusal ?? next(chat);
      void respond(answer, { chat, number: answered }, response);
    },
  };

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    get chats() {
      const chats = requests.filter(({ path }) => path === "/api/chat");
      return chats.map(({ body }) => body as OllamaChat);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function tagged(model: string): string {
  return model.includes(":") ? model : `${model}:latest`;
}

function tag(model: string) {
  const details = { format: "gguf", family: "llama", parameter_size: "8.0B" };
  return { name: tagged(model), model: tagged(model), modified_at: createdAt, size: 1, details };
}

function notFound(model: string): string {
  return `model '${model}' not found`;
}

function refused(chat: OllamaChat, can: readonly string[] | undefined) {
  if (can === undefined) return { status: 404, error: notFound(chat.model) };
  const wanted = [...(chat.tools?.length ? ["tools"] : []), ...(chat.think ? ["thinking"] : [])];
  const missing = wanted.find((one) => !can.includes(one));
  if (missing === undefined) return null;
  const name = `registry.ollama.ai/library/${tagged(chat.model)}`;
  return { status: 400, error: `${name} does not support ${missing}` };
}
