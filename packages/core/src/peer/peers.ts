/** Watches a peer: its spans. */
export * as Spans from "./Spans.ts"
export { errorTypeOf, RecordedArguments, type Surroundings, transportAttributes } from "./Spans.ts"
