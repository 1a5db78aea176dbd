import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { absoluteDates, findDates } from "../../../src/memory/write/absolute-dates.ts";

/** A Monday. */
const said = new Date("2026-11-23T17:00:00Z");

describe("absoluteDates", () => {
  it.each([
    ["yesterday", "yesterday (2026-11-22)"],
    ["I saw it last Tuesday.", "I saw it last Tuesday (2026-11-17)."],
    ["last monday", "last monday (2026-11-16)"],
    ["next month", "next month (2026-12)"],
    ["two weeks ago", "two weeks ago (week of 2026-11-09)"],
    ["a couple of months ago", "a couple of months ago (2026-09)"],
    ["3 years ago", "3 years ago (2023)"],
    ["an hour ago", "an hour ago (2026-11-23)"],
    ["a few days ago", "a few days ago (about 2026-11-20)"],
    ["several months ago", "several months ago (about 2026-08)"],
    ["several years ago", "several years ago (about 2023)"],
    ["in three days", "in three days (2026-11-26)"],
    ["We leave in two months.", "We leave in two months (2027-01)."],
    ["10 days from now", "10 days from now (2026-12-03)"],
    ["last year", "last year (2025)"],
    ["this weekend", "this weekend (2026-11-28 to 2026-11-29)"],
    ["last weekend", "last weekend (2026-11-21 to 2026-11-22)"],
    ["last week", "last week (week of 2026-11-16)"],
    ["last night", "last night (2026-11-22)"],
    ["this morning", "this morning (2026-11-23)"],
    ["yesterday evening", "yesterday evening (2026-11-22)"],
    ["the day before yesterday", "the day before yesterday (2026-11-21)"],
    ["the day after tomorrow", "the day after tomorrow (2026-11-25)"],
    ["the week before last", "the week before last (week of 2026-11-09)"],
    ["the month after next", "the month after next (2027-01)"],
    ["this Friday", "this Friday (2026-11-27)"],
    ["this coming Friday", "this coming Friday (2026-11-27)"],
    ["next Friday", "next Friday (2026-12-04)"],
    ["last December", "last December (2025-12)"],
    ["this March", "this March (2026-03)"],
    ["next May", "next May (2027-05)"],
    ["last summer", "last summer (2026)"],
    ["next spring", "next spring (2027)"],
    ["last winter", "last winter (2025 to 2026)"],
    ["this autumn", "this autumn (2026)"],
    ["We met on Friday.", "We met on Friday (2026-11-20)."],
    ["We will meet on Friday night.", "We will meet on Friday night (2026-11-27)."],
    ["since Monday", "since Monday (2026-11-16)"],
    ["by Friday", "by Friday (2026-11-27)"],
    ["I moved here in March.", "I moved here in March (2026-03)."],
    ["I paid on May 5th.", "I paid on May 5th (2026-05-05)."],
    ["We'll meet on the 5th of May.", "We'll meet on the 5th of May (2027-05-05)."],
    ["tomorrow at 5 pm", "tomorrow (2026-11-24) at 5 pm"],
    ["yesterday's news", "yesterday's (2026-11-22) news"],
    [
      "Yesterday we ate. Today we fast.",
      "Yesterday (2026-11-22) we ate. Today (2026-11-23) we fast.",
    ],
  ])("resolves %s", (text, resolved) => {
    expect(absoluteDates(text, said)).toBe(resolved);
  });

  it.each([
    "We meet on Friday",
    "I was there, and I will be there on Friday.",
    "on Mondays",
    "on Monday evenings",
    "on Friday before Christmas",
    "I finished it in two days.",
    "the sun is out",
    "march forward",
    "What comes next may be good.",
    "the last week of May",
    "I moved here in March 2020.",
    "I paid on May 5, 2026.",
    "I read USA Today.",
    "5.3 years ago",
    "1,000 days ago",
    "order today-123",
    "v1.yesterday",
    "report_last week.csv",
    "https://a.example/yesterday",
    "me@tomorrow",
    "`yesterday`",
    "```\nlast week\n```",
    'She said "see you tomorrow".',
    "> yesterday we ate",
    "a day",
    "yesterday (2020-01-01)",
    "last week (week of 2020-01-06)",
    "a few days ago (about 2020-01-01)",
  ])("leaves %s alone", (text) => {
    expect(absoluteDates(text, said)).toBe(text);
  });

  it("reads the calendar of a time zone", () => {
    expect(absoluteDates("today", new Date("2026-11-23T23:30:00Z"), "Europe/Berlin")).toBe(
      "today (2026-11-24)",
    );
  });

  it("resolves a day that a leap year has from the year that has it", () => {
    expect(absoluteDates("We met on February 29.", new Date("2024-03-01T00:00:00Z"))).toBe(
      "We met on February 29 (2024-02-29).",
    );
    expect(absoluteDates("We met on February 30.", said)).toBe("We met on February 30.");
  });

  it("resolves at most 50 dates of a text", () => {
    const resolved = absoluteDates("today ".repeat(60), said);
    expect(resolved.match(/2026/g)).toHaveLength(50);
    expect(absoluteDates(resolved, said)).toBe(resolved);
  });

  const words = fc.constantFrom(
    ..."last next this Friday week weekend March the yesterday two days ago in on since 2026".split(
      " ",
    ),
    ..."\" ` ( ) - of 's years summer morning USA".split(" "),
    "May 5",
    "before last",
    "I went",
    "we will",
    "a few",
    ". ",
    "\n",
    "> ",
  );
  const texts = fc.array(words, { maxLength: 80 }).map((list) => list.join(" "));

  it("changes nothing the second time, only adds, and adds little", () => {
    fc.assert(
      fc.property(fc.oneof(texts, fc.string({ maxLength: 300 })), (text) => {
        const resolved = absoluteDates(text, said);
        expect(absoluteDates(resolved, new Date("2031-01-01T00:00:00Z"))).toBe(resolved);
        const added =
          / \((?:(?:week of |about )?\d{4}(?:-\d\d){0,2}(?: to \d{4}(?:-\d\d-\d\d)?)?)\)/g;
        expect(resolved.replaceAll(added, "")).toBe(text.replaceAll(added, ""));
        expect(resolved.length).toBeLessThanOrEqual(text.length + 50 * 28);
      }),
    );
  });
});

describe("findDates", () => {
  it("lists absolute dates once each, as ISO 8601", () => {
    const text =
      "On 2026-11-22 and 25 May 2023, again May 25th, 2023 and the 1st of June, 2021; March 2020, 2024-07.";
    expect(findDates(text)).toEqual([
      "2026-11-22",
      "2023-05-25",
      "2021-06-01",
      "2020-03",
      "2024-07",
    ]);
  });

  it.each(["order 2026-11-20-77", "2023-02-31", "version 2026-13", "31 June 2024", "May", "2026"])(
    "finds none in %s",
    (text) => {
      expect(findDates(text)).toEqual([]);
    },
  );

  it("lists at most 100", () => {
    const text = Array.from({ length: 120 }, (_, at) => `${1900 + at}-01-01`).join(" ");
    expect(findDates(text)).toHaveLength(100);
  });
});
