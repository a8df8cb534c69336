/**
 * The modules that `@effect-mcp/nodes` builds on: a `SessionManager` opens sessions, answers requests and writes streams like an endpoint.
 */
export { recordOf } from "../dispatch/Restore.ts"
export { bytesOf } from "../internal/bytesOf.ts"
export { decode } from "./request/Body.ts"
export type { HttpExchange } from "./request/HttpExchange.ts"
export { callerOf, type HttpRequest, ownerOf, principalOf } from "./request/HttpRequest.ts"
export { EventStream } from "./response/EventStream.ts"
export { type ErrorResponse, json, refuse, shuttingDown, tooMany } from "./response/Responses.ts"
export { sseResponse } from "./response/SseResponse.ts"
export { HttpSession } from "./session/HttpSession.ts"
export { refusalOf, sessionIdHeader } from "./session/HttpSessions.ts"
export { type ManagedEndpoint, SessionManagers } from "./session/ManagedEndpoint.ts"
export { requestsOf } from "./session/ResumableStream.ts"
export type { HeldSession, SessionManager } from "./session/SessionManager.ts"
export { epochOf, type EventCursor, getStream, isGetStream, nameIn } from "./session/StreamName.ts"
