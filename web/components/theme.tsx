import { signal } from "@preact/signals";
import { Icon } from "./icon.tsx";

const keyName = "stratagraph-theme";
type Theme = "system" | "light" | "dark";
const order: readonly Theme[] = ["system", "light", "dark"];
const theme = signal<Theme>(order.find((one) => one === localStorage.getItem(keyName)) ?? "system");

theme.subscribe((chosen) => {
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
  localStorage.setItem(keyName, chosen);
});

/** Goes from the system's theme to light, to dark, and back. */
export function ThemeButton() {
  const next = order[(order.indexOf(theme.value) + 1) % order.length] ?? "system";
  return (
    <button
      type="button"
      class="button small plain"
      onClick={() => (theme.value = next)}
      aria-label={`Theme: ${theme.value}. Change to ${next}.`}
      title={`Theme: ${theme.value}`}
    >
      <Icon name={theme.value} />
    </button>
  );
}
