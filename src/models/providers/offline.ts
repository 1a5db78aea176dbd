import { UnknownModelError } from "../errors.ts";
import type { ModelProvider } from "../provider.ts";

/** `offline:rules`, the deterministic model. Takes every option so that any definition can be tried with it; they change nothing. */
export const offline: ModelProvider = {
  options: "any",
  async create({ model }) {
    if (model !== "rules") {
      throw new UnknownModelError(`offline:${model}`, ["offline"], "offline:rules");
    }
    const { OfflineRulesModel } = await import("../offline/offline-model.ts");
    return new OfflineRulesModel();
  },
};
