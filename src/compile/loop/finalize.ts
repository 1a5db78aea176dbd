import { AIMessage } from "@langchain/core/messages";
import { END } from "@langchain/langgraph";
import { turnUsage } from "../../state/turn.ts";
import { conversationDigest } from "./conversation-digest.ts";
import { dropLeftOver } from "./drop-calls.ts";
import type { NodeBody } from "./node-body.ts";

/** Ends a turn: puts the answer, or why there is none, into the conversation. A cancelled one says nothing. */
export const finalize: NodeBody = (state, run) => {
  const { turn } = state;
  const status = state.status ?? "CREATED";
  if (status === "CANCELLED") {
    run.emit({ type: "status", status });
    run.emit({ type: "done", status, output: null, failure: null, usage: turnUsage(state) });
    return { update: {}, goto: END };
  }
  const dropped = dropLeftOver(state, run);
  const failure = turn?.failure ?? null;
  const incomplete = turn?.draft?.incomplete ?? false;
  const text = failure === null ? (turn?.draft?.answer ?? "") : failure.message;
  const message = new AIMessage({
    id:
      (failure === null && turn?.draft?.problem === null && turn.draft.message_id) ||
      run.parts.ids(),
    content: text,
    ...(incomplete && { additional_kwargs: { incomplete: true } }),
    ...(failure !== null && { additional_kwargs: { failure: failure.cause } }),
  });
  run.emit({ type: "status", status });
  // The caller gets the values themselves; the conversation keeps their marks.
  if (failure === null) {
    run.emit({ type: "message", text: run.rails.reveal(text, "own"), incomplete });
  }
  run.emit({ type: "done", status, output: state.output, failure, usage: turnUsage(state) });
  const messages = [...(dropped.messages ?? []), message];
  const isGuarded = run.parts.rails.input.length > 0;
  return {
    update: {
      ...dropped,
      messages,
      ...(state.branches.length > 0 && { branches: { only: [] } }),
    },
    ...(isGuarded && {
      turn: { conversation: conversationDigest([...state.messages, ...messages]) },
    }),
    goto: END,
  };
};
