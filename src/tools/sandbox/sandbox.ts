import { StratagraphError } from "../../errors.ts";
import { truncateText } from "../../values/text.ts";

/** A piece of JavaScript that is run away from everything else. */
export interface SandboxedCode {
  /** An expression whose value is a function of one argument, which may be async: `(input) => input.a + 1`. */
  readonly source: string;
  /** JSON. */
  readonly input: unknown;
  /** What is said of it in errors: a tool's name. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Milliseconds of running; waiting for a free worker is not counted. At least 1. */
  readonly timeoutMs: number;
  /** Bytes of memory, about 7 MiB of which QuickJS itself takes. Default 32 MiB, at least 16 MiB. */
  readonly memoryBytes?: number;
  /** UTF-8 bytes of the JSON that may come back. Default 16 MiB, at least 1. */
  readonly maxOutputBytes?: number;
  /**
   * Is given what the code wrote to its console when it has ended, well or badly: at most 200 lines of 2,000 characters,
   * and a line that says how many more there were. A run that was aborted, or had to be killed, gives none. What it throws becomes a warning of the process.
   */
  readonly onLog?: (lines: readonly string[]) => void;
}

/** Runs code without network, file system, environment, or anything else of the process; each run begins empty. */
export interface Sandbox {
  /**
   * What the function gives, as JSON; undefined becomes null.
   * @throws SandboxError for whatever the code does wrong or tries in vain; SandboxOptionError; the signal's reason
   */
  run(code: SandboxedCode): Promise<unknown>;
  /** Ends what is under way. A run after that starts it again. */
  close(): Promise<void>;
}

/**
 * Why sandboxed code gave nothing:
 * - `syntax`: it does not parse, or is no function
 * - `threw`: it threw, or its promise was rejected; what it tried to reach is not there
 * - `unsettled`: its promise can never settle, since nothing is left to be done
 * - `timeout`, `memory`, `stack`: it took more than it was given
 * - `input`: what it should be given has no form in JSON
 * - `output`: what it gave has no form in JSON, is too large, or has the key `__proto__`
 * - `crashed`: the worker that ran it died
 * - `closed`: the sandbox was closed meanwhile
 */
export type SandboxReason =
  | "syntax"
  | "threw"
  | "unsettled"
  | "timeout"
  | "memory"
  | "stack"
  | "input"
  | "output"
  | "crashed"
  | "closed";

export interface SandboxFault {
  readonly reason: SandboxReason;
  /** What came: as a rule the message of what the code threw. */
  readonly detail: string;
  /** The name of the error that the code threw: `TypeError`. */
  readonly thrown?: string | undefined;
  /** Line of the source, from 1. */
  readonly line?: number | undefined;
}

/** Maximum characters of the code's error message. */
const maxDetail = 1_000;

/** Code in a sandbox gave no result. */
export class SandboxError extends StratagraphError {
  readonly code = "sandbox";
  override readonly kind = "run";
  readonly reason: SandboxReason;
  /** Line of the source, from 1, where it is known. */
  readonly line: number | undefined;

  constructor(
    /** The name that the code was run by. */
    readonly source: string,
    fault: SandboxFault,
  ) {
    super(messageOf(source, fault));
    this.reason = fault.reason;
    this.line = fault.line;
  }
}

/** A limit of a sandbox or of a run in it is no number that can be held to. */
export class SandboxOptionError extends StratagraphError {
  readonly code = "sandbox_option";

  constructor(
    readonly option: string,
    readonly value: unknown,
    readonly minimum: number,
  ) {
    super(
      `The sandbox's ${option} must be a finite number of at least ${minimum.toLocaleString("en")}, not ${String(value)}.`,
    );
  }
}

function messageOf(name: string, { reason, detail, thrown, line }: SandboxFault): string {
  const at = line === undefined ? "" : ` at line ${line}`;
  const text = truncateText(detail, maxDetail).replace(/\.$/, "");
  switch (reason) {
    case "syntax":
      return `The code of "${name}" cannot be read${at}: ${text}.`;
    case "threw": {
      const error = thrown === undefined ? text : `${thrown}: ${text}`;
      return `The code of "${name}" threw${at}: ${error}.${hintFor(thrown)}`;
    }
    case "unsettled":
      return `The promise of the code of "${name}" never settles: nothing is left that could settle it. There are no timers, no network and no events in a sandbox.`;
    case "timeout":
      return `The code of "${name}" did not end within ${detail} ms and was stopped. Give it less to do, or more time.`;
    case "memory":
      return `The code of "${name}" needs more than the ${detail} bytes of memory that it has. Let it keep less at a time.`;
    case "stack":
      return `The code of "${name}" calls itself, or nests data, too deeply${at}. Use a loop, or end the recursion.`;
    case "input":
      return `The input for the code of "${name}" has no form in JSON: ${text}.`;
    case "output":
      return `What the code of "${name}" gave cannot be taken: ${text}. Return plain JSON.`;
    case "crashed":
      return `The sandbox that ran the code of "${name}" died: ${text}. It is replaced for the next run.`;
    case "closed":
      return `The sandbox was closed while the code of "${name}" ran or waited.`;
  }
}

/** Most who meet this have used a variable of the module around the code, or a function of Node. */
function hintFor(thrown: string | undefined): string {
  if (thrown !== "ReferenceError") return "";
  return " Code in a sandbox must contain everything it uses: it sees its input and the language, nothing of the module around it, and nothing of Node or a browser.";
}
