import { AIMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { preview } from "../../../src/context/preview/preview.ts";
import { anyCharacter } from "../../helpers/any-character.ts";

const long = "x".repeat(1000);

describe("preview of JSON", () => {
  it("returns a value that is small enough as it is", () => {
    const value = { id: "A1", list: [1, 2, 3], nested: { none: null, text: "y".repeat(300) } };
    expect(preview(value)).toBe(value);
    expect(preview("short")).toBe("short");
  });

  it("keeps the first items of a list and says how many more there are", () => {
    const items = Array.from({ length: 50 }, (_, i) => i);
    expect(preview({ items })).toEqual({ items: [0, 1, 2, "… 47 more items"] });
    expect(preview([1, 2, 3, 4])).toEqual([1, 2, 3, "… 1 more item"]);
    expect(preview([1, 2, 3, 4], { maxItems: 0 })).toEqual(["… 4 more items"]);
  });

  it("keeps the first keys of an object and says how many more there are", () => {
    const value = Object.fromEntries(Array.from({ length: 1234 }, (_, i) => [`k${i}`, i]));
    expect(preview(value, { maxKeys: 2 })).toEqual({ k0: 0, k1: 1, "…": "1,232 more keys" });
    expect(preview({ "…": 1, a: 2, b: 3 }, { maxKeys: 1 })).toEqual({
      "…": 1,
      "… (2)": "2 more keys",
    });
  });

  it("names what is nested deeper than it may show", () => {
    const value = { a: { b: { c: 1, d: 2 }, l: [1, 2], e: {}, n: [] } };
    expect(preview(value, { maxDepth: 2 })).toEqual({
      a: { b: "[object with 2 keys]", l: "[list of 2]", e: {}, n: [] },
    });
    expect(preview({ a: 1 }, { maxDepth: 0 })).toBe("[object with 1 key]");
  });

  it("cuts long keys, and tells apart those which are alike then", () => {
    const shown = preview({ [`${long}a${long}`]: 1, [`${long}b${long}`]: 2 }) as object;
    expect(Object.values(shown)).toEqual([1, 2]);
    expect(Object.keys(shown)[0]).toBe(
      `${"x".repeat(36)}… [truncated, 1,941 chars] …${"x".repeat(24)}`,
    );
    expect(Object.keys(shown)[1]).toContain("(2)");
  });

  it("keeps a key named __proto__", () => {
    const value: unknown = JSON.parse(`{"__proto__": "${long}"}`);
    expect(JSON.stringify(preview(value))).toMatch(
      /^\{"__proto__":"x+… \[truncated, 700 chars\] …x+"\}$/,
    );
  });

  it("shows less of everything where it would be more than it may show in all", () => {
    const row = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`key${i}`, `v${long}`]));
    const shown = preview([row, row, row], { maxTotal: 2000 });
    const json = JSON.stringify(shown);
    expect(json.length).toBeLessThanOrEqual(2000);
    expect(json.length).toBeGreaterThan(500);
    expect(json).toContain("key1");
  });
});

