/**
 * What a client over HTTP that calls a tool of a server without sessions does not run: one module, loaded with the handshake of a session,
 * or with the first response that is no answer.
 */
export { post } from "./OneWayPost.ts"
export { refused, unreachable } from "./Refusal.ts"
export { refused as refusedExchange } from "./RefusedExchange.ts"
export { ResumeStream } from "./ResumeStream.ts"
