import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RailSpan } from "../../src/definition/rail.ts";
import { RedactionRegistry } from "../../src/guardrails/redaction-registry.ts";
import { redactKnownValues, unredact } from "../../src/guardrails/redaction.ts";
import type { Redactions } from "../../src/state/rails.ts";

function redact(text: string, spans: readonly RailSpan[], known: Redactions) {
  const book = new RedactionRegistry(known);
  return { text: book.redact(text, spans), redactions: book.redactions };
}
const mailOf = (text: string): readonly RailSpan[] =>
  [...text.matchAll(/\S+@\S+/g)].map(({ 0: mail, index }) => ({
    start: index,
    end: index + mail.length,
    label: "EMAIL",
  }));
const redactMail = (text: string, known: Redactions = {}) => redact(text, mailOf(text), known);

describe("redact", () => {
  it("puts numbered marks in the place of spans, the same for the same value", () => {
    expect(redactMail("a@x.io and b@x.io, once more a@x.io")).toEqual({
      text: "<EMAIL_1> and <EMAIL_2> once more <EMAIL_1>",
      redactions: {
        "<EMAIL_1>": { label: "EMAIL", value: "a@x.io" },
        "<EMAIL_2>": { label: "EMAIL", value: "b@x.io," },
      },
    });
  });

  it("goes on after the highest number of earlier turns, and uses their marks again", () => {
    const known = { "<EMAIL_4>": { label: "EMAIL", value: "a@x.io" } };
    const { text, redactions } = redactMail("a@x.io b@x.io", known);
    expect(text).toBe("<EMAIL_4> <EMAIL_5>");
    expect(Object.keys(redactions)).toEqual(["<EMAIL_4>", "<EMAIL_5>"]);
  });

  it("gives another spelling a mark of its own, so that each is restored to the letter", () => {
    const { text, redactions } = redactMail("a@x.io A@X.io");
    expect(text).toBe("<EMAIL_1> <EMAIL_2>");
    expect(unredact(text, redactions)).toBe("a@x.io A@X.io");
  });

  it("never gives a value the number of a mark that somebody wrote", () => {
    const first = redactMail("<EMAIL_1> is what I wrote, a@x.io is my address");
    expect(first.text).toBe("<EMAIL_1> is what I wrote, <EMAIL_2> is my address");
    expect(unredact(first.text, first.redactions)).toBe(
      "<EMAIL_1> is what I wrote, a@x.io is my address",
    );
    expect(redactMail("b@x.io", first.redactions).text).toBe("<EMAIL_3>");
    expect(redactMail("now <EMAIL_1>", first.redactions).text).toBe("now <EMAIL_1>");
  });

  it("widens a span that cuts a mark of ours, and leaves one that is a mark alone", () => {
    const known = { "<EMAIL_1>": { label: "EMAIL", value: "a@x.io" } };
    const cut = redact("to <EMAIL_1> now", [{ start: 0, end: 5, label: "X" }], known);
    expect(cut.text).toBe("<X_1> now");
    expect(unredact(cut.text, cut.redactions)).toBe("to a@x.io now");
    expect(redact("to <EMAIL_1>", [{ start: 4, end: 9, label: "X" }], known)).toEqual({
      text: "to <EMAIL_1>",
      redactions: known,
    });
  });

  it("makes marks of labels in any form", () => {
    expect(redact("secret", [{ start: 0, end: 6, label: "api-key 2" }], {}).text).toBe(
      "<API_KEY_2_1>",
    );
    expect(redact("secret", [{ start: 0, end: 6, label: "1a" }], {}).text).toBe("<X1A_1>");
  });

  it("gives the redactions themselves where nothing was added", () => {
    const known = { "<EMAIL_1>": { label: "EMAIL", value: "a@x.io" } };
    expect(redactMail("a@x.io", known).redactions).toBe(known);
  });
});

