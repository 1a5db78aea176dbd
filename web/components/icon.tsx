/** Paths of icons, drawn on 16 by 16. */
const paths = {
  threads: "M2 4h12M2 8h12M2 12h8",
  chat: "M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z",
  inbox: "M2.5 9.5l2-6h7l2 6v3.5h-11zM2.5 9.5h3l1 1.5h3l1-1.5h3",
  agents: "M8 2.5v2M4 4.5h8v6H4zM6.5 7.5h.01M9.5 7.5h.01M5 13.5h6M8 10.5v3",
  memory:
    "M8 2.5c3 0 5 .9 5 2s-2 2-5 2-5-.9-5-2 2-2 5-2zM3 4.5v7c0 1.1 2 2 5 2s5-.9 5-2v-7M3 8c0 1.1 2 2 5 2s5-.9 5-2",
  queue: "M2.5 3h11v2.5h-11zM2.5 7h11v2.5h-11zM2.5 11h6v2.5h-6z",
  schedules: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3l2 1.5",
  experiments: "M6.5 2.5v4L3 12.5h10L9.5 6.5v-4M5.5 2.5h5",
  system: "M8 2.5a5.5 5.5 0 1 1 0 11zM8 2.5v11a5.5 5.5 0 0 1 0-11z",
  light:
    "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  dark: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z",
  keys: "M2 4.5h12v7H2zM4.5 7h.01M7 7h.01M9.5 7h.01M12 7h.01M5 9.5h6",
  key: "M10 3.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM8.2 7.8L3 13M4.5 11.5l1.5 1.5",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  reference: "M5.5 4L2 8l3.5 4M10.5 4L14 8l-3.5 4",
} as const;

export type IconName = keyof typeof paths;

/** An icon beside a word, which says the same. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.4"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
