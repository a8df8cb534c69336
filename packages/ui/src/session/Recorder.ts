/** Records a connection's messages for the page: direction, time, run, revision, and headers over HTTP. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { HttpInfo, WireEntry } from "../messages/Events.ts"
import { type Board, cut } from "./Board.ts"

/** Maximum length of a message that the page shows, in characters. */
const mostText = 512 * 1024
/** Maximum length of a method or ID that the page shows, in characters. */
const mostName = 200
/** Maximum number of unanswered requests to remember. */
const mostOpen = 10_000

const secret = /auth|cookie|credential|key|passw|secret|signature|token/i
/** Challenges, which describe a login and contain no secret. */
const challenge = /-authenticate$/i

/** Headers with their secrets masked. The scheme of a credential is kept. */
export const masked = (headers: Iterable<readonly [string, string]>): { readonly [name: string]: string } =>
  Object.fromEntries(
    [...headers].map(([name, value]) => [
      name,
      secret.test(name) && !challenge.test(name)
        ? value.replace(/^(?:(Bearer|Basic|DPoP)\s+)?.*$/is, (_, scheme) => `${scheme ?? ""} •••`.trim())
        : value
    ])
  )

/** A request that is waiting for its answer. */
interface Asked {
  readonly method: string
  readonly at: number
  readonly run: number | undefined
}

/** A message from HTTP may be nested too deeply, because it is recorded before the client checks it. */
const jsonOf = (json: unknown): string => {
  try {
    return JSON.stringify(json) ?? ""
  } catch {
    return "(nested too deeply to show)"
  }
}

let entries = 0

export class WireRecorder {
  private readonly asked = new Map<string, Asked>()
  private readonly runOfRequest = new Map<JsonRpc.Id, number>()
  private readonly runOfToken = new Map<unknown, number>()
  private readonly board: Board
  private readonly now: () => number

  constructor(board: Board, now: () => number) {
    this.board = board
    this.now = now
  }

  /** Records that the request with this ID, which is about to be sent, belongs to a run. */
  belongs(run: number, id: JsonRpc.Id): void {
    this.runOfRequest.set(id, run)
  }

  /** The run of a request that was sent. */
  runOf(id: JsonRpc.Id | undefined): number | undefined {
    return id === undefined ? undefined : this.runOfRequest.get(id)
  }

  /** Records one message, or each message of a batch. */
  message(from: WireEntry["from"], json: unknown, http?: HttpInfo, relatedTo?: JsonRpc.Id): void {
    if (Array.isArray(json)) return json.forEach((member) => this.message(from, member, http, relatedTo))
    const message = JsonRpc.classify(json)
    if (JsonRpc.isInvalid(message)) return this.text(from, jsonOf(json), http)
    if (!JsonRpc.isResponse(message)) {
      const { method, params } = message
      const rpcId = JsonRpc.isRequest(message) ? message.id : undefined
      const run = this.runOfParams(from, rpcId, params) ?? this.runOf(relatedTo)
      if (rpcId !== undefined) this.remember(from, rpcId, { method, at: this.now(), run })
      return this.add({ from, kind: rpcId === undefined ? "notification" : "request", method, rpcId, run, http }, json)
    }
    const rpcId = message.id ?? undefined
    const key = `${from === "server" ? "client" : "server"} ${JSON.stringify(rpcId)}`
    const asked = this.asked.get(key)
    this.asked.delete(key)
    this.add(
      {
        from,
        kind: "error" in message ? "error" : "result",
        method: asked?.method,
        rpcId,
        run: asked?.run,
        took: asked && this.now() - asked.at,
        http
      },
      json
    )
  }

  /** Records input that is not a message. */
  text(from: WireEntry["from"], text: string, http?: HttpInfo): void {
    this.push({ from, kind: "invalid", http }, text)
  }

  /** Records an HTTP response without a message. */
  response(http: HttpInfo, body: string, run?: number): void {
    this.push({ from: "server", kind: "http", method: http.method, http, run }, body)
  }

  private runOfParams(from: WireEntry["from"], id: JsonRpc.Id | undefined, params: unknown): number | undefined {
    if (!isJsonObject(params)) return from === "client" ? this.runOf(id) : undefined
    const { progressToken } = params
    if (from === "server") return this.runOfToken.get(progressToken)
    const { _meta, requestId } = params
    if (JsonRpc.isId(requestId)) return this.runOf(requestId)
    const run = this.runOf(id)
    if (run !== undefined && isJsonObject(_meta)) this.runOfToken.set(_meta["progressToken"], run)
    return run
  }

  private remember(from: WireEntry["from"], id: JsonRpc.Id, asked: Asked): void {
    if (this.asked.size < mostOpen) this.asked.set(`${from} ${JSON.stringify(id)}`, asked)
  }

  private add(entry: Omit<WireEntry, "at" | "bytes" | "id" | "revision" | "text">, json: unknown): void {
    this.push(entry, jsonOf(json))
  }

  private push(entry: Omit<WireEntry, "at" | "bytes" | "id" | "revision" | "text">, whole: string): void {
    const { method, rpcId } = entry
    this.board.wire({
      ...entry,
      id: ++entries,
      at: this.now(),
      bytes: Buffer.byteLength(whole),
      revision: this.board.state.connection.revision,
      method: method && cut(method, mostName),
      rpcId: typeof rpcId === "string" ? cut(rpcId, mostName) : rpcId,
      text: cut(whole, mostText)
    })
  }
}
