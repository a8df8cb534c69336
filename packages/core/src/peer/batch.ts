/**
 * JSON-RPC batches (2025-03-26): an incoming array, and an outgoing array that is sent once each request has a response or is known not to
 * receive one.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Single, Sink } from "../transport/Transport.ts"

/** Returns the error to send if a batch of `size` messages is rejected. `limit` is the maximum number of requests in flight. */
export const refuseBatch = (size: number, allowed: boolean, limit: number): McpError.McpError | undefined => {
  if (!allowed) return McpError.invalidRequest("This revision does not support batches")
  if (size === 0) return McpError.invalidRequest("A batch must not be empty")
  return size > limit ? McpError.invalidRequest(`A batch must not have more than ${limit} members`) : undefined
}

/** Receives the messages in a batch. Each has a sink that collects the responses, which are sent as one array. */
export const collectBatch = (
  members: ReadonlyArray<Single>,
  sink: Sink,
  receive: (member: Single, sink: Sink) => void
): void => {
  const answers: Array<JsonRpc.Response> = []
  // Starts one higher than the number of requests, so that responses sent while the batch is still being read don't complete it.
  let open = 1
  const done = (): void => {
    if (--open === 0 && answers.length > 0) sink.send(answers, "control")
  }
  const collecting: Sink = {
    send: (message, lane, relatedTo) => {
      if (!isAnswer(message)) return sink.send(message, lane, relatedTo)
      // Throws now for a result that cannot be serialized, while an error can still be sent instead.
      JsonRpc.encode(message)
      answers.push(message)
      done()
    },
    noAnswer: done,
    writable: () => sink.writable(),
    ready: sink.ready
  }
  for (const member of members) {
    if (member._tag === "Message" ? JsonRpc.isRequest(member.message) : !member.response) open++
    receive(member, collecting)
  }
  done()
}

const isAnswer = (message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>): message is JsonRpc.Response =>
  !Array.isArray(message) && !("method" in message)