describe("a book of redactions", () => {
  it("reserves marks of a text in which nothing is redacted", () => {
    const book = new RedactionRegistry({});
    book.reserve("My template starts with <EMAIL_1>");
    expect(book.redact("a@x.io", mailOf("a@x.io"))).toBe("<EMAIL_2>");
  });

  it("redacts personal data within a text that has a mark's form", () => {
    const book = new RedactionRegistry({});
    const text = "<CARD_411111111>";
    const done = book.redact(text, [{ start: 6, end: 15, label: "SSN" }]);
    expect(done).toBe("<CARD_<SSN_1>>");
    expect(unredact(done, book.redactions)).toBe(text);
  });

  it("puts its suffix into the mark alone, and cuts a long label to make room for it", () => {
    const long = "L".repeat(64);
    const book = new RedactionRegistry({}, { suffix: "_B1" });
    expect(book.redact("a@x.io", mailOf("a@x.io"))).toBe("<EMAIL_B1_1>");
    const mark = book.redact("secret", [{ start: 0, end: 6, label: long }]);
    expect(mark).toBe(`<${"L".repeat(61)}_B1_1>`);
    expect(book.redactions).toEqual({
      "<EMAIL_B1_1>": { label: "EMAIL", value: "a@x.io" },
      [mark]: { label: long, value: "secret" },
    });
    expect(unredact(mark, book.redactions)).toBe("secret");
  });

  it("uses a mark that a branch gave, whatever its own suffix", () => {
    const known = { "<EMAIL_B1_1>": { label: "EMAIL", value: "a@x.io" } };
    expect(redactMail("a@x.io", known).text).toBe("<EMAIL_B1_1>");
    expect(redactMail("b@x.io", known).text).toBe("<EMAIL_1>");
  });

  it("gives a number a mark of its own, which is the number again alone and a text within one", () => {
    const book = new RedactionRegistry({});
    const number = book.redactNumber("1234567", "PHONE");
    const text = book.redact("1234567", [{ start: 0, end: 7, label: "PHONE" }]);
    expect([number, text]).toEqual(["<PHONE_1>", "<PHONE_2>"]);
    const value = { number, text, both: [`${number} ${text}`], [number]: number };
    expect(unredact(value, book.redactions)).toEqual({
      number: 1_234_567,
      text: "1234567",
      both: ["1234567 1234567"],
      "1234567": 1_234_567,
    });
    expect(unredact(number, book.redactions)).toBe("1234567");
    expect(redactKnownValues({ number: 1_234_567, text: "1234567" }, book.redactions)).toEqual({
      number,
      text,
    });
  });

  it("gives marks for good once it is full, and still those that it has", () => {
    const book = new RedactionRegistry({}, { limit: 2 });
    const text = "a@x.io b@x.io c@x.io a@x.io";
    const done = book.redact(text, mailOf(text));
    expect(done).toBe("<EMAIL_1> <EMAIL_2> <EMAIL> <EMAIL_1>");
    expect(unredact(done, book.redactions)).toBe("a@x.io b@x.io <EMAIL> a@x.io");
    book.reserve("<EMAIL_3>");
    expect(Object.keys(book.redactions)).toEqual(["<EMAIL_1>", "<EMAIL_2>"]);
  });

  it("does not change the book that it is a copy of", () => {
    const book = new RedactionRegistry({}, { suffix: "_B2" });
    const copy = book.copy();
    expect(copy.redact("a@x.io", mailOf("a@x.io"))).toBe("<EMAIL_B2_1>");
    expect(book.redactions).toEqual({});
    book.enter(copy.redactions);
    expect(book.redactions).toEqual(copy.redactions);
  });

  it("does with very many values what it does with few", () => {
    const text = Array.from({ length: 4000 }, (_, at) => `user${at}@example.org`).join(" ");
    const { text: done, redactions } = redactMail(text);
    expect(done.endsWith(" <EMAIL_4000>")).toBe(true);
    expect(redactKnownValues(text.toUpperCase(), redactions)).toBe(done);
    expect(unredact(done, redactions)).toBe(text);
  });
});

describe("restore", () => {
  const known: Redactions = { "<EMAIL_1>": { label: "EMAIL", value: "a@x.io" } };

  it("reaches texts, lists and keys at any depth, and leaves unknown marks", () => {
    expect(
      unredact({ to: ["<EMAIL_1>", 1, null], "<EMAIL_1>": "see <EMAIL_1>, <EMAIL_2>" }, known),
    ).toEqual({ to: ["a@x.io", 1, null], "a@x.io": "see a@x.io, <EMAIL_2>" });
  });

  it("does not restore what a value has in it", () => {
    const chained: Redactions = { ...known, "<X_1>": { label: "X", value: "<EMAIL_1>" } };
    expect(unredact("<X_1>", chained)).toBe("<EMAIL_1>");
  });

  it("keeps what did not change as it is", () => {
    const same = { a: [1, "<EMAIL_2>"] };
    const value = { same, changed: "<EMAIL_1>" };
    expect(unredact(same, known)).toBe(same);
    expect((unredact(value, known) as typeof value).same).toBe(same);
  });
});

