import { createRuntime } from "../../../src/app.ts";
import type { AgentDefinition } from "../../../src/definition/agent-definition.ts";
import type { CreateModelsOptions } from "../../../src/models/create-models.ts";
import { executeAgent } from "../../../src/index.ts";
import type { TokenOrigin } from "../../../src/runtime/streamed-text.ts";
import type { AgentEvent } from "../../../src/state/events.ts";
import { envOn } from "../../models/wire/providers.ts";
import { ManualClock } from "../manual-clock.ts";
import type { WireServer } from "./server.ts";

export interface StreamedToken {
  readonly type: "token" | "reasoning";
  readonly text: string;
  readonly of: TokenOrigin;
}

/**
 * Runs a turn of an agent whose models are on the server, without storage. The clock stands still, except that waits
 * before further requests are over at once.
 */
export async function runOnWire(
  agent: AgentDefinition,
  server: WireServer,
  modelOptions: Partial<CreateModelsOptions> = {},
) {
  const clock = new ManualClock();
  const runtime = await createRuntime({
    env: envOn(server),
    clock,
    checkpointer: false,
    modelOptions: { maxRetries: 0, ...modelOptions },
  });
  /** Events and tokens in the order in which they came. */
  const seen: (AgentEvent | StreamedToken)[] = [];
  const partial: unknown[] = [];
  const result = await executeAgent(
    agent,
    { message: "What is 6 * 7?" },
    {
      runtime,
      onEvent(event) {
        seen.push(event);
        if (event.type !== "model_wait" || event.until === null) return;
        // The timer may be set after the event was sent.
        const ms = Date.parse(event.until) - clock.now().getTime();
        setImmediate(() => clock.advance(ms));
      },
      onToken: (text, of) => void seen.push({ type: "token", text, of }),
      onReasoning: (text, of) => void seen.push({ type: "reasoning", text, of }),
      onPartialOutput: (value) => void partial.push(value),
    },
  );
  await runtime.close();
  return { result, seen, partial, clock };
}

/** The texts of the tokens among them. */
export function tokensIn(seen: readonly (AgentEvent | StreamedToken)[]): readonly string[] {
  return seen.flatMap((one) => (one.type === "token" ? [one.text] : []));
}
