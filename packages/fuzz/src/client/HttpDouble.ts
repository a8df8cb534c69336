/** A misbehaving server over Streamable HTTP, as a web handler. */
import type { ClientRequest, Sent } from "./model/ClientModel.ts"
import type { Act } from "./model/ServerScript.ts"
import type { MessageOutlet, ServerDouble } from "./ServerDouble.ts"
import { at, parse } from "../model/json.ts"

/** Answers HTTP requests. */
export type HttpHandler = (request: Request) => Promise<Response>

const headersOf = ({ headers }: Request): Sent["headers"] => Object.fromEntries(headers.entries())

const event = (text: string): string => `event: message\ndata: ${text}\n\n`

const json = (body: string, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(body, { status, headers: { "content-type": "application/json", ...headers } })

const refusal = (status: number, code: number, message: string): Response =>
  json(JSON.stringify({ jsonrpc: "2.0", error: { code, message } }), status)

/** Acts that need a stream. */
const onStream = new Set<Act["_tag"]>(["Tell", "Ask", "Text", "Cut", "Twice", "Pieces"])

export class HttpDouble {
  private readonly server: ServerDouble
  /** The rest of each cut stream, by the last event id before the cut, for clients that resume. */
  private readonly rests = new Map<string, string>()

  constructor(server: ServerDouble) {
    this.server = server
  }

  /** Answers one HTTP request of the client. */
  readonly handle: HttpHandler = async (request) => {
    const { options } = this.server
    const body = await request.text()
    const path = new URL(request.url).pathname
    const sent: Sent = { method: request.method, path, headers: headersOf(request), body, at: options.now() }
    const parsed = parse(body)
    this.server.note("client", `${request.method}${/mcp\/?$/.test(path) ? "" : ` ${path}`} ${body}`.trim())
    options.observe({ _tag: "Sent", sent, json: parsed })
    if (!/mcp\/?$/.test(path)) return new Response(null, { status: 404 })
    const response = this.refused(sent, parsed) ?? (await this.take(sent, parsed))
    if (response.status !== 200) this.server.note("server", `${response.status}`)
    return response
  }

  /** Returns the response to a request whose session does not exist. */
  private refused({ headers }: Sent, parsed: unknown): Response | undefined {
    const { model } = this.server
    const given = headers["mcp-session-id"]
    if (given !== undefined && model.expired.has(given)) {
      model.expired.set(given, true)
      return refusal(404, -32001, "Session not found")
    }
    if (model.stateless || model.session === undefined || at(parsed, "method") === "initialize") return undefined
    return given === model.session
      ? undefined
      : refusal(given === undefined ? 400 : 404, -32600, "The request needs the id of its session")
  }

  private take(sent: Sent, parsed: unknown): Promise<Response> {
    const { model } = this.server
    switch (sent.method) {
      case "POST":
        return this.post(sent, parsed)
      case "GET":
        return Promise.resolve(model.stateless ? new Response(null, { status: 405 }) : this.get(sent))
      case "DELETE":
        model.removed = true
        return Promise.resolve(new Response(null, { status: 200 }))
      default:
        return Promise.resolve(new Response(null, { status: 405 }))
    }
  }

  private get({ at: now, headers }: Sent): Response {
    const { model, options } = this.server
    const lastEventId = headers["last-event-id"]
    if (lastEventId === undefined) return this.stream(this.silence)
    const cut = model.cuts.find((cut) => cut.lastEventId === lastEventId)
    options.observe({ _tag: "Resumed", lastEventId, cut, at: now })
    if (cut !== undefined) cut.resumed = true
    const rest = this.rests.get(lastEventId)
    if (rest === undefined) return refusal(400, -32600, "No such event")
    return this.stream((outlet) => {
      this.server.write(outlet, event(rest))
      return Promise.resolve()
    })
  }

  private async post(sent: Sent, parsed: unknown): Promise<Response> {
    if (Array.isArray(parsed) && this.server.script.revision === "2025-03-26") {
      const answers = await Promise.all(parsed.map((member: unknown) => this.message(member, sent)))
      const texts = await Promise.all(answers.filter(({ status }) => status === 200).map((answer) => answer.text()))
      return texts.length === 0 ? new Response(null, { status: 202 }) : json(`[${texts.join(",")}]`)
    }
    return this.message(parsed, sent)
  }

  private async message(parsed: unknown, sent: Sent): Promise<Response> {
    const heard = this.server.hear(parsed, sent)
    if (heard._tag === "Invalid") return refusal(400, -32600, heard.reason)
    return heard._tag === "Asked" ? this.respond(heard.asked) : new Response(null, { status: 202 })
  }

  private async respond(asked: ClientRequest): Promise<Response> {
    const { server } = this
    const { method } = asked
    if (server.model.stateless && method === "subscriptions/listen") return this.stream(this.silence)
    const acts = server.actsOn(method)
    for (const act of acts) {
      if (act._tag === "Status")
        return new Response(act.body, { status: act.status, headers: { "content-type": act.type } })
      if (act._tag === "Expire" && server.model.session !== undefined) return this.forget(server.model.session)
    }
    const { session: before } = server.model
    const text = JSON.stringify(server.answer(asked, acts))
    const { session } = server.model
    const headers = session === undefined || session === before ? {} : { "mcp-session-id": session }
    if (server.script.streams || acts.some(({ _tag }) => onStream.has(_tag)))
      return this.stream((outlet) => server.perform(acts, asked, text, outlet), headers)
    for (const act of acts) {
      if (act._tag === "Late") await server.sleep(act.milliseconds)
      if (act._tag === "Never") await server.ended
    }
    server.note("server", text)
    server.done(asked)
    return json(text, 200, headers)
  }

  /** Opens a stream without events. It starts with an empty line, because Node sends the headers with the first byte of the body. */
  private readonly silence = ({ write }: MessageOutlet): Promise<void> => {
    write(Uint8Array.of(0x0a))
    return this.server.ended
  }

  private forget(session: string): Response {
    const { model } = this.server
    model.expired.set(session, true)
    model.session = undefined
    return refusal(404, -32001, "Session not found")
  }

  private stream(produce: (outlet: MessageOutlet) => Promise<void>, headers: Record<string, string> = {}): Response {
    let isOpen = true
    const body = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        const write = (bytes: Uint8Array): void => {
          if (isOpen) controller.enqueue(bytes)
        }
        const outlet: MessageOutlet = {
          frame: event,
          write,
          log: () => {},
          cut: (act, text) => this.cut(act, text, outlet)
        }
        await produce(outlet)
        if (isOpen) controller.close()
        isOpen = false
      },
      cancel: () => {
        isOpen = false
      }
    })
    return new Response(body, { status: 200, headers: { "content-type": "text/event-stream", ...headers } })
  }

  private cut({ resumable, retry = 50 }: Extract<Act, { _tag: "Cut" }>, text: string, outlet: MessageOutlet): void {
    if (!resumable) return
    const { model, options } = this.server
    const id = `event-${this.server.fresh()}`
    this.rests.set(id, text)
    model.cuts.push({ lastEventId: id, retry, at: options.now(), resumed: false })
    this.server.write(outlet, `id: ${id}\nretry: ${retry}\ndata:\n\n`)
  }
}
