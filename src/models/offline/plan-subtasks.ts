import type { PlannerRequest } from "./planner-request.ts";
import { subtaskIds } from "./subtask-ids.ts";
import { linksOf } from "./subtask-links.ts";
import { requestParts, type RequestPart } from "./subtasks.ts";
import { stemsOf } from "./words.ts";

interface PlannedSubtask {
  readonly id: string;
  readonly description: string;
  readonly dependencies: readonly string[];
  readonly worker?: string;
}

/** A plan as the planner's schema has it. */
export interface PlannedTask {
  readonly subtasks: readonly PlannedSubtask[];
  readonly success_criteria: string;
}

interface Piece {
  readonly description: string;
  /** Pieces before it, by index. */
  readonly after: readonly number[];
}

/**
 * A plan by rules: a subtask for each part of the task, or for each gap. What does not fit into the number that is allowed
 * is left to the last one together. Ids never are those of earlier subtasks.
 */
export function planSubtasks(
  task: string,
  request: Extract<PlannerRequest, { kind: "plan" }>,
): PlannedTask {
  const { work, criteria } = partCriteria(task);
  const { gaps, done, taken, workers, most } = request;
  const pieces = gathered(gaps.length > 0 ? gaps.map(pieceAlone) : piecesOf(work), most);
  const ids = subtaskIds(
    pieces.map(({ description }) => description),
    [...done, ...taken],
  );
  const subtasks = pieces.map(({ description, after }, i) => {
    const worker = workerNamed(description, workers);
    const known = gaps.length > 0 ? namedIn(description, done) : [];
    return {
      id: ids[i] ?? "",
      description,
      dependencies: [...known, ...after.map((at) => ids[at] ?? "")],
      ...(worker !== null && { worker }),
    };
  });
  return { subtasks, success_criteria: request.criteria === "" ? criteria : request.criteria };
}

function pieceAlone(description: string): Piece {
  return { description, after: [] };
}

function piecesOf(task: string): readonly Piece[] {
  const parts: RequestPart[] = [];
  for (const part of requestParts(task)) {
    const before = part.isMaterial ? parts.pop() : undefined;
    const text = before === undefined ? part.text : `${before.text}\n\n${part.text}`;
    if (text !== "") parts.push({ ...(before ?? part), text });
  }
  const links = linksOf(parts);
  return parts.map(({ text }, i) => ({ description: text, after: links[i] ?? [] }));
}

/** At most so many: the last one has what is left over. */
function gathered(pieces: readonly Piece[], most: number): readonly Piece[] {
  if (pieces.length <= most) return pieces;
  const kept = pieces.slice(0, Math.max(0, most - 1));
  const rest = pieces.slice(kept.length);
  const after = rest.flatMap((piece) => piece.after).filter((at) => at < kept.length);
  const description = rest.map((piece) => piece.description.replace(/[.;]+$/, "")).join("; ");
  const sorted = [...new Set(after)].toSorted((a, b) => a - b);
  return most < 1 ? [] : [...kept, { description, after: sorted }];
}

/** The only one that a description names. */
function workerNamed(description: string, workers: readonly string[]): string | null {
  const named = workers.filter((worker) => isWordIn(worker, description));
  return named.length === 1 ? (named[0] ?? null) : null;
}

/** Those that a text names, by themselves or by most of their words; of those that share words, the nearest. */
function namedIn(text: string, ids: readonly string[]): readonly string[] {
  const said = stemsOf(text);
  const shares = ids.map((id) => {
    const own = [...stemsOf(id)];
    const shared = own.filter((stem) => said.has(stem)).length;
    if (isWordIn(id, text)) return 1;
    return shared > 1 && shared * 3 >= own.length * 2 ? shared / own.length : 0;
  });
  const top = Math.max(...shares);
  return ids.filter((_, i) => top > 0 && shares[i] === top);
}

function isWordIn(word: string, text: string): boolean {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`).test(text);
}

const subject =
  /^(?:the|your|its|each|every) (?:\w+ ){0,2}?(?:report|result|answer|summary|output|reply|text|list|table|document|article|comparison|overview)s? (?:must|should|shall|has to|have to|needs? to|ought to|may not|cannot)\b/i;

/** What a task says at its end of the result itself: "The report must name both." */
function partCriteria(task: string): { readonly work: string; readonly criteria: string } {
  const text = task.trim();
  const line = text.lastIndexOf("\n") + 1;
  const sentences = [...text.slice(line).matchAll(/(?:^|(?<=[.!?;]\s+))(?=\p{Lu})/gu)];
  const begin = line + (sentences.at(-1)?.index ?? 0);
  const work = text.slice(0, begin).trim();
  if (work === "" || !subject.test(text.slice(begin))) return { work: text, criteria: "" };
  return { work, criteria: text.slice(begin) };
}
