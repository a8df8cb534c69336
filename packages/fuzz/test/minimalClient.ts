/** A minimal client of the stateful revisions, written without this project: correct, or with a single fault. */
import * as FuzzClient from "@effect-mcp/fuzz/FuzzClient"
import { Data, Effect } from "effect"

type Json = any

/** How the client differs from a correct one. */
export interface Faults {
  /** Uses this id for every request. */
  readonly sameId?: boolean
  /** Sends `tools/list` before `initialize` is answered. */
  readonly hurries?: boolean
  /** Sends another request first. */
  readonly skipsInitialize?: boolean
  /** Accepts any version that the server chooses. */
  readonly takesAnyVersion?: boolean
  /** Reads pages as long as there is a cursor. */
  readonly readsOn?: boolean
  /** Only understands JSON. */
  readonly jsonOnly?: boolean
  /** Uses the same progress token for every call. */
  readonly sameToken?: boolean
  readonly fractionalToken?: boolean
  /** Crashes on an unknown notification. */
  readonly knowsAll?: boolean
  /** Crashes on a comment in a stream. */
  readonly naiveSse?: boolean
  /** Reads results without validating them. */
  readonly trusting?: boolean
  /** Waits for a response even if the stream is over or the answer is an error. */
  readonly patient?: boolean
  /** Resumes a stream immediately. */
  readonly impatient?: boolean
  /** Never resumes a stream. */
  readonly resigned?: boolean
  /** Answers notifications. */
  readonly answersAll?: boolean
  /** Answers every request of the server with success. */
  readonly agreeable?: boolean
  /** Cancels `initialize` after its response. */
  readonly cancelsInitialize?: boolean
  /** Sends the whole handshake as an array. */
  readonly batches?: boolean
}

class Session {
  private id: string | undefined
  private version: string | undefined
  private next = 0
  private readonly given: FuzzClient.Given
  private readonly faults: Faults

  constructor(given: FuzzClient.Given, faults: Faults) {
    this.given = given
    this.faults = faults
  }

  private http(method: string, body?: Json, more: Record<string, string> = {}): Promise<Response> {
    const headers = {
      accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
      ...(body === undefined ? undefined : { "content-type": "application/json" }),
      ...(this.id === undefined ? undefined : { "mcp-session-id": this.id }),
      ...(this.version === undefined ? undefined : { "mcp-protocol-version": this.version }),
      ...more
    }
    return this.given.fetch(this.given.url, {
      method,
      headers,
      ...(body === undefined ? undefined : { body: JSON.stringify(body) })
    })
  }

  private async answer(message: Json): Promise<void> {
    const reply = (more: Json) => this.http("POST", { jsonrpc: "2.0", id: message.id, ...more })
    if (this.faults.knowsAll && message.method === "notifications/fuzz") Effect.runSync(Effect.die("unknown"))
    if (message.id === undefined && this.faults.answersAll && message.method !== undefined) {
      await this.http("POST", { jsonrpc: "2.0", error: { code: -32601, message: "no" } })
    }
    if (message.id === undefined || message.method === undefined) return
    if (message.method === "ping" || this.faults.agreeable) await reply({ result: {} })
    else await reply({ error: { code: -32601, message: "no" } })
  }

  /** Reads the response from an event stream, and resumes the stream if it ends early. */
  private async stream(response: Response, id: unknown, tries = 3): Promise<Json> {
    const text = await this.read(response, id)
    if (typeof text !== "string") return text
    const last = text
      .match(/^id: ?(.*)$/gm)
      ?.at(-1)
      ?.replace(/^id: ?/, "")
    const retry = Number(text.match(/^retry: ?(\d+)/m)?.[1] ?? 0)
    if (this.faults.patient) await new Promise(() => {})
    if (last === undefined || tries === 0 || this.faults.resigned) throw new Error("The stream ended early")
    if (!this.faults.impatient) await new Promise((resolve) => setTimeout(resolve, retry))
    const again = await this.http("GET", undefined, { "last-event-id": last })
    if (!again.ok) throw new Error(`status ${again.status}`)
    return this.stream(again, id, tries - 1)
  }

