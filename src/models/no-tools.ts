/** How servers say that a model takes no tools at all; that it cannot be made to call one is something else. */
const refusals = [
  // Ollama, also at its OpenAI-compatible address: `registry.ollama.ai/library/llama3:latest does not support tools`.
  /does not support (tools|function calling)\b/i,
  // vLLM started without a parser for calls: `"auto" tool choice requires --enable-auto-tool-choice and …`.
  /requires --enable-auto-tool-choice/i,
  // llama.cpp started without templates, and before it had them.
  /tools param requires --jinja/i,
  /unsupported param: tools\b/i,
  // Routers and hosted models.
  /no endpoints found that support tool use/i,
  /`?tool calling`? is not supported with this model/i,
  /function calling is not enabled for (this model|models\/)/i,
];

/** Whether what a server said of a request means that its model, as it is served, takes no tools. */
export function saysItTakesNoTools(text: string): boolean {
  return refusals.some((refusal) => refusal.test(text));
}
