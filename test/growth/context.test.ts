import { cleanText } from "../../src/context/clean-text.ts";
import { compactNotation } from "../../src/context/notation/compact-notation.ts";
import { cutMiddle } from "../../src/context/preview/cut-middle.ts";
import { readHtml } from "../../src/context/preview/html-text.ts";
import { previewText } from "../../src/context/preview/preview-text.ts";
import { preview } from "../../src/context/preview/preview.ts";
import { readText } from "../../src/context/preview/read-text.ts";
import { salientValues } from "../../src/context/preview/salient-values.ts";
import { salientWords } from "../../src/context/preview/salient-words.ts";
import { readTable } from "../../src/context/preview/table-text.ts";
import { parseDefinition } from "../../src/definition/parse-definition.ts";
import { jsonSyntaxProblem } from "../../src/definition/json-text.ts";
import {
  hasBrokenReference,
  replaceSecrets,
  secretsIn,
} from "../../src/definition/secret-reference.ts";
import { scriptJson } from "../../src/experiment/report/report-data.ts";
import { comparedTexts } from "../../src/expression/compared-texts.ts";
import { compileExpression } from "../../src/expression/expression.ts";
import { linearPattern } from "../../src/expression/linear-pattern.ts";
import { compileTemplate } from "../../src/expression/template.ts";
import { nearestName } from "../../src/nearest-name.ts";
import { inOneLine } from "../../src/state/call-signature.ts";
import { canonicalJson } from "../../src/state/canonical-json.ts";
import { jsonHead } from "../../src/state/json-head.ts";
import { diffValues } from "../../src/state/value-diff.ts";
import { valueWords } from "../../src/state/value-words.ts";
import { parseBounded } from "../../checkpointers/transfer/imported-value.ts";
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
    salientValues: (text) => salientValues([text], 100),
    "definition, YAML": (text) => parseDefinition(text.slice(0, text.length / 4), "a.yaml"),
    "definition, YAML string": (text) => parseDefinition(`name: "${text}`, "a.yaml"),
    "definition, JSON": (text) => parseDefinition(`{"name": ${text}`, "a.json"),
    jsonSyntaxProblem,
    secretsIn,
    replaceSecrets: (text) => replaceSecrets(text, () => "x"),
    hasBrokenReference,
    compileTemplate: (text) => compileTemplate(text, scope),
    "compileTemplate, open": (text) => compileTemplate(`\${${text}`, scope),
    compileExpression: (text) => compileExpression(text, scope),
    comparedTexts,
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
    nearestName: (text) => nearestName(text, [`${text}x`]),
    inOneLine,
    canonicalJson: (text) => canonicalJson({ [text]: text }),
    jsonHead: (text) => jsonHead(text, 1_000),
    diffValues: (text) => diffValues({ a: text }, { a: `${text}x` }),
    valueWords,
    parseBounded,
    scriptJson: (text) => scriptJson({ [text]: text }),
  },
  { salientWords: ["a-", "a/", ":", "a:", "@a.", "://", "~/", "h://"] },
);
