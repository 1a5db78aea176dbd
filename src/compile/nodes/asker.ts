import type { Template } from "../../expression/template.ts";
import type { Thinker } from "../loop/parts.ts";

/** What a node asks a model with. */
export interface Asker {
  readonly thinker: Thinker;
  readonly prompt: Template | null;
}
