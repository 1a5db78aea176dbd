import type { ThreadContext } from "../../runtime/threads/threads.ts";

/** What is to be known of a context beside itself: what is assumed, what is not in it, and what else was asked. */
export function contextNotes(context: ThreadContext): readonly string[] {
  const { metadata, asksBefore, withoutRequest, fromStored, tense } = context;
  const requests = asksBefore === 1 ? "One request comes" : `${asksBefore} requests come`;
  return [
    ...metadata.notes,
    ...goalNotes(context),
    ...(withoutRequest
      ? [
          "The last turn has ended: this is the next one, without its request. Give a MESSAGE to put one in.",
        ]
      : []),
    ...(asksBefore > 0
      ? [
          `${requests} before the step's own, for its plan or a summary, and ${asksBefore === 1 ? "is" : "are"} not shown.${tense === "next" ? " What they give is not known, and left out." : ""}`,
        ]
      : []),
    ...(fromStored
      ? [
          "Made from the definition that is kept with the thread: keys of schemas may be in another order, without their defaults. --agent FILE is exact.",
        ]
      : []),
  ];
}

/** Which request of the step this is, where that is not the only one. */
function goalNotes({ metadata: { goal }, goals, tense }: ThreadContext): readonly string[] {
  const own = goals.join(" and one for ");
  if (!goals.includes(goal)) {
    return [
      `The step makes no request for ${goal}, but one for ${own}: this is what one would read.`,
    ];
  }
  const other = goals.find((one) => one !== goal);
  if (other === undefined) return [];
  const shown = `--goal ${other} shows that.`;
  const isFirst = goals[0] === goal;
  if (tense === "next") {
    return isFirst
      ? [
          `An answer is asked for once more, from whole results, by a request for ${other} after this one. ${shown}`,
        ]
      : [`The step makes this request only after one for ${other} that was answered. ${shown}`];
  }
  const both = isFirst
    ? `this one, and one for ${other} after it`
    : `one for ${other}, and this one after it`;
  return [
    `The step made two requests: ${both}, since its answer was written once more from whole results. ${shown}`,
  ];
}
