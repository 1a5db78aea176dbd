import type { ActionRecord, ActionToolCall } from "../../../state/action-record.ts";
import type { StepRecord, ToolResult } from "../../../state/step-record.ts";
import { minuteOf } from "../figures.ts";
import { callLines, toolLines } from "../run/tool-line.ts";
import { cutToWidth, plainLine, wrapText } from "../terminal.ts";
import { namedValueLines, type ValueOptions } from "../values.ts";

/** Actions and lines of attempts that are shown unless everything is. */
const shownActions = 20;
const shownAttempts = 100;

/** An action with the turn and the attempt of its step, which the record itself does not have. */
export type StepAction = ActionRecord & Pick<StepRecord, "turn_number" | "attempt_number">;

/** Renders the last actions of a thread: what each step thought, called and noted. */
export function actionLines(actions: readonly StepAction[], options: ValueOptions): string[] {
  const shown = options.full ? actions : actions.slice(-shownActions);
  return [
    options.style.bold(listTitle("Actions", shown.length, actions.length)),
    ...shown.flatMap((one) => ["", ...linesOfAction(one, options)]),
  ];
}

function linesOfAction(action: StepAction, options: ValueOptions): string[] {
  const { turn_number: turn, attempt_number: attempt, iteration, timestamp, mode } = action;
  const { hypothesis } = action;
  const about = `turn ${turn}, attempt ${attempt} · ${minuteOf(timestamp)} · ${mode}`;
  const before = fields(action, ["thinking", "planning", "approach"]);
  const after = [
    ...fields(action, ["reflection", "synthesis", "progress"]),
    ...(hypothesis === null ? [] : [["hypothesis", hypothesis] as const]),
  ];
  return [
    `${options.style.bold(`Step ${iteration}`)}  ${options.style.dim(plainLine(about))}`,
    ...namedValueLines(before, options),
    ...action.tool_calls.flatMap((call) => linesOfCall(call, options)),
    ...namedValueLines(after, options),
  ];
}

/** The fields of an action that say something, with their names. */
function fields(action: ActionRecord, names: readonly (keyof ActionRecord)[]) {
  return names.map((name) => [name, action[name]] as const).filter(([, value]) => value !== "");
}

function linesOfCall(call: ActionToolCall, { style, width, full }: ValueOptions): string[] {
  const room = Math.min(width, 160) - 2;
  const error = call.outcome === "success" ? null : call.result;
  const result: ToolResult = { ...call, id: "", error };
  const noted = (["insights", "learning", "relevance"] as const).flatMap((name) =>
    call[name] === "" ? [] : [`${name}: ${call[name]}`],
  );
  const notes = full ? noted : noted.map((note) => cutToWidth(plainLine(note), room - 2));
  const lines = full
    ? callLines(result, notes, { width: room, style })
    : [...toolLines(result, room, style), ...notes.map((note) => style.dim(`· ${note}`))];
  return lines.flatMap((line) => wrapText(line, room)).map((line) => `  ${line}`);
}

/** Renders the lines of `compressActions`. */
export function attemptLines(
  attempts: readonly string[],
  { style, width, full }: ValueOptions,
): string[] {
  const shown = full ? attempts : attempts.slice(-shownAttempts);
  const room = Math.min(width, 160) - 2;
  return [
    style.bold(listTitle("Attempts", shown.length, attempts.length)),
    ...shown.map(plainLine).flatMap((line) => {
      const lines = full ? wrapText(line, room - 2) : [cutToWidth(line, room - 2)];
      return lines.map((one, number) => `${number === 0 ? "  - " : "    "}${one}`);
    }),
  ];
}

/** `Steps (3)`, `Steps (last 3 of 12)` */
export function listTitle(title: string, shown: number, all: number): string {
  const total = all.toLocaleString("en");
  return shown === all ? `${title} (${total})` : `${title} (last ${shown} of ${total})`;
}
