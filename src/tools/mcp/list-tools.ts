import { z } from "zod";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { abortable } from "./abortable.ts";
import { noTimeout, type Connection } from "./connection.ts";
import { ServerToolsError } from "./errors.ts";
import { asSentence, plainMessage } from "./link.ts";

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
