/** The lines that a terminal of unlimited height shows after a text was written to it. Understands what live lines use. */
export function screenOf(written: string): readonly string[] {
  const lines = [""];
  let row = 0;
  let column = 0;
  // oxlint-disable-next-line no-control-regex -- escape sequences are what is read
  for (const part of written.split(/(\r|\n|\u001B\[[\d;]*[A-Za-z])/)) {
    if (part === "\n") {
      row += 1;
      column = 0;
      lines[row] ??= "";
    } else if (part === "\r") column = 0;
    else if (part === "\u001B[2K") lines[row] = "";
    else if (part === "\u001B[1A") row = Math.max(0, row - 1);
    else if (part.endsWith("m") && part.startsWith("\u001B[")) continue;
    else if (part !== "") {
      const line = lines[row] ?? "";
      const before = line.padEnd(column).slice(0, column);
      lines[row] = before + part + line.slice(column + part.length);
      column += part.length;
    }
  }
  return lines.map((line) => line.trimEnd());
}
