import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import type { ToolForm } from "../../context/step-messages.ts";
import { isRecord } from "../../state/is-record.ts";
import type { LogMessage } from "../log/log-entry.ts";

/**
 * A cycle's messages as a model reads them that calls tools natively or in text; `report`: as one reads them that is
 * offered no tools, since providers refuse messages of calls then.
 */
export function toldIn(
  form: ToolForm | "report",
  history: readonly LogMessage[],
  toolInstructions: string,
): readonly LogMessage[] {
  if (form === "native") return history;
  const told: LogMessage[] = [];
  const asked = new Map<string, string>();
  for (const [at, message] of history.entries()) {
    const { role, content, tool_calls: calls = [], tool_call_id: answers = "" } = message;
    if (role === "system") {
      const instructions = form === "text" && toolInstructions !== "" ? [toolInstructions] : [];
      told.push({ role, content: [content, ...instructions].join("\n\n") });
    } else if (role === "assistant" && calls.length > 0) {
      for (const { id, name, args } of calls) asked.set(id, `${name}(${JSON.stringify(args)})`);
      if (form === "text") told.push({ role, content: actionText(content, calls) });
      else if (content.trim() !== "") told.push({ role, content });
    } else if (role === "tool") {
      const isText = form === "text";
      const gave = isText ? `Observation: ${content}` : `- ${asked.get(answers) ?? ""}: ${content}`;
      if (history[at - 1]?.role === "tool") append(told, gave);
      else told.push({ role: "user", content: isText ? gave : `${reported}\n${gave}` });
    } else {
      told.push({ role, content });
    }
  }
  return told;
}

const reported = "What the tools gave:";

function actionText(thought: string, calls: NonNullable<LogMessage["tool_calls"]>): string {
  const actions = calls.map(
    ({ name, args }) => `Action: ${name}\nAction Input: ${JSON.stringify(args)}`,
  );
  return [`Thought: ${thought}`, ...actions].join("\n");
}

function append(told: LogMessage[], text: string): void {
  const last = told.pop();
  if (last !== undefined) told.push({ ...last, content: `${last.content}\n${text}` });
}

/** LangChain's messages of those. */
export function toLangChain(messages: readonly LogMessage[]): readonly BaseMessage[] {
  const names = new Map<string, string>();
  return messages.map(({ role, content, tool_calls: calls = [], tool_call_id: answers = "" }) => {
    switch (role) {
      case "system":
        return new SystemMessage(content);
      case "user":
        return new HumanMessage(content);
      case "assistant":
        for (const { id, name } of calls) names.set(id, name);
        return new AIMessage({
          content,
          tool_calls: calls.map(({ id, name, args }) => ({
            id,
            name,
            args: isRecord(args) ? args : {},
          })),
        });
      case "tool":
        return new ToolMessage({ tool_call_id: answers, content, name: names.get(answers) ?? "" });
    }
  });
}
