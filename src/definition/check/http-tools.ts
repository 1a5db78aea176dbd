import { isIP } from "node:net";
import { nearestName } from "../../nearest-name.ts";
import { isRecord } from "../../values/json.ts";
import { findSecretNames } from "../schema/servers.ts";
import {
  headerProblem,
  templateInputs,
  textsIn,
  withSampleInputs,
} from "../tool/request-template.ts";
import { type DefinitionPath, type DefinitionProblem, getAtPath, showFound } from "./problems.ts";

interface Inputs {
  readonly names: readonly string[];
  readonly required: readonly unknown[];
}

function inputsOf(schema: unknown): Inputs {
  const properties = getAtPath(schema, ["properties"]);
  const required = getAtPath(schema, ["required"]);
  return {
    names: isRecord(properties) ? Object.keys(properties) : [],
    required: Array.isArray(required) ? (required as unknown[]) : [],
  };
}

/**
 * Returns the problems of the transport of an HTTP tool.
 * @param inputSchema undefined if it is invalid
 */
export function httpTransportProblems(
  transport: unknown,
  { inputSchema, path }: { readonly inputSchema: unknown; readonly path: DefinitionPath },
): readonly DefinitionProblem[] {
  if (!isRecord(transport)) return [];
  const inputs = inputSchema === undefined ? undefined : inputsOf(inputSchema);
  const { method = "GET", endpoint, query, headers, body, response } = transport;
  const ofEndpoint = endpointProblems(endpoint, headers, [...path, "endpoint"]);
  const ofUrl = [
    ...(inputs === undefined ? [] : requiredProblems(endpoint, inputs, [...path, "endpoint"])),
    ...unknownInputs(endpoint, inputs, [...path, "endpoint"]),
  ];
  return [
    ...(ofEndpoint.length > 0 ? ofEndpoint : ofUrl),
    ...Object.entries(isRecord(query) ? query : {}).flatMap(([name, text]) => [
      ...secretProblems(text, [...path, "query", name], "a secret in a URL ends up in logs"),
      ...unknownInputs(text, inputs, [...path, "query", name]),
    ]),
    ...Object.entries(isRecord(headers) ? headers : {}).flatMap(([name, text]) => {
      const message = typeof text === "string" ? headerProblem(name, text) : undefined;
      return [
        ...(message === undefined ? [] : [{ path: [...path, "headers", name], message }]),
        ...unknownInputs(text, inputs, [...path, "headers", name]),
      ];
    }),
    ...(body !== undefined && method === "GET"
      ? [{ path: [...path, "body"], message: "a GET request has no body; use query" }]
      : []),
    ...secretProblems(body, [...path, "body"], "a reference to a secret is not replaced here"),
    ...unknownInputs(body, inputs, [...path, "body"]),
    ...(getAtPath(response, ["type"]) === "text" && getAtPath(response, ["select"]) !== undefined
      ? [
          {
            path: [...path, "response", "select"],
            message: "select is for JSON answers, and response.type is text",
          },
        ]
      : []),
  ];
}

function endpointProblems(
  endpoint: unknown,
  headers: unknown,
  path: DefinitionPath,
): readonly DefinitionProblem[] {
  if (typeof endpoint !== "string" || endpoint === "") return [];
  const [, scheme, authority = ""] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#\\]*)/i.exec(endpoint) ?? [];
  const secret = secretProblems(endpoint, path, "a secret in a URL ends up in logs");
  // Without the text, which has what the secret was put next to.
  if (secret.length > 0) return secret;
  if (/[{}]/.test(authority) || /^[^/?#]*\{/.test(endpoint)) {
    const message = "placeholders stand in the path or the query only, never in the scheme or host";
    return [{ path, message, found: showFound(endpoint) }];
  }
  const sample = withSampleInputs(endpoint);
  if (/[{}]/.test(sample)) {
    const message = "expected placeholders such as {id}, of letters, digits, _ and -";
    return [{ path, message, found: showFound(endpoint) }];
  }
  if (!/^https?$/i.test(scheme ?? "") || !URL.canParse(sample)) {
    return [{ path, message: "expected an http or https URL", found: showFound(endpoint) }];
  }
  const url = new URL(sample);
  if (authority.includes("@")) {
    const message = "a URL has no user or password; send them in a header, by reference";
    return [{ path, message }];
  }
  if (endpoint.includes("#")) {
    return [{ path, message: "a fragment is never sent", found: showFound(endpoint) }];
  }
  const hasSecret = textsIn(headers).some((text) => findSecretNames(text).length > 0);
  const isLocal =
    url.hostname === "localhost" || isIP(url.hostname.replace(/^\[(.*)\]$/, "$1")) !== 0;
  if (url.protocol === "https:" || !hasSecret || isLocal) return [];
  const message =
    "headers with a secret are sent over https only, except to an address or localhost";
  return [{ path, message, found: showFound(endpoint) }];
}

/** Reports inputs of the URL that a call may leave out. */
function requiredProblems(
  endpoint: unknown,
  { names, required }: Inputs,
  path: DefinitionPath,
): readonly DefinitionProblem[] {
  return templateInputs(endpoint)
    .filter((name) => names.includes(name) && !required.includes(name))
    .map((name) => ({
      path,
      message: `the URL needs the input "${name}", which input_schema does not require; require it, or move it to query`,
    }));
}

function unknownInputs(
  template: unknown,
  inputs: Inputs | undefined,
  path: DefinitionPath,
): readonly DefinitionProblem[] {
  if (inputs === undefined) return [];
  const { names } = inputs;
  return templateInputs(template)
    .filter((name) => !names.includes(name))
    .map((name) => ({
      path,
      message: "the placeholder is not a property of input_schema",
      found: `{${name}}`,
      allowed: names,
      suggestion: nearestName(name, names),
    }));
}

function secretProblems(
  value: unknown,
  path: DefinitionPath,
  reason: string,
): readonly DefinitionProblem[] {
  const names = [...new Set(textsIn(value).flatMap(findSecretNames))];
  return names.length === 0
    ? []
    : [{ path, message: `${reason}; send it in headers`, found: `{{secret:${names[0]}}}` }];
}
