import { maxInputBytes } from "../../compile/input.ts";
import { splitLines } from "../../values/text.ts";
import { type CliIo, type LinePrompt, UsageError } from "../io.ts";

/** Where a chat's messages come from. */
export interface MessageSource {
  /** The next message; null at the end, when the person leaves, or when `signal` aborts. */
  next(signal: AbortSignal): Promise<string | null>;
}

/** Messages that are kept to be called up again with the arrow keys. */
const mostHistory = 100;

/**
 * Messages that are typed at a prompt, each a line. A line that ends with a backslash continues in the next one, and
 * lines that are pasted together are one message. The terminal is given back between messages.
 */
export function typedMessages(openPrompt: NonNullable<CliIo["openPrompt"]>): MessageSource {
  const history: string[] = [];
  return {
    async next(signal) {
      const prompt = openPrompt({ history });
      try {
        const message = await joinLines((isFirst) => readLine(prompt, isFirst, signal));
        if (message !== null && message.trim() !== "" && !message.includes("\n")) {
          history.unshift(message);
          history.splice(mostHistory);
        }
        return message;
      } finally {
        prompt.close();
      }
    },
  };
}

function readLine(prompt: LinePrompt, isFirst: boolean, signal: AbortSignal) {
  return prompt.line(isFirst ? "> " : "… ", { signal, joinsPasted: true });
}

/**
 * The lines of standard input as messages.
 * @throws UsageError for text that is not UTF-8, and for a line that no input may be as long as
 */
export function pipedMessages(stdin: CliIo["stdin"]): MessageSource {
  const lines = splitLines(stdin, maxInputBytes);
  const read = async (): Promise<string | null> => {
    const next = await lines.next();
    if (next.done === true) return null;
    const { bytes, number } = next.value;
    if (bytes === null) {
      throw new UsageError(
        `Line ${number} of standard input exceeds ${maxInputBytes.toLocaleString("en")} bytes, the maximum size of an input.`,
        "input_too_large",
      );
    }
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r$/, "");
    } catch (cause) {
      throw new UsageError(`Line ${number} of standard input is not UTF-8 text.`, "invalid_text", {
        cause,
      });
    }
  };
  return {
    next: (signal) => untilAborted(signal, () => joinLines(read)),
  };
}

/** Joins lines while they end with a backslash. What was typed before the end of the lines is a message. */
async function joinLines(
  read: (isFirst: boolean) => Promise<string | null>,
): Promise<string | null> {
  const lines: string[] = [];
  for (;;) {
    const line = await read(lines.length === 0);
    if (line === null) return null;
    if (!line.endsWith("\\")) return [...lines, line].join("\n");
    lines.push(line.slice(0, -1));
  }
}

/** Null if the signal aborts first. What `read` waits for stays pending then. */
async function untilAborted(
  signal: AbortSignal,
  read: () => Promise<string | null>,
): Promise<string | null> {
  if (signal.aborted) return null;
  const ended = new AbortController();
  const aborted = new Promise<null>((resolve) => {
    const onAbort = () => resolve(null);
    signal.addEventListener("abort", onAbort, { once: true, signal: ended.signal });
  });
  try {
    return await Promise.race([read(), aborted]);
  } finally {
    ended.abort();
  }
}
