const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `2026-11-21 14:02 UTC` */
export function minuteOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** `2026-11-21` */
export function dayOf(iso: string): string {
  return iso.slice(0, 10);
}

/** `14:02:11` */
export function secondOf(iso: string): string {
  return iso.slice(11, 19);
}

/** `12 s ago`, `3 min ago`, `5 h ago`, `8 days ago`. A time to come is now: clocks differ. */
export function timeAgo(iso: string, now: Date): string {
  const passed = Math.max(0, now.getTime() - Date.parse(iso));
  if (passed < minute) return `${Math.floor(passed / second)} s ago`;
  if (passed < hour) return `${Math.floor(passed / minute)} min ago`;
  if (passed < day) return `${Math.floor(passed / hour)} h ago`;
  const days = Math.floor(passed / day);
  return `${days.toLocaleString("en")} day${days === 1 ? "" : "s"} ago`;
}
