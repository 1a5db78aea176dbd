import { el } from "./elements.js";

/** Shows so many of some items at a time. `show` gets those of the page; nothing stands there where one page has all. */
export function pager(label, size, show) {
  let items = [];
  let page = 0;
  const pages = () => Math.max(1, Math.ceil(items.length / size));
  const number = el("input", {
    type: "number",
    min: 1,
    inputmode: "numeric",
    "aria-label": `Page of ${label}`,
    onchange: () => turn(Number(number.value) - 1),
  });
  const total = el("span", {});
  const button = (title, sign, by) =>
    el(
      "button",
      { type: "button", "aria-label": `${title} page of ${label}`, onclick: () => turn(page + by) },
      sign,
    );
  const back = button("Previous", "←", -1);
  const on = button("Next", "→", 1);
  const element = el(
    "nav",
    { class: "pager", "aria-label": `Pages of ${label}` },
    back,
    el("span", { class: "pager-place" }, "Page ", number, total),
    on,
  );

  function turn(to) {
    page = Math.min(Math.max(0, Number.isFinite(to) ? Math.round(to) : page), pages() - 1);
    element.hidden = pages() === 1;
    number.value = String(page + 1);
    number.max = String(pages());
    total.textContent = ` of ${pages().toLocaleString("en")}`;
    back.disabled = page === 0;
    on.disabled = page === pages() - 1;
    show(items.slice(page * size, (page + 1) * size));
  }

  return {
    element,
    /** Other items, from their first page on unless the page is kept. */
    set(others, keep = false) {
      items = others;
      turn(keep ? page : 0);
    },
  };
}
