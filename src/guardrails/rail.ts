export {
  passed,
  type Rail,
  type RailContext,
  type RailFinding,
  type RailSpan,
  type RailSubject,
} from "../definition/rail.ts";
