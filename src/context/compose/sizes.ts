import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { boundTokens, messagesTokens, toolsTokens } from "../../models/usage/message-tokens.ts";
import type { TokenCounter } from "../../models/usage/tokens.ts";
import type { ComposeOptions } from "../reasoning-context.ts";
import { level, type Level, type OpenErrors, type Sized } from "./fit.ts";
import { TextCache } from "../../values/text.ts";
import type { RenderedEntries } from "./rendered-entries.ts";

/** Tokens of the message around a run of lines, and of its heading. */
const headingTokens = 24;

/** What is around a message in any format has fewer tokens than this. */
const aroundMessage = 16;

/** Of UTF-8, which encodings work on: a token has at least one byte, and a unit of a string at most three. */
const bytesOfUnit = 3;

/** What goes with the messages. */
type Bound = Pick<ComposeOptions, "tools" | "answer">;

/** Tokens of what goes with the messages. */
export function tokensBound({ tools, answer }: Bound, count: TokenCounter): number {
  return toolsTokens(tools, count) + (answer === undefined ? 0 : boundTokens(answer, count));
}

/** How entries are measured. */
export interface Measure {
  readonly messages: (messages: readonly BaseMessage[]) => number;
  readonly line: (line: string) => number;
}

/** Measures in tokens. */
export function tokenMeasure(count: TokenCounter): Measure {
  return {
    messages: (messages) => messagesTokens(messages, count),
    line: (line) => lineTokens(line, count),
  };
}

const linesRemembered = { texts: 20_000, characters: 4_000_000 };
const countedLines = new WeakMap<TokenCounter, TextCache<number>>();

/** With the break after it. A line is counted once, not for every context that it is in. */
export function lineTokens(line: string, count: TokenCounter): number {
  let counted = countedLines.get(count);
  if (counted === undefined) {
    countedLines.set(count, (counted = new TextCache(linesRemembered)));
  }
  return counted.get(line, () => count(line) + 1);
}

/** Measures no less than the tokens, and needs no tokenizer. */
export const cheapMeasure: Measure = {
  messages: (messages) => messages.reduce((sum, one) => sum + mostTokens(one), 0),
  line: (line) => bytesOfUnit * line.length + 1,
};

/** {@link cheapMeasure} of what goes with the messages. */
export function mostTokensBound({ tools = [], answer }: Bound): number {
  return (
    (tools.length === 0 ? 0 : mostBoundTokens(tools)) +
    (answer === undefined ? 0 : mostBoundTokens(answer))
  );
}

/** The sizes of the entry at a place. */
export function sizedEntry(
  told: RenderedEntries,
  at: number,
  how: { readonly open: OpenErrors; readonly measure: Measure },
): Sized {
  const { open, measure } = how;
  const entry = told.entry(at);
  const { kind, turn } = entry;
  const ways: { readonly messages: readonly BaseMessage[]; readonly tokens: number }[] = [];
  const own = (as: Level): number => {
    const messages = kind === "step" ? told.step(at, as).messages : told.messages(at);
    const known = ways[as];
    // The rendering of a large step depends on the room.
    if (known !== undefined && (kind !== "step" || known.messages === messages)) {
      return known.tokens;
    }
    const tokens = measure.messages(messages);
    ways[as] = { messages, tokens };
    return tokens;
  };
  const inLines = (as: Level, from: number, isLast: boolean): number => {
    const startsRun = at === 0 || at === from || told.entry(at - 1).kind !== "step";
    const lines = told.lines(at, as, { from, isLast });
    const tokens = lines.reduce((sum, line) => sum + measure.line(line), 0);
    return tokens === 0 ? 0 : tokens + (startsRun ? headingTokens : 0);
  };
  const lines = { from: -1, isLast: false, sizes: new Map<Level, number>() };
  return {
    kind,
    turn,
    isRequest: entry.kind === "spoken" && entry.isRequest,
    get openUntil() {
      return open.until(at);
    },
    size(as, from, isLast) {
      if (as === level.dropped) return 0;
      if (as < level.line) return own(as);
      if (from !== lines.from || isLast !== lines.isLast) {
        lines.sizes.clear();
        Object.assign(lines, { from, isLast });
      }
      const known = lines.sizes.get(as);
      if (known !== undefined) return known;
      const made = inLines(as, from, isLast);
      lines.sizes.set(as, made);
      return made;
    },
  };
}

const bounds = new WeakMap<BaseMessage, number>();

function mostTokens(message: BaseMessage): number {
  const known = bounds.get(message);
  if (known !== undefined) return known;
  const calls = (message as Partial<AIMessage>).tool_calls ?? [];
  const parts = Array.isArray(message.content) ? 1000 * message.content.length : 0;
  const units = calls.reduce(
    (sum, { name, args }) => sum + name.length + JSON.stringify(args).length,
    message.text.length,
  );
  const bound = bytesOfUnit * units + aroundMessage + parts;
  bounds.set(message, bound);
  return bound;
}

function mostBoundTokens(bound: object): number {
  const known = mostBound.get(bound);
  if (known !== undefined) return known;
  const most = bytesOfUnit * JSON.stringify(bound).length;
  mostBound.set(bound, most);
  return most;
}

const mostBound = new WeakMap<object, number>();
