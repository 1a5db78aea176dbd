import { asEntity, escapeText, withoutStandIns } from "../../src/compile/mermaid-text.ts";
import { markdownLines } from "../../src/cli/view/markdown.ts";
import { StreamedText } from "../../src/cli/view/streamed-text.ts";
import { plainJson } from "../../src/values/diff.ts";
import {
  cutToWidth,
  plainLine,
  plainText,
  createStyle,
  shortLines,
  textWidth,
  visibleText,
  wrapText,
} from "../../src/cli/view/terminal.ts";
import { splitLines } from "../../src/values/text.ts";
import { fileGlob } from "../../src/tools/builtins/root-folder.ts";
import { kindOfAddress } from "../../src/tools/builtins/http/addresses.ts";
import { bodyValue } from "../../src/tools/builtins/http/http-get.ts";
import { searchJson } from "../../src/tools/builtins/json-query/search-json.ts";
import { linesOf } from "../../src/tools/builtins/read-text.ts";
import { searchDocumentsTool } from "../../src/tools/builtins/search-documents.ts";
import { limitResult } from "../../src/tools/call-value.ts";
import { cutToJsonBytes, jsonStringBytes, toJson } from "../../src/values/bounded-json.ts";
import { TailBuffer, LineSplitter } from "../../src/tools/mcp/stdio-transport.ts";
import { asSentence, plainMessage } from "../../src/tools/mcp/transport-link.ts";
import { toolName } from "../../src/tools/mcp/server-tools.ts";
import { taskParts } from "../../src/tools/selection/select-tools.ts";
import { thrownText } from "../../src/tools/tool-result.ts";
import { callBuiltin } from "../helpers/builtin-call.ts";
import { collect } from "../helpers/collect.ts";
import { itReadsInLinearTime } from "../helpers/growth.ts";

/** Bytes of a text in parts of 64, as a slow process writes them. */
function smallChunks(text: string): readonly Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / 64) }, (_, at) =>
    bytes.subarray(at * 64, at * 64 + 64),
  );
}

async function* streamed(text: string): AsyncGenerator<Uint8Array> {
  yield* smallChunks(text);
}

itReadsInLinearTime({
  search_documents: (text) =>
    callBuiltin(searchDocumentsTool, {
      query: text.slice(0, 2_000),
      documents: [{ text: text.slice(0, 1_500_000) }],
    }),
  ...Object.fromEntries(
    [
      "length(@)",
      "split(',', @)",
      "split('', @) | sort(@)",
      "replace(@, 'a', 'bb')",
      "contains(@, 'zz')",
      "reverse(@)",
      "trim(@)",
      "to_number(@)",
    ].map((query) => [`JMESPath ${query}`, (text: string) => searchJson(text, query)]),
  ),
  fileGlob: (text) => fileGlob("*a*b*")(text),
  kindOfAddress,
  "http body": (text) => bodyValue(Buffer.from(text), "application/json", false),
  linesOf,
  limitResult: (text) => limitResult(text, 1_000),
  toJson: (text) => toJson({ [text]: text }, 1e9),
  jsonStringBytes,
  cutToJsonBytes: (text) => cutToJsonBytes(text, 1_000),
  thrownText: (text) => thrownText(new Error(text)),
  LineSplitter: (text) => {
    const splitter = new LineSplitter(100_000, { onLine() {}, onLongLine() {} });
    for (const chunk of smallChunks(text)) splitter.push(chunk);
  },
  LastLines: (text) => {
    const last = new TailBuffer();
    for (const chunk of smallChunks(text)) last.push(chunk.toString());
  },
  splitLines: (text) => collect(splitLines(streamed(text), 1_000_000)),
  asSentence,
  plainMessage,
  toolName,
  taskParts,
  textWidth,
  cutToWidth: (text) => cutToWidth(text, 40),
  wrapText: (text) => wrapText(text, 40),
  plainText,
  visibleText,
  plainLine,
  shortLines: (text) => shortLines(text, 80, 5),
  markdownLines: (text) => markdownLines(text, { width: 80, style: createStyle(true) }),
  StreamedText: (text) => {
    const live = new StreamedText((line) => ({ lines: [line], inside: "" }));
    for (const chunk of smallChunks(text)) live.append(chunk.toString());
    return live.lines;
  },
  plainJson: (text) => plainJson({ [text]: text }),
  escapeText: (text) => escapeText(text, asEntity),
  withoutStandIns,
});
