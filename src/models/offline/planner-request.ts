/** What a planner asks of its model, as far as the rules need it. */
export type PlannerRequest =
  | {
      readonly kind: "plan";
      /** Names of the workers. */
      readonly workers: readonly string[];
      /** Subtasks that may be planned. */
      readonly most: number;
      /** Empty where the plan is to say it. */
      readonly criteria: string;
      /** What is missing; empty for a first plan. */
      readonly gaps: readonly string[];
      /** Ids of what is done already. */
      readonly done: readonly string[];
      /** Further ids that new subtasks must not use. */
      readonly taken: readonly string[];
    }
  | {
      readonly kind: "synthesise";
      /** Descriptions of the subtasks that gave nothing. */
      readonly missing: readonly string[];
    }
  | {
      readonly kind: "judge";
      readonly criteria: string;
      /** What was missing before the last subtasks. */
      readonly before: readonly string[];
    };

/** The words that the requests begin with; a task may stand before them in the same message. */
const starts = {
  plan: "Break the task down into subtasks for these workers:",
  gaps: "The results so far leave gaps. Plan subtasks for these gaps only, for these workers:",
  synthesise: "Give the result of the whole task from the results of the subtasks.",
  judge: "Judge the result above against ",
} as const;
const start = new RegExp(
  `(?:^|\\n\\n)(${Object.values(starts)
    .map((text) => text.replaceAll(".", "\\."))
    .join("|")})`,
  "g",
);
const retry =
  /^That answer was not accepted:[^]*\nReply with one JSON object: \{"(?:subtasks|gaps)": \[/;

/** Null for a message that asks for something else. */
export function readPlannerRequest(
  text: string,
): { readonly before: string; readonly text: string; readonly request: PlannerRequest } | null {
  const found = [...text.matchAll(start)].at(-1);
  if (found === undefined) return null;
  const own = text.slice(found.index).trimStart();
  return { before: text.slice(0, found.index), text: own, request: requestIn(own) };
}

/** Whether a message asks once more for what a planner asked before. */
export function isPlannerRetry(text: string): boolean {
  return retry.test(text);
}

function requestIn(text: string): PlannerRequest {
  if (text.startsWith(starts.synthesise)) {
    const [, list = ""] = /^These subtasks gave nothing; .*\n((?:- .*(?:\n|$))*)/m.exec(text) ?? [];
    return { kind: "synthesise", missing: itemsOf(list) };
  }
  if (text.startsWith(starts.judge)) {
    const [, criteria = "", before = ""] = judgeForm.exec(text) ?? [];
    return { kind: "judge", criteria, before: itemsOf(before) };
  }
  const [, listed = "", gaps = "", done = "", taken = "", most = "", criteria = ""] =
    planForm.exec(text) ?? [];
  return {
    kind: "plan",
    workers: itemsOf(listed).map((line) => line.slice(0, Math.max(0, line.indexOf(": ")))),
    most: most === "" ? Infinity : Number(most.replaceAll(",", "")),
    criteria,
    gaps: itemsOf(gaps),
    done: itemsOf(done).map((line) => line.replace(/: [^]*/, "")),
    taken: taken === "" ? [] : taken.split(", "),
  };
}

const planForm = new RegExp(
  "^.*workers:\\n((?:- .*\\n)*)" +
    "(?:Gaps:\\n([^]*?)(?=Done already; |Use new ids; |At most [\\d,]+ subtasks\\.))?" +
    "(?:Done already; .*\\n((?:- .*\\n)*))?" +
    "(?:Use new ids; (?:those are taken\\.|[^:]*: (.*))\\n)?" +
    "At most ([\\d,]+) subtasks\\..*\\n" +
    "(?:The result is judged by: ([^]*?)\\n)?Reply with one JSON object: ",
);

const judgeForm = new RegExp(
  "^.* against the task(?:\\.| and these criteria: ([^]*?))" +
    "(?:\\nThese were missing before; .*\\n(- [^]*?))?(?:\\nReply with one JSON object: |$)",
);

/** Items of a list `- …`, each with its continuation lines. */
function itemsOf(text: string): string[] {
  const lines = text.split("\n");
  const items: string[] = [];
  for (const line of lines) {
    if (line.startsWith("- ")) items.push(line.slice(2));
    else if (/^… and [\d,]+ more$/.test(line)) continue;
    else if (items.length > 0 && line !== "") items.push(`${items.pop() ?? ""}\n${line}`);
  }
  return items.map((item) => item.trim());
}
