import { bindAnswer, isBound } from "../../state/bind-answer.ts";
import type { Read } from "../../state/decision.ts";
import type { HumanRequest } from "../../state/human-request.ts";
import { isRecord } from "../../state/is-record.ts";
import { checkpointPlace } from "../checkpoint-place.ts";
import { requestOf } from "../waiting-requests.ts";
import { keepAnswer } from "./handler-interrupts.ts";
import type { NodeRun } from "./node-body.ts";

/**
 * Waits until a person has given an answer that can be read; asks again, with what was wrong, for any other. Where the
 * request has a hash, an answer counts for what it was given to alone: `read` refuses it where it names another hash.
 * Everything before it in the node runs again with every answer, so nothing with an effect goes there.
 */
export async function askPerson<T>(
  run: NodeRun,
  request: Omit<HumanRequest, "node" | "within" | "problem">,
  read: (answer: unknown) => Read<T>,
): Promise<T> {
  run.emit({ type: "status", status: "AWAITING_HUMAN" });
  const asked: HumanRequest = { ...request, node: run.node, within: run.within };
  const approves = asked.hash !== undefined;
  let again = asked;
  for (;;) {
    const answer = run.interrupt(again);
    const given = approves ? await boundAnswer(run, answer) : answer;
    const known: Read<T> = isRefused(given) ? { ok: false, problem: given.refused } : read(given);
    if (known.ok && (!approves || isBound(given))) return known.value;
    const problem = known.ok ? unbound : known.problem;
    // In further runs of the node it would be taken for an answer to what is asked next.
    if (approves && !isBound(given))
      keepAnswer(run.config, { hash: "", refused: problem } satisfies Refused);
    again = { ...asked, problem };
  }
}

/** What stands for an answer that was refused, with the reason: bound to nothing. */
interface Refused {
  readonly hash: "";
  readonly refused: string;
}

const isRefused = (answer: unknown): answer is Refused =>
  isRecord(answer) && answer["hash"] === "" && typeof answer["refused"] === "string";

const unbound = "It is not known what the answer was for.";

/**
 * An answer with the hash of the request that it was given to. A graph that is not ours hands on answers as they come:
 * they are for what is stored as asked, which may be something else than what the node asks now.
 */
async function boundAnswer(run: NodeRun, given: unknown): Promise<unknown> {
  if (isBound(given)) return given;
  const request = await storedRequest(run);
  const answer = request === null ? given : bindAnswer(request, given);
  // The next request of the node takes its place.
  if (isBound(answer)) keepAnswer(run.config, answer);
  return answer;
}

/** What the node has asked last, from the writes of its task. */
async function storedRequest({ config, node }: NodeRun): Promise<HumanRequest | null> {
  const place = checkpointPlace(config);
  const tuple = await place?.saver.getTuple(place.config);
  const interrupts = (tuple?.pendingWrites ?? [])
    .filter(([task, channel]) => task === place?.task && channel === "__interrupt__")
    .flatMap(([, , value]) => value as { readonly value?: unknown });
  const requests = interrupts.map(({ value }) => requestOf("", value, node));
  return requests.findLast(({ isOurs }) => isOurs) ?? null;
}
