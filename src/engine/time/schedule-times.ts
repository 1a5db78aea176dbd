import { Cron } from "croner";
import { errorMessage, StratagraphError } from "../../errors.ts";
import type { Firing } from "../../storage/platform/time/schedule-firings.ts";
import type { Schedule } from "../../storage/platform/time/schedule-rows.ts";

/** A cron expression or a time zone cannot be used. */
export class InvalidCronError extends StratagraphError {
  readonly code = "invalid_cron";

  constructor(
    readonly field: "cron" | "time_zone",
    problem: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(problem, options);
  }
}

/** When a schedule fires. */
export interface ScheduleTimes {
  /** Minutes, hours, days of the month, months and days of the week; with seconds before them where those are allowed. */
  readonly cron: string;
  /** IANA name, as in `Europe/Berlin`. */
  readonly timeZone: string;
}

/** Firings that are compared for the shortest time between two of them. */
const comparedFirings = 500;
const maxCronLength = 200;

/**
 * Checks when a schedule fires. Time zones are those of this process's ICU data.
 *
 * @param of.minSeconds the shortest time between two firings; below 60, the expression may begin with seconds
 * @throws InvalidCronError
 */
export function checkTimes(
  times: ScheduleTimes,
  of: { readonly minSeconds: number; readonly from: Date },
): void {
  const { cron, timeZone } = times;
  const fields = cron.trim().split(/\s+/);
  const isNamed = /^@(?:hourly|daily|midnight|weekly|monthly|yearly|annually)$/.test(cron);
  const most = of.minSeconds < 60 ? 6 : 5;
  const isShort = cron.length <= maxCronLength;
  // `?` is the time of the process in croner.
  if (!isShort || cron.includes("?") || (!isNamed && (fields.length < 5 || fields.length > most))) {
    const expected = most === 5 ? "five fields" : "five fields, or six with seconds";
    throw new InvalidCronError(
      "cron",
      `Expected a cron expression of ${expected} and at most ${maxCronLength} characters without "?", as in "0 9 * * MON-FRI"; got ${JSON.stringify(cron.slice(0, maxCronLength))}.`,
    );
  }
  if (!/^[A-Za-z][\w+\-/]{0,63}$/.test(timeZone)) throw unknownZone(timeZone);
  try {
    new Date(0).toLocaleString("en", { timeZone });
  } catch (thrown) {
    throw unknownZone(timeZone, thrown);
  }
  const firings = nextTimes(times, of.from, comparedFirings);
  if (firings.length === 0)
    throw new InvalidCronError("cron", `The cron expression ${cron} never fires.`);
  const between = firings.slice(1).map((time, at) => time.getTime() - firings[at]!.getTime());
  const shortest = Math.min(...between) / 1_000;
  if (shortest < of.minSeconds) {
    const problem = `Expected at least ${of.minSeconds} s between two firings; got ${shortest} s.`;
    throw new InvalidCronError("cron", problem);
  }
}

function unknownZone(timeZone: string, cause?: unknown): InvalidCronError {
  const got = JSON.stringify(timeZone.slice(0, 100));
  const problem = `Expected the name of an IANA time zone, as in "Europe/Berlin"; got ${got}.`;
  return new InvalidCronError("time_zone", problem, { cause });
}

/** Returns the next firings after a time, at most `count`. @throws InvalidCronError */
export function nextTimes(times: ScheduleTimes, after: Date, count: number): readonly Date[] {
  return cronOf(times).nextRuns(count, after);
}

/** Returns the next firing after a time and until `endAt`; null if there is none. */
export function nextTime(
  times: ScheduleTimes & Pick<Schedule, "endAt">,
  after: Date,
): string | null {
  const [next] = nextTimes(times, after, 1);
  if (next === undefined) return null;
  return times.endAt !== null && next > new Date(times.endAt) ? null : next.toISOString();
}

/** Milliseconds after its time from which a firing counts as missed. */
const missedAfterMs = 60_000;

/**
 * Decides which firings of a due schedule make runs, and when it is due next. `once` takes the newest of the firings
 * that are due, `all` the newest `maxMissed`, and `none` the newest if it is at most a minute late.
 */
export function planFiring(
  schedule: ScheduleTimes & Pick<Schedule, "nextAt" | "endAt" | "missed" | "maxMissed">,
  now: Date,
): Pick<Firing, "times" | "nextAt"> {
  const { nextAt, endAt, missed, maxMissed } = schedule;
  const until = endAt !== null && new Date(endAt) < now ? new Date(endAt) : now;
  const next = nextTime(schedule, now);
  if (nextAt === null) return { times: [], nextAt: next };
  const first = new Date(nextAt);
  // The reference itself is left out, and counts to the second.
  const newest = cronOf(schedule)
    .previousRuns(maxMissed + 1, new Date(until.getTime() + 1_000))
    .filter((time) => time >= first && time <= until);
  const due = newest.length > 0 || first > until ? newest : [first];
  const last = due[0];
  switch (missed) {
    case "all":
      return { times: due.slice(0, maxMissed).toReversed(), nextAt: next };
    case "once":
      return { times: last === undefined ? [] : [last], nextAt: next };
    case "none": {
      const isLate = last === undefined || now.getTime() - last.getTime() > missedAfterMs;
      return { times: isLate ? [] : [last], nextAt: next };
    }
  }
}

/** @throws InvalidCronError */
function cronOf({ cron, timeZone }: ScheduleTimes): Cron {
  try {
    // Without a function it computes times, and starts no timer.
    return new Cron(cron, { timezone: timeZone, mode: "5-or-6-parts" });
  } catch (thrown) {
    const problem = `The cron expression is not valid: ${errorMessage(thrown)}`.slice(0, 500);
    throw new InvalidCronError("cron", problem, { cause: thrown });
  }
}
