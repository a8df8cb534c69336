/**
 * Forwards the events of a response that another node is writing, as they arrive.
 *
 * The client receives whole events, and one response per request. If the other node dies first, the response is an error.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Effect from "effect/Effect"
import { EventStream } from "@effect-mcp/server/internal/sharing"
import { answeredIn } from "./answeredIn.ts"

/** Number of bytes that may wait for the client before the other node has to pause. */
const highWater = 64 * 1024

export class RelayedStream extends EventStream {
  private readonly ids: ReadonlyArray<JsonRpc.Id>
  private readonly decoder = new TextDecoder()
  /** The start of an incomplete event. */
  private parts: Array<string> = []
  /** True if `parts` end with a newline. A second newline ends the event. */
  private endsLine = false
  /** The last event, if there is a single request, because its response comes last. */
  private last = ""
  /** Requests in a batch that have received their response. */
  private readonly answered = new Set<JsonRpc.Id>()

  /** `ids` are the requests that the events respond to. */
  constructor(ids: ReadonlyArray<JsonRpc.Id>) {
    super(highWater)
    this.ids = ids
  }

  /** Forwards bytes. Completes when there is room for more. */
  relay(bytes: Uint8Array): Effect.Effect<void> {
    this.events(this.decoder.decode(bytes, { stream: true }))
    return this.ready
  }

  /** Forwards text, regardless of how much is waiting. */
  events(text: string): void {
    if (text === "") return
    const blank = text.lastIndexOf("\n\n")
    // Does not search earlier text again, because a long event comes in thousands of parts.
    const end = blank >= 0 ? blank + 2 : this.endsLine && text.startsWith("\n") ? 1 : 0
    this.endsLine = text.endsWith("\n") && end < text.length
    if (end === 0) return void this.parts.push(text)
    const events = this.parts.join("") + text.slice(0, end)
    this.parts = end === text.length ? [] : [text.slice(end)]
    this.push(0, events)
    if (this.ids.length === 1) this.last = lastEvent(events)
    else if (this.ids.length > 1) for (const id of answeredIn(events)) this.answered.add(id)
  }

  /** Ends the stream, and responds to each open request with an error. */
  cut(error: McpError.McpError): void {
    for (const id of answeredIn(this.last)) this.answered.add(id)
    for (const id of this.ids) if (!this.answered.has(id)) this.write(JsonRpc.encode(JsonRpc.failure(id, error)))
    this.end()
  }
}

const lastEvent = (events: string): string => events.slice(events.lastIndexOf("\n\n", events.length - 3) + 1)
