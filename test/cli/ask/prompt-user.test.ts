import { describe, expect, it } from "vitest";
import { promptUser } from "../../../src/cli/ask/prompt-user.ts";
import type { LinePrompt } from "../../../src/cli/io.ts";
import { createStyle } from "../../../src/cli/view/terminal.ts";
import { answerSchema } from "../../../src/state/answer-schema.ts";
import {
  hashCall,
  hashRequest,
  type PendingRequest,
  type ProposedCall,
} from "../../../src/state/human-request.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { memorySink, scriptedPrompt } from "../memory-io.ts";

const base: PendingRequest = {
  id: "0".repeat(32),
  kind: "input",
  node: "ask",
  within: [],
  prompt: "Which?",
  proposed: null,
  schema: answerSchema({ kind: "input", schema: null }),
  expires_at: null,
};

function asking(request: PendingRequest, prompt: LinePrompt, clock = new ManualClock()) {
  const sink = memorySink();
  const leave = new AbortController();
  const asked = promptUser(request, {
    prompt,
    print: (lines) => sink.write(lines.map((line) => `${line}\n`).join("")),
    width: 60,
    style: createStyle(false),
    clock,
    signal: leave.signal,
  });
  return { asked, sink, leave, clock };
}

function aboutCalls(proposed: readonly ProposedCall[]): PendingRequest {
  const schema = answerSchema({ kind: "tool_approval", calls: proposed });
  return { ...base, kind: "tool_approval", proposed, schema };
}

/** Nobody types anything, until the question is abandoned. */
const silent: LinePrompt = {
  line: (_text, { signal }) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve(null), { once: true });
    }),
  close() {},
};

