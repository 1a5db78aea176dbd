import { z } from "zod";
import { defineTool } from "../../definition/define-tool.ts";
import type { AgentTool } from "../../definition/tool.ts";
import type { RunMemory } from "../memory/run-memory.ts";
import { keyInput, maxKeyLength, maxTextLength, textInput } from "./tool-input.ts";

export interface MemoryToolsOptions {
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
export function memoryTools({ memory, nextChange }: MemoryToolsOptions): readonly AgentTool[] {
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
