import { signal } from "@preact/signals";

const shown = signal<readonly { readonly id: number; readonly text: string }[]>([]);
let count = 0;

/** Says for some seconds what was done. */
export function say(text: string): void {
  const id = ++count;
  shown.value = [...shown.value.slice(-3), { id, text }];
  setTimeout(() => {
    shown.value = shown.value.filter((one) => one.id !== id);
  }, 5_000);
}

/** Where toasts are shown. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map(({ id, text }) => (
        <div class="toast" key={id}>
          {text}
        </div>
      ))}
    </div>
  );
}
