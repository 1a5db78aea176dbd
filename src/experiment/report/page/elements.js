/**
 * An element with attributes, listeners (`onclick` and so on) and children. Texts become text nodes: nothing that a log
 * says is ever read as HTML. Null children are left out.
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(key, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A part of the page under a heading of its own. */
export function section(id, title, note, ...children) {
  return el(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    note === null ? null : el("p", { class: "note" }, note),
    ...children,
  );
}

/** A square in a colour of the page; it says nothing that is not beside it in words. */
export function swatch(colour) {
  const square = el("span", { class: "swatch", "aria-hidden": "true" });
  square.style.background = colour;
  return square;
}

/** Choices of which one holds, as a group of buttons. */
export function choice(label, options, chosen, choose) {
  const buttons = options.map(({ value, title }) =>
    el(
      "button",
      {
        type: "button",
        "aria-pressed": String(value === chosen),
        onclick: (event) => {
          for (const button of buttons) button.setAttribute("aria-pressed", "false");
          event.currentTarget.setAttribute("aria-pressed", "true");
          choose(value);
        },
      },
      title,
    ),
  );
  return el(
    "div",
    { class: "choice", role: "group", "aria-label": label },
    el("span", { class: "choice-label", "aria-hidden": "true" }, label),
    el("div", { class: "choice-buttons" }, ...buttons),
  );
}
