import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

/** A way to a server, as its transport needs it. Texts may hold secrets. */
export interface TransportLink {
  readonly transport: Transport;
  /** Why there is no connection; `thrown` is what opening it came to. */
  startProblem(thrown: unknown): LinkProblem;
  /** Why the connection ended. */
  endProblem(): LinkProblem;
  /** Lets go of the server; `isReady` where it has answered before. */
  close(isReady: boolean): Promise<void>;
}

export interface LinkProblem {
  /** Whole sentences. */
  readonly text: string;
  readonly exitCode: number | null;
  /** Whether it may be otherwise a little later. */
  readonly isTransient: boolean;
}

/** Why opening a connection was given up. The message is a whole sentence. */
export class OpenAbortedError extends Error {}

/** A text as the end of a sentence. */
export function asSentence(text: string): string {
  return /[.!?]\s*$/.test(text) ? text.trim() : `${text.trim()}.`;
}

/** What a server said, or what was thrown at the start; without what the SDK puts before it. */
export function plainMessage(message: string): string {
  return message.replace(/^(?:McpError: )?MCP error -?\d+: /, "");
}

/**
 * The packages that speak MCP. They are loaded when the first server is, since they cost an import of this package more
 * than all the rest of its tools.
 */
export interface McpPackages {
  readonly Client: typeof import("@modelcontextprotocol/sdk/client/index.js").Client;
  readonly HttpTransport: typeof import("@modelcontextprotocol/sdk/client/streamableHttp.js").StreamableHTTPClientTransport;
  readonly SseTransport: typeof import("@modelcontextprotocol/sdk/client/sse.js").SSEClientTransport;
  readonly types: typeof import("@modelcontextprotocol/sdk/types.js");
  readonly defaultEnvironment: typeof import("@modelcontextprotocol/sdk/client/stdio.js").getDefaultEnvironment;
  readonly loadMcpTools: typeof import("@langchain/mcp-adapters").loadMcpTools;
}

let loading: Promise<McpPackages> | undefined;

export function loadMcpPackages(): Promise<McpPackages> {
  return (loading ??= load());
}

async function load(): Promise<McpPackages> {
  const [client, http, sse, stdio, types, adapters] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/client/sse.js"),
    import("@modelcontextprotocol/sdk/client/stdio.js"),
    import("@modelcontextprotocol/sdk/types.js"),
    import("@langchain/mcp-adapters"),
  ]);
  return {
    Client: client.Client,
    HttpTransport: http.StreamableHTTPClientTransport,
    SseTransport: sse.SSEClientTransport,
    types,
    defaultEnvironment: stdio.getDefaultEnvironment,
    loadMcpTools: adapters.loadMcpTools,
  };
}
