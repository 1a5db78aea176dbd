import { StratagraphError } from "../errors.ts";
import type { PendingRequest } from "../state/human-request.ts";
import type { Status } from "../state/lifecycle.ts";
import { headOf } from "../values/text.ts";

/** The definition says `is_active: false`. */
export class InactiveAgentError extends StratagraphError {
  readonly code = "inactive_agent";

  constructor(readonly agent: string) {
    super(`Agent "${agent}" is not active. Set is_active to true to run it.`);
  }
}

/** A definition has tools of servers or packages, but the compiling function cannot load them. */
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

/** An initialiser threw, or returned a state that is no plain object, is not JSON or does not fit its schema. */
export class InitialStateError extends StratagraphError {
  readonly code = "initial_state";
  /** The path of the value that is not JSON, such as `execution.items[3].when`; null for other problems. */
  readonly path: string | null;
  /** The type of that value, such as "a Date"; null without a path. */
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

/** A caller ended the turn by the id of its thread. The abort reason of the run; the turn ends CANCELLED with it. */
export class TurnCancelledError extends StratagraphError {
  readonly code = "turn_cancelled";
  override readonly kind = "run";

  constructor(
    readonly threadId: string,
    /** Null if none was given. */
    readonly reason: string | null,
  ) {
    super(`The turn of thread "${threadId}" was cancelled${reason === null ? "" : `: ${reason}`}.`);
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

/** The turn exceeded `execution_config.timeout_seconds`. Becomes the turn's failure. */
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

/** The tools node ran without a step in progress, because the state was edited. */
export class NoStepError extends StratagraphError {
  readonly code = "no_step";

  constructor() {
    super(
      "There is no step whose tools could run: current_step is empty. Fork the thread from a checkpoint that has one.",
    );
  }
}

/** `validate` returned neither reasons nor nothing. */
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

  /** `conditions` are all of the node's edges; `seen` are the values they read, by path. */
  constructor(
    readonly node: string,
    readonly conditions: readonly string[],
    readonly seen: Readonly<Record<string, unknown>>,
  ) {
    const values = saidOf(seen);
    const why = values === "" ? "" : `: ${values}`;
    const tried = conditions.map((condition) => `'${condition}'`).join(", ");
    super(
      `No edge of node "${node}" can be taken${why}. None of its conditions holds: ${tried}. Add an edge without a condition as the default.`,
    );
  }
}

/** A crash interrupted the tool of a workflow node, and no edge handles that. Becomes the turn's failure. */
export class UnknownOutcomeError extends StratagraphError {
  readonly code = "unknown_outcome";
  override readonly kind = "run";

  constructor(
    readonly node: string,
    readonly tool: string,
    reason: string,
  ) {
    super(
      `Node "${node}" does not call its tool again, because that could repeat an action that must happen only once. ${reason} To continue automatically, give the node an edge with a condition on nodes.${node}.outcome, or its tool execution.idempotent.`,
    );
  }
}

/** A human node was not answered in time, and its `on_timeout` is `fail`. Becomes the turn's failure. */
export class HumanTimeoutError extends StratagraphError {
  readonly code = "human_timeout";
  override readonly kind = "run";

  constructor(
    readonly node: string,
    readonly timeoutSeconds: number,
  ) {
    super(
      `Node "${node}" was not answered within its ${timeoutSeconds} s. Raise its timeout_seconds, or say with on_timeout what no answer means.`,
    );
  }
}

/**
 * A person rejected a human node's request, and no edge handles it, or the following node has reached its limit.
 * Becomes the turn's failure.
 */
export class HumanRejectedError extends StratagraphError {
  readonly code = "human_rejected";
  override readonly kind = "run";

