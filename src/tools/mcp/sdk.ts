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
