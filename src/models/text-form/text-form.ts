import { LenientJson } from "../replies/json-answer.ts";
import { readAction, type TextFormAction } from "./actions.ts";
import { type Section, splitSections } from "./sections.ts";
export { type TextFormAction, toToolInput } from "./actions.ts";

/** A model's turn in the text form, read. */
export interface TextFormTurn {
  readonly thought: string;
  readonly actions: readonly TextFormAction[];
  /** Null while there are actions: an answer next to them was given before their results were known. */
  readonly finalAnswer: string | null;
  /** What was wrong, in sentences that can be told back to the model. */
  readonly problems: readonly string[];
}

/** Actions of one turn that are read. */
const maxActions = 32;

/** A label within a line, for turns without line breaks. */
const inlineLabel = /[ \t](?=(?:Action(?: Input)?|Final Answer|Observation) ?\d{0,3} ?:)/g;

const thinking = /^\s*<think>([^]*?)<\/think>/;

/**
 * Reads a turn in the form `Thought:` / `Action:` / `Action Input:` / `Final Answer:`, which
 * ReAct (Yao et al. 2022, arXiv:2210.03629) introduced. Tolerant of labels in any case, numbered, in bold, without a
 * colon; of code blocks, loose JSON, `tool[input]`, `tool(a=1)`, `Finish[answer]` and several actions. What follows an
 * invented observation is left out. Never throws, and takes time in proportion to the text.
 *
 * @example parseTextForm("Thought: look it up\nAction: search\nAction Input: python").actions
 * // [{ name: "search", input: "python" }]
 */
export function parseTextForm(text: string): TextFormTurn {
  const lines = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const thought = thinking.exec(lines);
  const said = thought === null ? lines : lines.slice(thought[0].length);
  const turn = read(said);
  const inOneLine = isEmpty(turn) ? said.replace(inlineLabel, "\n") : said;
  const split = inOneLine === said ? turn : read(inOneLine);
  const best = isEmpty(split) ? turn : split;
  return thought === null ? best : { ...best, thought: joined(thought[1] ?? "", best.thought) };
}

function isEmpty(turn: TextFormTurn): boolean {
  return turn.actions.length === 0 && turn.finalAnswer === null;
}

function read(text: string): TextFormTurn {
  const json = new LenientJson({ guesses: false });
  const sections = splitSections(text, json);
  const thoughts = sections.filter(({ kind }) => kind === "thought").map((section) => section.text);
  const actions: TextFormAction[] = [];
  const problems: string[] = [];
  let finalAnswer: string | null = null;
  for (let index = 0; index < sections.length && finalAnswer === null; index += 1) {
    const section = sections[index] as Section;
    if (section.kind === "final") finalAnswer = section.text;
    if (section.kind === "input" && sections[index - 1]?.kind !== "action") {
      problems.push('An "Action Input:" stood without an "Action:" before it.');
    }
    if (section.kind !== "action") continue;
    if (actions.length === maxActions) {
      problems.push(`Only the first ${maxActions} actions were read.`);
      break;
    }
    const next = sections[index + 1];
    const input = next?.kind === "input" ? next : null;
    const action = readAction({ text: section.text, input }, json);
    if (action.kind === "final") finalAnswer = action.answer;
    else if (action.kind === "problem") problems.push(action.problem);
    else if (action.kind === "call") {
      actions.push(action.action);
      if (action.problem !== null) problems.push(action.problem);
    }
  }
  return judge({ thought: thoughts.join("\n"), actions, finalAnswer, problems });
}

function judge(turn: TextFormTurn): TextFormTurn {
  if (turn.actions.length > 0) {
    if (turn.finalAnswer === null) return turn;
    const problem = "The final answer was ignored: it came before the results of the actions.";
    return { ...turn, finalAnswer: null, problems: [...turn.problems, problem] };
  }
  if (turn.finalAnswer !== null && turn.finalAnswer !== "") return turn;
  if (turn.finalAnswer === null && turn.problems.length > 0) return turn;
  const problem =
    turn.finalAnswer === null
      ? 'The reply had neither an action nor a final answer. Write "Action:" with the name of one tool and "Action Input:" with its input, or "Final Answer:" with the answer.'
      : 'The "Final Answer:" was empty. Write the answer after it.';
  return { ...turn, finalAnswer: null, problems: [...turn.problems, problem] };
}

function joined(first: string, second: string): string {
  return [first.trim(), second].filter((text) => text !== "").join("\n");
}

/** What the instructions tell of a tool. */
export interface DescribedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly input_schema: Readonly<Record<string, unknown>>;
}

const answerForm = `Thought: what you know now
Final Answer: the answer to the request`;

/**
 * Tells a model without native tool calling, in its system prompt, which tools there are and how to reply.
 *
 * @param note a paragraph on further lines that it may write; left out without tools
 */
export function renderTextFormInstructions(tools: readonly DescribedTool[], note = ""): string {
  if (tools.length === 0) {
    return `Reply in this form, with these labels at the start of their lines:\n\n${answerForm}`;
  }
  const described = tools.map(
    ({ name, description, input_schema: { $schema: _draft, ...schema } }) =>
      `- ${name}: ${description}\n  input: ${JSON.stringify(schema)}`,
  );
  return `You can use these tools; each input is described by a JSON Schema:

${described.join("\n")}

To use a tool, reply in this form, with these labels at the start of their lines, and stop there:

Thought: what you know, and what to find out next
Action: the name of one tool, exactly one of: ${tools.map(({ name }) => name).join(", ")}
Action Input: the input as one JSON object

You are then given the result as:

Observation: the result of the action

Never write an observation yourself. To use several tools at once, write several pairs of Action and Action Input. Once you can answer, reply instead in this form:

${answerForm}${note === "" ? "" : `\n\n${note}`}`;
}
