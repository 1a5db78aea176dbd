import { createMemoryBlobs } from "../../src/compile/attachments/memory-blobs.ts";
import { receiveMessages } from "../../src/compile/attachments/receive-messages.ts";
import { readNamedArguments, readQuoted, toToolInput } from "../../src/models/text-form/actions.ts";
import { createWordEmbeddings } from "../../src/models/embeddings/word-embeddings.ts";
import { classifyFailure, isToolsUnsupportedError } from "../../src/models/failure.ts";
import { parseJsonAnswer } from "../../src/models/replies/json-answer.ts";
import { readNotation } from "../../src/models/offline/notation.ts";
import { replyChunks } from "../../src/models/providers/ollama-connection.ts";
import { redactor, withoutValues } from "../../src/models/redact.ts";
import { parseTextForm } from "../../src/models/text-form/text-form.ts";
import { looksLikeArguments, readToolArguments } from "../../src/models/replies/tool-arguments.ts";
import { tokenCounter } from "../../src/models/usage/tokens.ts";
import { readSummary } from "../../src/context/summarise/running-summary.ts";
import { collect } from "../helpers/collect.ts";
import { itReadsInLinearTime } from "../helpers/growth.ts";

const embeddings = createWordEmbeddings();
const schema = { type: "object", properties: { query: { type: "string" } } };

/** The bytes of a text in parts of 64, as a slow server sends them. */
async function* smallChunks(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 64) yield bytes.subarray(at, at + 64);
}

itReadsInLinearTime(
  {
    parseJsonAnswer: (text) => parseJsonAnswer(`so: ${text}`),
    "parseJsonAnswer, cut off": (text) => parseJsonAnswer(`{"a":1,${text}`),
    parseTextForm,
    "parseTextForm, input": (text) => parseTextForm(`Action: a\nAction Input: {${text}`),
    readNamedArguments: (text) => readNamedArguments(`a=${text}`),
    readQuoted: (text) => readQuoted(`"${text}"`),
    toToolInput: (text) => toToolInput(text, schema),
    readToolArguments: (text) => readToolArguments(text, schema),
    "readToolArguments, mended": (text) => readToolArguments(`{'query':${text}`, schema),
    looksLikeArguments: (text) => looksLikeArguments(`{ ${text}`, schema),
    saysItTakesNoTools: isToolsUnsupportedError,
    tokenCounter: tokenCounter("openai:gpt-4o"),
    classifyFailure: (text) => classifyFailure(new Error(text)),
    redactor: redactor({ API_KEY: "abcdefghij", TOKEN: "aaaaaaaaaaaaaaaa" }),
    withoutValues: withoutValues(["aaaaaaaaaaaaaaaa", "1,1,1,1,1,1,1", "abc"]),
    "Ollama stream": (text) => collect(replyChunks(smallChunks(text))),
    readSummary: (text) => readSummary(text, 4_000),
    readNotation,
    "data of a client's message": async (text) => {
      const content = [{ type: "image", mimeType: text, data: text, metadata: { name: text } }];
      const thread = { threadId: "t", blobs: createMemoryBlobs() };
      await receiveMessages({ messages: [{ content }] }, thread).catch(() => null);
    },
    embeddings: (text) => embeddings.embed([text]),
  },
  {
    "data of a client's message": ["data:image/png;base64,", "data:;", "AA==", " ", "a/b;", "../["],
    parseJsonAnswer: ["[1,", " {a} ", "{/*", '{"a":x}', "{a:1,}", "['a']"],
    readToolArguments: ["{'a':", "{}", '{"a":1}', "\\", '\\"', "`", "query'", "[", "x: {a:1,}"],
    looksLikeArguments: ["{", "\\", "{\\", '"', '{"', "query", '"query', "{ ", "`"],
    parseTextForm: [
      "Action:",
      "Action:\n",
      "Action: x\nAction Input: {\n",
      "Action: x\nAction Input: {a\n}\n",
      "Action: a[",
      "Action x\n\n",
      'Action: a(b="',
      "Thought:\n```\n",
      "**",
    ],
  },
);
