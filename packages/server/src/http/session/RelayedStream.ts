/**
 * The events of a response that another node writes, as they come.
 *
 * Owns that the client gets whole events, and one answer for each request: an error where the other node died before it answered.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Effect from "effect/Effect"
import { EventStream } from "../response/EventStream.ts"
import { answeredIn } from "./answeredIn.ts"

/** Bytes that may wait for the client before the other node has to. */
const highWater = 64 * 1024

export class RelayedStream extends EventStream {
  private readonly ids: ReadonlyArray<JsonRpc.Id>
  private readonly decoder = new TextDecoder()
  /** The beginning of an event whose end has not come. */
  private part = ""
  /** The events that may hold answers: the last one, since the answer to one request is last; all of a batch. */
  private last = ""

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
    this.part += text
    const end = this.part.lastIndexOf("\n\n") + 2
    if (end < 2) return
    const events = this.part.slice(0, end)
    this.part = this.part.slice(end)
    this.push(0, events)
    if (this.ids.length > 0) this.last = this.ids.length > 1 ? this.last + events : lastEvent(events)
  }

  /** Ends the stream: an error answers each request that has no answer. */
  cut(error: McpError.McpError): void {
    const answered = answeredIn(this.last)
    for (const id of this.ids) if (!answered.has(id)) this.write(JsonRpc.encode(JsonRpc.failure(id, error)))
    this.end()
  }
}

const lastEvent = (events: string): string => events.slice(events.lastIndexOf("\n\n", events.length - 3) + 1)
