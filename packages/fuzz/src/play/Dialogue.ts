/**
 * The client's side of a conversation over HTTP: sends a POST for each message, tracks the session, and opens, cuts and resumes streams.
 *
 * Turns responses into observations and messages. The player judges them and has all timers.
 */
import { type HeaderParam, parse as headerParams } from "@effect-mcp/protocol/HeaderParams"
import * as MirrorHeaders from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { type Call, type CallHeaders, isStream } from "../model/Call.ts"
import { type Model } from "../model/Model.ts"
import type { Deviation } from "../model/Script.ts"
import { carried, type ReceiverListener, MessageReceiver, sessionHeader } from "./Receiver.ts"
import type { HttpWire } from "../target/Target.ts"
import { at, parse } from "../model/json.ts"

const unknownSession = "fuzz-0000-no-such-session"
const accepts = "application/json, text/event-stream"

/** A message before headers are added. */
type Message = Pick<Call, "method" | "carries" | "exchange" | "exchanges" | "resumes"> & {
  readonly body: string | undefined
}

export class Dialogue {
  readonly calls: Array<Call> = []
  private readonly cuts = new Map<Call, () => void>()
  private readonly receiver: MessageReceiver
  /** True once traffic is no longer part of the conversation. */
  private isQuiet = false
  private readonly wire: HttpWire
  private readonly model: Model
  private readonly to: ReceiverListener

  constructor(wire: HttpWire, model: Model, to: ReceiverListener) {
    this.wire = wire
    this.model = model
    this.to = { ...to, note: (from, text) => this.note(to, from, text) }
    this.receiver = new MessageReceiver({ model, to: this.to, isNewId: wire.isNewId })
  }

  /** True if a DELETE ended the session. */
  get isEnded(): boolean {
    return this.receiver.isEnded
  }

  /** True while some response has not begun. */
  get isPending(): boolean {
    return this.calls.some(
      ({ ended, method, status }) => status === undefined && ended === undefined && method !== "GET"
    )
  }

  private get stateless(): boolean {
    return this.model.revision.era === "stateless"
  }

  /** Sends a message. */
  post(text: string, deviation?: Deviation): void {
    const json = parse(text)
    const carries = carried(json)
    const before = this.model.exchanges.length
    this.model.sent(text, deviation === undefined && (this.isEnded ? carries === "other" : true))
    const exchanges = this.model.exchanges.slice(before)
    const exchange = carries === "batch" ? undefined : exchanges[0]
    const headers = { accept: accepts, "content-type": "application/json", ...this.mirrored(json) }
    const isFirst = at(json, "method") === "initialize"
    this.send(
      { method: "POST", carries, exchange, exchanges, resumes: undefined, body: text },
      headers,
      deviation,
      isFirst
    )
  }

  /** Opens a stream for messages that the server sends on its own. */
  listen(deviation?: Deviation): void {
    this.get(undefined, {}, deviation)
  }

  /** Ends the session. */
  remove(deviation?: Deviation): void {
    if (this.receiver.id === undefined || this.isEnded) return
    const opening = { method: "DELETE", carries: "nothing", exchange: undefined, resumes: undefined } as const
    this.send({ ...opening, exchanges: [], body: undefined }, this.version(), deviation)
  }

  /** Closes the connection of a stream. Default: the newest open stream. */
  cut(call = this.calls.findLast((call) => call.ended === undefined && isStream(call))): void {
    if (call === undefined || call.ended !== undefined) return
    call.ended = "client"
    this.cuts.get(call)?.()
    this.to.note("client", `the connection of ${shown(call)} is closed`)
    if (call.exchange !== undefined) call.exchange.cancelled = true
  }

  /** Resumes a stream, after closing its connection if it is open. Default: the newest stream that can be resumed. */
  reconnect(given?: Call): void {
    const call = given ?? this.calls.findLast((call) => call.ended !== "server" && call.lastEventId !== undefined)
    if (call?.lastEventId === undefined) return
    this.cut(call)
    this.get(call.resumes ?? call, { "last-event-id": call.lastEventId })
  }

