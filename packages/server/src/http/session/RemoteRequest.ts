/** A request of a session that is not held here. Its body is read only where that is needed: the node that holds the session reads it. */
import type { Decoded } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isHttpServerResponse } from "effect/http/HttpServerResponse"
import type { Admission } from "../request/Admission.ts"
import { isModern } from "../../dispatch/StatelessEra.ts"
import * as Body from "../request/Body.ts"
import type { HttpExchange } from "../request/HttpExchange.ts"
import type { HttpRequest } from "../request/HttpRequest.ts"

export class RemoteRequest {
  readonly http: HttpRequest
  /** Undefined for a request without a body. */
  readonly body: Uint8Array | undefined
  readonly exchange: HttpExchange
  private readonly admission: Admission
  private read: Decoded | undefined = undefined

  constructor(http: HttpRequest, body: Uint8Array | undefined, exchange: HttpExchange, admission: Admission) {
    this.http = http
    this.body = body
    this.exchange = exchange
    this.admission = admission
  }

  /** Undefined where it cannot be read. */
  get decoded(): Decoded | undefined {
    if (this.read !== undefined || this.body === undefined) return this.read
    const decoded = Body.decode(this.body, this.http, this.admission)
    return (this.read = isHttpServerResponse(decoded) ? undefined : decoded)
  }

  /** Whether the body is a request of the stateless era. */
  get isModern(): boolean {
    const { decoded } = this
    return decoded?._tag === "Message" && JsonRpc.isRequest(decoded.message) && isModern(decoded.message)
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

  /** Whether it may be sent to another node although it may have run. */
  get isRepeatable(): boolean {
    return this.http.method === "GET" || this.http.method === "DELETE"
  }
}
