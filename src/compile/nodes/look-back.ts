import type { StepRecord } from "../../state/step-record.ts";
import type { Reading } from "../loop/reflection.ts";
import type { Asker } from "./asker.ts";
import { nodeContext } from "./node-context.ts";
import type { NodeAt } from "./node-work.ts";
import { promptText } from "./prompt-text.ts";

/** What the model that made a step of an llm node reads when it looks back at it. */
export async function lookBack(
  { thinker, prompt }: Asker,
  at: NodeAt,
  about: { readonly openStep: StepRecord; readonly note: string },
): Promise<Reading> {
  const model = await thinker.model(at.run.context);
  const context = await nodeContext(at, {
    thinker,
    model,
    goal: "planning",
    node: about.openStep.node,
    prompt: promptText(prompt, at.values),
    ...about,
  });
  return { model, messages: context.messages };
}
