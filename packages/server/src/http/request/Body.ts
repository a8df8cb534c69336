/**
 * The body of a POST, read up to a limit and decoded into messages.
 *
 * Owns the fast path for `node:http`: three listeners read a body, while Effect's stream takes some twenty steps and copies it twice. The
 * suites of `test/http` run over both.
 */
import * as Framing from "@effect-mcp/core/Framing"
import type { Decoded, Envelope } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Stream from "effect/Stream"
import type { IncomingMessage } from "node:http"
import type { Admission } from "./Admission.ts"
import { refuse, type ErrorResponse } from "../response/Responses.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true })
const notText = refuse(400, McpError.parseError("Parse error: not valid UTF-8"))
const unread = refuse(400, McpError.parseError("Parse error: the body could not be read"))

/** The result of reading a body. `Gone` means that the client hung up before the end. */
export type Read = Uint8Array | "TooLarge" | "Gone"

/** Called with the length of each part that arrives. Returns false if the body was cut off and the rest should be dropped. */
type OnPart = (length: number) => boolean

/** Collects the parts of a body, up to a limit. */
class Parts {
  private readonly parts: Array<Uint8Array> = []
  private size = 0
  private readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  /** Adds a part. Returns false if the body is larger than the limit. */
  add(part: Uint8Array): boolean {
    this.size += part.length
    if (this.size > this.limit) return false
    this.parts.push(part)
    return true
  }

  get whole(): Uint8Array {
    const [first = new Uint8Array(0)] = this.parts
    return this.parts.length > 1 ? joinedOf(this.parts, this.size) : first
  }
}

/** Joins parts without Node's `Buffer`, which Workers lack. */
const joinedOf = (parts: ReadonlyArray<Uint8Array>, size: number): Uint8Array => {
  const whole = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Reads the body from Node and calls `done` once, unless the body was cut off. Returns a function that stops reading. */
export const collect = (
  source: IncomingMessage,
  limit: number,
  done: (read: Read) => void,
  received: OnPart
): (() => void) => {
  const parts = new Parts(limit)
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
    if (!received(part.length)) stop()
    else if (!parts.add(part)) finish("TooLarge")
  }
  const end = (): void => finish(parts.whole)
  const gone = (): void => finish("Gone")
  source.on("data", data)
  source.on("end", end)
  source.on("close", gone)
  return stop
}

/** Number of bytes of a rejected body that are read and dropped, so that a client that is still sending can read the response. */
const discardedAtMost = 4 * 1024 * 1024

/** Drops the rest of a rejected body, and calls `cut` if the client keeps sending. Must be called before the response is written. */
export const discard = (source: IncomingMessage, cut: () => void): void => {
  let size = 0
  const data = (part: Uint8Array): void => {
    size += part.length
    if (size <= discardedAtMost) return
    source.off("data", data)
    cut()
  }
  source.on("data", data)
}

/** Returns Node's request for HTTP/1.1 with an unread body and without `Expect` and `Upgrade` headers. */
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

/**
 * Decodes the messages in a body, or returns the error response if it is not text. Text that is not JSON-RPC becomes an
 * `InvalidMessage`.
 */
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

/** Drops the body of a request that was rejected before it was read, like `discard`. */
export const discardUnread = (request: HttpServerRequest): void => {
  const source = nodeSource(request)
  if (source !== undefined) discard(source, () => source.destroy())
}

/** Reads a stream to its end, or up to the part that exceeds the limit. */
const readStream = (request: HttpServerRequest, limit: number, received: OnPart): Effect.Effect<Read> =>
  Effect.suspend(() => {
    const parts = new Parts(limit)
    const keep = (part: Uint8Array): Effect.Effect<void, "TooLarge"> => {
      // Cutting the body off has interrupted this fiber.
      if (!received(part.length)) return Effect.never
      return parts.add(part) ? Effect.void : Effect.fail("TooLarge")
    }
    return Effect.match(Stream.runForEach(request.stream, keep), {
      onFailure: (error): Read => (error === "TooLarge" ? error : "Gone"),
      onSuccess: (): Read => parts.whole
    })
  })

/**
 * Creates a function that reads a body and continues with `then`. `received` counts its parts. `gone` is called if reading is interrupted
 * before `then` begins, and may be called later too.
 */
export const reader =
  ({ maxMessageBytes }: Admission) =>
  <A, R>(
    request: HttpServerRequest,
    then: (read: Read) => Effect.Effect<A, never, R>,
    received: OnPart,
    gone: () => void
  ): Effect.Effect<A, never, R> => {
    const source = nodeSource(request)
    if (source === undefined) {
      const answer = Effect.flatMap(readStream(request, maxMessageBytes, received), then)
      return Effect.onInterrupt(answer, () => Effect.sync(gone))
    }
    return Effect.callback<A, never, R>((resume) => {
      const stop = collect(
        source,
        maxMessageBytes,
        (read) => {
          if (read === "TooLarge") discard(source, () => source.destroy())
          resume(then(read))
        },
        received
      )
      // A connection cannot be reused if its body was not read to the end.
      return Effect.sync(() => {
        stop()
        source.destroy()
        gone()
      })
    })
  }
