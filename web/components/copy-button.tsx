import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** Copies a text, and says so. */
export function CopyButton({
  text,
  label = "Copy",
  isIcon = false,
}: {
  text: () => string;
  label?: string;
  isIcon?: boolean;
}) {
  const [said, setSaid] = useState<string | null>(null);
  const copy = async () => {
    const ended = await navigator.clipboard.writeText(text()).then(
      () => "Copied",
      () => "Not allowed",
    );
    setSaid(ended);
    setTimeout(() => setSaid(null), 1_500);
  };
  return (
    <button
      type="button"
      class={isIcon ? undefined : "button small plain"}
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      <span aria-live="polite">{said ?? (isIcon ? <Icon name="copy" /> : label)}</span>
    </button>
  );
}
