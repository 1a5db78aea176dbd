import type { NodeBody } from "./node-body.ts";

/** Asks a person to approve the calls of the step under way. */
export const human: NodeBody = () => {
  throw new TypeError("approval is not there yet");
};
