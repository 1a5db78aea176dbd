import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compactNotation } from "../../src/context/notation.ts";

const flights = [
  {
    number: "HAT021",
    from: "SEA",
    seats: { economy: 14, business: 0 },
    status: "open",
    note: "a, b",
  },
  { number: "HAT089", from: "SEA", seats: { economy: 2, business: 15 }, status: "open" },
];

describe("compactNotation", () => {
  it("writes alike objects as a table, with what is the same in all of them in its header", () => {
    expect(compactNotation(flights)).toBe(
      '[number,seats{economy,business},note,from=SEA,status=open; HAT021,14,0,"a, b"; HAT089,2,15,]',
    );
  });

  it("gives the rows of a long table lines of their own", () => {
    const items = Array.from({ length: 3 }, (_, id) => ({ id, text: `${"word ".repeat(8)}${id}` }));
    expect(compactNotation({ total: 3, items })).toBe(
      `{total:3, items:[id,text\n0,${"word ".repeat(8)}0\n1,${"word ".repeat(8)}1\n2,${"word ".repeat(8)}2]}`,
    );
  });

  it("writes an object of alike objects as a table of its keys", () => {
    const value = {
      methods: { card_1: { kind: "card", last: "0042" }, card_2: { kind: "card", last: "7" } },
    };
    expect(compactNotation({ ...value, user: "mia_li_3668", email: "mia@example.com" })).toBe(
      '{methods:{*,last,kind=card; card_1,0042; card_2,"7"}, user:mia_li_3668, email:mia@example.com}',
    );
  });

  it("writes a list of lists of alike objects under one header", () => {
    const leg = (number: string, price: number) => ({ flight_number: number, total_price: price });
    expect(compactNotation([[leg("HAT1", 10), leg("HAT2", 20)], [leg("HAT3", 30)]])).toBe(
      "[flight_number,total_price;; HAT1,10; HAT2,20;; HAT3,30]",
    );
  });

  it("keeps the note on items that are left out at the end of a table", () => {
    expect(compactNotation([...flights, "… 47 more items"])).toContain("; … 47 more items]");
  });

  it("quotes what could be read as something else", () => {
    const value = {
      number: "7",
      truth: "true",
      none: "",
      list: ["a,b", "c: d", " x", "ok"],
      "a:b": null,
    };
    expect(
      compactNotation({ ...value, one_more: "text", and_more: "text", yet_more: "text" }),
    ).toBe(
      '{number:"7", truth:"true", none:"", list:["a,b",c: d," x",ok], "a:b":null, ' +
        "one_more:text, and_more:text, yet_more:text}",
    );
  });

  it("gives JSON where the notation would hardly be shorter or the value is small", () => {
    expect(compactNotation([{ a: 1 }, { a: 2 }])).toBe('[{"a":1},{"a":2}]');
    const numbers = Array.from({ length: 100 }, (_, i) => i);
    expect(compactNotation(numbers)).toBe(JSON.stringify(numbers));
    expect(compactNotation(undefined)).toBe("null");
  });

  it("gives a string as it is", () => {
    expect(compactNotation("a: b, c")).toBe("a: b, c");
  });

  it("gives JSON where a value is nested too deep", () => {
    let deep: unknown = { leaf_of_it: 1 };
    for (let i = 0; i < 1000; i += 1) deep = { deeper: deep, other: { a: 1 } };
    expect(compactNotation(deep)).toBe(JSON.stringify(deep));
  });

  it("is never longer than JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        if (typeof value === "string") return;
        expect(compactNotation(value).length).toBeLessThanOrEqual(JSON.stringify(value).length);
      }),
    );
  });

  it("stays linear where keys hardly recur", () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => ({ [`key_${i}`]: i }));
    expect(compactNotation(rows)).toMatch(/^\[\{key_0:0\},/);
  });
});
