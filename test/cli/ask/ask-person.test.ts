import { describe, expect, it } from "vitest";
import { askPerson } from "../../../src/cli/ask/ask-person.ts";
import type { LinePrompt } from "../../../src/cli/io.ts";
import { createStyle } from "../../../src/cli/view/style.ts";
import { answerSchema } from "../../../src/state/answer-schema.ts";
import type { PendingRequest } from "../../../src/state/human-request.ts";
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
  const asked = askPerson(request, {
    prompt,
    print: (lines) => sink.write(lines.map((line) => `${line}\n`).join("")),
    width: 60,
    style: createStyle(false),
    clock,
    signal: leave.signal,
  });
  return { asked, sink, leave, clock };
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
      "\n? ask asks for input · until 2026-01-01 00:01 UTC\n  Which?\n  Nobody answered in time.\n",
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
    const request: PendingRequest = {
      ...base,
      kind: "tool_approval",
      proposed: calls,
      schema: answerSchema({ kind: "tool_approval", calls }),
    };
    const sink = memorySink();
    const typed = ["y", "e", '{"to":"eve"}', "n", "never"];
    const { asked, sink: shown } = asking(request, scriptedPrompt(typed, sink));
    expect(await asked).toEqual({
      answer: {
        decisions: {
          a: { decision: "approve" },
          b: { decision: "edit", args: { to: "eve" } },
          c: { decision: "reject", reason: "never" },
        },
      },
    });
    expect(shown.take()).toContain('  │ send(to: "ada")\n  │   She asked.\n  │ send(to: "bob")\n');
    expect(sink.take().split("\n").slice(0, 2)).toEqual([
      '  send(to: "ada")  y approve · e edit · n reject › []y',
      '  send(to: "bob")  y approve · e edit · n reject › []e',
    ]);
  });

  it("says what an answer has to look like, and takes JSON where no text is asked for", async () => {
    const schema = {
      type: "object",
      properties: { n: { type: "integer" }, note: { type: "string" }, kind: { enum: ["a", "b"] } },
      required: ["n"],
    };
    const request = { ...base, schema: answerSchema({ kind: "input", schema }) };
    const { asked, sink } = asking(request, scriptedPrompt(["7", '{"n":7}'], memorySink()));
    expect(await asked).toEqual({ answer: { n: 7 } });
    expect(sink.take()).toContain('  as { n: integer, note?: text, kind?: "a" | "b" }\n');
  });

  it("lets a text of several lines be edited in one", async () => {
    const schema = answerSchema({ kind: "edit", schema: null });
    const request: PendingRequest = { ...base, kind: "edit", proposed: "a\nb", schema };
    const sink = memorySink();
    const { asked } = asking(request, scriptedPrompt(["e", '"a\\nc"'], sink));
    expect(await asked).toEqual({ answer: { decision: "edit", value: "a\nc" } });
    expect(sink.take()).toContain('new value › ["a\\nb"]');
  });

  it("does not let what is proposed act on the terminal, and cuts what is long", async () => {
    const proposed = `\u001B[2Jwipe\n${"line\n".repeat(40)}`;
    const { asked, sink } = asking(
      { ...base, kind: "edit", proposed },
      scriptedPrompt(["y"], memorySink()),
    );
    await asked;
    const lines = sink.take().split("\n");
    expect(lines[3]).toBe("  │ wipe");
    expect(lines.at(-2)).toMatch(/^ {2}│ … \d+ more characters$/);
    expect(lines).toHaveLength(16);
  });
});
