const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
} as const;

/** Marks up text for a terminal, or leaves it as it is. */
export type Style = Readonly<Record<keyof typeof codes, (text: string) => string>>;

export function createStyle(coloured: boolean): Style {
  const style: Partial<Record<keyof Style, (text: string) => string>> = {};
  for (const [name, [open, close]] of Object.entries(codes)) {
    style[name as keyof Style] = (text) =>
      coloured && text !== "" ? `\u001B[${open}m${text}\u001B[${close}m` : text;
  }
  return style as Style;
}

/**
 * FORCE_COLOR decides where it is set (`0` and `false` say no), then NO_COLOR, then whether it is a terminal that can.
 * See https://force-color.org and https://no-color.org.
 */
export function wantsColour(
  isTerminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}
