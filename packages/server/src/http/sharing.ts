/**
 * The parts of the HTTP endpoints that sibling packages build on. With them, the `SessionManager` of `@effect-mcp/nodes` opens sessions,
 * answers requests and writes streams like an endpoint.
 */
export { recordOf } from "../dispatch/Restore.ts"
export { bytesOf } from "../internal/bytesOf.ts"
export { layer as layerSse } from "./legacy/SseEndpoint.ts"
export { make as makeNodeListener } from "./NodeListener.ts"
export { decode } from "./request/Body.ts"
export type { HttpExchange } from "./request/HttpExchange.ts"
export { callerOf, type HttpRequest, ownerOf, principalOf, sessionIdHeader } from "./request/HttpRequest.ts"
export { onShutdown } from "./request/Shutdown.ts"
export { EventStream } from "./response/EventStream.ts"
export { type ErrorResponse, json, refuse, shuttingDown, tooMany } from "./response/Responses.ts"
export { sseResponse } from "./response/SseBody.ts"
export { layer as layerRouter } from "./RouterEndpoint.ts"
export { HttpSession } from "./session/HttpSession.ts"
export { refusalOf } from "./session/HttpSessions.ts"
export { type ManagedEndpoint, SessionManagers } from "./session/ManagedEndpoint.ts"
export { epochOf, type EventCursor, getStream, isGetStream, nameIn, requestsOf } from "./session/ResumableStream.ts"
export type { HeldSession, SessionManager } from "./session/SessionManager.ts"
