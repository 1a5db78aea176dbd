import { compareChannelVersions, maxChannelVersion } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChannelVersionError, nextChannelVersion } from "../../checkpointers/config.ts";

describe("nextChannelVersion", () => {
  test("starts at a padded one with fifteen random digits", () => {
    expect(nextChannelVersion(undefined)).toMatch(/^0000000000000001\.\d{15}$/);
  });

  test("counts on from its own versions", () => {
    expect(nextChannelVersion("0000000000000009.123456789012345")).toMatch(
      /^0000000000000010\.\d{15}$/,
    );
    expect(nextChannelVersion("0000000000000009.123456789012345")).not.toBe(
      nextChannelVersion("0000000000000009.123456789012345"),
    );
  });

  test("keeps the width of text versions that others wrote", () => {
    expect(nextChannelVersion("00000000000000000000000000000041.0.25")).toMatch(
      /^0{30}42\.\d{15}$/,
    );
  });

  test("orders versions as text the way it counts them", () => {
    const counters = fc.bigInt({ min: 1n, max: 9_999_999_999_999_998n });
    fc.assert(
      fc.property(counters, counters, (a, b) => {
        const [left, right] = [a, b].map((number) =>
          nextChannelVersion(`${number.toString().padStart(16, "0")}.5`),
        ) as [string, string];
        fc.pre(a !== b);
        const numeric = a < b ? -1 : 1;
        expect(left < right ? -1 : 1).toBe(numeric);
        expect(compareChannelVersions(left as never, right as never)).toBe(numeric);
      }),
    );
  });

  test("grows along any run of channels, and never gives one version twice", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 60 }),
        (updates) => {
          const versions: Record<string, string> = {};
          const given = new Set<string>();
          for (const channel of updates) {
            const all = Object.values(versions);
            const next = nextChannelVersion(
              all.length > 0 ? maxChannelVersion(...(all as never[])) : undefined,
            );
            for (const before of all) expect(next > before).toBe(true);
            versions[channel] = next;
            given.add(next);
          }
          expect(given.size).toBe(updates.length);
        },
      ),
    );
  });

  test("comes after every integer of a stock thread, compared as numbers and as text", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(90_000_000), { minLength: 1 }), (integers) => {
        const next: unknown = nextChannelVersion(Math.max(...integers));
        for (const integer of integers) {
          expect((next as number) > integer).toBe(true); // LangGraph compares the two with `>`, whatever their types.
          expect(compareChannelVersions(next as number, integer)).toBe(1);
        }
        expect(
          nextChannelVersion(maxChannelVersion(next as number, ...integers)) > (next as string),
        ).toBe(true);
      }),
    );
  });

  test.each(["", "v1", "9999999999999999.1", -1, Number.NaN, 99_999_999, 1e21])(
    "refuses %j",
    (version) => {
      expect(() => nextChannelVersion(version)).toThrow(ChannelVersionError);
    },
  );
});
