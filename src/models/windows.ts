/** What a model's provider says of its sizes, in tokens. */
export interface KnownWindow {
  /** What it reads and answers together; where a provider limits the two apart, what it reads. */
  readonly window: number;
  /** Its longest reply; null where it is not known, or only the window limits it. */
  readonly maxOutput: number | null;
}

/**
 * By patterns of `provider:model`; the first that fits holds. From the model pages of the providers (OpenAI's as of July
 * 2026, with the metadata of gpt-tokenizer 4.0.0); windows that have to be asked for by a header are not counted on.
 */
const known: readonly (readonly [pattern: RegExp, window: number, maxOutput: number | null])[] = [
  [/^openai:gpt-3\.5-turbo(-instruct|-0301|-0613)/, 4_096, null],
  [/^openai:gpt-3\.5-turbo/, 16_385, 4_096],
  [/^openai:gpt-4-32k/, 32_768, null],
  [/^openai:gpt-4-(turbo|0125|1106)/, 128_000, 4_096],
  [/^openai:gpt-4o(-mini)?-(realtime|transcribe)/, 16_000, null],
  [/^openai:(chatgpt-4o|gpt-4o|gpt-4\.5)/, 128_000, 16_384],
  [/^openai:gpt-4\.1/, 1_047_576, 32_768],
  [/^openai:gpt-4(-\d{4})?$/, 8_192, null],
  [/^openai:gpt-5(\.\d)?-chat/, 128_000, 16_384],
  [/^openai:gpt-5-pro/, 400_000, 272_000],
  [/^openai:gpt-5\.(4-(mini|nano)|6-cyber)/, 400_000, 128_000],
  [/^openai:gpt-5\.[456](-|$)/, 1_050_000, 128_000],
  [/^openai:gpt-5(\.[123])?(-|$)/, 400_000, 128_000],
  [/^openai:o1-mini/, 128_000, 65_536],
  [/^openai:o1-preview/, 128_000, 32_768],
  [/^openai:(o[134](-|$)|codex-mini)/, 200_000, 100_000],

  [/^anthropic:claude-(instant|2\.0|2$)/, 100_000, 4_096],
  [/^anthropic:claude-(2\.1|3-(opus|sonnet|haiku))/, 200_000, 4_096],
  [/^anthropic:claude-3-5-/, 200_000, 8_192],
  [/^anthropic:claude-3-7-/, 200_000, 64_000],
  [/^anthropic:claude-opus-4(-[01]\b|-\d{8}|$)/, 200_000, 32_000],
  [/^anthropic:claude-(opus|sonnet|haiku)-4(-|$)/, 200_000, 64_000],

  [/^google:(models\/)?gemini-[\w.-]*(image|tts|audio|live)/, 32_768, null],
  [/^google:(models\/)?gemini-1\.5-pro/, 2_097_152, 8_192],
  [/^google:(models\/)?gemini-(1\.5|2\.0)-flash/, 1_048_576, 8_192],
  [/^google:(models\/)?gemini-(2\.5|3)-(pro|flash)/, 1_048_576, 65_536],

  [/^mistral:(mistral-(small|medium|large)-(2312|240[1-6]|2409|2501))/, 32_000, null],
  [/^mistral:(open-mistral-7b|open-mixtral-8x7b|codestral-2405)/, 32_000, null],
  [/^mistral:open-mixtral-8x22b/, 64_000, null],
  [/^mistral:magistral-(small|medium)-2506/, 40_000, null],
  [
    /^mistral:(mistral-(small|medium|large)|ministral|codestral|pixtral|magistral|devstral|open-mistral-nemo)/,
    128_000,
    null,
  ],

  [/^groq:(llama3-(8b|70b)-8192|gemma2-9b)/, 8_192, null],
  [/^groq:mixtral-8x7b-32768/, 32_768, null],
  [/^groq:(meta-llama\/)?llama-4-/, 131_072, 8_192],
  [/^groq:llama-3\.3-70b/, 131_072, 32_768],
  [/^groq:llama-3\.1-8b/, 131_072, null],
  [/^groq:(openai\/)?gpt-oss-/, 131_072, 65_536],
  [/^groq:(qwen\/)?qwen3-32b/, 131_072, 40_960],

  [/^offline:rules$/, 128_000, 4_096],
];

/** Null where nothing is known for certain. A fine-tuned model (`openai:ft:gpt-4o-mini:…`) is as large as the one it came from. */
export function knownWindow(ref: string): KnownWindow | null {
  const plain = ref.replace(/^openai:ft:([^:]+).*$/, "openai:$1");
  const found = known.find(([pattern]) => pattern.test(plain));
  return found === undefined ? null : { window: found[1], maxOutput: found[2] };
}
