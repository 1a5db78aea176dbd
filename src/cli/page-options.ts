/** How a listing is paged, as the command line gives it. */
export interface PageOptions {
  /** 1 to 1000. */
  readonly limit?: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

/** The part of it that listings take. */
export function pageOptions({ limit, cursor }: PageOptions): { limit?: number; cursor?: string } {
  return { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
}
