/** A text of a mark's form: `<EMAIL_1>`. Longer numbers are none, so that one more than any number is one too. */
export const markForm = /<[A-Z][A-Z0-9_]{0,63}_[1-9]\d{0,8}>/g;

const longestLabel = 64;

/** What a mark may call a value. A rail of somebody else may label as it likes; a mark has to be one. */
export function markLabel(label: string): string {
  const name = label.toUpperCase().replaceAll(/[^A-Z0-9_]/g, "_");
  return (/^[A-Z]/.test(name) ? name : `X${name}`).slice(0, longestLabel);
}

/** What stands before a mark's number: its label, cut where the suffix needs the room, since that tells marks apart. */
export function markStem(label: string, suffix: string): string {
  return label.slice(0, longestLabel - suffix.length) + suffix;
}

export function stemOf(mark: string): string {
  return mark.slice(1, mark.lastIndexOf("_"));
}

export function numberOf(mark: string): number {
  return Number(mark.slice(mark.lastIndexOf("_") + 1, -1));
}
