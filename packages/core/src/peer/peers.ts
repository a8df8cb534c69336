/** Watches and delivers to a peer: its spans, and incoming messages without a stream. */
export * as Spans from "./Spans.ts"
export { errorTypeOf, RecordedArguments, type Surroundings, transportAttributes } from "./Spans.ts"
export * as Incoming from "../transport/Incoming.ts"
