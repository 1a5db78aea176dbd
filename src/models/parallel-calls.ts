/** Models that make several calls in one reply by themselves; OpenAI's reasoning models before gpt-5 make one at a time. */
const known = [
  /^openai:(ft:)?gpt-(4o|4\.[15]|[5-9])(?!.*(realtime|transcribe|audio|chat-latest))/,
  /^anthropic:claude-(3-[5-9]|(opus|sonnet|haiku)-[4-9])/,
  /^google:(models\/)?gemini-(1\.5|[2-9])(?!.*(image|tts|audio|live))/,
];

/**
 * Whether a model is known to make several tool calls in one reply.
 * @param baseUrl where it is served, if not by its provider itself: a model of the same name may be any there
 */
export function parallelCallsOf(ref: string, baseUrl?: string): boolean {
  const isServedElsewhere = baseUrl !== undefined && !baseUrl.startsWith("https://api.openai.com/");
  return !isServedElsewhere && known.some((pattern) => pattern.test(ref));
}
