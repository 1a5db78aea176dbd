import type { Read } from "../../state/decision.ts";
import type { HumanRequest } from "../../state/human-request.ts";
import type { NodeRun } from "./node-body.ts";

/**
 * Waits until a person has given an answer that can be read; asks again, with what was wrong, for any other. Everything
 * before it in the node runs again with every answer, so nothing with an effect goes there.
 */
export function askPerson<T>(
  run: NodeRun,
  request: Omit<HumanRequest, "node" | "within" | "problem">,
  read: (answer: unknown) => Read<T>,
): T {
  run.emit({ type: "status", status: "AWAITING_HUMAN" });
  const asked: HumanRequest = { ...request, node: run.node, within: run.within };
  let again = asked;
  for (;;) {
    const answer = read(run.interrupt(again));
    if (answer.ok) return answer.value;
    again = { ...asked, problem: answer.problem };
  }
}