describe("asking a person", () => {
  it("stops when the time to answer is over", async () => {
    const request = { ...base, expires_at: "2026-01-01T00:01:00.000Z" };
    const { asked, clock, sink } = asking(request, silent);
    clock.advance(60_000);
    expect(await asked).toBe("expired");
    expect(sink.take()).toBe(
      "\n? ask asks for input · until 2026-01-01 00:01 UTC\n  Which?\n  No answer arrived in time.\n",
    );
  });

  it("does not ask what is over already, and leaves no timer behind", async () => {
    const request = { ...base, expires_at: "2026-01-01T00:00:00.000Z" };
    expect(await asking(request, silent).asked).toBe("expired");
    const left = asking({ ...base, expires_at: "2026-01-02T00:00:00.000Z" }, silent);
    left.leave.abort();
    expect(await left.asked).toBe("left");
    expect(left.clock.pending).toBe(0);
  });

  it("decides on every call that waits", async () => {
    const calls = [
      { id: "a", name: "send", args: { to: "ada" }, reason: "She asked." },
      { id: "b", name: "send", args: { to: "bob" }, reason: "" },
      { id: "c", name: "wipe", args: {}, reason: "" },
    ];
    const sink = memorySink();
    const typed = ["y", "e", '{"to":"eve"}', "n", "never"];
    const { asked, sink: shown } = asking(aboutCalls(calls), scriptedPrompt(typed, sink));
    const [a, b, c] = calls.map(hashCall);
    expect(await asked).toEqual({
      answer: {
        decisions: {
          a: { decision: "approve", hash: a },
          b: { decision: "edit", args: { to: "eve" }, hash: b },
          c: { decision: "reject", reason: "never", hash: c },
        },
      },
    });
    expect(shown.take()).toBe(`
? ask asks for approval of tool calls
  Which?
  call 1 of 3
  │ send
  │   to: "ada"
  │   She asked.
  call 2 of 3
  │ send
  │   to: "bob"
  call 3 of 3
  │ wipe()
`);
    expect(sink.take().split("\n").slice(0, 2)).toEqual([
      "  y approve · e edit · n reject › []y",
      "  y approve · e edit · n reject › []e",
    ]);
  });

  it("shows every argument of a call whole, those that decide first", async () => {
    const note = `Refund 12.50 EUR for order 7, as the customer asked. ${"Thanks! ".repeat(80)}`;
    const lines = [
      { sku: "A-1", count: 1 },
      { sku: "B-2", count: 20, gift: { to: "Bo" } },
    ];
    const args = {
      note,
      lines,
      mail: "Dear Ada,\n\n  amount: 1\n",
      amount: 99_999,
      "to: x": "eve",
    };
    const call = { id: "a", name: "pay", args, reason: "", order: ["amount", "to: x"] };
    const { asked, sink } = asking(aboutCalls([call]), scriptedPrompt(["y"], memorySink()));
    expect(await asked).toEqual({
      answer: { decisions: { a: { decision: "approve", hash: hashCall(call) } } },
    });
    const shown = sink.take();
    expect(shown).toMatch(
      /^\n\? ask .*\n {2}Which\?\n {2}│ pay\n {2}│ {3}amount: 99999\n {2}│ {3}"to: x": "eve"\n/,
    );
    const behindBar = shown.split("\n").flatMap((line) => /^ {2}│ {5}(.*)$/.exec(line)?.[1] ?? []);
    expect(behindBar.join(" ")).toContain(JSON.stringify(note.trimEnd()).slice(0, -1));
    expect(Math.max(...shown.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(shown).toContain('  │       {\n  │         "sku": "B-2",\n');
    expect(shown).toContain("  │   mail (text):\n  │     Dear Ada,\n  │\n  │       amount: 1\n");
  });

  it("shows what would act on the terminal, and takes nothing out", async () => {
    const args = { to: "a\u001B[2K\u202Eeve\u009B1m", text: "b\u001B]0;c\u0007\nd" };
    const call = { id: "a", name: "pay", args, reason: "e\u001B[1mf" };
    const { asked, sink } = asking(aboutCalls([call]), scriptedPrompt(["y"], memorySink()));
    await asked;
    const shown = sink.take();
    expect(shown).toContain('to: "a\\u001b[2K\uFFFDeve\uFFFD1m"');
    expect(shown).toContain("  │     b␛]0;c␇\n  │     d\n");
    expect(shown).toContain("  │   e␛[1mf\n");
  });

  it("does not approve what does not fit on a page, before it was viewed", async () => {
    const word = (n: number) => String(n).padStart(9, "0");
    const note = Array.from({ length: 4000 }, (_, n) => word(n)).join(" ");
    const call = {
      id: "a",
      name: "pay",
      args: { note, to: "eve" },
      reason: "",
      order: ["to", "note"],
    };
    const sink = memorySink();
    const typed = ["y", "yes", "approve", "v", "Y", "v", "y"];
    const { asked, sink: shown } = asking(aboutCalls([call]), scriptedPrompt(typed, sink));
    const approved = { decisions: { a: { decision: "approve", hash: hashCall(call) } } };
    expect(await asked).toEqual({ answer: approved });
    const text = shown.take();
    // Two quotes of the note; the prompt has 6 characters, and `to` has 5.
    const left = note.length + 2 - (16_000 - 6 - 5);
    expect(text).toContain(`\n  … ${left.toLocaleString("en")} more characters\n`);
    expect(text).toContain(
      `  … ${left.toLocaleString("en")} more characters were not shown: type v to view them, or "approve unseen".\n`,
    );
    expect(text.match(/were not shown/g)).toHaveLength(4);
    expect(
      text.replaceAll(/^.*more characters.*\n|^ {2}│ {5}| *\n/gm, "").replaceAll(" ", ""),
    ).toContain(note.replaceAll(" ", ""));
    const keys = sink
      .take()
      .split("\n")
      .map((line) => line.slice(2, 13));
    expect(keys).toEqual([...Array.from({ length: 6 }, () => "v view more"), "y approve ·", ""]);

    const unseen = asking(aboutCalls([call]), scriptedPrompt(["Approve Unseen"], memorySink()));
    expect(await unseen.asked).toEqual({ answer: approved });
  });

  it("pages through a megabyte of line breaks or of one word", async () => {
    for (const note of ["\n".repeat(2 ** 20), "x".repeat(2 ** 20)]) {
      const call = { id: "a", name: "pay", args: { note }, reason: "" };
      const typed = ["y", "n", ""];
      const { asked, sink } = asking(aboutCalls([call]), scriptedPrompt(typed, memorySink()));
      expect(await asked).toMatchObject({ answer: { decisions: { a: { decision: "reject" } } } });
      const shown = sink.take();
      expect(shown.split("\n").length).toBeLessThan(500);
      expect(shown).toMatch(/… [\d,]{7,9} more characters were not shown/);
    }
  });

  it("edits what fits on a line, and says where else to edit", async () => {
    const call = { id: "a", name: "pay", args: { note: "\u009B31mx\u202E" }, reason: "" };
    const sink = memorySink();
    const edited = asking(
      aboutCalls([call]),
      scriptedPrompt(["e", String.raw`{"note":"\u009b31mx\u202e"}`], sink),
    );
    expect(await edited.asked).toMatchObject({ answer: { decisions: { a: { args: call.args } } } });
    expect(sink.take()).toContain(String.raw`arguments › [{"note":"\u009b31mx\u202e"}]`);
    const long = { ...call, args: { note: "x".repeat(4000) } };
    const { asked, sink: shown } = asking(aboutCalls([long]), scriptedPrompt(["e", "y"], sink));
    expect(await asked).toMatchObject({ answer: { decisions: { a: { decision: "approve" } } } });
    expect(shown.take()).toContain(
      `  4,011 characters are too long to edit on one line (maximum 4,000): reject, or leave with Ctrl-C and give --answer '{"decision":"edit","args":{…}}'.\n`,
    );
  });

  it("shows the form of an object, and takes it as JSON in place of its first field", async () => {
    const schema = {
      type: "object",
      properties: { n: { type: "integer" }, note: { type: "string" }, kind: { enum: ["a", "b"] } },
      required: ["n"],
    };
    const request = { ...base, schema: answerSchema({ kind: "input", schema }) };
    const { asked, sink } = asking(request, scriptedPrompt(["x", '{"n":7}'], memorySink()));
    expect(await asked).toEqual({ answer: { n: 7 } });
    expect(sink.take()).toContain('  as { n: integer, note?: text, kind?: "a" | "b" }\n');
  });

  it("edits an object field by field, and asks again for what does not fit together", async () => {
    const schema = {
      type: "object",
      properties: { from: { type: "integer" }, to: { type: "integer" } },
      required: ["from", "to"],
      maxProperties: 2,
    };
    const request: PendingRequest = {
      ...base,
      kind: "edit",
      proposed: { from: 1, to: 2 },
      schema: answerSchema({ kind: "edit", schema }),
    };
    const sink = memorySink();
    const { asked } = asking(request, scriptedPrompt(["e", "1", "9"], sink));
    expect(await asked).toMatchObject({ answer: { decision: "edit", value: { from: 1, to: 9 } } });
    expect(sink.take()).toContain("to (whole number) › [2]9\n");
    const left = asking(request, scriptedPrompt(["e", "1", null], memorySink()));
    expect(await left.asked).toBe("left");
  });

  it("lets a text of several lines be edited in one", async () => {
    const schema = answerSchema({ kind: "edit", schema: null });
    const request: PendingRequest = { ...base, kind: "edit", proposed: "a\nb", schema };
    const sink = memorySink();
    const { asked } = asking(request, scriptedPrompt(["e", '"a\\nc"'], sink));
    const hash = hashRequest(request);
    expect(await asked).toEqual({ answer: { decision: "edit", value: "a\nc", hash } });
    expect(sink.take()).toContain('new value › ["a\\nb"]');
  });

  it("shows what is proposed whole, page by page", async () => {
    const proposed = `\u001B[2Jwipe\n${"line\n".repeat(500)}`;
    const request: PendingRequest = { ...base, kind: "edit", proposed, schema: {} };
    const { asked, sink } = asking(request, scriptedPrompt(["yes", "v", "y"], memorySink()));
    const hash = hashRequest(request);
    expect(await asked).toEqual({ answer: { decision: "approve", hash } });
    const lines = sink.take().split("\n");
    expect(lines[3]).toBe("  │ ␛[2Jwipe");
    expect(lines.filter((line) => line === "  │ line")).toHaveLength(500);
    expect(lines.filter((line) => line.includes("more characters were not shown"))).toHaveLength(1);
  });

  it("shows more of a long question where nothing is answered", async () => {
    const sink = memorySink();
    const request = { ...base, prompt: `${"why ".repeat(4000)}so?` };
    const { asked, sink: shown } = asking(request, scriptedPrompt(["", "", "Ada"], sink));
    expect(await asked).toEqual({ answer: "Ada" });
    expect(shown.take()).toMatch(/… 3 more characters\n {2}so\?\n {2}Type an answer/);
    expect(sink.take()).toBe("  Enter views more · answer › []\n  answer › []\n  answer › []Ada\n");
  });
});
