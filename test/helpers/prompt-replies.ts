import { AIMessage } from "@langchain/core/messages";
import type { ScriptedReply } from "./scripted-model.ts";

type Reply = string | { readonly calls: readonly { name: string; args: object; id?: string }[] };

/**
 * A script for workflows, where nodes may ask side by side: what is said depends on the last thing that the model reads
 * from a person, by its beginning. A list is used up one by one.
 */
export function repliesByPrompt(
  replies: Readonly<Record<string, Reply | readonly Reply[]>>,
  calls = 60,
): ScriptedReply[] {
  const used = new Map<string, number>();
  const reply: ScriptedReply = ({ messages }) => {
    const asked = messages.findLast((message) => message.type === "human")?.text ?? "";
    const key = Object.keys(replies).find((start) => asked.startsWith(start));
    if (key === undefined) throw new Error(`Nothing is said to: ${asked}`);
    const count = used.get(key) ?? 0;
    used.set(key, count + 1);
    const given = replies[key];
    const one = Array.isArray(given) ? (given[count] as Reply | undefined) : (given as Reply);
    if (one === undefined) throw new Error(`Nothing more is said to: ${asked}`);
    if (typeof one === "string") return new AIMessage(one);
    return new AIMessage({
      content: "",
      tool_calls: one.calls.map(({ id, name, args }, index) => ({
        id: id ?? `call_${key}_${count}_${index}`,
        name,
        args: args as Record<string, unknown>,
      })),
    });
  };
  return Array.from({ length: calls }, () => reply);
}
