import { z } from "zod";
import { defineTool } from "../definition/tool/define-tool.ts";
import type { AgentTool } from "../definition/tool/tool.ts";
import type { RunMemory } from "./memory/run-memory.ts";

export interface ExperimentToolsOptions extends MemoryToolsOptions {
  /** Receives the agent's messages to the operator. If left out, they are dropped, and reported as delivered. */
  readonly onMessage?: (text: string) => void;
}

/** The tools that experiments bring with them: the memory of one run, and the way to its operator. */
export function experimentTools({
  memory,
  nextChange,
  onMessage,
}: ExperimentToolsOptions): readonly AgentTool[] {
  return [...memoryTools({ memory, nextChange }), messageOperatorTool(onMessage)];
}

interface MemoryToolsOptions {
  readonly memory: RunMemory;
  /** The number of a change that is about to be made. Not asked for calls that are refused or change nothing. */
  readonly nextChange: () => number;
}

/** Keys that one call lists. */
const maxListed = 500;

/** UTF-8 bytes that JSON takes for a UTF-16 unit at most: a control character is `\u001f`. */
const bytesPerUnit = 6;

/** Bytes of JSON around a text in a result, generously. */
const around = 64;

const keyAlone = (description: string) => z.strictObject({ key: keyInput.describe(description) });

/** Calls take effect in the order in which they are made, as far as the memory has it so. */
function memoryTools({ memory, nextChange }: MemoryToolsOptions): readonly AgentTool[] {
  return [
    defineTool({
      name: "memory_write",
      display_name: "Write to memory",
      description:
        "Writes a value to memory under a key, in place of the one it had, to remember it in later cycles.",
      input_schema: z.strictObject({
        key: keyInput.describe("Key to write under"),
        value: textInput.describe("Value to write, a text"),
      }),
      execution: { idempotent: true },
      handler: async ({ key, value }) => ({
        key,
        replaced: await memory.write(key, value, nextChange()),
      }),
    }),
    defineTool({
      name: "memory_read",
      display_name: "Read from memory",
      description: "Reads the value of a key in memory; null where there is none.",
      input_schema: keyAlone("Key to read"),
      execution: {
        idempotent: true,
        max_result_bytes: (maxTextLength + maxKeyLength) * bytesPerUnit + around,
      },
      handler: async ({ key }) => ({ key, value: await memory.read(key) }),
    }),
    defineTool({
      name: "memory_list",
      display_name: "List memory keys",
      description: `Lists the keys in memory, at most ${maxListed}.`,
      input_schema: z.strictObject({}),
      execution: {
        idempotent: true,
        max_result_bytes: maxListed * (maxKeyLength * bytesPerUnit + around),
      },
      handler: async () => {
        const keys = await memory.list();
        const more = keys.length - maxListed;
        return { keys: keys.slice(0, maxListed), ...(more > 0 && { more }) };
      },
    }),
    defineTool({
      name: "memory_delete",
      display_name: "Delete from memory",
      description: "Deletes a key and its value from memory.",
      input_schema: keyAlone("Key to delete"),
      execution: { idempotent: true },
      handler: async ({ key }) => ({ key, deleted: await memory.delete(key, nextChange()) }),
    }),
  ];
}

/** What `onMessage` throws is an error of the call: the message was not delivered then. */
function messageOperatorTool(onMessage?: (text: string) => void): AgentTool {
  return defineTool({
    name: "message_operator",
    display_name: "Message the operator",
    description: "Sends a message to the operator, the person who runs you. No reply comes back.",
    input_schema: z.strictObject({ message: textInput.describe("Text of the message") }),
    handler: ({ message }) => {
      onMessage?.(message);
      return { delivered: true };
    },
  });
}

/** UTF-16 units of a key. */
const maxKeyLength = 200;

/** UTF-16 units of a value or a message. */
const maxTextLength = 65_536;

/** With the `u` flag surrogates are found only without their other half. */
const unstorable = /\0|\p{Surrogate}/u;

const text = z.string().refine((value) => !unstorable.test(value), {
  error: "holds a NUL character or half of a surrogate pair, which cannot be kept; leave it out",
});

const keyInput = text.min(1).max(maxKeyLength);
const textInput = text.max(maxTextLength);
