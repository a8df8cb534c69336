/**
 * HTTP with server-sent events (spec 2024-11-05: basic/transports), as in the SDK: one transport per stream. The program passes it the
 * messages that are posted to its session.
 */
import * as Framing from "@effect-mcp/core/Framing"
import type { ServerResponse } from "node:http"
import { messageOf, notify, report } from "../model/report.ts"
import type { AuthInfo } from "../model/types.ts"
import type { MessageExtra } from "../request/MessageExtra.ts"
import { decodedOf, decodeOnce } from "../server/messages.ts"
import type { Transport } from "../server/Transport.ts"
import type { NodeRequest } from "./requests.ts"
import { endpointRefusal } from "./validation.ts"

export interface SSEServerTransportOptions {
  /** Host names of the server in addition to loopback, or `*` for any. Other hosts get 403. */
  allowedHosts?: Array<string> | undefined
  /** Origins of other sites' pages, such as `https://example.com`, or `*` for any. Other origins get 403. */
  allowedOrigins?: Array<string> | undefined
  /** Whether to check host and origin. Default `true`; in the SDK `false`. */
  enableDnsRebindingProtection?: boolean | undefined
}

/** Reason and status of a rejected request. */
class Refusal extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const tooLarge = () => new Refusal(413, `The message is larger than ${Framing.defaultMaxMessageBytes} bytes`)

/** Reads a UTF-8 body. It may have at most as many bytes as any message. */
const textOf = async (request: NodeRequest): Promise<string> => {
  if (Number(request.headers["content-length"]) > Framing.defaultMaxMessageBytes) throw tooLarge()
  const chunks: Array<Buffer> = []
  let size = 0
  // Not destroyed if the loop ends early: the rejection is sent on the same socket.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length
    if (size > Framing.defaultMaxMessageBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))
}

/** Parses a body. Throws if it is not JSON. */
const parsed = (body: string): unknown => {
  const decoded = decodeOnce(body)
  return decoded._tag === "Message" ? decoded.message : JSON.parse(body)
}

const jsonType = /^application\/json\s*(?:;|$)/i

/** Path of an endpoint, with the id of its session. */
const pathOf = (endpoint: string, sessionId: string): string => {
  const url = new URL(endpoint, "http://localhost")
  url.searchParams.set("sessionId", sessionId)
  return url.pathname + url.search + url.hash
}

const urlOf = ({ headers: { host }, socket, url }: NodeRequest): URL | undefined => {
  const full = `${"encrypted" in socket ? "https" : "http"}://${host ?? ""}${url ?? ""}`
  return URL.canParse(full) ? new URL(full) : undefined
}

/** The stream of a GET and its session. Only the client that was authenticated for the GET may post to it. */
export class SSEServerTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: object, extra?: MessageExtra) => void) | undefined
  readonly sessionId: string = crypto.randomUUID()
  readonly #endpoint: string
  readonly #response: ServerResponse
  readonly #options: SSEServerTransportOptions
  #state: "new" | "open" | "closed" = "new"

  /** `endpoint` is the path for posting messages. The client receives it with the session's id. */
  constructor(endpoint: string, response: ServerResponse, options: SSEServerTransportOptions = {}) {
    this.#endpoint = endpoint
    this.#response = response
    this.#options = options
  }

  get #opener(): NodeRequest {
    return this.#response.req
  }

  /** Closes the transport if the client's request is invalid. Does not reject then, because programs do not catch that. */
  async start(): Promise<void> {
    if (this.#state !== "new") {
      throw new Error("SSEServerTransport is already started. Note that server.connect(transport) calls start()")
    }
    const response = this.#response
    try {
      this.#admit(this.#opener)
    } catch (error) {
      this.#refuse(response, error)
      this.#ended()
      return
    }
    // The `close` event has already fired.
    if (response.destroyed) {
      this.#ended()
      return
    }
    this.#state = "open"
    response.on("close", () => this.#ended())
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      connection: "keep-alive"
    })
    response.write(`event: endpoint\ndata: ${pathOf(this.#endpoint, this.sessionId)}\n\n`)
  }

  /** Answers a POST of the session. Pass the parsed body if it was already read. */
  async handlePostMessage(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void> {
    if (this.#state !== "open") {
      const message = "SSE connection not established"
      response.writeHead(500).end(message)
      throw new Error(message)
    }
    try {
      this.#admit(request)
      if (!jsonType.test(request.headers["content-type"] ?? "")) {
        const given = request.headers["content-type"] ?? "none"
        throw new Refusal(400, `Unsupported Content-Type: ${given}. Expected application/json`)
      }
      const body = parsedBody ?? (await textOf(request))
      const message = typeof body === "string" ? parsed(body) : body
      const requestInfo = { headers: request.headers, url: urlOf(request) }
      await this.handleMessage(message, { requestInfo, authInfo: request.auth })
    } catch (error) {
      this.#refuse(response, error)
      return
    }
    response.writeHead(202).end("Accepted")
  }

  /** Passes the server a message from the client, however it arrived. Rejects anything that is not a message. */
  async handleMessage(message: unknown, extra?: MessageExtra): Promise<void> {
    const decoded = decodedOf(message)
    if (decoded._tag === "InvalidMessage") throw new Refusal(400, `Invalid message: ${decoded.error.message}`)
    if (decoded._tag === "Message") this.onmessage?.(decoded.message, extra)
    else if (typeof message === "object" && message !== null) this.onmessage?.(message, extra)
  }

  /** Waits while the client reads slowly. */
  async send(message: object): Promise<void> {
    if (this.#state !== "open") throw new Error("The session's stream is closed")
    const response = this.#response
    if (response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`) || response.closed) return
    await new Promise<void>((resolve) => {
      const over = () => {
        response.off("drain", over).off("close", over)
        resolve()
      }
      response.on("drain", over).on("close", over)
    })
  }

  async close(): Promise<void> {
    this.#response.end()
    this.#ended()
  }

  #ended(): void {
    if (this.#state === "closed") return
    this.#state = "closed"
    notify(
      () => this.onclose?.(),
      (error) => report(this.onerror, error)
    )
  }

  #admit(request: NodeRequest): void {
    const { allowedHosts, allowedOrigins, enableDnsRebindingProtection = true } = this.#options
    const { ":authority": authority, host = authority, origin } = request.headers
    const names = enableDnsRebindingProtection
      ? { allowedHosts, allowedOrigins }
      : { allowedHosts: ["*"], allowedOrigins: ["*"] }
    const why = endpointRefusal(request, { host: host?.toString(), origin }, names)
    if (why !== undefined) throw new Refusal(403, why)
    const own: AuthInfo | undefined = this.#opener.auth
    if (request.auth?.clientId !== own?.clientId) throw new Refusal(403, "The session belongs to another client")
  }

  #refuse(response: ServerResponse, error: unknown): void {
    report(this.onerror, error)
    const { message, status } =
      error instanceof Refusal ? error : { status: 400, message: `Invalid message: ${messageOf(error)}` }
    response.writeHead(status, { "content-type": "text/plain" }).end(message)
  }
}
