import { needPackage } from "../../optional-package.ts";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { canonicalJson, isRecord } from "../../values/json.ts";
import { truncateText } from "../../values/text.ts";
import type { Secrets } from "../secrets.ts";
import { ToolFailure } from "../tool-result.ts";
import { type Connection, noTimeout } from "./connection.ts";
import { invalidResponseCodes } from "./guarded-fetch.ts";
import { asSentence, plainMessage } from "./transport-link.ts";
import { type AdapterCall, adapterTools, listTools } from "./list-tools.ts";
import { httpFailure } from "./remote-link.ts";
import { serverTools } from "./server-tools.ts";
import { NotSentError } from "./stdio-transport.ts";
import { ToolServer, type ToolServerDeps } from "./tool-server.ts";
import {
  ServerCallError,
  ServerDiedError,
  ServerStartError,
  type ServerTools,
  type ToolServers,
} from "./tool-servers.ts";

export interface ToolServersOptions {
  /** Fills in `{{secret:NAME}}` each time a server is started or asked. */
  readonly secrets: Secrets;
  readonly clock: Clock;
  /**
   * Milliseconds without a call after which a server is closed; the next call starts it again. For programs that never
   * close their servers, whose processes would keep them alive. Default: never.
   */
  readonly idleMs?: number | undefined;
  /** Version of the connecting program, sent to servers. Default 0.0.0. */
  readonly version?: string;
}

/**
 * MCP servers over stdio, streamable HTTP and SSE. What a server lists when it is first connected is what agents see for
 * as long as these servers are kept: definitions are stamped with their tools, so notes of a server that its list has
 * changed are passed over.
 */
