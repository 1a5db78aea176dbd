import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { ToolForm } from "../../context/step-messages.ts";
import type { ModelReply } from "../../models/agent-model.ts";
import { ModelCallError } from "../../models/errors.ts";
import { isRecord } from "../../values/json.ts";
import { CyclePromptError } from "../errors.ts";
import type { LogMessage } from "../log/log-entry.ts";
import type { CycleRun } from "./cycle-run.ts";
import type { RunResources } from "./run-resources.ts";

/** A reply, and what it was a reply to. */
export interface Asked {
  readonly reply: ModelReply;
  /** As they were sent. */
  readonly sent: readonly LogMessage[];
  readonly form: ToolForm;
}

/**
 * Asks the run's model for the next move. A model that turns out to take no tools is asked again in the text form.
 * @throws ModelCallError
 */
export async function askForMove(
  history: readonly LogMessage[],
  form: ToolForm,
  { resources, config }: CycleRun,
): Promise<Asked> {
  const { model, modelTools, toolInstructions } = resources;
  const used = model.toolCalling ? form : "text";
  const sent = toldIn(used, history, toolInstructions);
  const isNative = used === "native" && modelTools.length > 0;
  try {
    const reply = await model.call(
      { messages: toLangChain(sent), ...(isNative && { tools: modelTools }) },
      config,
    );
    return { reply, sent, form: used };
  } catch (thrown) {
    if (!isNative || !(thrown instanceof ModelCallError) || !thrown.lacksTools) throw thrown;
    return askForMove(history, "text", { resources, config } as CycleRun);
  }
}

/** Asks for words alone: no tool is offered. */
export async function askForWords(
  history: readonly LogMessage[],
  { resources, config }: CycleRun,
): Promise<Omit<Asked, "form">> {
  const sent = toldIn("report", history, "");
  const reply = await resources.model.call({ messages: toLangChain(sent) }, config);
  return { reply, sent };
}

/**
 * A cycle's messages as a model reads them that calls tools natively or in text; `report`: as one reads them that is
 * offered no tools, since providers refuse messages of calls then.
 */
function toldIn(
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
function toLangChain(messages: readonly LogMessage[]): readonly BaseMessage[] {
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

/**
 * What the user says at the beginning of a cycle.
 * @throws CyclePromptError where its template cannot be evaluated
 */
export function cyclePrompt(
  { run, cyclePrompt: template }: Pick<RunResources, "run" | "cyclePrompt">,
  cycle: number,
): string {
  const { run_id, cycle_count } = run;
  try {
    const said = template.render({ run_id, cycle_number: cycle, cycle_count });
    return typeof said === "string" ? said : JSON.stringify(said);
  } catch (thrown) {
    throw new CyclePromptError(run_id, cycle, { cause: thrown });
  }
}
