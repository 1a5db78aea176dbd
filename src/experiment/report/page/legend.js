import { colourOf, groupsBy } from "./colours.js";
import { el, swatch } from "./elements.js";

/** The names of the colours; a click on one hides what has it, another shows it again. */
export function legend(by, hidden, changed) {
  return el(
    "ul",
    { class: "legend", "aria-label": `Colours by ${by}` },
    ...groupsBy(by).map((group) =>
      el(
        "li",
        {},
        el(
          "button",
          {
            type: "button",
            "aria-pressed": String(!hidden.has(group)),
            title: "Show or hide",
            onclick: (event) => {
              if (!hidden.delete(group)) hidden.add(group);
              event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(group)));
              changed();
            },
          },
          swatch(colourOf(by, group)),
          el("span", {}, group),
        ),
      ),
    ),
  );
}
