import { outcome, type Outcome } from "./outcome.ts";
import { isRecord } from "../../state/is-record.ts";

const heading = /^What the tools gave:\n(?=- )/;
const failure = /^(failure|error|timeout): /;

/**
 * The calls and results that a message tells of in words, where no tools are offered: a line `- name({…}): result` for
 * each call, whose result may go on for further lines. Empty where the text is no such report.
 */
export function readToolReport(text: string): Outcome[] {
  const rest = text.replace(heading, "");
  if (rest === text) return [];
  const told: { name: string; args: Record<string, unknown>; lines: string[] }[] = [];
  for (const line of rest.split("\n")) {
    const call = readCall(line);
    if (call !== null) told.push({ name: call.name, args: call.args, lines: [call.result] });
    else told.at(-1)?.lines.push(line);
  }
  return told.map(({ name, args, lines }) => {
    const result = lines.join("\n");
    return outcome({ name, args, text: result, failed: failure.test(result) });
  });
}

/** Null for a line that begins no call. */
function readCall(line: string) {
  const name = /^- ([^(]+)\(\{/.exec(line)?.[1];
  if (name === undefined) return null;
  const from = `- ${name}(`.length;
  // Arguments may hold the mark that ends them: only one of the ends makes JSON of them.
  for (let end = line.indexOf("}): ", from); end >= 0; end = line.indexOf("}): ", end + 1)) {
    const args = objectIn(line.slice(from, end + 1));
    if (args !== null) return { name, args, result: line.slice(end + "}): ".length) };
  }
  return null;
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
