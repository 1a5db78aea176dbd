import { callSignature } from "../../state/call-signature.ts";
import { readNamedArguments } from "../call-arguments.ts";
import { outcome, type Outcome } from "./outcome.ts";

/** What a context tells in lines instead of in messages of their own. */
export interface ShortenedHistory {
  /** `steps`: calls, where they were made in the conversation. `conversation`: turns before all that follows. */
  readonly of: "steps" | "conversation";
  /** What people and the agent said, and what a summary says of it. */
  readonly said: readonly string[];
  readonly calls: readonly ShortenedCall[];
}

export interface ShortenedCall {
  /** The call as it stands in its line: `search(query="python")`. */
  readonly signature: string;
  readonly outcome: Outcome;
  /** How often it was made with this outcome. */
  readonly times: number;
}

const heading = /^\[Earlier (steps|conversation), shortened\]([^\n]*)\n?/;
const spoken = /^(?:user|assistant): (?:\[offline:rules\] )?/;

/** Null for a message that is something else. */
export function readShortenedHistory(text: string): ShortenedHistory | null {
  const found = heading.exec(text);
  if (found === null) return null;
  const said: string[] = [];
  const calls: ShortenedCall[] = [];
  for (const line of text.slice(found[0].length).split("\n")) {
    const call = line.startsWith("- ") ? readCallLine(line.slice(2)) : null;
    if (call !== null) calls.push(call);
    else if (line.trim() !== "" && !/^Turn \d+$|^Still failing:$/.test(line)) {
      said.push(line.replace(spoken, ""));
    }
  }
  return { of: found[1] === "steps" ? "steps" : "conversation", said, calls };
}

const result = /\) → (success|failure|error|timeout)(?=$|[:;]| \(×)/g;
const count = / \(×(\d+)\)$/;

/**
 * A call with what came of it: `read(path="a.txt") → failure: no such file (×2)`. Arguments that were cut in the line are
 * not known. Null for any other line.
 */
export function readCallLine(line: string): ShortenedCall | null {
  const name = /^([\w.-]+)\(/.exec(line)?.[1];
  if (name === undefined) return null;
  const ends = [...line.matchAll(result)];
  const argsBefore = ({ index }: RegExpExecArray) =>
    readArguments(line.slice(name.length + 1, index));
  // Values may hold the mark that ends the arguments: those before the right one are told by what stands there.
  const exact = ends.find((one) => {
    const args = argsBefore(one);
    return args !== null && callSignature({ name, args }) === line.slice(0, one.index + 1);
  });
  const end = exact ?? ends[0];
  if (end === undefined) return null;
  const times = Number(count.exec(line)?.[1] ?? 1);
  const failed = end[1] !== "success";
  const rest = line.slice(end.index + ") → ".length).replace(count, "");
  const text = failed ? rest : rest.replace(/^success[:;] /, "");
  const args = argsBefore(end) ?? {};
  return {
    signature: line.slice(0, end.index + 1),
    outcome: outcome({ name, args, text, failed }),
    times,
  };
}

function readArguments(text: string): Record<string, unknown> | null {
  return text === "" ? {} : readNamedArguments(text);
}
