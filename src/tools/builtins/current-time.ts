import { z } from "zod";
import type { Clock } from "../../clock.ts";
import { ToolFailure } from "../tool-result.ts";
import { builtinTool } from "./builtin-tool.ts";

const input = z.strictObject({
  timezone: z
    .string()
    .max(64)
    .optional()
    .describe("IANA name of a time zone, such as Europe/Berlin. Default: UTC"),
});

/** Without a clock it tells the time of the run that calls it. */
export function currentTimeTool(clock?: Clock) {
  return builtinTool({
    name: "current_time",
    display_name: "Current time",
    description:
      "Tells the current date and time in a time zone, as ISO 8601 with the zone's offset, and the day of the week.",
    input_schema: input,
    handler: ({ timezone = "UTC" }, context) => timeIn(timezone, (clock ?? context).now()),
  });
}

/** @throws ToolFailure when there is no such time zone. */
function timeIn(timezone: string, now: Date) {
  const part = partsIn(timezone, now);
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  const time = `${part("hour")}:${part("minute")}:${part("second")}`;
  const offset = part("timeZoneName").replace("GMT", "") || "+00:00";
  return { time: `${date}T${time}${offset}`, weekday: part("weekday"), timezone };
}

function partsIn(timezone: string, now: Date): (type: Intl.DateTimeFormatPartTypes) => string {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: timezone,
      calendar: "iso8601",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      weekday: "long",
      timeZoneName: "longOffset",
    });
  } catch (cause) {
    throw new ToolFailure(
      `There is no time zone "${timezone}". Use an IANA name such as Europe/Berlin or America/New_York, or UTC.`,
      { cause },
    );
  }
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
  return (type) => parts.get(type) ?? "";
}
