import { readFileSync } from "node:fs";
import type { Piece } from "./counting.ts";

/** A run of an agent with tools, as chat models take messages. The first message is the system prompt. */
export interface Trajectory {
  readonly id: string;
  readonly messages: readonly DataMessage[];
  /** When message `at` calls a tool, each of `values` had appeared in results of tools alone. */
  readonly needed: readonly { readonly at: number; readonly values: readonly string[] }[];
}

export interface DataMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

export function readTrajectories(file: string): readonly Trajectory[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Trajectory);
}

const known = new WeakMap<DataMessage, readonly string[]>();

/** What there is to read in a message: its text, and the name and arguments of every call. */
export function dataPieces(message: DataMessage): readonly string[] {
  const before = known.get(message);
  if (before !== undefined) return before;
  const calls = (message.tool_calls ?? []).flatMap(({ function: { name, arguments: args } }) => [
    name,
    args,
  ]);
  const made = [message.content ?? "", ...calls];
  known.set(message, made);
  return made;
}

/** {@link dataPieces} with their kinds. */
export function dataReadings(message: DataMessage): readonly Piece[] {
  return dataPieces(message).map((text, at) => ({
    text,
    isSaid: at === 0 && (message.role === "user" || message.role === "assistant"),
  }));
}
