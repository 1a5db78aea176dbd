import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkTimes,
  InvalidCronError,
  nextTime,
  nextTimes,
  planFiring,
} from "../../../src/engine/time/schedule-times.ts";

const at = (text: string) => new Date(text);
const iso = (times: readonly Date[]) => times.map((time) => time.toISOString().slice(0, 16));
const next = (cron: string, timeZone: string, after: string, count: number) =>
  iso(nextTimes({ cron, timeZone }, at(after), count));

describe("the firings of a cron expression", () => {
  it("fire once, an hour later on the clock, where the time is skipped in spring", () => {
    expect(next("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", 3)).toEqual([
      "2026-03-29T01:00",
      "2026-03-30T00:30",
      "2026-03-31T00:30",
    ]);
  });

  it("fire once, at the first of the two times, where the hour is repeated in autumn", () => {
    expect(next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", 2)).toEqual([
      "2026-10-25T00:30",
      "2026-10-26T01:30",
    ]);
  });

  it("keep their distance through both changes where they repeat within the hour", () => {
    const spring = next("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:00Z", 4);
    expect(spring).toEqual([
      "2026-03-29T00:30",
      "2026-03-29T01:00",
      "2026-03-29T01:30",
      "2026-03-29T02:00",
    ]);
    const autumn = next("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:30Z", 5);
    expect(autumn).toEqual([
      "2026-10-25T00:00",
      "2026-10-25T00:30",
      "2026-10-25T01:00",
      "2026-10-25T01:30",
      "2026-10-25T02:00",
    ]);
  });

  it("leave out months without the day, and know the last day of each", () => {
    const months = next("0 0 31 * *", "UTC", "2026-01-31T01:00Z", 3);
    expect(months).toEqual(["2026-03-31T00:00", "2026-05-31T00:00", "2026-07-31T00:00"]);
    const ends = next("0 0 L * *", "UTC", "2028-01-31T01:00Z", 2);
    expect(ends).toEqual(["2028-02-29T00:00", "2028-03-31T00:00"]);
  });

  it("end with the end of the schedule", () => {
    const daily = { cron: "0 9 * * *", timeZone: "UTC" };
    const after = at("2026-01-01T10:00Z");
    const end = (endAt: string) => nextTime({ ...daily, endAt }, after);
    expect(end("2026-01-02T09:00:00Z")).toBe("2026-01-02T09:00:00.000Z");
    expect(end("2026-01-02T08:59:59Z")).toBeNull();
  });
});

describe("a schedule's times", () => {
  const check = (cron: string, { timeZone = "UTC", minSeconds = 60 } = {}) =>
    checkTimes({ cron, timeZone }, { minSeconds, from: at("2026-01-01T00:00Z") });

  it.each(["0 9 * * MON-FRI", "*/5 * * * *", "@daily", "0 0 L * *", "0 9 1,15 * *", "* * * * *"])(
    "are accepted: %s",
    (cron) => expect(() => check(cron)).not.toThrow(),
  );

  it.each([
    ["* * * * * *", "five fields"],
    ["*", "five fields"],
    ["", "five fields"],
    ["? * * * *", 'without "?"'],
    ["@reboot", "five fields"],
    ["2026-01-01T00:00:00", "five fields"],
    [`${"1,".repeat(100)}1 * * * *`, "200 characters"],
    ["61 * * * *", "not valid"],
    ["*/0 * * * *", "not valid"],
    ["a b c d e", "not valid"],
    ["${1} * * * *", "not valid"],
    ["0 0 30 2 *", "never fires"],
  ])("are refused: %s", (cron, problem) => {
    expect(() => check(cron)).toThrow(InvalidCronError);
    expect(() => check(cron)).toThrow(problem);
  });

  it.each(["Mars/Olympus", "+05:00", "", "Europe/Berlin; x", "x".repeat(100)])(
    "are refused in the time zone %s",
    (timeZone) => {
      expect(() => check("0 9 * * *", { timeZone })).toThrow(/name of an IANA time zone/);
    },
  );

  it("are at least as far apart as the server asks for", () => {
    expect(() => check("*/10 * * * * *", { minSeconds: 10 })).not.toThrow();
    expect(() => check("*/9 * * * * *", { minSeconds: 9 })).toThrow("got 6 s");
    expect(() => check("*/30 * * * *", { minSeconds: 3_600 })).toThrow("got 1800 s");
  });
});

