/** What the instructions tell of a tool. */
export interface DescribedTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly input_schema: Readonly<Record<string, unknown>>;
}

const answerForm = `Thought: what you know now
Final Answer: the answer to the request`;

/** Tells a model without native tool calling, in its system prompt, which tools there are and how to reply. */
export function renderTextFormInstructions(tools: readonly DescribedTool[]): string {
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

${answerForm}`;
}
