import type { Finding } from "../doctor/finding.ts";
import { count } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { textWidth, wrapText } from "./text-width.ts";

/** The findings of one agent, or of what is around all of them. */
export interface FindingGroup {
  readonly title: string;
  readonly findings: readonly Finding[];
}

const marks: Readonly<
  Record<Finding["status"], { readonly mark: string; readonly colour: keyof Style }>
> = {
  ok: { mark: "✓", colour: "green" },
  warning: { mark: "!", colour: "yellow" },
  problem: { mark: "✗", colour: "red" },
};

/** Findings by group, one below the other, and how many are wrong. */
export function doctorLines(
  groups: readonly FindingGroup[],
  options: { readonly width: number; readonly style: Style },
): string[] {
  const { style } = options;
  const all = groups.flatMap(({ findings }) => findings);
  const checkWidth = Math.max(0, ...all.map(({ check }) => textWidth(check)));
  const number = (status: Finding["status"]) => all.filter((one) => one.status === status).length;
  const [problems, warnings] = [number("problem"), number("warning")];
  const verdict = problems === 0 ? style.green("Ready") : style.red(count(problems, "problem"));
  return [
    ...groups.flatMap(({ title, findings }) => [
      style.bold(plainLine(title)),
      ...findings.flatMap((finding) => findingLines(finding, checkWidth, options)),
      "",
    ]),
    warnings === 0 ? `${verdict}.` : `${verdict}, ${count(warnings, "warning")}.`,
  ];
}

function findingLines(
  { check, status, subject, message, fix }: Finding,
  checkWidth: number,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { mark, colour } = marks[status];
  const margin = " ".repeat(checkWidth + 6);
  const room = Math.max(20, width - margin.length);
  const said = subject === "" ? message : `${subject}: ${message}`;
  const [first = "", ...more] = wrapText(plainLine(said), room);
  const space = " ".repeat(checkWidth - textWidth(check));
  return [
    `  ${style[colour](mark)} ${style.dim(check)}${space}  ${first}`,
    ...more.map((line) => margin + line),
    ...(fix === null ? [] : wrapText(plainLine(`→ ${fix}`), room).map((line) => margin + line)),
  ];
}
