import type { AgentSpec } from "../definition/schema/agent.ts";
import type { InputRailSpec, OutputRailSpec } from "../definition/schema/guardrails.ts";
import { StratagraphError } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";
import { needPackage } from "../optional-package.ts";
import type { Rail, RailSubject } from "../definition/rail.ts";

/** A definition names a custom rail that neither it nor the runtime has. */
export class UnknownRailError extends StratagraphError {
  readonly code = "unknown_rail";
  readonly suggestion: string | undefined;

  constructor(
    readonly rail: string,
    readonly known: readonly string[],
  ) {
    const suggestion = nearestName(rail, known);
    const meant = suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
    const there = known.length === 0 ? "There are none." : `Custom rails: ${known.join(", ")}.`;
    super(
      `There is no custom rail "${rail}".${meant} ${there} Pass it to defineAgent or to createRuntime as one of \`rails\`.`,
    );
    this.suggestion = suggestion;
  }
}

/** What the rails of each list are asked about. */
const sidesOf = {
  input_rails: ["input", "tool_result"],
  output_rails: ["output"],
} as const satisfies Record<string, readonly RailSubject["on"][]>;

type RailList = keyof typeof sidesOf;

/** A custom rail stands in a list whose rails are asked about nothing that it checks, so that it would never run. */
export class RailSideError extends StratagraphError {
  readonly code = "rail_side";

  constructor(
    readonly rail: string,
    /** Where it stands in `guardrail_config`. */
    readonly list: RailList,
    /** What it checks. */
    readonly on: readonly RailSubject["on"][],
  ) {
    const other = list === "input_rails" ? "output_rails" : "input_rails";
    super(
      `Rail "${rail}" checks ${on.join(" and ")}, and guardrail_config.${list} are asked about ${sidesOf[list].join(" and ")}: it would never run. Name it in ${other}, or define it on ${sidesOf[list].join(" or ")}.`,
    );
  }
}

/** The rails of a definition by what they are asked about, in its order. One may be in several of the lists. */
export interface AgentRails {
  readonly input: readonly Rail[];
  /**
   * Those on input that are asked about what people answer, too: all that look for what must not be told. Whether a text is
   * an attack or off the topic is a question about requests.
   */
  readonly answer: readonly Rail[];
  /**
   * Those on input that are asked about remembered texts, too: all but those that judge the topic, which is a question
   * about requests. A remembered text may be an attack.
   */
  readonly memory: readonly Rail[];
  readonly tool_result: readonly Rail[];
  readonly output: readonly Rail[];
}

/**
 * @param custom by name, those of the definition first
 * @throws UnknownRailError, RailSideError, MissingPackageError
 */
export async function createRails(
  { guardrail_config: config }: Pick<AgentSpec, "guardrail_config">,
  custom: readonly Rail[],
): Promise<AgentRails> {
  const { input_rails: specs } = config;
  const rails = await Promise.all(specs.map((spec) => inputRail(spec, custom)));
  const input = rails.filter(({ on }) => on.has("input"));
  const judging = new Set(rails.filter((_, at) => judgesRequests(specs[at])));
  return {
    input,
    answer: input.filter((rail) => !judging.has(rail)),
    memory: rails.filter((rail, at) => rail.on.has("input") && specs[at]?.type !== "topic"),
    tool_result: rails.filter(({ on }) => on.has("tool_result")),
    output: await Promise.all(config.output_rails.map((spec) => outputRail(spec, custom))),
  };
}

/** Whether a rail takes nothing out, and only lets a request pass or not. */
function judgesRequests(spec: InputRailSpec | undefined): boolean {
  return spec?.type === "injection" || spec?.type === "topic";
}

async function inputRail(spec: InputRailSpec, custom: readonly Rail[]): Promise<Rail> {
  const onError = spec.on_error ?? "block";
  needPackages(spec);
  switch (spec.type) {
    case "pii": {
      const { piiRail } = await import("./pii/pii-rail.ts");
      const on = new Set(
        spec.config.tool_results ? (["input", "tool_result"] as const) : (["input"] as const),
      );
      return piiRail(spec.config, { on, onError });
    }
    case "injection": {
      const { injectionRail } = await import("./injection/injection-rail.ts");
      return injectionRail(spec.config, { onError });
    }
    case "topic": {
      const { topicRail } = await import("./topic/topic-rail.ts");
      return topicRail(spec.config, { onError });
    }
    case "custom":
      return customRail(spec, custom, "input_rails");
  }
}

async function outputRail(spec: OutputRailSpec, custom: readonly Rail[]): Promise<Rail> {
  const onError = spec.on_error ?? "block";
  needPackages(spec);
  switch (spec.type) {
    case "pii": {
      const { piiRail } = await import("./pii/pii-rail.ts");
      return piiRail(spec.config, { on: new Set(["output"] as const), onError });
    }
    case "hallucination": {
      const { hallucinationRail } = await import("./hallucination/hallucination-rail.ts");
      return hallucinationRail(spec.config, { onError });
    }
    case "toxicity": {
      const { toxicityRail } = await import("./toxicity/toxicity-rail.ts");
      return toxicityRail(spec.config, { onError });
    }
    case "format": {
      const { formatRail } = await import("./format.ts");
      return formatRail(spec.config, { onError });
    }
    case "custom":
      return customRail(spec, custom, "output_rails");
  }
}

/** @throws MissingPackageError */
function needPackages(spec: InputRailSpec | OutputRailSpec): void {
  const rail = `The rail "${spec.type}"`;
  switch (spec.type) {
    case "pii":
      if (spec.config.entities.includes("PHONE")) {
        needPackage("libphonenumber-js", `${rail} with the entity PHONE`);
      }
      return;
    case "topic":
      return needPackage("eld", rail);
    case "toxicity":
      return needPackage("obscenity", rail);
    case "format":
      if (spec.config.language !== undefined) needPackage("eld", `${rail} with language`);
      if (spec.config.is === "markdown") needPackage("markdownlint", `${rail} with is: markdown`);
      return;
    case "injection":
    case "hallucination":
    case "custom":
  }
}

function customRail(
  { name, on_error, config }: Extract<InputRailSpec, { readonly type: "custom" }>,
  custom: readonly Rail[],
  list: RailList,
): Rail {
  const rail = custom.find((one) => one.name === name);
  if (rail !== undefined) {
    if (!sidesOf[list].some((side) => rail.on.has(side))) {
      throw new RailSideError(name, list, [...rail.on]);
    }
    const check: Rail["check"] = (subject, context) => rail.check(subject, { ...context, config });
    return { ...rail, onError: on_error ?? rail.onError, check };
  }
  throw new UnknownRailError(
    name,
    custom.map((one) => one.name),
  );
}
