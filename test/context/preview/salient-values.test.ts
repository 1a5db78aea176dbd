import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  factsText,
  salientFacts,
  salientWords,
} from "../../../src/context/preview/salient-values.ts";

const salientValues = (value: unknown, limit: number): readonly string[] => [
  ...new Set(salientFacts(value, limit).flatMap(({ values }) => values)),
];

describe("salientFacts", () => {
  it("finds what a next call may name, in order and once", () => {
    const reservation = {
      reservation_id: "H9ZU1C",
      user_id: "mia_kim_4397",
      origin: "MIA",
      cabin: "basic_economy",
      flights: [
        {
          number: "HAT192",
          date: "2024-05-24",
          departs: "07:00:00",
          arrives: "01:00:00+1",
          price: 174,
        },
        { number: "HAT166", date: "2024-05-24", departs: "10:00:00", price: "$125.50" },
      ],
      order: 1234567,
      bags: 2,
      insurance: "no",
      passenger: { name: "Mia Kim", street: "410 River Road", mail: "mia@example.com" },
    };
    expect(salientValues(reservation, 100)).toEqual([
      "H9ZU1C",
      "mia_kim_4397",
      "MIA",
      "basic_economy",
      "HAT192",
      "2024-05-24",
      "HAT166",
      "1234567",
      "mia@example.com",
    ]);
    expect(salientValues(reservation, 2)).toEqual(["H9ZU1C", "mia_kim_4397"]);
    expect(salientValues(reservation, 0)).toEqual([]);
  });

  it("finds the keys of dictionaries, not the names of fields", () => {
    const methods = { card_4421486: { kind: "visa" }, gift_card_51: { kind: "gift" } };
    expect(salientValues({ payment_methods: methods }, 9)).toEqual([
      "card_4421486",
      "gift_card_51",
    ]);
    expect(salientValues({ SFO: "San Francisco", JFK: "New York" }, 9)).toEqual(["SFO", "JFK"]);
    expect(salientValues({ seats: { basic_economy: 3, first_class: 4 } }, 9)).toEqual([
      "basic_economy",
      "first_class",
    ]);
    expect(salientValues({ first_name: "Mia", address_1: "Road" }, 9)).toEqual([]);
  });

  it("reads JSON in texts, and what is left of it where it was cut off", () => {
    const json = JSON.stringify([{ flight_number: "HAT021", from_city: "SEA", at: "19:00:00" }]);
    expect(salientValues(json, 9)).toEqual(["HAT021", "SEA"]);
    expect(salientValues(json.slice(0, -4), 9)).toEqual(["HAT021", "SEA"]);
  });

  it("looks at the head and the tail of a long list, and walks no more of it", () => {
    let reads = 0;
    const list = new Proxy([] as unknown[], {
      get(target, key) {
        if (key === "length") return 10_000_000;
        if (typeof key !== "string" || !/^\d+$/.test(key))
          return Reflect.get(target, key) as unknown;
        reads += 1;
        return `ID-${key}`;
      },
    });
    const found = salientValues(list, 10_000);
    expect([found[0], found.at(-1)]).toEqual(["ID-0", "ID-9999999"]);
    expect(reads).toBeLessThan(5000);
  });

  it("stops in values without an end", () => {
    let reads = 0;
    const endless = (): unknown =>
      new Proxy([] as unknown[], {
        get(target, key) {
          if (key === "length") return 100;
          if (typeof key !== "string" || !/^\d+$/.test(key))
            return Reflect.get(target, key) as unknown;
          reads += 1;
          return endless();
        },
      });
    expect(salientValues(endless(), 10)).toEqual([]);
    expect(reads).toBeLessThan(200_000);
  });

  it("never throws, and gives no more than asked for", () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withMap: true, withSet: true, withDate: true }),
        fc.nat(5),
        (value, limit) => {
          const found = salientValues(value, limit);
          expect(found.length).toBeLessThanOrEqual(limit);
          expect(new Set(found).size).toBe(found.length);
        },
      ),
    );
  });
});

describe("salientWords", () => {
  it("finds identifiers, dates, addresses and paths in prose", () => {
    const text = `Certificate certificate_3221322 was added to user sophia_silva_7557 (order #W123) on 2024-05-20T10:00:00Z.
      See https://x.org/a?b=1&c=2, write to help@example.org or read /etc/hosts.conf and src/a/b.ts. It costs $12,500.00,
      takes 2h from 07:30 and is well-known and/or non-refundable. Flight:HAT021 to SEA; phone 555-123-4567.`;
    expect([...salientWords(text)]).toEqual([
      "certificate_3221322",
      "sophia_silva_7557",
      "#W123",
      "2024-05-20T10:00:00Z",
      "https://x.org/a?b=1&c=2",
      "help@example.org",
      "/etc/hosts.conf",
      "src/a/b.ts",
      "HAT021",
      "SEA",
      "555-123-4567",
    ]);
  });

  it("finds nothing in plain prose", () => {
    const text =
      "Error: the payment does not add up, total price is 305, but paid 255. Please try again at 9:30.";
    expect([...salientWords(text)]).toEqual([]);
  });

  it("looks at the head and the tail of a huge text", () => {
    const text = `first_1 ${"word ".repeat(10_000_000)} last_1`;
    expect([...salientWords(text)]).toEqual(["first_1", "last_1"]);
  });

  it("reads any text", () => {
    const part = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("a-", ":", "://", "_1", "@", ".", "/", "+", "1-", "T1:"),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 300, size: "max" }), (parts) => {
        const odd = [...salientWords(parts.join(""))].filter((word) => /[\s"<>]/.test(word));
        expect(odd).toEqual([]);
      }),
    );
  });
});
