/**
 * The body of a POST: read up to a limit, and decoded into messages.
 *
 * Owns the fast path of `node:http`: three listeners read a body, where Effect's stream takes some twenty steps and copies it twice. The
 * suites of `test/http` run over both.
 */
import * as Framing from "@effect-mcp/core/Framing"
import type { Decoded, Envelope } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { IncomingMessage } from "node:http"
import type { Admission } from "./Admission.ts"
import { refuse, type ErrorResponse } from "../response/Responses.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true })
const notText = refuse(400, McpError.parseError("Parse error: this is not UTF-8"))
const unread = refuse(400, McpError.parseError("Parse error: the body could not be read"))

/** A body that was read; `Gone`: the client hung up before its end. */
export type Read = Uint8Array | "TooLarge" | "Gone"

/** Reads what Node receives and calls `done` once. The result stops the reading. */
export const collect = (source: IncomingMessage, limit: number, done: (read: Read) => void): (() => void) => {
  let first: Uint8Array | undefined
  let parts: Array<Uint8Array> | undefined
  let joined = 0
  let size = 0
  const stop = (): void => {
    source.off("data", data)
    source.off("end", end)
    source.off("close", gone)
  }
  const finish = (read: Read): void => {
    stop()
    done(read)
  }
  const data = (part: Uint8Array): void => {
    size += part.length
    if (size > limit) return finish("TooLarge")
    if (first === undefined) first = part
    else if ((parts ??= [first]).push(part) - joined > tooMany) parts.push(Buffer.concat(parts.splice(joined++)))
  }
  const end = (): void => finish(parts === undefined ? (first ?? nothing) : Buffer.concat(parts, size))
  const gone = (): void => finish("Gone")
  source.on("data", data)
  source.on("end", end)
  source.on("close", gone)
  return stop
}

const nothing = new Uint8Array(0)
const ignored = (): void => {}
/** Parts of a body before they are joined: each costs some hundred bytes, however small it is. */
const tooMany = 1024

/** Node's request, for HTTP/1.1 with an unread body and without `Expect` and `Upgrade` headers. */
const nodeSource = ({ headers, source }: HttpServerRequest): IncomingMessage | undefined =>
  isIncomingMessage(source) &&
  source.httpVersionMajor === 1 &&
  source.readableFlowing === null &&
  headers["expect"] === undefined &&
  headers["upgrade"] === undefined
    ? source
    : undefined

const isIncomingMessage = (source: object): source is IncomingMessage =>
  "httpVersionMajor" in source && "readableFlowing" in source

/** The messages of a body, or the error response to one that is no text. A text that is no JSON-RPC is an `InvalidMessage`. */
export const decode = (
  body: Read,
  envelope: Envelope,
  { maxMessageDepth, tooLarge }: Admission
): Decoded | ErrorResponse => {
  if (body === "TooLarge") return tooLarge
  if (body === "Gone") return unread
  let text: string
  try {
    text = utf8.decode(body)
  } catch {
    return notText
  }
  return Framing.decode(text, envelope, maxMessageDepth)
}

/** Reads a body and continues with `then`. `gone` is called when that is interrupted before `then` has begun, and maybe later. */
export const reader = (admission: Admission) => {
  const { maxMessageBytes } = admission
  const limit = ByteSize.bytes(maxMessageBytes)
  const failed = ({ reason }: HttpServerError): Read =>
    reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge" ? "TooLarge" : "Gone"
  return <A, R>(
    request: HttpServerRequest,
    then: (read: Read) => Effect.Effect<A, never, R>,
    gone: () => void = ignored
  ): Effect.Effect<A, never, R> => {
    const source = nodeSource(request)
    if (source === undefined) {
      const answer = Effect.matchEffect(Effect.provideService(request.arrayBuffer, MaxBodySize, limit), {
        onFailure: (error) => then(failed(error)),
        onSuccess: (body) => then(new Uint8Array(body))
      })
      return Effect.onInterrupt(answer, () => Effect.sync(gone))
    }
    return Effect.callback<A, never, R>((resume) => {
      const stop = collect(source, maxMessageBytes, (read) => {
        // The rest is discarded, so that the client can read the response.
        if (read === "TooLarge") source.resume()
        resume(then(read))
      })
      // A connection in the middle of a body cannot be used again.
      return Effect.sync(() => {
        stop()
        source.destroy()
        gone()
      })
    })
  }
}
