import type { CompileServices } from "../../compile/compile-agent.ts";
import { redactKnownValues } from "../../guardrails/redaction.ts";
import type { StoredState, Threads } from "../../runtime/threads/threads.ts";
import type { Redactions } from "../../state/rails.ts";
import { hasScope } from "../../storage/platform/api-keys.ts";
import type { Principal } from "../../storage/platform/platform.ts";
import { plainJson } from "../../values/diff.ts";
import { isRecord } from "../../values/json.ts";
import { HttpProblem } from "../problems.ts";

/** Bytes of JSON of a state that is answered whole. */
export const maxStateBytes = 16_777_216;

type Values = Readonly<Record<string, unknown>>;

/** Shows stored states to one caller: as plain JSON, with placeholders for values that rails redacted. */
export class StateViewer {
  /** Whether values are replaced. */
  readonly isRedacted: boolean;
  /** Redactions of the newest states, by namespace. */
  readonly #known = new Map<string, Promise<Redactions>>();

  constructor(
    private readonly runtime: Pick<CompileServices, "secrets"> & { readonly threads: Threads },
    private readonly threadId: string,
    principal: Principal,
  ) {
    this.isRedacted = !hasScope(principal, "checkpoints:unredacted");
  }

  /** @throws HttpProblem `not_found`; `conflict` for a damaged checkpoint */
  async stateAt(checkpointId?: string, namespace?: string): Promise<StoredState> {
    const { threadId } = this;
    const id = checkpointId !== undefined && { checkpointId };
    const within = namespace !== undefined && { namespace };
    return this.runtime.threads
      .stateAt({ threadId, ...id, ...within })
      .catch((thrown: unknown) => refuseDamaged(thrown));
  }

  /**
   * Returns values of a state as the caller may see them.
   *
   * @param of.namespace of the agent that has the values. Default: the thread's own
   * @throws HttpProblem `invalid_input` for more than {@link maxStateBytes}
   */
  async shown<Shown extends Values>(
    values: Shown,
    of: Pick<StoredState, "values"> & { readonly namespace?: string | undefined },
  ): Promise<Shown> {
    const text = plainJson(values, 0);
    if (Buffer.byteLength(text) > maxStateBytes) throw tooLarge(values);
    const plain = JSON.parse(text) as Record<string, unknown>;
    if (this.isRedacted) {
      // Later nodes may have redacted what an earlier checkpoint holds, and agents around what a nested one repeats.
      const newest = await Promise.all(
        namespacesAround(of.namespace).map((one) => this.#latest(one)),
      );
      for (const known of [redactionsIn(of.values), ...newest]) {
        for (const [name, value] of Object.entries(plain)) {
          plain[name] =
            name === "redactions" ? withoutValues(value) : redactKnownValues(value, known);
        }
      }
    }
    const { secrets } = this.runtime;
    return (secrets?.hasRevealed() === true ? secrets.scrubValue(plain) : plain) as Shown;
  }

  /** Takes values of the thread's newest state, which is not read then. */
  setLatest(values: Values): void {
    this.#known.set("", Promise.resolve(redactionsIn(values)));
  }

  #latest(namespace: string): Promise<Redactions> {
    const within = namespace === "" ? undefined : namespace;
    const known =
      this.#known.get(namespace) ??
      this.stateAt(undefined, within).then(
        ({ values }) => redactionsIn(values),
        // A planner runs subtasks in a namespace without a state of its own.
        noneWithin(within),
      );
    this.#known.set(namespace, known);
    return known;
  }
}

function noneWithin(namespace: string | undefined): (thrown: unknown) => Redactions {
  return (thrown) => {
    const isNone = (Object(thrown) as { code?: unknown }).code === "no_checkpoint";
    if (!isNone || namespace === undefined) throw thrown;
    return {};
  };
}

/** Returns a namespace and those around it, innermost first: `a:1|b:2`, `a:1` and the thread's own. */
function namespacesAround(namespace = ""): readonly string[] {
  const parts = namespace === "" ? [] : namespace.split("|");
  return [...parts.map((_, at) => parts.slice(0, parts.length - at).join("|")), ""];
}

function redactionsIn({ redactions }: Values): Redactions {
  return isRecord(redactions) ? (redactions as Redactions) : {};
}

function withoutValues(redactions: unknown): unknown {
  if (!isRecord(redactions)) return redactions;
  return Object.fromEntries(
    Object.entries(redactions).map(([placeholder, redaction]) => [
      placeholder,
      isRecord(redaction) ? { label: redaction["label"] } : {},
    ]),
  );
}

function tooLarge(values: Values): HttpProblem {
  const sizes = Object.entries(values).map(([name, value]) => {
    return [name, Buffer.byteLength(plainJson(value, 0))] as const;
  });
  return new HttpProblem("invalid_input", {
    detail: `The state has more than ${maxStateBytes.toLocaleString("en")} bytes of JSON. Ask for one channel: channel=NAME under /v1, select=values.NAME in LangGraph's protocol.`,
    extensions: { code: "state_too_large", channel_bytes: Object.fromEntries(sizes) },
  });
}

/** @throws HttpProblem `conflict` for a damaged checkpoint, else what was thrown */
export function refuseDamaged(thrown: unknown): never {
  const { code, checkpointId } = Object(thrown) as { code?: unknown; checkpointId?: unknown };
  if (code !== "corrupt_checkpoint") throw thrown;
  const which = typeof checkpointId === "string" ? ` ${checkpointId}` : "";
  throw new HttpProblem("conflict", {
    detail: `The stored content of checkpoint${which} is damaged, and is not used. Ask for another one, or replay from an earlier one.`,
    extensions: { code },
    cause: thrown,
  });
}
