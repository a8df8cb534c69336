/** The body of a POST: read up to a limit, and taken apart into messages. */
import * as Framing from "@effect-mcp/core/Framing"
import type { Decoded, Envelope } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Admission } from "./Admission.ts"
import { refuse, type Refusal } from "./Refusal.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Reads what was posted. What is no JSON-RPC is decoded, too: it says itself what is wrong with it. */
export const reader = ({ maxMessageBytes, tooLarge }: Admission) => {
  const limit = ByteSize.bytes(maxMessageBytes)
  const unread = ({ reason }: HttpServerError): Refusal =>
    reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
      ? tooLarge
      : refuse(400, McpError.parseError("Parse error: the body could not be read"))
  return (request: HttpServerRequest, envelope: Envelope): Effect.Effect<Decoded, Refusal> =>
    Effect.matchEffect(Effect.provideService(request.arrayBuffer, MaxBodySize, limit), {
      onFailure: (error) => Effect.fail(unread(error)),
      onSuccess: (body) => {
        let text: string
        try {
          text = utf8.decode(body)
        } catch {
          return Effect.fail(refuse(400, McpError.parseError("Parse error: this is not UTF-8")))
        }
        return Effect.succeed(Framing.decode(text, envelope))
      }
    })
}
