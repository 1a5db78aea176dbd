import type { AgentModel, ModelReply, ModelRequest } from "../../models/agent-model.ts";
import type { NodeRun } from "./node-body.ts";

/**
 * Asks a model beside the steps of a run: what it costs is counted, and nothing of it is streamed.
 *
 * @param signal ends the call; aborts with the run's own at the latest
 */
export function askUntil(
  signal: AbortSignal,
  run: Pick<NodeRun, "ask">,
  { model, request }: { readonly model: AgentModel; readonly request: ModelRequest },
): Promise<ModelReply> {
  const bounded: AgentModel = {
    ...model,
    call: (asked, config) => model.call(asked, { ...config, signal }),
  };
  return run.ask(bounded, request, "unseen");
}
