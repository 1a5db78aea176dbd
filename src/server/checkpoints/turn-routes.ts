import { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { chatTurns } from "../../context/chat-turns.ts";
import type { StoredState } from "../../runtime/threads/threads.ts";
import { isAttachmentReference, isTextAttachment } from "../../state/attachment.ts";
import { placeOf } from "../../state/turn.ts";
import { NotFoundError } from "../../storage/platform/errors.ts";
import { toJson } from "../../values/bounded-json.ts";
import { isRecord } from "../../values/json.ts";
import { integerParameter, pageAnswer, pageSchema, textUpTo } from "../paging.ts";
import type { ApiBase } from "../ports.ts";
import { defineRoute, type Route } from "../route.ts";
import { StateViewer } from "./shown-state.ts";
import {
  emptyBeforeFirst,
  type StateStep,
  stepItem,
  stepsIn,
  summaryOf,
  threadId,
  withHeads,
} from "./step-routes.ts";

/** Bytes of JSON of a page, over which its last turn may go. */
const maxPageBytes = 4_194_304;
/** Bytes of JSON of a step's record in a list. */
const maxRecordBytes = 262_144;

const message = {
  id: z.string(),
  text: z.string(),
  attachments: z.array(
    z.strictObject({ name: z.string(), mime_type: z.string(), bytes: z.number() }),
  ),
};
const turnItem = z
  .strictObject({
    turn: z.int().describe("From 0 in the thread; negative for what was said before."),
    turn_id: z.string().nullable().describe("As its run has it; null but for the newest turn."),
    asked: z.array(z.strictObject(message)),
    added: z
      .array(z.strictObject({ ...message, step: z.int() }))
      .describe("Messages that came while it ran, and the steps that read them first."),
    answer: z.string().nullable().describe("Null while there is none."),
    steps: z.array(stepItem),
  })
  .meta({ id: "ThreadTurn" });
type TurnItem = z.output<typeof turnItem>;

/** Creates the route of the turns of threads. */
export function turnRoutes({ platform, runtimes }: ApiBase): readonly Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/v1/threads/{thread_id}/turns",
      operationId: "listTurns",
      summary: "Lists the turns of a thread, newest first: its conversation with its steps.",
      description:
        "Turns are those of the newest checkpoint. Steps have their records, unless one is over 256 KiB. A page may have fewer turns than `limit`: it ends after 4 MiB. Values that rails redacted are placeholders, unless the key has the scope `checkpoints:unredacted`.",
      tag: "threads",
      scopes: ["checkpoints:read"],
      params: z.strictObject({ thread_id: threadId }),
      query: z.strictObject({
        limit: integerParameter({ from: 1, to: 100, default: 20, description: "Turns of a page." }),
        cursor: textUpTo(10)
          .regex(/^-?\d{1,9}$/, "expected the number of a turn")
          .describe("`next_cursor` of the page before: the number of its last turn.")
          .optional(),
      }),
      answers: { 200: { description: "A page of turns.", schema: pageSchema("turns", turnItem) } },
      problems: ["conflict", "invalid_input"],
      async handle({ params, query, principal, request }) {
        const { tenantId } = principal;
        const { thread_id: thread } = params;
        if ((await platform.instances.onThread(tenantId, thread)) === null)
          throw new NotFoundError("thread", thread);
        const page = await runtimes
          .use(tenantId, async ({ runtime }) => {
            const viewer = new StateViewer(runtime, thread, principal);
            const state = await viewer.stateAt();
            viewer.setLatest(state.values);
            const before = query.cursor === undefined ? Infinity : Number(query.cursor);
            const found = turnsIn(state, { before, limit: query.limit });
            const { items } = await viewer.shown({ items: found.items }, state);
            const shown = items.map((item) => ({ ...item, steps: item.steps.map(withHeads) }));
            return { items: shown, next: found.next };
          })
          .catch(emptyBeforeFirst({}));
        return pageAnswer<TurnItem>(request, page, { name: "turns", item: (item) => item });
      },
    }),
  ];
}

/** Returns turns before one, newest first, as many as fit a page; at least one. Texts are whole until they are redacted. */
function turnsIn(
  state: StoredState,
  { before, limit }: { readonly before: number; readonly limit: number },
): { readonly items: readonly TurnItem[]; readonly next: string | null } {
  const { messages, turn_number: present, turn: newest } = state.values;
  const turnId = isRecord(newest) && typeof newest["run"] === "string" ? newest["run"] : null;
  const conversation = Array.isArray(messages) ? messages.filter(isMessage) : [];
  const steps = stepsIn(state.values);
  const known = chatTurns(
    conversation,
    steps.map(({ record }) => record),
    typeof present === "number" ? { present } : {},
  ).filter(({ turn }) => turn < before);
  const items: TurnItem[] = [];
  let left = maxPageBytes;
  for (const { turn, asked, added, answered } of known.slice(-limit).toReversed()) {
    const own = steps.filter(({ record }) => record.turn_number === turn);
    const item = {
      turn,
      turn_id: turn === present ? turnId : null,
      asked: asked.map(messageOf),
      added: added.map((one) => ({ ...messageOf(one), step: placeOf(one)?.step_index ?? 0 })),
      answer: answered.at(-1)?.text ?? null,
      steps: own.map((step) => withRecord(step, state)),
    };
    left -= toJson(item, Math.max(1, left)).bytes;
    if (left < 0 && items.length > 0) break;
    items.push(item);
  }
  const last = items.at(-1);
  return { items, next: items.length < known.length && last ? String(last.turn) : null };
}

function isMessage(value: unknown): value is BaseMessage {
  return BaseMessage.isInstance(value);
}

function messageOf(of: BaseMessage) {
  const blocks: readonly unknown[] = typeof of.content === "string" ? [] : of.content;
  const attachments = blocks
    .filter((block) => isAttachmentReference(block) || isTextAttachment(block))
    .map(({ mime_type, metadata: { name, bytes } }) => ({ name, mime_type, bytes }));
  return { id: of.id ?? "", text: of.text, attachments };
}

function withRecord(step: StateStep, state: StoredState) {
  const isSmall = toJson(step.record, maxRecordBytes).whole;
  return { ...summaryOf(step, state), ...(isSmall && { record: { ...step.record } }) };
}
