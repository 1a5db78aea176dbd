import { isDeepStrictEqual } from "node:util";
import { AIMessage, AIMessageChunk, defaultToolCallParser } from "@langchain/core/messages";
import { readReply } from "../../src/compile/loop/read-reply.ts";
import { defineTool } from "../../src/definition/tool/define-tool.ts";
import type { AgentTool } from "../../src/definition/tool/tool.ts";
import { randomNumbers } from "./random-numbers.ts";

type Arguments = Record<string, unknown>;

/** Arguments of a call as a model could write them slightly wrong. */
export interface WrittenArguments {
  readonly fault: string;
  readonly tool: string;
  readonly text: string;
  /** Null if the text has no single meaning. */
  readonly meant: Arguments | null;
}

const string = { type: "string" };
const schemas: Readonly<Record<string, Arguments>> = {
  search: properties({ query: string, limit: { type: "integer" } }, ["query"]),
  run: properties({ code: string }, ["code"]),
  write: properties({ path: string, content: string, append: { type: "boolean" } }, [
    "path",
    "content",
  ]),
  book: properties(
    {
      to: string,
      seats: { type: "object", properties: { adults: { type: "integer" } } },
      tags: { type: "array", items: string },
      flexible: { type: "boolean" },
      note: { type: ["string", "null"] },
    },
    ["to", "seats"],
  ),
  list: properties({ folder: string, recursive: { type: "boolean" } }, []),
  status: properties({}, []),
};

function properties(given: Arguments, required: readonly string[]): Arguments {
  return { type: "object", properties: given, required };
}

const texts = [
  "python tutorial",
  "a, b and {c}",
  'say "hi", now',
  "it's 5 o'clock",
  "https://example.org/a?b=1 // no comment",
  "C:\\new\\table",
  "line one\nline two\n",
  "True, None or null",
  "[1, 2, 3]",
  "print({'a': 1})\n# done",
  '{"query": "inner"}',
  "naïve café 東京 🚲",
  "",
  "# title /* x */",
  "5",
];

export type Pick = <T>(list: readonly T[]) => T;

function valueFor(tool: string, pick: Pick): Arguments {
  const maybe = (value: Arguments) => pick([value, {}]);
  switch (tool) {
    case "search":
      return { query: pick(texts), ...maybe({ limit: pick([0, 5, 120]) }) };
    case "run":
      return { code: pick(texts) };
    case "write":
      return { path: pick(texts), content: pick(texts), ...maybe({ append: pick([true, false]) }) };
    case "book": {
      const seats = pick([{ adults: 2 }, { adults: 1, children: 10 }, {}]);
      const more = maybe({ tags: pick([[], ["a"], [pick(texts), pick(texts)]]) });
      return { to: pick(texts), seats, ...more, flexible: pick([true, false]), note: null };
    }
    case "list":
      return { ...maybe({ folder: pick(texts) }), recursive: pick([true, false]) };
    default:
      return {};
  }
}

/** Writes a value as text, quoting strings and writing keys and constants in other ways than JSON. */
function render(
  value: unknown,
  style: {
    readonly text?: (text: string) => string;
    readonly key?: (key: string) => string;
    readonly constants?: readonly [yes: string, no: string, none: string];
    readonly end?: string;
  },
): string {
  const { text = JSON.stringify, key = text, constants = ["true", "false", "null"] } = style;
  const end = style.end ?? "";
  if (typeof value === "string") return text(value);
  if (value === true) return constants[0];
  if (value === false) return constants[1];
  if (value === null) return constants[2];
  if (typeof value !== "object") return JSON.stringify(value);
  const parts = Array.isArray(value)
    ? value.map((one) => render(one, style))
    : Object.entries(value).map(([name, one]) => `${key(name)}: ${render(one, style)}`);
  const inner = parts.join(", ") + (parts.length > 0 ? end : "");
  return Array.isArray(value) ? `[${inner}]` : `{${inner}}`;
}

/** A Python literal of a text, as `repr` writes it. */
function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
  return quote + (quote === "'" ? inner.replaceAll("'", "\\'") : inner) + quote;
}

type Fault = (value: Arguments, pick: Pick, tool: string) => string;

function at(text: string, pick: Pick): number {
  return pick(Array.from({ length: Math.max(text.length - 1, 1) }, (_, index) => index + 1));
}

