import type { RunnableConfig } from "@langchain/core/runnables";
import { isRecord } from "../../state/is-record.ts";
import type { HandlerInterrupts } from "../../tools/handler-interrupts.ts";

/** What LangGraph keeps of a node's interrupts. Its names are the same in all versions of LangGraph 1. */
interface Scratchpad {
  /** The number of the last interrupt, from 0; -1 before there is one. */
  interruptCounter: number;
  /** Answers in the order of the interrupts. */
  readonly resume: unknown[];
  /** An answer that names no interrupt, until it is taken. */
  readonly nullResume?: unknown;
}

/** Undefined where LangGraph keeps nothing of the node, so that nobody could answer. */
export function handlerInterrupts({ configurable }: RunnableConfig): HandlerInterrupts | undefined {
  const found: unknown = configurable?.["__pregel_scratchpad"];
  if (!isScratchpad(found)) return undefined;
  return {
    get asked() {
      return found.interruptCounter + 1;
    },
    get hasAnswers() {
      return found.resume.length > found.interruptCounter + 1 || found.nullResume !== undefined;
    },
    skip(count) {
      found.interruptCounter += count;
    },
  };
}

/** Has another answer stand for the one that the node's last interrupt has taken, in further runs of the node too. */
export function keepAnswer({ configurable }: RunnableConfig, answer: unknown): void {
  const found: unknown = configurable?.["__pregel_scratchpad"];
  const send: unknown = configurable?.["__pregel_send"];
  if (!isScratchpad(found) || typeof send !== "function") return;
  found.resume[found.interruptCounter] = answer;
  const write = send as (writes: readonly (readonly [string, unknown])[]) => void;
  write([["__resume__", found.resume.slice(0, found.interruptCounter + 1)]]);
}

function isScratchpad(value: unknown): value is Scratchpad {
  return (
    isRecord(value) &&
    typeof value["interruptCounter"] === "number" &&
    Array.isArray(value["resume"])
  );
}
