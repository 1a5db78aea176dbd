import type { RunnableConfig } from "@langchain/core/runnables";

/** A value that this process put into a config. Clients of a server set any key of one, but send JSON. */
class Own<Value> {
  constructor(readonly value: Value) {}
}

/**
 * A value that runs hand on in their config, to agents inside too. Nobody else can set it: what is under its key and was
 * not put there by `with` is not read.
 */
export class PrivateConfig<Value> {
  /** LangGraph keeps keys with two underscores out of metadata and checkpoints. */
  readonly #key: string;

  constructor(name: string) {
    this.#key = `__stratagraph_${name}`;
  }

  with<Config extends RunnableConfig>(config: Config, value: Value): Config {
    const configurable = { ...config.configurable, [this.#key]: new Own(value) };
    return { ...config, configurable };
  }

  in({ configurable }: Pick<RunnableConfig, "configurable">): Value | undefined {
    const found: unknown = configurable?.[this.#key];
    return found instanceof Own ? (found.value as Value) : undefined;
  }
}

/**
 * Whether a run or an update is of a graph inside of another. LangGraph leaves a namespace out of account that comes
 * from a client, whose JSON has none of these functions.
 */
export function isInsideGraph(configurable: Readonly<Record<string, unknown>> = {}): boolean {
  const { checkpoint_ns: namespace, __pregel_read: read } = configurable;
  const saver = configurable["__pregel_checkpointer"] as { getTuple?: unknown } | undefined;
  return (
    typeof namespace === "string" &&
    namespace !== "" &&
    (typeof read === "function" || typeof saver?.getTuple === "function")
  );
}
