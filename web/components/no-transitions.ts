import { selection } from "d3-selection";

/**
 * Stands in for d3-transition, 5 KB that d3-zoom imports to interrupt transitions of what it moves and to animate
 * double clicks. Graphs have no transitions, and leave double clicks alone.
 */
export function interrupt(): void {}

Object.assign(selection.prototype, {
  interrupt(this: unknown) {
    return this;
  },
});
