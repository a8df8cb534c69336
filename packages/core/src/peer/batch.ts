/** JSON-RPC batches (2025-03-26): one array in, one array out once every request of it is answered or known to stay unanswered. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Single, Sink } from "../transport/Transport.ts"

/** The one error that answers a batch of `size` members, if it is refused. `limit`: how many requests can be in flight. */
export const refuseBatch = (size: number, allowed: boolean, limit: number): McpError.McpError | undefined => {
  if (!allowed) return McpError.invalidRequest("This revision has no batches")
  if (size === 0) return McpError.invalidRequest("A batch must not be empty")
  return size > limit ? McpError.invalidRequest(`A batch must not have more than ${limit} members`) : undefined
}

/** Receives the members, each with a sink that collects the responses and sends them as one array. */
export const collectBatch = (
  members: ReadonlyArray<Single>,
  sink: Sink,
  receive: (member: Single, sink: Sink) => void
): void => {
  const answers: Array<JsonRpc.Response> = []
  // One more than there are requests, so that answers given while the batch is read do not end it.
  let open = 1
  const done = (): void => {
    if (--open === 0 && answers.length > 0) sink.send(answers, "control")
  }
  const collecting: Sink = {
    send: (message, lane, relatedTo) => {
      if (!isAnswer(message)) return sink.send(message, lane, relatedTo)
      // Throws now for a result that is no JSON, while it can still be answered by an error.
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
