import type { Awaitable } from "../../state/agent-state.ts";

/** Where secrets come from: a vault, or by default the environment. */
export interface SecretSource {
  /** Undefined where there is none of that name. Asked each time a secret is used. */
  get(name: string): Awaitable<string | undefined>;
}
