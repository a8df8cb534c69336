/**
 * The events of a response that another node writes, as they come.
 *
 * Owns that the client gets whole events, and one answer for each request: an error if the other node died before it answered.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Effect from "effect/Effect"
import { EventStream } from "@effect-mcp/server/internal/sharing"
import { answeredIn } from "./answeredIn.ts"

/** Bytes that may wait for the client before the other node has to. */
const highWater = 64 * 1024

export class RelayedStream extends EventStream {
  private readonly ids: ReadonlyArray<JsonRpc.Id>
  private readonly decoder = new TextDecoder()
  /** The beginning of an event whose end has not come. */
  private parts: Array<string> = []
  /** True if `parts` end with a newline: an event ends at the second. */
  private endsLine = false
  /** The last event, if there is one request: its answer comes last. */
  private last = ""
  /** The requests of a batch that have answers. */
  private readonly answered = new Set<JsonRpc.Id>()

  /** `ids`: the requests whose answers the events hold. */
  constructor(ids: ReadonlyArray<JsonRpc.Id>) {
    super(highWater)
    this.ids = ids
  }

  /** Hands bytes on; completes when there is room for more. */
  relay(bytes: Uint8Array): Effect.Effect<void> {
    this.events(this.decoder.decode(bytes, { stream: true }))
    return this.ready
  }

  /** Hands text on, however much waits. */
  events(text: string): void {
    if (text === "") return
    const blank = text.lastIndexOf("\n\n")
    // Earlier text is not searched again: a long event comes in thousands of parts.
    const end = blank >= 0 ? blank + 2 : this.endsLine && text.startsWith("\n") ? 1 : 0
    this.endsLine = text.endsWith("\n") && end < text.length
    if (end === 0) return void this.parts.push(text)
    const events = this.parts.join("") + text.slice(0, end)
    this.parts = end === text.length ? [] : [text.slice(end)]
    this.push(0, events)
    if (this.ids.length === 1) this.last = lastEvent(events)
    else if (this.ids.length > 1) for (const id of answeredIn(events)) this.answered.add(id)
  }

  /** Ends the stream: an error answers each request that has no answer. */
  cut(error: McpError.McpError): void {
    for (const id of answeredIn(this.last)) this.answered.add(id)
    for (const id of this.ids) if (!this.answered.has(id)) this.write(JsonRpc.encode(JsonRpc.failure(id, error)))
    this.end()
  }
}

const lastEvent = (events: string): string => events.slice(events.lastIndexOf("\n\n", events.length - 3) + 1)
