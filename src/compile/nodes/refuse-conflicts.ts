import { conflictOf, type Branch } from "../../state/branch.ts";
import { TierConflictError } from "../errors.ts";

/**
 * Tools of branches beside each other may have given one key different values, and one change is lost: that must not go unseen.
 * @throws TierConflictError
 */
export function refuseConflicts(branches: readonly Branch[]): void {
  const conflict = branches.length > 1 ? conflictOf(branches) : null;
  if (conflict !== null) throw new TierConflictError(conflict.key, conflict.nodes);
}
