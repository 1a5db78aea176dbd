import { cleanText } from "../../src/context/clean-text.ts";
import { compactNotation } from "../../src/context/notation.ts";
import { cutMiddle, readTable, readText } from "../../src/context/preview/preview-string.ts";
import { readHtml } from "../../src/context/preview/html-text.ts";
import { preview, previewText } from "../../src/context/preview/preview.ts";
import { salientFacts } from "../../src/context/preview/salient-values.ts";
import { salientWords } from "../../src/context/preview/salient-words.ts";
import { parseDefinition } from "../../src/definition/load/parse-definition.ts";
import { jsonSyntaxProblem } from "../../src/definition/load/read-document.ts";
import {
  hasMalformedReference,
  replaceSecrets,
  findSecretNames,
} from "../../src/definition/schema/servers.ts";
import { scriptJson } from "../../src/experiment/report/report-html.ts";
import { findComparedTexts } from "../../src/expression/references.ts";
import { compileExpression } from "../../src/expression/expression.ts";
import { linearPattern } from "../../src/expression/pattern.ts";
import { compileTemplate } from "../../src/expression/template.ts";
import { nearestName } from "../../src/nearest-name.ts";
import { isCovered } from "../../src/memory/consolidation/near-duplicates.ts";
import { extractSummary } from "../../src/memory/consolidation/shorten.ts";
import { inOneLine } from "../../src/state/step-record.ts";
import { canonicalJson } from "../../src/values/json.ts";
import { jsonHead } from "../../src/values/bounded-json.ts";
import { diffValues, describeValue } from "../../src/values/diff.ts";
import { parseBounded } from "../../checkpointers/threads/transfer/format.ts";
import { itReadsInLinearTime } from "../helpers/growth.ts";

const scope = { input: { kind: "string" } } as const;

/** Evaluates an expression on the text as `input`. */
function evaluated(source: string): (text: string) => unknown {
  const compiled = compileExpression(source, scope);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
  return (text) => compiled.value.evaluate({ input: text });
}

itReadsInLinearTime(
  {
    cleanText,
    compactNotation: (text) => compactNotation({ [text]: text }),
    cutMiddle: (text) => cutMiddle(text, 1_000),
    preview: (text) => preview({ [text]: text }),
    previewText: (text) => previewText([text, { a: text }]),
    readHtml,
    "readHtml, body": (text) => readHtml(`<html><body>${text}`),
    readTable,
    readText,
    salientWords: (text) => [...salientWords(text)],
    salientFacts: (text) => salientFacts([text], 100),
    "definition, YAML": (text) => parseDefinition(text.slice(0, text.length / 4), "a.yaml"),
    "definition, YAML string": (text) => parseDefinition(`name: "${text}`, "a.yaml"),
    "definition, JSON": (text) => parseDefinition(`{"name": ${text}`, "a.json"),
    jsonSyntaxProblem,
    secretsIn: findSecretNames,
    replaceSecrets: (text) => replaceSecrets(text, () => "x"),
    hasBrokenReference: hasMalformedReference,
    compileTemplate: (text) => compileTemplate(text, scope),
    "compileTemplate, open": (text) => compileTemplate(`\${${text}`, scope),
    compileExpression: (text) => compileExpression(text, scope),
    comparedTexts: findComparedTexts,
    linearPattern,
    ...Object.fromEntries(
      [
        "input.contains('zz')",
        "input.matches('(a|b)*c')",
        "input.replace('a', 'bc')",
        "input.split(',').size() > 1",
        "input.lowerAscii()",
        "input.indexOf('zz')",
        "input.trim()",
        "input + input == input",
      ].map((source) => [`CEL ${source}`, evaluated(source)]),
    ),
    extractSummary: (text) => extractSummary(text, 400),
    isCovered: (text) => isCovered(text, `${text} 1`),
    nearestName: (text) => nearestName(text, [`${text}x`]),
    inOneLine,
    canonicalJson: (text) => canonicalJson({ [text]: text }),
    jsonHead: (text) => jsonHead(text, 1_000),
    diffValues: (text) => diffValues({ a: text }, { a: `${text}x` }),
    valueWords: describeValue,
    parseBounded,
    scriptJson: (text) => scriptJson({ [text]: text }),
  },
  { salientWords: ["a-", "a/", ":", "a:", "@a.", "://", "~/", "h://"] },
);
