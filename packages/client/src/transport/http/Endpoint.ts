/**
 * The server's endpoint: its URL, the user's headers, and those of the session once it is open.
 *
 * Owns the session's id and revision.
 */
import * as MetadataHeaders from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { type RequestHeaders, TransportError } from "@effect-mcp/core/Transport"
import { protocolVersion } from "@effect-mcp/protocol/model/Meta"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Body from "./Body.ts"
import * as RetryAfter from "./RetryAfter.ts"
import * as SameOrigin from "./SameOrigin.ts"
import type { HttpFailure, RequestToServer, HttpResponse, HttpSender } from "./HttpSender.ts"

type Answer = Effect.Effect<HttpResponse, HttpFailure>

/** Whether the message is of the stateless era (2026-07-28), and belongs to no session. */
export const isStateless = (message: JsonRpc.Request | JsonRpc.Notification): boolean => {
  const meta = message.params?._meta
  return isJsonObject(meta) && typeof meta[protocolVersion] === "string"
}

const traceNames = ["traceparent", "tracestate", "baggage"]

/** The trace context in `_meta` of a request, as headers: for proxies and servers that read only these. */
const traceHeaders = (message: JsonRpc.Request): RequestHeaders => {
  const meta = message.params?._meta
  if (!isJsonObject(meta) || typeof meta["traceparent"] !== "string") return {}
  return Object.fromEntries(
    traceNames.flatMap((name) => {
      const value = meta[name]
      return typeof value === "string" && /^[ -~]*$/.test(value) ? [[name, value]] : []
    })
  )
}

/** Options that no transport can be opened with. */
const refuse = (message: string): TransportError => new TransportError({ reason: "Open", message })

/** The URL that an option has. One with a password is refused: `fetch` does not send it, and its errors show it. */
export const parse = (option: string | URL): Effect.Effect<URL, TransportError> => {
  if (!URL.canParse(String(option))) return Effect.fail(refuse(`Not a URL: ${JSON.stringify(option)}`))
  const url = new URL(option)
  return url.username + url.password === ""
    ? Effect.succeed(url)
    : Effect.fail(
        refuse(
          "A URL with a user or password is not used: give them in the option `headers`, as `authorization: Basic ...`"
        )
      )
}

/** Headers as an option has them; one without a value is not sent. */
export type HeadersOption = { readonly [name: string]: string | undefined }

/** The headers that an option has, as requests have them: their names in lower case. */
export const sendable = (headers: HeadersOption): Effect.Effect<RequestHeaders, TransportError> =>
  Effect.try({
    try: () => {
      const all = new Headers()
      for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.append(name, value)
      return Object.fromEntries(all)
    },
    // Without the platform's error, which may hold a token.
    catch: () =>
      refuse(
        "The option `headers` has a name or value that HTTP cannot send: look for line breaks or letters beyond Latin-1"
      )
  })

/** A URL without its query, which may hold a secret. */
export const placeOf = ({ origin, pathname }: URL): string => `${origin}${pathname}`

const json = "application/json"
const eventStream = "text/event-stream"

export class RemoteEndpoint {
  /** The session id, if the server gave one with its answer to `initialize`. */
  session: string | undefined = undefined
  /** The revision that `initialize` negotiated. */
  version: string | undefined = undefined
  readonly url: URL
  private readonly send: HttpSender
  private readonly shared: RequestHeaders
  private readonly propagates: boolean

  /**
   * `shared`: headers of every request, their names in lower case. `propagates`: whether requests have the headers of their trace
   * context. Default true.
   */
  constructor(send: HttpSender, url: URL, shared: RequestHeaders = {}, propagates = true) {
    this.send = send
    this.propagates = propagates
    this.url = url
    this.shared = shared
  }

  /** Forgets session and revision, before another `initialize`. */
  forgetSession(): void {
    this.session = undefined
    this.version = undefined
  }

  private get ofSession(): { readonly [name: string]: string } {
    return {
      ...(this.version === undefined ? undefined : { [MetadataHeaders.version]: this.version }),
      ...(this.session === undefined ? undefined : { "mcp-session-id": this.session })
    }
  }

  private execute(request: RequestToServer): Answer {
    return RetryAfter.retry(SameOrigin.follow(this.send, request))
  }

  /** Posts one message, or a batch. `extra`: headers of this request alone, their names in lower case. */
  post(message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>, text: string, extra?: RequestHeaders): Answer {
    const request = JsonRpc.isBatch(message) || !JsonRpc.isRequest(message) ? undefined : message
    const own =
      !JsonRpc.isBatch(message) && "method" in message && isStateless(message)
        ? MetadataHeaders.of(message)
        : request?.method === "initialize"
          ? undefined
          : this.ofSession
    const headers = {
      ...(request === undefined || !this.propagates ? undefined : traceHeaders(request)),
      ...this.shared,
      ...extra,
      ...own,
      accept: `${json}, ${eventStream}`,
      "content-type": json
    }
    return this.execute({ method: "POST", url: this.url, headers, body: text })
  }

  /** Opens the session's standalone stream, or resumes a stream after `lastEventId`. */
  get(lastEventId: string | undefined): Answer {
    const resumed = lastEventId === undefined ? undefined : { "last-event-id": lastEventId }
    const headers = { ...this.shared, ...this.ofSession, ...resumed, accept: eventStream }
    return this.execute({ method: "GET", url: this.url, headers })
  }

  /** Ends the session. */
  remove(): Effect.Effect<void, HttpFailure> {
    const headers = { ...this.shared, ...this.ofSession }
    return Effect.flatMap(this.execute({ method: "DELETE", url: this.url, headers }), (answer) => Body.skip(answer))
  }
}
