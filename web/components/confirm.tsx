import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import { asApiError } from "../api/query.ts";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./states.tsx";

/** Asks before something is done that cannot be undone. It stays open if that fails, and says why. */
export function Confirm({
  title,
  action,
  run,
  onClose,
  children,
}: {
  title: string;
  /** The word on the button: what is done. */
  action: string;
  run: () => Promise<unknown>;
  onClose: () => void;
  /** What goes, and what stays. */
  children: ComponentChildren;
}) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isRunning, setRunning] = useState(false);
  const confirm = async () => {
    setRunning(true);
    try {
      await run();
      onClose();
    } catch (thrown) {
      setError(asApiError(thrown));
      setRunning(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {error !== null && <Failure error={error} />}
      <div class="row">
        <button
          type="button"
          class="button danger"
          disabled={isRunning}
          onClick={() => void confirm()}
        >
          {action}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
