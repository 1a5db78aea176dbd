import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { McpPackages } from "./sdk.ts";

/** Sends a call to the server. Rejects where there is no result, and where the result is an error. */
export type SendCall = (
  tool: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
) => Promise<CallToolResult>;

/** A call as LangChain's adapter makes it: what came, as content blocks of LangChain and artifacts. */
export type AdapterCall = (args: unknown, signal: AbortSignal) => Promise<unknown>;

/**
 * LangChain's adapter passes on errors of this name, and of all others only their text: neither what kind of error it
 * was nor whether the server said so itself.
 */
class PassedOn extends Error {
  override readonly name = "ToolException";

  constructor(readonly thrown: unknown) {
    super();
  }
}

/**
 * Makes the server's tools with LangChain's adapter: it turns what they give into LangChain's content blocks. It is given
 * a client of our own instead of the SDK's, for what it cannot do: list so many tools safely ({@link listTools}), keep
 * schemas as the server wrote them (it rewrites them, and fills in what they refer to, which a server can make
 * exponentially large), tell errors apart, start a server again, and fill in secrets for each request.
 */
export async function adapterTools(
  { loadMcpTools }: McpPackages,
  { server, names, send }: { server: string; names: readonly string[]; send: SendCall },
): Promise<ReadonlyMap<string, AdapterCall>> {
  const client = {
    listTools: () =>
      Promise.resolve({ tools: names.map((name) => ({ name, inputSchema: { type: "object" } })) }),
    async callTool(
      params: { name: string; arguments: Record<string, unknown> },
      _schema: unknown,
      options: { signal: AbortSignal },
    ) {
      try {
        return await send(params.name, params.arguments, options.signal);
      } catch (thrown) {
        throw new PassedOn(thrown);
      }
    },
  };
  const tools = await loadMcpTools(
    server,
    client as unknown as Parameters<typeof loadMcpTools>[1],
    {
      useStandardContentBlocks: true,
      outputHandling: "content",
    },
  );
  return new Map(
    tools.map((tool) => [
      tool.name,
      async (args, signal) => {
        try {
          // Not `invoke`, which would check the arguments once more and end the call by a clock of its own.
          return (await tool.func(args, undefined, { signal })) as unknown;
        } catch (thrown) {
          throw thrown instanceof PassedOn ? thrown.thrown : thrown;
        }
      },
    ]),
  );
}