  /** Streams that ended before the response to their request, and can be resumed. */
  get unfinished(): ReadonlyArray<Call> {
    const resumed = new Set(this.calls.map(({ resumes }) => resumes))
    return this.calls.filter(
      (call) =>
        call.ended === "server" &&
        call.lastEventId !== undefined &&
        call.exchange?.answer === undefined &&
        call.exchange?.cancelled === false &&
        !resumed.has(call)
    )
  }

  private note(to: ReceiverListener, from: "client" | "server", text: string): void {
    if (!this.isQuiet) to.note(from, text)
  }

  private version(): CallHeaders {
    const { agreed, revision } = this.model
    return this.stateless
      ? { [MirrorHeaders.version]: revision.version }
      : agreed === undefined || agreed < "2025-06-18"
        ? {}
        : { [MirrorHeaders.version]: agreed }
  }

  private mirrored(json: unknown): CallHeaders {
    if (!this.stateless) return this.version()
    const message = JsonRpc.classify(json)
    if (JsonRpc.isInvalid(message) || !("method" in message)) return this.version()
    const task = /^tasks\/(get|update|cancel)$/.test(message.method) ? at(message.params, "taskId") : undefined
    return {
      ...this.version(),
      ...MirrorHeaders.of(message, this.params(message)),
      // The table of methods does not cover extensions, so the name is encoded here.
      ...(typeof task === "string" ? { [MirrorHeaders.name]: MirrorHeaders.encode(task) } : undefined)
    }
  }

  private params({
    method,
    params
  }: {
    readonly method: string
    readonly params?: unknown
  }): ReadonlyArray<HeaderParam> {
    const tool = method === "tools/call" ? this.model.tools.get(String(at(params, "name"))) : undefined
    return tool === undefined ? [] : headerParams(tool.inputSchema).params
  }

  private get(resumes: Call | undefined, more: CallHeaders, deviation?: Deviation): void {
    const headers = { accept: "text/event-stream", ...this.version(), ...more }
    this.send(
      { method: "GET", carries: "nothing", exchange: undefined, exchanges: [], resumes, body: undefined },
      headers,
      deviation
    )
  }

  private send(
    message: Message,
    usual: CallHeaders,
    { headers = {}, session: kind }: Deviation = {},
    isFirst = false
  ): void {
    const id = kind === "unknown" ? unknownSession : kind === "none" || isFirst ? undefined : this.receiver.id
    const all = Object.entries({ ...usual, ...(id === undefined ? undefined : { [sessionHeader]: id }), ...headers })
    const sent = Object.fromEntries(all.flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])))
    const { body, ...opening } = message
    const call = this.receiver.begin({
      ...opening,
      headers: sent,
      right: kind === undefined && Object.keys(headers).length === 0,
      command: this.model.command
    })
    this.calls.push(call)
    const odd = [...all.filter(([name]) => name in headers), ...all.filter(([name]) => name === "last-event-id")]
    const differences = odd.map(([name, value]) => ` ${name}: ${value ?? "(none)"}`).join("")
    const which = call.session === "own" || id === undefined ? "" : ` (session: ${call.session})`
    const text = body === undefined ? "" : ` ${body}`
    this.to.note("client", `${opening.method}${which}${differences}${text}`)
    this.cuts.set(
      call,
      this.wire.begin({ method: call.method, headers: sent, body: body }, (event) => this.receiver.receive(call, event))
    )
  }

  /** Ends every session, and closes every connection that is still open. */
  leave(): void {
    this.isQuiet = true
    for (const call of this.calls) if (call.ended === undefined) this.cut(call)
    for (const id of this.receiver.ids) {
      this.receiver.id = id
      this.receiver.isEnded = false
      this.remove()
    }
  }
}

const shown = ({ exchange, method }: Call): string => exchange?.method ?? method
