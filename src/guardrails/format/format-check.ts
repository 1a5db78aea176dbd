import type { Awaitable } from "../../state/agent-state.ts";
import type { RailSubject } from "../rail.ts";

/** An answer's texts, and the value that they are of. */
export type Answer = Pick<RailSubject, "text" | "value">;

/** What has to be mended in an answer, one sentence each; none where it is as it should be. */
export type FormatCheck = (answer: Answer) => Awaitable<readonly string[]>;
