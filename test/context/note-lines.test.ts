import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defineAgent } from "../../src/index.ts";
import {
  nativeNoteLineForm,
  noteLineForm,
  NoteLines,
  readNoteLines,
  takeNoteLines,
  takesNoteLines,
} from "../../src/context/note-lines.ts";
import type { ToolResult } from "../../src/state/step-record.ts";
import { parseTextForm } from "../../src/models/text-form/text-form.ts";
import { anyCharacter } from "../helpers/any-character.ts";

const note = '{"progress": "advancing"}';
const result: ToolResult = {
  id: "c1",
  name: "look",
  args: {},
  result: "",
  outcome: "success",
  error: null,
  execution_time_ms: 1,
  insights: "",
  learning: "",
  relevance: "",
};
const { execution_config: execution } = defineAgent({ name: "a" }).spec;
const oneCall = { ref: "ollama:qwen3", toolCalling: true, parallelCalls: false };
const behind = [{ tool_results: [result] }];

describe("note lines", () => {
  it.each([
    ["before an action", `Thought: a\nNote: ${note}\nAction: look\nAction Input: {"at": "a"}`],
    ["after an action", `Thought: a\nAction: look\nAction Input: {"at": "a"}\nNote: ${note}`],
    ["in bold", `Thought: a\n**Note:** ${note}\nAction: look\nAction Input: {"at": "a"}`],
    ["as code", `Thought: a\nnote: \`${note}\`\nAction: look\nAction Input: {"at": "a"}`],
    ["over several lines", 'Thought: a\nNote: {\n  "progress": "advancing",\n}\nAction: look[a]'],
    ["with Windows' line ends", `Thought: a\r\nNote: ${note}\r\nAction: look[a]`],
  ])("are taken out of a reply: %s", (_, reply) => {
    const { text, notes } = takeNoteLines(reply);
    expect(notes).toEqual([{ progress: "advancing" }]);
    const turn = parseTextForm(text);
    expect(turn).toMatchObject({ thought: "a", finalAnswer: null, problems: [] });
    expect(turn.actions.map(({ name }) => name)).toEqual(["look"]);
  });

  it("are no part of an answer before or after them", () => {
    for (const reply of [
      `Thought: a\nNote: ${note}\nFinal Answer: It is b.`,
      `Thought: a\nFinal Answer: It is b.\nNote: ${note}`,
    ]) {
      expect(parseTextForm(takeNoteLines(reply).text).finalAnswer).toBe("It is b.");
    }
  });

  it.each([
    "Final Answer: Note: the shop closes at 5.",
    "Final Answer: Prices\nNote: {all without tax}",
    'Final Answer: Prices\nNote: {"tax": 0}',
    'Final Answer: Prices\nNote: {"progress": "stuck", "tax": 0}',
    "Final Answer: Prices\nNote: {}",
    'Final Answer: Prices\nNote: {"progress": "stuck"} is what it said',
    'Final Answer: Prices\nNote: {"progress": "stuck"',
    'Action: write\nAction Input: {"text": "Note: {\\"progress\\": \\"stuck\\"}"}',
    "Footnote: {}",
  ])("are nothing else that looks like them: %j", (reply) => {
    expect(takeNoteLines(reply)).toEqual({ text: reply, notes: [] });
  });

  it("say nothing once the model invents an observation", () => {
    const reply = `Action: look[a]\nObservation: found\nNote: ${note}`;
    expect(takeNoteLines(reply).notes).toEqual([]);
  });

  it("leave every other text as it is, and take little time", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const { text: left, notes } = takeNoteLines(text);
        expect([left, notes]).toEqual([text, []]);
      }),
    );
    const hostile = "Note: {".repeat(20_000) + "\nNote: {".repeat(20_000);
    expect(takeNoteLines(hostile).text === hostile).toBe(true);
  });

  it.each([noteLineForm, nativeNoteLineForm])("are described in their own form: %#", (form) => {
    const { notes } = takeNoteLines(form);
    expect(notes).toHaveLength(1);
    expect(readNoteLines(notes, [])).toMatchObject({ progress: "", observations: [] });
  });

  it("are offered to models that call tools in text or one at a time", () => {
    const takes = (model: object, mode: "fast" | "deep" = "fast") =>
      takesNoteLines({ execution_config: { ...execution, mode } }, { ...oneCall, ...model });
    expect(takes({})).toBe(true);
    expect(takes({ toolCalling: false, parallelCalls: true })).toBe(true);
    expect(takes({ parallelCalls: true })).toBe(false);
    expect(takes({ ref: "offline:rules" })).toBe(false);
    expect(takes({}, "deep")).toBe(false);
  });
});

