import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { abortable } from "../../async.ts";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import type { Secrets } from "../secrets.ts";
import { type Connection, noTimeout } from "./connection.ts";
import { asSentence, type McpPackages, plainMessage } from "./transport-link.ts";
import { ServerToolsError } from "./tool-servers.ts";

/** The most tools that one server may list. */
const maxTools = 20_000;

const page = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().nullish(),
});

/**
 * All tools of a server, page by page, as it wrote them. LangChain's adapter and the SDK's own `listTools` follow a
 * cursor that comes again without end, and refuse a whole page for one tool whose schema they do not like.
 * @throws ServerToolsError
 */
export async function listTools(
  server: string,
  connection: Connection,
  options: { readonly clock: Clock; readonly secrets: Secrets; readonly timeoutMs: number },
): Promise<readonly unknown[]> {
  const { clock, secrets, timeoutMs } = options;
  const deadline = new AbortController();
  const limit = timeoutMs.toLocaleString("en");
  const stop = clock.after(timeoutMs, () =>
    deadline.abort(
      new ServerToolsError(server, `It did not list them within ${limit} ms (start_timeout_ms).`),
    ),
  );
  try {
    return await abortable(readPages(server, connection, deadline.signal), deadline.signal);
  } catch (thrown) {
    if (thrown instanceof ServerToolsError) throw thrown;
    const text =
      thrown instanceof z.core.$ZodError
        ? "Its list is not of the form that MCP asks for."
        : connection.isOpen()
          ? `It answered: ${asSentence(plainMessage(errorMessage(thrown)))}`
          : connection.endProblem().text;
    throw new ServerToolsError(server, secrets.scrub(text));
  } finally {
    stop();
  }
}

async function readPages(
  server: string,
  { client }: Connection,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  const seen = new Set<string>();
  for (let cursor: string | undefined; ;) {
    const params = cursor === undefined ? {} : { cursor };
    const request = { method: "tools/list", params } as const;
    // The SDK would leave a listener on the signal for every page; an end too late ends the server anyway.
    const answer = await client.request(request, page, { timeout: noTimeout });
    signal.throwIfAborted();
    for (const tool of answer.tools) tools.push(tool);
    if (tools.length > maxTools) {
      const limit = maxTools.toLocaleString("en");
      throw new ServerToolsError(server, `It lists more than ${limit} of them.`);
    }
    const next = answer.nextCursor ?? "";
    if (next === "") return tools;
    if (seen.has(next)) {
      throw new ServerToolsError(server, "Its list has no end: the same page comes again.");
    }
    seen.add(next);
    cursor = next;
  }
}

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
 * our own client instead of the SDK's, which cannot list thousands of tools safely ({@link listTools}), nor keep
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
