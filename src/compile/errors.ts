import { StratagraphError } from "../errors.ts";
import type { PendingRequest } from "../state/human-request.ts";
import type { Status } from "../state/lifecycle.ts";
import { listed } from "./answer-errors.ts";

/** The definition says `is_active: false`. */
export class InactiveAgentError extends StratagraphError {
  readonly code = "inactive_agent";

  constructor(readonly agent: string) {
    super(`Agent "${agent}" is not active. Set is_active to true to run it.`);
  }
}

/** A definition brings tools of servers or packages, and what compiles it was not made to find them. */
export class NoToolServersError extends StratagraphError {
  readonly code = "no_tool_servers";

  constructor(readonly source: string) {
    super(
      `The tools of "${source}" cannot be reached from here. Compile the agent with a runtime of createRuntime().`,
    );
  }
}

/** The input of a turn does not fit the agent's `input_schema`, or is too large. Nothing was stored. */
export class InvalidInputError extends StratagraphError {
  readonly code = "invalid_input";

  constructor(
    readonly agent: string,
    readonly issues: readonly string[],
  ) {
    super(`The input does not fit agent "${agent}": ${issues.join("; ")}.`);
  }
}

/** An initialiser threw, or gave a state that is no plain object, is not JSON or does not fit its schema. */
export class InitialStateError extends StratagraphError {
  readonly code = "initial_state";
  /** Where the state is not JSON, such as `execution.items[3].when`; null where that is not the problem. */
  readonly path: string | null;
  /** What stands there, such as "a Date"; null where there is no path. */
  readonly found: string | null;

  constructor(
    readonly tier: "execution" | "attempt",
    problem: string,
    facts: { cause?: unknown; path?: string; found?: string } = {},
  ) {
    const { path = null, found = null, ...options } = facts;
    const initialiser = tier === "execution" ? "initialExecutionState" : "initialAttemptState";
    super(`${initialiser} ${problem}.`, options);
    this.path = path;
    this.found = found;
  }
}

/** The thread has had as many turns as `execution_config.max_turns` allows. */
export class TurnLimitError extends StratagraphError {
  readonly code = "turn_limit";

  constructor(readonly maxTurns: number) {
    super(
      `This thread has had its ${maxTurns} turns. Start a new thread, or raise execution_config.max_turns.`,
    );
  }
}

/** The turn ran longer than `execution_config.timeout_seconds`. Becomes the turn's failure. */
export class TurnTimeoutError extends StratagraphError {
  readonly code = "turn_timeout";
  override readonly kind = "run";
  override readonly transient = true;

  constructor(readonly timeoutSeconds: number) {
    super(
      `The turn took longer than its ${timeoutSeconds} s. Raise execution_config.timeout_seconds, or give the agent less to do.`,
    );
  }
}

/** The tools node ran while no step was under way: somebody edited the state. */
export class NoStepError extends StratagraphError {
  readonly code = "no_step";

  constructor() {
    super(
      "There is no step whose tools could run: current_step is empty. Fork the thread from a checkpoint that has one.",
    );
  }
}

/** `validate` returned what is neither reasons nor nothing. */
export class ValidateReturnError extends StratagraphError {
  readonly code = "validate_return";

  constructor(readonly returned: string) {
    super(
      `validate returned ${returned}. Return the reasons against the output as a text or a list of texts, or nothing to accept it.`,
    );
  }
}

/** No edge of a workflow node could be taken. Becomes the turn's failure. */
export class NoRouteError extends StratagraphError {
  readonly code = "no_route";
  override readonly kind = "run";

  /** `conditions` are all that the node's edges have; `seen` are the values they read, by path. */
  constructor(
    readonly node: string,
    readonly conditions: readonly string[],
    readonly seen: Readonly<Record<string, unknown>>,
  ) {
    const values = saidOf(seen);
    const why = values === "" ? "" : `: ${values}`;
    const tried = conditions.map((condition) => `'${condition}'`).join(", ");
    super(
      `No edge leads on from node "${node}"${why}. None of its conditions holds: ${tried}. Add an edge without a condition as the default.`,
    );
  }
}

/** A tool of a workflow node was cut off by a crash, and no edge takes care of that. Becomes the turn's failure. */
export class UnknownOutcomeError extends StratagraphError {
  readonly code = "unknown_outcome";
  override readonly kind = "run";

  constructor(
    readonly node: string,
    readonly tool: string,
    reason: string,
  ) {
    super(
      `Node "${node}" does not call its tool again, since that could do twice what must be done once. ${reason} To go on by itself, give the node an edge with a condition on nodes.${node}.outcome, or its tool execution.idempotent.`,
    );
  }
}

