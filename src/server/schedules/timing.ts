import {
  checkTimes,
  InvalidCronError,
  nextTime,
  type ScheduleTimes,
} from "../../engine/time/schedule-times.ts";
import type { ApiBase } from "../ports.ts";
import { HttpProblem } from "../problems.ts";

/**
 * Returns when a schedule fires next.
 *
 * @param of.pointers places of the fields in the body
 * @throws HttpProblem `invalid_input` for times that cannot be, are too frequent, or end before the first
 */
export function checkedNext(
  { allow, clock }: Pick<ApiBase, "allow" | "clock">,
  times: ScheduleTimes & { readonly endAt: string | null },
  of: { readonly pointers: Readonly<Record<"cron" | "time_zone" | "end_at", string>> },
): string {
  const now = clock.now();
  const minSeconds = Math.max(1, allow.scheduleSeconds ?? 60);
  try {
    checkTimes(times, { minSeconds, from: now });
  } catch (thrown) {
    if (!(thrown instanceof InvalidCronError)) throw thrown;
    throw refused(of.pointers[thrown.field], thrown.message, thrown);
  }
  const next = nextTime(times, now);
  if (next === null)
    throw refused(of.pointers.end_at, "expected a time after the next firing of the schedule");
  return next;
}

function refused(pointer: string, detail: string, cause?: unknown): HttpProblem {
  return new HttpProblem("invalid_input", {
    detail: "The schedule cannot be made like this. Nothing was written.",
    errors: [{ pointer, detail }],
    ...(cause instanceof InvalidCronError && { extensions: { code: cause.code } }),
    cause,
  });
}
