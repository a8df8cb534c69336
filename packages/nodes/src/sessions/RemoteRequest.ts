/** A request for a session that is not held here. Its body is only read if needed, because the node that holds the session reads it. */
import type { Decoded } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { decode, type HttpExchange, type HttpRequest, type ManagedEndpoint } from "@effect-mcp/server/internal/sharing"
import { isHttpServerResponse } from "effect/http/HttpServerResponse"

export class RemoteRequest {
  readonly http: HttpRequest
  /** Undefined for a request without a body. */
  readonly body: Uint8Array | undefined
  readonly exchange: HttpExchange
  private readonly admission: ManagedEndpoint["admission"]
  private read: Decoded | undefined = undefined

  constructor(
    http: HttpRequest,
    body: Uint8Array | undefined,
    exchange: HttpExchange,
    admission: ManagedEndpoint["admission"]
  ) {
    this.http = http
    this.body = body
    this.exchange = exchange
    this.admission = admission
  }

  /** Undefined if it cannot be read. */
  get decoded(): Decoded | undefined {
    if (this.read !== undefined || this.body === undefined) return this.read
    const decoded = decode(this.body, this.http, this.admission)
    return (this.read = isHttpServerResponse(decoded) ? undefined : decoded)
  }

  /** The requests in the body. */
  get ids(): ReadonlyArray<JsonRpc.Id> {
    const { decoded } = this
    if (decoded === undefined) return []
    return (decoded._tag === "Batch" ? decoded.members : [decoded]).flatMap((single) =>
      single._tag === "Message" && JsonRpc.isRequest(single.message) ? [single.message.id] : []
    )
  }

  get isBatch(): boolean {
    return this.decoded?._tag === "Batch"
  }

  /** True if it can safely be sent to another node even though it may already have run. */
  get isRepeatable(): boolean {
    return this.http.method === "GET" || this.http.method === "DELETE"
  }
}
