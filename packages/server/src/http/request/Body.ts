/**
 * The body of a POST: read up to a limit, and taken apart into messages.
 *
 * Owns the fast path of Node: there a body is read with three listeners, where the way that suits every platform takes some twenty steps
 * and copies it twice. A test holds both against each other.
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

/** What became of a body. */
export type Read = Uint8Array | "TooLarge" | "Gone"

/** Reads what Node receives, and says once what became of it. The function it returns stops that. */
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
/** What comes in parts of a byte is put together on the way: a part takes some hundred bytes, whatever is in it. */
const tooMany = 1024

/** Where Node receives it, if it does, over HTTP/1.1, and nobody has read it or waits to be told that it may come. */
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

/** What was posted, or why it cannot be read. What is no JSON-RPC is decoded, too: it says itself what is wrong with it. */
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

/** Reads what was posted, and goes on with that. `gone` is called where it is interrupted before, or maybe meanwhile: it must not mind. */
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
        // The rest of it is thrown away, so that its sender comes to read the answer.
        if (read === "TooLarge") source.resume()
        resume(then(read))
      })
      // There is no use for a connection in the middle of a message.
      return Effect.sync(() => {
        stop()
        source.destroy()
        gone()
      })
    })
  }
}
