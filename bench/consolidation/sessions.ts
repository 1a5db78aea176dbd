import { randomNumbers } from "../helpers/random-numbers.ts";

/** A fact of the made-up life that sessions are about. */
interface Fact {
  /** In one sentence. */
  readonly statement: string;
  /** The words that an answer has to have. */
  readonly answer: readonly [subject: string, value: string];
  readonly question: string;
}

export interface Question {
  readonly text: string;
  readonly answer: readonly [subject: string, value: string];
  /** Whether an earlier session had the same question. */
  readonly isRepeated: boolean;
}

export interface Session {
  readonly lines: readonly {
    readonly source: "user" | "agent";
    readonly content: string;
    readonly isFact: boolean;
  }[];
  /** About facts of earlier sessions. */
  readonly questions: readonly Question[];
}

const syllables = "ba ke lo mi nu ra se ti vo za dro fen gal hul jor".split(" ");
const attributes = [
  ["birthday", "Remember that", "When is", "is on"],
  ["favourite restaurant", "By the way,", "What is", "is"],
  ["apartment code", "Note that", "What is", "is"],
  ["insurance number", "For your records,", "What is", "is"],
  ["next dentist appointment", "Just so you know,", "When is", "is on"],
  ["allergy", "Important:", "What is", "is"],
  ["supplier of parts", "I found out that", "Who is", "is"],
  ["preferred airline", "It turns out that", "What is", "is"],
] as const;
const topics = [
  "the garden fence and its new paint",
  "a train trip along the coast",
  "the quarterly report for the board",
  "a leaking tap in the kitchen",
  "the choir rehearsal on Thursdays",
  "a recipe for lentil soup",
  "the broken printer on the second floor",
  "a birthday present for a neighbour",
  "the marathon training plan",
  "a slow laptop and its updates",
] as const;
const remarks = [
  "Let us talk about {topic} today.",
  "I have been thinking about {topic} all week.",
  "There is some progress with {topic}, though it is slow.",
  "What would you do next about {topic}?",
  "You could make a list of what {topic} still needs.",
  "That sounds good, I will try it with {topic}.",
  "Setting aside an hour for {topic} usually helps.",
  "Thanks, that is enough about {topic} for now.",
] as const;

/**
 * Sessions of twelve lines or so, the same for a seed: talk about a topic, two new facts, a fact of an earlier session
 * that is stated again in the same words, and two questions about earlier facts. Half of the questions are about one in
 * ten of the facts; the others are about any, however long ago.
 */
export function* sessionsOf(count: number, seed: number): Generator<Session> {
  const random = randomNumbers(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const word = (length: number) =>
    Array.from({ length }, () => pick(syllables))
      .join("")
      .replace(/^./, (first) => first.toUpperCase());
  const facts: Fact[] = [];
  const asked = new Set<Fact>();

  const newFact = (): Fact => {
    const [attribute, , question, verb] = pick(attributes);
    const subject = `${word(2)} ${word(3)}`;
    const value = attribute.endsWith("number")
      ? `${Math.floor(1_000_000 * random())}`
      : `${word(3)} ${1 + Math.floor(28 * random())}`;
    const opening = pick(attributes)[1];
    return {
      statement: `${opening} the ${attribute} of ${subject} ${verb} ${value}.`,
      answer: [subject, value],
      question: `${question} the ${attribute} of ${subject}?`,
    };
  };
  const askAbout = (fact: Fact): Question => {
    const isRepeated = asked.has(fact);
    asked.add(fact);
    return { text: fact.question, answer: fact.answer, isRepeated };
  };

  for (let session = 0; session < count; session += 1) {
    const topic = pick(topics);
    const talk = Array.from({ length: 7 }, (_, at) => ({
      source: at % 2 === 0 ? ("user" as const) : ("agent" as const),
      content: pick(remarks).replace("{topic}", topic),
      isFact: false,
    }));
    const older = [...facts];
    const known = older.filter((_, at) => at % 10 === 0);
    const questions = older.length < 20 ? [] : [askAbout(pick(older)), askAbout(pick(known))];
    const again = older.length === 0 ? [] : [pick(older)];
    const fresh = [newFact(), newFact()];
    facts.push(...fresh);
    const stated = [...fresh, ...again].map(({ statement }) => ({
      source: "user" as const,
      content: statement,
      isFact: true,
    }));
    const lines = [
      ...talk.slice(0, 4),
      ...questions.map(({ text }) => ({ source: "user" as const, content: text, isFact: false })),
      ...stated,
      ...talk.slice(4),
    ];
    yield { lines, questions };
  }
}
