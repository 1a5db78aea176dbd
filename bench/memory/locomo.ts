import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export interface LocomoTurn {
  /** `D1:3`: session 1, turn 3. */
  readonly id: string;
  readonly session: number;
  readonly speaker: string;
  /** The text, with the caption of a picture that was shared. */
  readonly text: string;
  /** ISO 8601: the session's time, a second later for each turn. */
  readonly time: string;
}

export interface LocomoQuestion {
  readonly text: string;
  /** 1 multi-hop, 2 temporal, 3 open, 4 single-hop, 5 adversarial. */
  readonly category: number;
  /** Ids of turns; at least one. */
  readonly evidence: readonly string[];
}

export interface LocomoConversation {
  /** From 1, in the order of the ids. */
  readonly number: number;
  readonly turns: readonly LocomoTurn[];
  readonly questions: readonly LocomoQuestion[];
}

export const categories = ["multi-hop", "temporal", "open", "single-hop", "adversarial"] as const;

/** Ids of the ten conversations, in order. */
const ids = ["26", "30", "41", "42", "43", "44", "47", "48", "49", "50"];

/**
 * Reads LoCoMo (Maharana et al. 2024, CC BY-NC 4.0): `locomo10.json`, or a folder with a file for each conversation.
 *
 * @param numbers conversations to read, from 1
 */
export function readLocomo(path: string, numbers: readonly number[]): LocomoConversation[] {
  const samples = statSync(path).isDirectory() ? fromFolder(path) : fromFile(path);
  return numbers.flatMap((number) => {
    const sample = samples.get(ids[number - 1] ?? "");
    return sample === undefined ? [] : [readConversation(number, sample())];
  });
}

type Sample = Record<string, unknown>;

function fromFolder(folder: string): Map<string, () => Sample> {
  return new Map(
    readdirSync(folder).map((file) => [
      file.replace(/\.json$/, ""),
      () => JSON.parse(readFileSync(join(folder, file), "utf8")) as Sample,
    ]),
  );
}

function fromFile(file: string): Map<string, () => Sample> {
  const samples = JSON.parse(readFileSync(file, "utf8")) as (Sample & {
    sample_id: string;
    conversation: Sample;
  })[];
  return new Map(
    samples.map(({ sample_id: id, conversation, qa }) => [
      id.replace(/^conv-/, ""),
      () => ({ ...conversation, qa }),
    ]),
  );
}

function readConversation(number: number, sample: Sample): LocomoConversation {
  const turns: LocomoTurn[] = [];
  for (let session = 1; session <= 100; session += 1) {
    const said = sample[`session_${session}`] as
      | { speaker: string; dia_id: string; text: string; blip_caption?: string }[]
      | undefined;
    const start = parseTime((sample[`session_${session}_date_time`] as string | undefined) ?? "");
    for (const [at, { speaker, dia_id: id, text, blip_caption: caption }] of (
      said ?? []
    ).entries()) {
      turns.push({
        id,
        session,
        speaker,
        text: caption === undefined ? text : `${text} [shares ${caption}]`,
        time: new Date(start + 1_000 * at).toISOString(),
      });
    }
  }
  const known = new Set(turns.map(({ id }) => id));
  const asked = sample["qa"] as { question: string; evidence: string[]; category: number }[];
  return {
    number,
    turns,
    questions: asked.flatMap(({ question, evidence, category }) => {
      const found = evidenceIds(evidence).filter((id) => known.has(id));
      return found.length === 0 ? [] : [{ text: question, category, evidence: found }];
    }),
  };
}

/** Evidence as it should be: `D8:6; D9:17` are two turns, `D:11:26` is `D11:26`, `D30:05` is `D30:5`. */
function evidenceIds(evidence: readonly string[]): string[] {
  const matches = evidence.flatMap((text) => [...text.matchAll(/D:?(\d+):0*(\d+)/g)]);
  return [...new Set(matches.map(([, session, turn]) => `D${session}:${turn}`))];
}

const months =
  "january february march april may june july august september october november december".split(
    " ",
  );

/** Milliseconds of a time such as `1:56 pm on 8 May, 2023`, read as UTC. */
function parseTime(text: string): number {
  const [, hour, minute, half, day, month = "", year] =
    /(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)/i.exec(text) ?? [];
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === "pm" ? 12 : 0);
  const time = Date.UTC(
    Number(year),
    months.indexOf(month.toLowerCase()),
    Number(day),
    hours,
    Number(minute),
  );
  return Number.isNaN(time) ? 0 : time;
}
