import { StratagraphError } from "../errors.ts";

/** A definition refers to a secret that the secret source does not have, or that is empty. */
export class MissingSecretError extends StratagraphError {
  readonly code = "missing_secret";
  override readonly kind = "run";

  constructor(readonly secret: string) {
    super(
      `There is no secret "${secret}". Set it where secrets are kept: by default the environment variable ${secret}.`,
    );
  }
}