describe("preview of texts", () => {
  it("keeps the head and the tail, and says how many characters are left out", () => {
    const text = `${"a".repeat(180)}${"b".repeat(12_410)}${"c".repeat(120)}`;
    expect(preview(text)).toBe(`${"a".repeat(180)}… [truncated, 12,410 chars] …${"c".repeat(120)}`);
  });

  it("leaves a text that would hardly become shorter", () => {
    const text = "word ".repeat(64);
    expect(preview(text)).toBe(text);
  });

  it("says exactly how much is left out, and parts no surrogate pair", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("😀", "a ", "é"), { minLength: 200 }),
        fc.nat(99),
        (parts, maxChars) => {
          const text = parts.join("");
          const shown = preview(text, { maxChars }) as string;
          expect(shown).not.toMatch(/\p{Cs}/u);
          if (shown === text) return;
          const [, head = "", missing = "", tail = ""] =
            /^(.*)… \[truncated, ([\d,]+) chars\](?: …(.*))?$/su.exec(shown) ?? [];
          expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
          expect(Number(missing.replaceAll(",", ""))).toBe(text.length - head.length - tail.length);
        },
      ),
    );
  });

  it("shows JSON in a text as its value", () => {
    const items = Array.from({ length: 50 }, (_, id) => ({ id, name: `n${id}` }));
    const shown = [
      { id: 0, name: "n0" },
      { id: 1, name: "n1" },
      { id: 2, name: "n2" },
      "… 47 more items",
    ];
    expect(preview(JSON.stringify(items))).toEqual(shown);
    expect(preview({ body: JSON.stringify({ items }) })).toEqual({ body: { items: shown } });
  });

  it("shows JSON that was cut off as text", () => {
    const items = Array.from({ length: 50 }, (_, id) => ({ id, name: `n${id}` }));
    const cut = JSON.stringify(items).slice(0, 700);
    expect(preview(cut)).toBe(`${cut.slice(0, 180)}… [truncated, 400 chars] …${cut.slice(-120)}`);
  });

  it("names encoded bytes", () => {
    const bytes = Buffer.from(
      Uint8Array.from({ length: 3000 }, (_, i) => (i * 7919) % 251),
    ).toString("base64");
    expect(preview(bytes)).toBe("[base64, 4,000 chars]");
    expect(preview({ image: `data:image/png;base64,${bytes}` })).toEqual({
      image: "[image/png as base64, 4,022 chars]",
    });
  });

  it("shows a page without its tags", () => {
    const page = `<!DOCTYPE html><html><head><title>Fares &amp; rules</title><style>p { color: red }</style>
      <script>if (a < b) document.write("<p>no</p>")</script></head><body><!-- <p>no</p> --><nav><a href="/home">Home</a></nav>
      <p>One &lt;bag&gt; is&nbsp;free&#33;</p><p class="x">A <b>second</b> one costs 50&#x20AC;.</p>
      <a href='https://x.org/?a=1&amp;b=2'>More</a> <a href="/1">1</a><a href="/2">2</a></body></html>`;
    expect(preview(page)).toBe(
      "title: Fares & rules\nHome\nOne <bag> is free!\nA second one costs 50€.\nMore 12\n" +
        "links: /home, https://x.org/?a=1&b=2, /1, … 1 more link",
    );
  });

  it("shows the first rows of a table", () => {
    const rows = Array.from({ length: 1000 }, (_, i) => `R${i},"Doe, Ann",${i * 3}`);
    expect(preview(["id,name,total", ...rows].join("\n"))).toBe(
      'id,name,total\nR0,"Doe, Ann",0\nR1,"Doe, Ann",3\nR2,"Doe, Ann",6\n… 997 more rows',
    );
    const piped = ["| id | name |", "|----|------|", ...rows.map((_, i) => `| ${i} | n${i} |`), ""];
    expect(preview(piped.join("\n"))).toBe(
      "| id | name |\n|----|------|\n| 0 | n0 |\n| 1 | n1 |\n| 2 | n2 |\n… 997 more rows",
    );
  });

  it("takes prose with commas for text", () => {
    const prose = "Yes, it is.\nNo, not at all, never.\nWell.\nIt may be, in the end.\n".repeat(20);
    expect(preview(prose)).toMatch(/^Yes, it is\.\nNo.*truncated/s);
  });
});

describe("preview of what is no JSON", () => {
  it("names what JSON has no word for", () => {
    const value = {
      big: 12n,
      date: new Date(0),
      bad: new Date(Number.NaN),
      nan: Number.NaN,
      list: [undefined, () => 1, Symbol("s")],
      none: undefined,
      bytes: new Uint8Array(1024),
      set: new Set([1, 2, 3, 4]),
      map: new Map([["a", 1]]),
      pairs: new Map([[{ k: 1 }, 1]]),
      error: new TypeError("no"),
      page: new URL("https://x.org/a"),
    };
    expect(preview(value)).toEqual({
      big: "12",
      date: "1970-01-01T00:00:00.000Z",
      bad: "[invalid date]",
      nan: "NaN",
      list: [null, "[function]", "[symbol]"],
      bytes: "[Uint8Array of 1,024 bytes]",
      set: [1, 2, 3, "… 1 more item"],
      map: { a: 1 },
      pairs: [[{ k: 1 }, 1]],
      error: { name: "TypeError", message: "no" },
      page: "https://x.org/a",
    });
    expect(preview(undefined)).toBeNull();
  });

  it("shows a message by its fields", () => {
    const call = { id: "c1", name: "find", args: { id: 7 } };
    expect(preview(new AIMessage({ content: "Let me look.", tool_calls: [call] }))).toMatchObject({
      type: "ai",
      content: "Let me look.",
      tool_calls: [call],
    });
  });

  it("survives cycles and code that throws", () => {
    const fail = () => {
      throw new Error("no");
    };
    const value: Record<string, unknown> = { toJson: { toJSON: fail, a: 1 } };
    value.self = value;
    value.list = [value];
    Object.defineProperty(value, "getter", { enumerable: true, get: fail });
    value.proxy = new Proxy({}, { get: fail, ownKeys: fail, getPrototypeOf: fail, has: fail });
    value.array = new Proxy([], { get: fail });
    value.shared = [value.toJson, value.toJson];
    expect(preview(value)).toEqual({
      toJson: { a: 1 },
      self: "[circular]",
      list: ["[circular]"],
      getter: "[unreadable]",
      proxy: "[unreadable]",
      array: "[unreadable]",
      shared: [{ a: 1 }, { a: 1 }],
    });
  });
});