  /** Reads events until the response arrives. Returns the text if it doesn't. */
  private async read(response: Response, id: unknown): Promise<Json> {
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ""
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text
      text += value.replaceAll("\r", "")
      const events = text.split("\n\n")
      for (const event of events.slice(0, -1)) {
        if (this.faults.naiveSse && event.startsWith(":")) throw new Error("What is this?")
        const data =
          event
            .match(/^data: ?(.*)$/gm)
            ?.map((line) => line.replace(/^data: ?/, ""))
            .join("\n") ?? ""
        const isMessage = !/^event:(?! ?message$)/m.test(event) && data !== ""
        const message = isMessage ? JSON.parse(data) : {}
        if (message.method === undefined && message.id === id) {
          await reader.cancel()
          return message
        }
        if (isMessage) await this.answer(message)
      }
      text = [...(text.match(/^(?:id|retry):.*$/gm) ?? []), ""].join("\n") + (events.at(-1) ?? "")
    }
  }

  async request(method: string, params: Json = {}): Promise<Json> {
    const id = this.faults.sameId && method !== "initialize" ? 1 : ++this.next
    const token = this.faults.sameToken ? "t" : this.faults.fractionalToken ? 1.5 : undefined
    const meta = token === undefined ? undefined : { _meta: { progressToken: token } }
    const response = await this.http("POST", { jsonrpc: "2.0", id, method, params: { ...params, ...meta } })
    if (response.status === 404 && this.id !== undefined && method !== "initialize") {
      this.id = undefined
      await this.open()
      return this.request(method, params)
    }
    if (response.status !== 200) throw new Error(`status ${response.status}`)
    if (method === "initialize") this.id = response.headers.get("mcp-session-id") ?? undefined
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true
    if (isStream && this.faults.jsonOnly) throw new Error("This is no JSON")
    const message = isStream ? await this.stream(response, id) : JSON.parse(await response.text())
    if (this.faults.patient && message.result === undefined) await new Promise(() => {})
    if (this.faults.trusting) return message.result
    if (message.id !== id || typeof message.result !== "object" || message.result === null) throw new Error("no result")
    return message.result
  }

  async open(): Promise<void> {
    this.version = undefined
    if (this.faults.skipsInitialize) await this.request("tools/list").catch(() => {})
    const params = {
      protocolVersion: this.given.revision,
      capabilities: {},
      clientInfo: { name: "minimal", version: "1" }
    }
    const opened = this.request("initialize", params)
    if (this.faults.hurries) await this.request("prompts/list").catch(() => {})
    const { protocolVersion } = await opened
    if (protocolVersion !== this.given.revision && !this.faults.takesAnyVersion) throw new Error("no common version")
    this.version = protocolVersion
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" }
    await this.http("POST", initialized)
    if (this.faults.batches) await this.http("POST", [initialized])
    if (this.faults.cancelsInitialize) {
      await this.http("POST", { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })
    }
  }

  async work(): Promise<void> {
    await this.open()
    let cursor: string | undefined
    for (let page = 0; page === 0 || (cursor !== undefined && (page < 50 || this.faults.readsOn)); page++) {
      const { nextCursor, tools } = await this.request("tools/list", cursor === undefined ? {} : { cursor })
      if (this.faults.trusting) tools.map(({ name }: Json) => name.length)
      cursor = typeof nextCursor === "string" ? nextCursor : undefined
    }
    const calls = [1, 2].map((b) => this.request("tools/call", { name: "add_numbers", arguments: { a: 1, b } }))
    const results = await Promise.allSettled(calls)
    for (const result of results) if (result.status === "rejected") throw result.reason
    await this.http("DELETE")
  }
}

/** The client cannot continue. */
class Stopped extends Data.TaggedError("Stopped")<{ readonly message: string }> {}

/** A `TypeError` is a bug in the client's code, which ends the program. */
const work = (given: FuzzClient.Given, faults: Faults) =>
  Effect.catchDefect(
    Effect.promise(() => new Session(given, faults).work()),
    (error) =>
      error instanceof TypeError || error instanceof RangeError
        ? Effect.die(error)
        : Effect.fail(new Stopped({ message: String(error) }))
  )

export const minimal = (faults: Faults = {}) => FuzzClient.client("a minimal client", (given) => work(given, faults))
