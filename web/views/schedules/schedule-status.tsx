import type { components } from "../../api/schema.d.ts";
import { Badge } from "../../components/badge.tsx";

export type Schedule = components["schemas"]["Schedule"];

/** Whether a schedule fires, is paused, is over or has a problem. */
export function ScheduleStatus({ schedule }: { schedule: Schedule }) {
  if (schedule.last_problem !== null) return <Badge status="problem" tone="bad" />;
  if (!schedule.enabled) return <Badge status="paused" />;
  if (schedule.next_at === null) return <Badge status="over" tone="idle" />;
  return <Badge status="active" />;
}