const faults: Readonly<Record<string, Fault>> = {
  "trailing comma": (value) => render(value, { end: "," }),
  "code block": (value, pick) =>
    `\`\`\`${pick(["json", ""])}\n${JSON.stringify(value, null, pick([0, 2]))}\n\`\`\``,
  "code block in prose": (value) =>
    `Here are the arguments:\n\`\`\`json\n${JSON.stringify(value)}\n\`\`\`\nLet me know!`,
  "encoded twice": (value) => JSON.stringify(JSON.stringify(value)),
  "encoded three times": (value) => JSON.stringify(JSON.stringify(JSON.stringify(value))),
  "escaped quotes": (value) => JSON.stringify(JSON.stringify(value)).slice(1, -1),
  "single quotes": (value) =>
    render(value, { text: pythonText, constants: ["True", "False", "None"] }),
  "bare keys": (value) => render(value, { key: (key) => key }),
  "line comment": (value) => JSON.stringify(value, null, 2).replace("{", "{ // they are\n"),
  "block comment": (value) => `${JSON.stringify(value).slice(0, -1)} /* that, "is": all */}`,
  "Python constants": (value) => render(value, { constants: ["True", "False", "None"] }),
  "line breaks in strings": (value) =>
    render(value, { text: (text) => JSON.stringify(text).replaceAll(/(?<!\\)\\n/g, "\n") }),
  "empty text": () => "",
  "prose before": (value, pick) =>
    `${pick(["The arguments are: ", "Sure! ", "json\n"])}${JSON.stringify(value)}`,
  "prose after": (value, pick) =>
    `${JSON.stringify(value)}${pick(["\nI will wait.", "<|im_end|>", "</tool_call>"])}`,
  repeated: (value, pick) =>
    Array(2)
      .fill(JSON.stringify(value))
      .join(pick(["", "\n"])),
  "two objects": (value, pick, tool) => JSON.stringify(value) + JSON.stringify(other(value, tool)),
  "cut off": (value, pick) => cut(JSON.stringify(value), pick),
  "cut off in a code block": (value, pick) =>
    `\`\`\`json\n${cut(JSON.stringify(value, null, 2), pick)}`,
  "cut off, encoded twice": (value, pick) => cut(JSON.stringify(JSON.stringify(value)), pick),
  "bracket missing": (value) => JSON.stringify(value).slice(0, -1),
  "bracket too many": (value) => `${JSON.stringify(value)}}`,
  "wrong bracket": (value, pick) => swapped(JSON.stringify(value), pick),
  "opening bracket missing": (value) => JSON.stringify(value).slice(1),
  "comma missing": (value) => JSON.stringify(value, null, 2).replace(/,\n/, "\n"),
  "quotes not escaped": (value) =>
    render(value, { text: (text) => JSON.stringify(text).replaceAll('\\"', '"') }),
};

function cut(text: string, pick: Pick): string {
  return text.slice(0, at(text, pick));
}

/** Replaces or removes a bracket that is not in a string. */
function swapped(text: string, pick: Pick): string {
  const parts: readonly string[] = text.match(/"(?:[^"\\]|\\.)*"|[^"]/g) ?? [];
  const index = pick([...parts.keys()].filter((part) => /^[{}[\]]$/.test(parts[part] ?? "")));
  const others = ["(", "]", "}", ">", ""].filter((bracket) => bracket !== parts[index]);
  return parts.with(index, pick(others)).join("");
}

function other(value: Arguments, tool: string): Arguments {
  return tool === "status" ? { more: 1 } : { ...value, [Object.keys(value)[0] ?? "a"]: "other" };
}

/** Returns `count` texts, the same for the same seed, with every fault equally often. */
export function writtenArguments(count: number, seed: number): readonly WrittenArguments[] {
  const random = randomNumbers(seed);
  const pick: Pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
  const names = Object.keys(faults);
  return Array.from({ length: count }, (_, index): WrittenArguments => {
    const fault = names[index % names.length] ?? "";
    const isEmpty = fault === "empty text";
    const tool = pick(isEmpty ? ["search", "list", "status"] : Object.keys(schemas));
    const value = isEmpty ? {} : valueFor(tool, pick);
    const hasNoMeaning = fault === "two objects" || (isEmpty && tool === "search");
    const text = faults[fault]?.(value, pick, tool) ?? "";
    return { fault, tool, text, meant: hasNoMeaning ? null : value };
  });
}

const tools: ReadonlyMap<string, AgentTool> = new Map(
  Object.entries(schemas).map(([name, input_schema]) => [
    name,
    defineTool({ name, description: name, input_schema, handler: () => null }),
  ]),
);

/** The ways in which arguments reach the loop. */
export const forms = {
  native: ({ tool, text }: WrittenArguments) => {
    const raw = { id: "1", type: "function" as const, function: { name: tool, arguments: text } };
    const [tool_calls, invalid_tool_calls] = defaultToolCallParser([{ ...raw }]);
    return new AIMessage({ content: "", tool_calls, invalid_tool_calls });
  },
  streamed: ({ tool, text }: WrittenArguments) => {
    const half = Math.ceil(text.length / 2);
    const part = { type: "tool_call_chunk" as const, index: 0 };
    const first = { ...part, id: "1", name: tool, args: text.slice(0, half) };
    const chunk = (one: typeof part) =>
      new AIMessageChunk({ content: "", tool_call_chunks: [one] });
    return chunk(first).concat(chunk({ ...part, args: text.slice(half) } as typeof part));
  },
  text: ({ tool, text }: WrittenArguments) =>
    new AIMessage(`Thought: t\nAction: ${tool}\nAction Input: ${text}`),
} as const;

/** `right`: the call that was meant. `problem`: no call, and a report to the model. `wrong`: another call. */
export type Reading = "right" | "problem" | "wrong";

export function readWritten(written: WrittenArguments, form: keyof typeof forms): Reading {
  const { predictions } = readReply({
    message: forms[form](written),
    form: form === "text" ? "text" : "native",
    tools,
    ids: () => "id",
    isUsed: () => false,
    noteForm: null,
    behind: [],
  });
  const [call, ...others] = predictions;
  if (call === undefined || others.length > 0 || call.problem !== undefined) return "problem";
  return isDeepStrictEqual(call.args, written.meant) ? "right" : "wrong";
}
