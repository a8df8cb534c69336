/**
 * The server's endpoint: its URL, the user's headers, and the session's headers once it is open.
 *
 * Tracks the session's ID and revision.
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

/** True if the message belongs to the stateless era (2026-07-28) and therefore to no session. */
export const isStateless = (message: JsonRpc.Request | JsonRpc.Notification): boolean => {
  const meta = message.params?._meta
  return isJsonObject(meta) && typeof meta[protocolVersion] === "string"
}

const traceNames = ["traceparent", "tracestate", "baggage"]

/** Returns the trace context from a request's `_meta` as headers, for proxies and servers that only read headers. */
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

/** Creates the error for options that don't allow opening a transport. */
const refuse = (message: string): TransportError => new TransportError({ reason: "Open", message })

/** Parses a URL option. Rejects a URL with a password, because `fetch` does not send passwords and shows them in errors. */
export const parse = (option: string | URL): Effect.Effect<URL, TransportError> => {
  if (!URL.canParse(String(option))) return Effect.fail(refuse(`Not a valid URL: ${JSON.stringify(option)}`))
  const url = new URL(option)
  return url.username + url.password === ""
    ? Effect.succeed(url)
    : Effect.fail(
        refuse(
          "The URL must not contain a user or password. Pass them in the `headers` option, as `authorization: Basic ...`"
        )
      )
}

/** Headers option. A header without a value is not sent. */
export type HeadersOption = { readonly [name: string]: string | undefined }

/** Converts a headers option to request headers with lower-case names. */
export const sendable = (headers: HeadersOption): Effect.Effect<RequestHeaders, TransportError> =>
  Effect.try({
    try: () => {
      const all = new Headers()
      for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.append(name, value)
      return Object.fromEntries(all)
    },
    // Without the platform's error, which may contain a token.
    catch: () =>
      refuse(
        "The `headers` option has a name or value that cannot be sent over HTTP. Look for line breaks or characters outside Latin-1"
      )
  })

/** Returns a URL without its query, which may contain a secret. */
export const placeOf = ({ origin, pathname }: URL): string => `${origin}${pathname}`

const json = "application/json"
const eventStream = "text/event-stream"

export class RemoteEndpoint {
  /** The session id, if the server's answer to `initialize` contains one. */
  session: string | undefined = undefined
  /** The revision that `initialize` negotiated. */
  version: string | undefined = undefined
  readonly url: URL
  private readonly send: HttpSender
  private readonly shared: RequestHeaders
  private readonly propagates: boolean

  /**
   * `shared` are the headers for every request, with lower-case names. `propagates` says whether requests carry their trace context as
   * headers. Default true.
   */
  constructor(send: HttpSender, url: URL, shared: RequestHeaders = {}, propagates = true) {
    this.send = send
    this.propagates = propagates
    this.url = url
    this.shared = shared
  }

  /** Forgets the session and its revision, before another `initialize`. */
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

  /** Posts one message or a batch. `extra` are headers for this request only, with lower-case names. */
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

  /** Closes the session. */
  remove(): Effect.Effect<void, HttpFailure> {
    const headers = { ...this.shared, ...this.ofSession }
    return Effect.flatMap(this.execute({ method: "DELETE", url: this.url, headers }), (answer) => Body.skip(answer))
  }
}
