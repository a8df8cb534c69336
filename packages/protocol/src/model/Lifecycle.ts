/** The handshake that opens a stateful session. */
import * as Schema from "effect/Schema"
import { ClientCapabilities, ServerCapabilities } from "./Capabilities.ts"
import { Implementation } from "./Implementation.ts"
import { metaFields, requestFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

/** Params of `initialize`. `protocolVersion` is the newest stateful revision the client supports. */
export const InitializeParams = struct("InitializeParams", {
  ...requestFields,
  protocolVersion: Schema.String,
  capabilities: ClientCapabilities,
  clientInfo: Implementation
})
export type InitializeParams = typeof InitializeParams.Type

/** Result of `initialize`. `protocolVersion` is the session's revision; `instructions` are for the model. */
export const InitializeResult = struct("InitializeResult", {
  ...metaFields,
  protocolVersion: Schema.String,
  capabilities: ServerCapabilities,
  serverInfo: Implementation,
  instructions: Schema.optionalKey(Schema.String)
})
export type InitializeResult = typeof InitializeResult.Type
