import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { titleOfRequest } from "../../../src/storage/platform/runs/thread-title.ts";
import { anyCharacter } from "../../helpers/any-character.ts";

const says = (message: string) => titleOfRequest({ input: { message } });

describe("the title of a thread", () => {
  test("is one line of its first message, of 80 characters", () => {
    expect(says("What is 6 * 7?")).toBe("What is 6 * 7?");
    expect(says("  Dear\tsir,\r\n\n\u2028thank   you \n")).toBe("Dear sir, thank you");
    expect(says("x".repeat(1_000_000))).toBe(`${"x".repeat(79)}…`);
    expect(says("x".repeat(80))).toBe("x".repeat(80));
    expect(says(`${"x".repeat(78)} yz`)).toBe(`${"x".repeat(78)}…`);
    expect(says(`${"x".repeat(78)}\u{1f600}yz`)).toBe(`${"x".repeat(78)}…`);
  });

  test("has no characters of control or of direction, and none that are hidden", () => {
    expect(says("a\u0000b\u001b[31m\u202egnp\u2066.\u200bexe\ufeff\ud800!")).toBe(
      "ab[31mgnp.exe !",
    );
    expect(says("\u{1f468}\u200d\u{1f469}\u200d\u{1f467} ok")).toBe(
      "\u{1f468}\u200d\u{1f469}\u200d\u{1f467} ok",
    );
  });

  test("is read from messages of people", () => {
    const of = (...messages: unknown[]) => titleOfRequest({ input: { messages } });
    expect(of({ role: "system", content: "Be." }, { role: "user", content: "Hi" })).toBe("Hi");
    expect(of({ type: "human", content: [{ type: "image_url" }, { text: "Look" }] })).toBe("Look");
    expect(of("Hi")).toBe("Hi");
    expect(titleOfRequest({ input: { input: { message: "Inner" } } })).toBe("Inner");
    expect(titleOfRequest({ input: "Plain" })).toBe("Plain");
  });

  test.each([
    {},
    { input: null },
    { input: {} },
    { input: { message: "" } },
    { input: { message: " \u200b\n" } },
    { input: { message: 7 } },
    { input: { messages: [] } },
    { input: { messages: [null, { role: "assistant", content: "Hi" }] } },
    { input: { messages: [{ role: "user", content: { text: "x" } }] } },
    { answers: { a: "yes" } },
  ])("is null for %j", (request) => {
    expect(titleOfRequest(request)).toBeNull();
  });

  test("is a short line for any message", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 100 }), (message) => {
        const title = says(message) ?? "x";
        expect(title).toMatch(/^\S(?:.*\S)?$/u);
        expect(title.length).toBeLessThanOrEqual(80);
        expect(title).not.toMatch(/[\p{Cc}\p{Surrogate}\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
  });
});