  constructor(
    readonly node: string,
    /** Empty if none was given. */
    readonly reason: string,
    /** Why the workflow cannot continue after the rejection; left out if no edge handles it. */
    limit?: string,
  ) {
    const why = reason === "" ? "without a reason" : `with the reason: ${reason}`;
    super(
      limit === undefined
        ? `Node "${node}" was rejected ${why}. To continue after a rejection, give it an edge with a condition on nodes.${node}.approved.`
        : `Node "${node}" was rejected ${why}. It is not tried again: ${limit}.`,
    );
  }
}

/** The input rails block a person's answer. Becomes the turn's failure, which does not repeat the answer. */
export class AnswerBlockedError extends StratagraphError {
  readonly code: string;
  override readonly kind = "run";

  constructor(
    readonly node: string,
    readonly rail: string,
  ) {
    super("This answer was not accepted: it does not pass this agent's input checks.");
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
  /** The model's replies that were no choice. */
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

/** Tools of two concurrent nodes set one tier key to different values. Becomes the turn's failure. */
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
    /** Pending human requests. */
    readonly interrupts: readonly PendingRequest[] = [],
  ) {
    const [only, ...others] = interrupts;
    const isForCaller = interrupts.every(({ kind }) => kind === "tool_calls");
    const answer = isForCaller
      ? "{ toolResults: [{ call_id, output }] }"
      : others.length > 0
        ? "{ answers: { [id]: answer } }"
        : "{ answer }";
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

type Waiting = readonly Pick<PendingRequest, "id" | "node" | "prompt">[];

/** An answer was refused. Nothing was written, and the requests are still pending. */
export abstract class AnswerError extends StratagraphError {}

/** A bare answer was given while several requests are pending. */
export class AmbiguousAnswerError extends AnswerError {
  readonly code = "ambiguous_answer";

  constructor(readonly waiting: Waiting) {
    super(
      `${waiting.length} requests are pending, and the answer does not name one: ${listed(waiting)}.`,
      { advice: "Answer by id, some of them or all: { [id]: answer }." },
    );
  }
}

/** An answer was given to a request that is not pending. */
export class UnknownInterruptError extends AnswerError {
  readonly code = "unknown_interrupt";

  constructor(
    readonly interrupt: string,
    readonly waiting: Waiting,
  ) {
    super(`Request ${interrupt} is not pending. Pending: ${listed(waiting)}.`);
  }
}

/** An answer does not fit its request. */
export class InvalidAnswerError extends AnswerError {
  readonly code = "invalid_answer";

  constructor(
    readonly interrupt: string,
    readonly node: string,
    /** What was expected, and what came instead. */
    readonly problem: string,
  ) {
    super(`The answer to request ${interrupt} of node "${node}" does not fit. ${problem}`);
  }
}

/** An answer approves something other than the pending request, which has changed since it was read. */
export class ApprovalMismatchError extends AnswerError {
  readonly code = "approval_mismatch";

  constructor(
    readonly interrupt: string,
    readonly node: string,
    /** What was expected, and what came instead. */
    readonly problem: string,
  ) {
    super(`The answer to request ${interrupt} of node "${node}" was refused. ${problem}`, {
      advice: "Read the current request, and answer with its hash.",
    });
  }
}

/** An answer was given to a thread without a pending request. */
export class NothingToAnswerError extends AnswerError {
  readonly code = "nothing_to_answer";

  /** `status` is null for a thread that does not exist. */
  constructor(
    readonly threadId: string,
    readonly status: string | null,
  ) {
    const found = status === null ? "does not exist" : `is ${status}`;
    // The checkpoint is then an old one: LangGraph would resume with the answer of that time.
    const [why, advice] =
      status === "AWAITING_HUMAN"
        ? ["its request has been answered", "Run it without an answer to be asked again."]
        : ["it has no pending request", "Run it without one."];
    super(`Thread "${threadId}" ${found}: ${why}.`, { advice });
  }
}

/** Lists requests for a message: each by its id, its node and its prompt. */
function listed(waiting: Waiting): string {
  return waiting
    .map(({ id, node, prompt }) => {
      const shown = prompt.length > 100 ? `${headOf(prompt, 100)}…` : prompt;
      return `${id} (${node}: ${JSON.stringify(shown)})`;
    })
    .join(", ");
}