/** Nobody answered a human node in time, and its `on_timeout` is `fail`. Becomes the turn's failure. */
export class HumanTimeoutError extends StratagraphError {
  readonly code = "human_timeout";
  override readonly kind = "run";

  constructor(
    readonly node: string,
    readonly timeoutSeconds: number,
  ) {
    super(
      `Nobody answered node "${node}" within its ${timeoutSeconds} s. Raise its timeout_seconds, or say with on_timeout what no answer means.`,
    );
  }
}

/**
 * A person rejected what a human node asked, and no edge takes care of it, or what follows has run as often as it may.
 * Becomes the turn's failure.
 */
export class HumanRejectedError extends StratagraphError {
  readonly code = "human_rejected";
  override readonly kind = "run";

  constructor(
    readonly node: string,
    /** Empty when none was given. */
    readonly reason: string,
    /** Why the workflow cannot go on after the rejection; left out where no edge does. */
    limit?: string,
  ) {
    const why = reason === "" ? "without a reason" : `with the reason: ${reason}`;
    super(
      limit === undefined
        ? `Node "${node}" was rejected ${why}. To go on after a rejection, give it an edge with a condition on nodes.${node}.approved.`
        : `Node "${node}" was rejected ${why}. It is not tried again: ${limit}.`,
    );
  }
}

/** The guardrails on input take no such answer of a person. Becomes the turn's failure, which does not repeat the answer. */
export class AnswerBlockedError extends StratagraphError {
  readonly code: string;
  override readonly kind = "run";

  constructor(
    readonly node: string,
    readonly rail: string,
  ) {
    super("This answer was not accepted: it does not pass the checks on what this agent takes.");
    this.code = `guardrail:${rail}`;
  }
}

/** A router made no choice and has no default. Becomes the turn's failure. */
export class RouterChoiceError extends StratagraphError {
  readonly code = "no_choice";
  override readonly kind = "run";
  readonly node: string;
  readonly choices: readonly string[];
  /** Conditions of the rules that were tried; `seen` are the values they read, by path. */
  readonly rules: readonly string[];
  readonly seen: Readonly<Record<string, unknown>>;
  /** What the model answered each time instead of a choice. */
  readonly answers: readonly string[];

  constructor(facts: Pick<RouterChoiceError, "node" | "choices" | "rules" | "seen" | "answers">) {
    const { node, choices, rules, seen, answers } = facts;
    const values = saidOf(seen);
    const tried = rules.map((rule) => `'${rule}'`).join(", ");
    const why = values === "" ? "" : `, where ${values}`;
    const said = answers.map((answer) => shortJson(answer)).join(", then ");
    super(
      `Router "${node}" chose none of ${choices.map((one) => `"${one}"`).join(", ")}.` +
        (rules.length === 0 ? "" : ` None of its rules holds: ${tried}${why}.`) +
        (answers.length === 0 ? "" : ` Its model answered ${said}.`) +
        " Give it a default.",
    );
    this.node = node;
    this.choices = choices;
    this.rules = rules;
    this.seen = seen;
    this.answers = answers;
  }
}

function saidOf(seen: Readonly<Record<string, unknown>>): string {
  return Object.entries(seen)
    .map(([path, value]) => `${path} is ${shortJson(value)}`)
    .join(", ");
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? "absent";
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

/** Tools of two nodes that ran at the same time gave one key of a tier different values. Becomes the turn's failure. */
export class TierConflictError extends StratagraphError {
  readonly code = "tier_conflict";
  override readonly kind = "run";

  /** `key` is like `execution.sum`. */
  constructor(
    readonly key: string,
    readonly nodes: readonly [string, string],
  ) {
    super(
      `Nodes "${nodes[0]}" and "${nodes[1]}" ran at the same time, and tools of both changed ${key} to different values: one change is lost. Name a merge for ${key} in state_config.merge, let one node follow the other, or let them change different keys.`,
    );
  }
}

/** A new input was given to a thread whose last turn has not ended. */
export class UnfinishedTurnError extends StratagraphError {
  readonly code = "unfinished_turn";

  constructor(
    readonly threadId: string,
    readonly status: Status,
    /** What waits for an answer. */
    readonly interrupts: readonly PendingRequest[] = [],
  ) {
    const [only, ...others] = interrupts;
    const answer = others.length > 0 ? "{ answers: { [id]: answer } }" : "{ answer }";
    super(
      only === undefined
        ? `Thread "${threadId}" has an unfinished turn (${status}).`
        : `Thread "${threadId}" waits for an answer: ${listed(interrupts)}.`,
      {
        advice:
          only === undefined
            ? "Resume it first by running it without an input, or use another thread."
            : `Answer it first by running it without an input and with ${answer}, or use another thread.`,
      },
    );
  }
}
