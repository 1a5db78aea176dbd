import { ToolMessage } from "@langchain/core/messages";
import { StructuredTool, tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import {
  fromLangChainTool,
  isLangChainTool,
  type LangChainTool,
} from "../../../src/definition/tool/langchain-tool.ts";

const about = { name: "echo", description: "Repeats." };
const schema = z.object({ text: z.string() });

/** Calls it as the tools room does: checked input first. */
async function call(given: LangChainTool, args: unknown, signal = new AbortController().signal) {
  const made = fromLangChainTool(given);
  const checked = made.input.check(args);
  if (!checked.ok) return checked.issues;
  if (made.kind !== "stateless") throw new TypeError("expected a stateless tool");
  return made.run(checked.value, {
    signal,
    callId: "c1",
    now: () => new Date(0),
    secret: async () => "",
  });
}

describe("fromLangChainTool", () => {
  it("takes tool() with a zod schema", async () => {
    const echo = tool(({ text }) => text, { ...about, schema });
    expect(isLangChainTool(echo)).toBe(true);
    expect(fromLangChainTool(echo).definition).toMatchObject({
      ...about,
      input_schema: {
        type: "object",
        properties: { text: { type: "string" } },
        required: ["text"],
      },
      persistence: "none",
    });
    expect(await call(echo, { text: "hi" })).toBe("hi");
    expect(await call(echo, { text: 3 })).toEqual([
      "text: Invalid input: expected string, received number",
    ]);
  });

  it("takes tool() with a JSON Schema", async () => {
    const json = { type: "object", properties: { text: { type: "string" } } } as const;
    const echo = tool((input: unknown) => ({ got: input }), { ...about, schema: json });
    expect(fromLangChainTool(echo).definition.input_schema).toEqual(json);
    expect(await call(echo, { text: "hi" })).toEqual({ got: { text: "hi" } });
  });

  it("takes the class StructuredTool", async () => {
    class Echo extends StructuredTool<typeof schema> {
      readonly name = "echo";
      readonly description = "Repeats.";
      readonly schema = schema;
      protected _call({ text }: { text: string }): Promise<string> {
        return Promise.resolve(text);
      }
    }
    expect(await call(new Echo(), { text: "hi" })).toBe("hi");
  });

  it("shows the model what a zod 3 schema asks for", async () => {
    const old = z3.object({ text: z3.string() });
    const echo = tool((input: unknown) => (input as { text: string }).text, {
      ...about,
      schema: old,
    });
    expect(fromLangChainTool(echo).definition.input_schema).toMatchObject({
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
    });
    expect(await call(echo, { text: "hi" })).toBe("hi");
  });

  it("shows the model the one text that a plain tool takes", async () => {
    const echo = tool((text: string) => text, { ...about, schema: z.string() });
    expect(fromLangChainTool(echo).definition.input_schema).toMatchObject({
      properties: { input: { type: "string" } },
    });
    expect(await call(echo, { input: "hi" })).toBe("hi");
  });

  it("leaves it to the tool to transform its input", async () => {
    const counting = z.object({ text: z.string().transform((text) => text.length) });
    const count = tool(({ text }) => text, { ...about, schema: counting });
    expect(await call(count, { text: "four" })).toBe(4);
  });

  it("passes the signal on", async () => {
    const { signal } = new AbortController();
    let seen: unknown;
    const echo = tool(
      (_input, config: { signal?: AbortSignal }) => {
        seen = config.signal;
        return "";
      },
      { ...about, schema },
    );
    await call(echo, { text: "" }, signal);
    expect(seen).toBe(signal);
  });

  it("takes the content of content and artifact, and of a tool message", async () => {
    const both = tool(() => ["seen", { kept: 1 }], {
      ...about,
      schema,
      responseFormat: "content_and_artifact",
    });
    const message = (status: "success" | "error") =>
      tool(() => new ToolMessage({ content: "told", tool_call_id: "c1", status }), {
        ...about,
        schema,
      });
    expect(await call(both, { text: "" })).toBe("seen");
    expect(await call(message("success"), { text: "" })).toBe("told");
    await expect(call(message("error"), { text: "" })).rejects.toThrow("told");
  });

  it("leaves regular expressions that need backtracking to the tool, which checks too", async () => {
    const strong = z3.object({
      text: z3
        .string()
        .regex(/^(?=.*\d)/)
        .min(2),
    });
    const given = tool(({ text }: { text: string }) => text, { ...about, schema: strong });
    expect(await call(given, { text: "a1" })).toBe("a1");
    expect(await call(given, { text: "1" })).toEqual([expect.stringContaining("Too small")]);
    await expect(call(given, { text: "ab" })).rejects.toThrow("schema");
  });

  it("lets through what the tool throws", async () => {
    const broken = tool(() => Promise.reject(new RangeError("broken")), { ...about, schema });
    await expect(call(broken, { text: "" })).rejects.toThrow(RangeError);
  });

  it("refuses a name that a tool cannot have", () => {
    const odd = tool(() => "", { name: "a b", description: "x", schema });
    expect(() => fromLangChainTool(odd)).toThrow(
      'Tool "a b": a name has 1 to 64 letters, digits, _ and -.',
    );
  });

  it.each([null, 3, {}, { name: "x", invoke: () => 1 }])("sees that %o is none", (value) => {
    expect(isLangChainTool(value)).toBe(false);
  });
});