describe("preview of anything", () => {
  const anything = fc.oneof(
    fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withSparseArray: true,
      stringUnit: anyCharacter,
    }),
    fc.jsonValue({ depthSize: "large" }),
    fc.string({ unit: anyCharacter, maxLength: 3000, size: "max" }),
    fc.json(),
    fc
      .array(
        fc.constantFrom(
          "<p>",
          "<a href='",
          "&#",
          "<",
          ">",
          "<script",
          "x,y\n",
          "|",
          "\t",
          "\n",
          '"',
          "😀",
          "\ud83d",
          ";",
        ),
        { size: "max", maxLength: 800 },
      )
      .map((parts) => parts.join("")),
  );

  it("is JSON of no more than it may be in all", () => {
    const options = fc.record(
      {
        maxChars: fc.integer({ min: -1, max: 400 }),
        maxItems: fc.nat(9),
        maxDepth: fc.nat(9),
        maxKeys: fc.nat(40),
        maxTotal: fc.integer({ min: 100, max: 3000 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(anything, options, (value, some) => {
        const shown = preview(value, some);
        const json = JSON.stringify(shown);
        const bound = some.maxTotal ?? Math.max(1000, 10 * (some.maxChars ?? 300));
        expect(json.length).toBeLessThanOrEqual(bound);
        expect(() => JSON.parse(json) as unknown).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });

  it("gives the same for the same", () => {
    fc.assert(
      fc.property(anything, (value) => {
        expect(JSON.stringify(preview(value))).toBe(JSON.stringify(preview(value)));
      }),
    );
  });
});

describe("preview of huge values", () => {
  it("reads no more of a list than it shows", () => {
    let reads = 0;
    const list = new Proxy(
      Array.from({ length: 3 }, () => 1),
      {
        get(target, key) {
          if (key === "length") return 10_000_000;
          if (typeof key === "string" && /^\d+$/.test(key)) reads += 1;
          return Reflect.get(target, key) as unknown;
        },
      },
    );
    expect(preview(list)).toEqual([1, 1, 1, "… 9,999,997 more items"]);
    expect(reads).toBe(3);
  });

  it("stops where it has shown enough", () => {
    let reads = 0;
    const wide = (): unknown =>
      new Proxy(
        {},
        {
          ownKeys: () => Array.from({ length: 30 }, (_, i) => `key${i}`),
          getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
          has: () => false,
          get(_, key) {
            if (typeof key !== "string" || !key.startsWith("key")) return undefined;
            reads += 1;
            return wide();
          },
        },
      );
    expect(JSON.stringify(preview(wide())).length).toBeLessThanOrEqual(3000);
    expect(reads).toBeLessThan(20_000);
  });

  it("shows texts of 50 million characters", () => {
    const text = "Some words. ".repeat(4_200_000);
    expect(preview(text)).toMatch(
      /^Some words\. .*… \[truncated, 50,399,700 chars\] ….*Some words\. $/s,
    );
    const rows = "a,b\n1,2\n".repeat(2_000_000);
    expect(preview(rows)).toBe("a,b\n1,2\na,b\n1,2\n… more than 249,996 more rows");
    const page = `<html><body>${"<p>Text</p>".repeat(2_000_000)}`;
    expect(preview(page)).toMatch(/^Text\nText\n.*truncated, more than 21,890,617 chars\]$/s);
  });
});
