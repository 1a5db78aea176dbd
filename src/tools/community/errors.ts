import { StratagraphError } from "../../errors.ts";

/** A package that a tool of `@langchain/community` needs is not installed. */
export class CommunityPackageError extends StratagraphError {
  readonly code = "community_package";

  constructor(
    readonly tool: string,
    readonly packageName: string,
    options?: { cause?: unknown },
  ) {
    super(
      `The community tool "${tool}" needs the package ${packageName}, which is not installed. Run: npm install ${packageName}`,
      options,
    );
  }
}

/** There is no such tool in `@langchain/community`, or it cannot be made with the options it was given. */
export class CommunityToolError extends StratagraphError {
  readonly code = "community_tool";

  constructor(
    readonly tool: string,
    problem: string,
  ) {
    super(`Community tool "${tool}": ${problem}`);
  }
}
