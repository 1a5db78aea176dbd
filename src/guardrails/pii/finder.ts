import type { RailSpan } from "../rail.ts";

/** Finds one sort of personal data. In time linear in the text's length, whatever the text. */
export type Finder = (text: string) => readonly RailSpan[];
