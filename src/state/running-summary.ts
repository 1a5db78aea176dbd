/**
 * What a model wrote about the beginning of a thread, to be read instead of it. The records and messages that it covers
 * stay where they are; only what models read is shorter.
 */
export interface RunningSummary {
  readonly text: string;
  /** The turns 0 to `turns` - 1, with so many step records and spoken messages. */
  readonly covers: { readonly turns: number; readonly steps: number; readonly messages: number };
  /** `provider:model` that wrote it. */
  readonly model: string;
  /** ISO 8601. */
  readonly at: string;
}