describe("a due schedule", () => {
  const hourly = {
    cron: "0 * * * *",
    timeZone: "UTC",
    nextAt: "2026-01-01T01:00:00.000Z",
    endAt: null,
    missed: "once",
    maxMissed: 10,
  } as const;
  const plan = (more: Partial<Parameters<typeof planFiring>[0]>, now: string) => {
    const { times, nextAt } = planFiring({ ...hourly, ...more }, at(now));
    return { times: iso(times), nextAt: nextAt?.slice(0, 16) ?? null };
  };

  it.each(["once", "all", "none"] as const)("fires on time with %s", (missed) => {
    expect(plan({ missed }, "2026-01-01T01:00:00.400Z")).toEqual({
      times: ["2026-01-01T01:00"],
      nextAt: "2026-01-01T02:00",
    });
  });

  it("makes one run for all missed firings with once", () => {
    expect(plan({}, "2026-01-03T05:30Z")).toEqual({
      times: ["2026-01-03T05:00"],
      nextAt: "2026-01-03T06:00",
    });
  });

  it("makes a run for each of the newest missed firings with all, oldest first", () => {
    expect(plan({ missed: "all" }, "2026-01-01T03:30Z")).toEqual({
      times: ["2026-01-01T01:00", "2026-01-01T02:00", "2026-01-01T03:00"],
      nextAt: "2026-01-01T04:00",
    });
    expect(plan({ missed: "all", maxMissed: 2 }, "2026-01-05T03:30Z").times).toEqual([
      "2026-01-05T02:00",
      "2026-01-05T03:00",
    ]);
  });

  it("makes no run for missed firings with none, and one for a firing that is a minute late", () => {
    expect(plan({ missed: "none" }, "2026-01-02T03:30Z")).toEqual({
      times: [],
      nextAt: "2026-01-02T04:00",
    });
    expect(plan({ missed: "none" }, "2026-01-02T03:01:00Z").times).toEqual(["2026-01-02T03:00"]);
    expect(plan({ missed: "none" }, "2026-01-02T03:01:01Z").times).toEqual([]);
  });

  it("makes no run for firings after its end, and then fires no more", () => {
    const endAt = "2026-01-01T02:30:00.000Z";
    expect(plan({ endAt, missed: "all" }, "2026-01-04T00:00Z")).toEqual({
      times: ["2026-01-01T01:00", "2026-01-01T02:00"],
      nextAt: null,
    });
    const late = { endAt, nextAt: "2026-01-01T03:00:00.000Z" };
    expect(plan(late, "2026-01-04T00:00Z")).toEqual({ times: [], nextAt: null });
  });

  it("makes the run of a skipped hour once", () => {
    const spring = {
      cron: "30 2 * * *",
      timeZone: "Europe/Berlin",
      nextAt: "2026-03-29T01:00:00.000Z",
      missed: "all",
    } as const;
    expect(plan(spring, "2026-03-30T12:00Z").times).toEqual([
      "2026-03-29T01:00",
      "2026-03-30T00:30",
    ]);
  });

  it("fires each time once, whenever it is looked at", () => {
    const crons = ["*/7 * * * *", "30 2 * * *", "0 0 31 * *", "15 1-3 * * *", "0 0 * * SUN"];
    const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];
    const start = at("2026-03-01T00:00Z").getTime();
    const steps = fc.array(fc.integer({ min: 1, max: 86_400_000 }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...crons),
        fc.constantFrom(...zones),
        steps,
        (cron, timeZone, given) => {
          const times = { cron, timeZone, endAt: null };
          let now = start;
          let nextAt = nextTime(times, at(new Date(now).toISOString()));
          const fired: string[] = [];
          for (const step of given) {
            now += step;
            if (nextAt === null || at(nextAt).getTime() > now) continue;
            const row = { ...times, nextAt, missed: "all", maxMissed: 100 } as const;
            const planned = planFiring(row, new Date(now));
            // A look that found more than it may make leaves the oldest out.
            if (planned.times.length < 100) fired.push(...iso(planned.times));
            else fired.length = 0;
            nextAt = planned.nextAt;
          }
          const first = fired[0];
          if (first === undefined) return;
          const before = new Date(at(`${first}Z`).getTime() - 1_000);
          expect(fired).toEqual(iso(nextTimes(times, before, fired.length)));
        },
      ),
    );
  });
});