export function createToolServers(options: ToolServersOptions): ToolServers {
  const deps: ToolServerDeps & { readonly secrets: Secrets } = {
    secrets: options.secrets,
    clock: options.clock,
    version: options.version ?? "0.0.0",
    idleMs: options.idleMs,
  };
  const servers = new Map<string, ToolServer>();
  const connecting = new Map<string, Promise<ServerTools>>();
  let isClosed = false;

  return {
    connect(spec) {
      if (isClosed) {
        const error = new ServerStartError(
          spec.name,
          "All tool servers of this process are closed.",
        );
        return Promise.reject(error);
      }
      const key = canonicalJson(spec);
      const known = connecting.get(key);
      if (known !== undefined) return known;
      const server = new ToolServer(spec, deps);
      const tools = connect(server, deps).catch(async (thrown: unknown) => {
        connecting.delete(key);
        servers.delete(key);
        await server.close();
        throw thrown;
      });
      servers.set(key, server);
      connecting.set(key, tools);
      return tools;
    },
    status: () => [...servers.values()].map((server) => server.status),
    async close() {
      isClosed = true;
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
}

/** Starts the server and makes its tools. */
async function connect(server: ToolServer, deps: ToolServerDeps): Promise<ServerTools> {
  const { spec } = server;
  const { clock, secrets } = deps;
  for (const name of ["@langchain/mcp-adapters", "@modelcontextprotocol/sdk"] as const) {
    needPackage(name, `The MCP server "${spec.name}"`);
  }
  const startedAt = clock.monotonic();
  const forEver = new AbortController().signal;
  return server.use(forEver, async (connection) => {
    const left = spec.start_timeout_ms - (clock.monotonic() - startedAt);
    const timeoutMs = Math.max(1, Math.ceil(left));
    const listed = await listTools(spec.name, connection, { clock, secrets, timeoutMs });
    const names = listed.map((tool) => (isRecord(tool) ? tool["name"] : undefined));
    const calls = await adapterTools(connection.packages, {
      server: spec.name,
      names: [...new Set(names.filter((name) => typeof name === "string"))],
      send: (tool, args, signal) => callServer(server, { tool, args, signal }, secrets),
    });
    return serverTools(spec, listed, (own) => {
      const call = calls.get(own) as AdapterCall;
      return async (input, { signal }) => resultValue(await call(input, signal));
    });
  });
}

export interface ServerCall {
  /** The server's own name of the tool. */
  readonly tool: string;
  readonly args: Record<string, unknown>;
  /** Cancels the request at the server. */
  readonly signal: AbortSignal;
}

/** Characters of what a server says of an error. */
const maxErrorCharacters = 2_000;

/**
 * Calls a tool of a server, which is started again where it is gone. Nothing is sent twice but what an HTTP server has
 * turned away since it no longer knows the session.
 * @throws ToolFailure where the server says that the tool failed; ServerCallError, ServerDiedError, ServerStartError,
 * MissingSecretError; the signal's reason
 */
async function callServer(
  server: ToolServer,
  call: ServerCall,
  secrets: Secrets,
): Promise<CallToolResult> {
  const first = await attempt(server, call, secrets);
  if (first !== "session lost") return first;
  const second = await attempt(server, call, secrets);
  if (second !== "session lost") return second;
  throw new ServerCallError(
    server.spec.name,
    call.tool,
    "it does not know the session that it has just begun; check its endpoint.",
  );
}

function attempt(
  server: ToolServer,
  call: ServerCall,
  secrets: Secrets,
): Promise<CallToolResult | "session lost"> {
  const { tool, args, signal } = call;
  return server.use(signal, async (connection) => {
    let result: CallToolResult;
    try {
      // Not the SDK's `callTool`, which checks results by schemas that it would have had to list and compile itself.
      result = await connection.client.request(
        { method: "tools/call", params: { name: tool, arguments: args } },
        connection.packages.types.CallToolResultSchema,
        { signal, timeout: noTimeout },
      );
    } catch (thrown) {
      signal.throwIfAborted();
      if (httpFailure(thrown)?.isSessionLost === true) {
        server.drop(connection, "its session was lost; the next call begins another");
        return "session lost";
      }
      throw callError(thrown, { server, connection, tool, secrets });
    }
    server.answered();
    if (result.isError === true) throw new ToolFailure(errorText(result));
    return result;
  });
}

interface FailedCall {
  readonly server: ToolServer;
  readonly connection: Connection;
  readonly tool: string;
  readonly secrets: Secrets;
}

function callError(thrown: unknown, { server, connection, tool, secrets }: FailedCall): Error {
  const { name } = server.spec;
  const died = (text: string, retryable: boolean) => {
    const { exitCode } = connection.endProblem();
    const problem = `${text} ${retryable ? unsentAdvice : underWayAdvice}`;
    return new ServerDiedError(name, secrets.scrub(problem), { exitCode, retryable });
  };
  if (thrown instanceof NotSentError) return died(connection.endProblem().text, true);
  const failure = httpFailure(thrown);
  if (failure?.isLost === true) {
    return died(asSentence(capitalised(failure.problem)), failure.isUnsent);
  }
  if (failure !== undefined) {
    const { status } = failure;
    return new ServerCallError(name, tool, secrets.scrub(asSentence(failure.problem)), { status });
  }
  const { code } = thrown as { code?: unknown };
  const said = truncateText(plainMessage(errorMessage(thrown)), maxErrorCharacters);
  if (code === invalidResponseCodes.lost) return died(asSentence(capitalised(said)), false);
  if (!connection.isOpen() && code !== invalidResponseCodes.unreadable) {
    return died(connection.endProblem().text, false);
  }
  // Whatever it answered, it is there.
  server.answered();
  if (thrown instanceof z.core.$ZodError) {
    return new ServerCallError(name, tool, "its answer is no result of a tool call.");
  }
  return new ServerCallError(name, tool, secrets.scrub(asSentence(said)));
}

const unsentAdvice = "The call was not sent; it may be made again.";
const underWayAdvice = "Whether the call was carried out is not known.";

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function errorText({ content }: CallToolResult): string {
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
  return text.trim() === "" ? "The tool failed, and its server did not say why." : text.trim();
}

/**
 * What a call gives, from what LangChain's adapter made of the answer: structured content where there is some; the text
 * where text is all there is; else a list of blocks, in which images, sound and files without text are only described.
 * Null where the server said nothing.
 */
function resultValue(made: unknown): unknown {
  const [content, artifacts] = Array.isArray(made) ? (made as unknown[]) : [made, []];
  const structured = (Array.isArray(artifacts) ? (artifacts as unknown[]) : []).find(
    (artifact) => isRecord(artifact) && artifact["type"] === "mcp_structured_content",
  );
  if (isRecord(structured)) return structured["data"];
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
  const [only, ...others] = blocks;
  if (only === undefined) return null;
  if (typeof only === "string") return only;
  if (others.length === 0 && isRecord(only) && only["type"] === "text") return only["text"];
  return blocks.map(described);
}

function described(block: unknown): unknown {
  if (!isRecord(block)) return block;
  const { type, text, data, url, mime_type: mimeType, metadata } = block;
  if (type === "text") return { type, text };
  const kind = type === "file" ? (url === undefined ? "resource" : "resource_link") : type;
  const uri = url ?? (isRecord(metadata) ? metadata["uri"] : undefined);
  return {
    type: kind,
    ...(uri !== undefined && { uri }),
    ...(mimeType !== undefined && { mimeType }),
    ...(typeof text === "string" && { text }),
    ...(typeof data === "string" && { bytes: Buffer.byteLength(data, "base64") }),
  };
}