describe("hideKnown", () => {
  const known: Redactions = {
    "<EMAIL_1>": { label: "EMAIL", value: "ann@x.io" },
    "<CARD_1>": { label: "CARD", value: "4111 1111 1111 1111" },
    "<API_KEY_1>": { label: "API_KEY", value: "Se-cret" },
    "<API_KEY_2>": { label: "API_KEY", value: "Se-cret-longer" },
    "<PIN_1>": { label: "PIN", value: "123" },
  };

  it("replaces known values in texts, keys and numbers", () => {
    expect(
      redactKnownValues({ "ann@x.io": ["by ann@x.io!", 4_111_111_111_111_111, 12, true] }, known),
    ).toEqual({ "<EMAIL_1>": ["by <EMAIL_1>!", "<CARD_1>", 12, true] });
  });

  it("finds an address in other case and a number in other groups", () => {
    expect(redactKnownValues("Ann@X.io 4111-1111-1111-1111 4111111111111111", known)).toBe(
      "<EMAIL_1> <CARD_1> <CARD_1>",
    );
    expect(redactKnownValues("94111111111111111", known)).toBe("94111111111111111");
  });

  it("takes the longest value first, and keys as they are written", () => {
    expect(redactKnownValues("Se-cret-longer Se-cret se-cret", known)).toBe(
      "<API_KEY_2> <API_KEY_1> se-cret",
    );
  });

  it("finds an account number in other case, and a sigma at whatever end", () => {
    const others: Redactions = {
      "<IBAN_1>": { label: "IBAN", value: "DE89 3704 0044 0532 0130 00" },
      "<EMAIL_1>": { label: "EMAIL", value: "ΝΙΚΟΣ@x.gr" },
    };
    expect(redactKnownValues("de89370400440532013000, xde89370400440532013000", others)).toBe(
      "<IBAN_1>, xde89370400440532013000",
    );
    expect(redactKnownValues("İ νικοσ@X.gr", others)).toBe("İ <EMAIL_1>");
  });

  it("finds values that are longer than most, the longest first", () => {
    const long = "Se-cret ".repeat(60);
    const some: Redactions = {
      ...known,
      "<NOTE_1>": { label: "NOTE", value: long },
      "<NOTE_2>": { label: "NOTE", value: `${long}!` },
    };
    expect(redactKnownValues(`${long}! ${long}Se-cret`, some)).toBe("<NOTE_2> <NOTE_1><API_KEY_1>");
  });

  it("looks into a text of a mark's form that stands for itself", () => {
    const own: Redactions = {
      ...known,
      "<ANN_1>": { label: "ANN", value: "<ANN_1>" },
      "<X_1>": { label: "X", value: "ANN_" },
    };
    expect(redactKnownValues("<ANN_1>", own)).toBe("<<X_1>1>");
  });

  it("keeps properties apart whose names are spellings of one value", () => {
    const value = { "ann@x.io": 1, "Ann@x.io": 2, "<EMAIL_1>": 3 };
    expect(redactKnownValues(value, known)).toEqual({
      "<EMAIL_1>": 3,
      "<EMAIL_1> (2)": 1,
      "<EMAIL_1> (3)": 2,
    });
  });

  it("leaves values under four characters and marks alone", () => {
    const text = { text: "123 <EMAIL_1>" };
    expect(redactKnownValues(text, known)).toBe(text);
    const odd: Redactions = {
      "<X_1>": { label: "X", value: "EMAIL" },
      "<EMAIL_1>": { label: "EMAIL", value: "a@x.io" },
    };
    expect(redactKnownValues("<EMAIL_1> EMAIL", odd)).toBe("<EMAIL_1> <X_1>");
  });

  it("does not take a mark that somebody wrote for a value", () => {
    const own: Redactions = { "<EMAIL_1>": { label: "EMAIL", value: "<EMAIL_1>" } };
    expect(redactKnownValues("<EMAIL_1>", own)).toBe("<EMAIL_1>");
  });
});

describe("for any text and any spans", () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom("<EMAIL_1>", "<EMAIL_2>", "<X_1>", "<", ">", "<EMAIL_", "a@x.io", "ü😀"),
  );
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
  const spans = fc.array(
    fc.record({
      start: fc.nat(40),
      end: fc.nat(40),
      label: fc.constantFrom("EMAIL", "X", "a b"),
    }),
    { maxLength: 5 },
  );

  it("restores what was redacted", () => {
    fc.assert(
      fc.property(text, spans, (original, found) => {
        const done = redact(original, found, {});
        expect(unredact(done.text, done.redactions)).toBe(original);
      }),
    );
  });

  it("restores over turns what the marks of earlier turns leave open, and keeps those", () => {
    fc.assert(
      fc.property(text, spans, text, spans, (first, found, second, foundLater) => {
        const one = redact(first, found, {});
        const two = redact(second, foundLater, one.redactions);
        expect(two.redactions).toMatchObject(one.redactions);
        expect(unredact(one.text, two.redactions)).toBe(first);
        expect(unredact(two.text, two.redactions)).toBe(unredact(second, one.redactions));
      }),
    );
  });

  it("gives the same marks to the same text in the next turn", () => {
    fc.assert(
      fc.property(fc.array(fc.emailAddress(), { maxLength: 4 }), (mails) => {
        const written = mails.join(" ");
        const first = redactMail(written);
        expect(redactMail(written, first.redactions)).toEqual(first);
      }),
    );
  });

  it("leaves no known value in what was hidden", () => {
    const values = fc.uniqueArray(fc.stringMatching(/^[a-d]{4,7}$/), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(values, fc.stringMatching(/^[a-d ]{0,40}$/), (taken, original) => {
        const known: Redactions = Object.fromEntries(
          taken.map((value, at) => [`<KEY_${at + 1}>`, { label: "KEY", value }]),
        );
        const hidden = redactKnownValues({ original }, known) as { original: string };
        const left = hidden.original.split(/<KEY_\d+>/);
        expect(left.some((part) => taken.some((value) => part.includes(value)))).toBe(false);
        expect(unredact(hidden, known)).toEqual({ original });
      }),
    );
  });
});
