/** A tool as the offline model reads it. */
export interface OfflineTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface OfflineCall {
  readonly id: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
}