describe("note lines in parts of a reply", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      `Note: ${note}`,
      `**Note:** ${note}  `,
      `- note： \`${note}\``,
      'Note: {\n"progress": "stuck"\n}',
      'Note: {"tax": 0}',
      'Note: {"progress": "a',
      "Note: {//}",
      "Note:",
      " ",
      "   *_> ",
      "no",
      "Observation: x",
      "} ]",
      "\r",
      "\n",
      "\r\n",
      "\u2028",
    ),
    fc.string({ maxLength: 5, unit: anyCharacter }),
  );
  const parts = fc.array(piece, { maxLength: 12 }).chain((pieces) => {
    const text = pieces.join("");
    return fc
      .array(fc.nat({ max: text.length }), { maxLength: 20 })
      .map((cuts) => [0, ...cuts.toSorted((a, b) => a - b), text.length])
      .map((at) => at.slice(1).map((end, i) => text.slice(at[i], end)));
  });

  it("are the same notes and leave the same text, however the reply is divided", () => {
    fc.assert(
      fc.property(parts, (reply) => {
        const lines = new NoteLines();
        const text = reply.map((part) => lines.push(part)).join("") + lines.end();
        const whole = new NoteLines();
        expect(text).toBe(whole.push(reply.join("")) + whole.end());
        expect(lines.notes).toEqual(whole.notes);
      }),
    );
  });

  it("hold text back only while it may become one of them", () => {
    const lines = new NoteLines();
    const shown = (...reply: readonly string[]) => reply.map((part) => lines.push(part));
    expect(shown("Look", ".\n")).toEqual(["Look", ".\n"]);
    expect(shown("- ", "a\n")).toEqual(["", "- a\n"]);
    expect(shown("No", "te", ": ", "the\n")).toEqual(["", "", "", "Note: the\n"]);
    expect(shown("Note: {", '"tax"', ": 0}\n")).toEqual(["", 'Note: {"tax"', ": 0}\n"]);
    expect(shown("Note: {", '"progress": "stuck"', "}", "\n", "b")).toEqual(["", "", "", "", "b"]);
    expect(lines.notes.map((one) => one.note)).toEqual([{ progress: "stuck" }]);
    const endless = `\nNote: {"progress": "${"a".repeat(8_000)}`;
    expect(lines.push(endless)).toBe(endless);
    expect(lines.push('b"}\n')).toBe('b"}\n');
    expect([lines.push("Note"), lines.end()]).toEqual(["", "Note"]);
  });
});

describe("the note in a line", () => {
  it("is about the only result where it names none", () => {
    const said = { insights: "a is empty", relevance: "low", synthesis: "one place less" };
    const observation = { id: "c1", insights: "a is empty", learning: "", relevance: "low" };
    const expected = { observations: [observation], synthesis: "one place less" };
    expect(readNoteLines([said], behind)).toMatchObject(expected);
    const { synthesis, ...one } = said;
    expect(readNoteLines([{ synthesis, results: [one] }], behind)).toMatchObject(expected);
  });

  it("is about no result where several may be meant, or an unknown one is", () => {
    const two = [{ tool_results: [result, { ...result, id: "c2" }] }];
    expect(readNoteLines([{ insights: "empty" }], two).observations).toEqual([]);
    expect(readNoteLines([{ insights: "empty", call: "x" }], behind).observations).toEqual([]);
    expect(readNoteLines([{ insights: "empty" }], []).observations).toEqual([]);
  });
});
