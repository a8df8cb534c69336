/** JSON-RPC batches (2025-03-26): one array in, one array out once every request of it is answered or known to stay unanswered. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Sink } from "../Transport.ts"

export const collectBatch = (
  messages: ReadonlyArray<JsonRpc.Message | JsonRpc.Invalid>,
  sink: Sink,
  unreadableId: null | undefined,
  receive: (message: JsonRpc.Message, sink: Sink) => void
): void => {
  const answers: Array<JsonRpc.Response> = []
  // One more than there are, so that answers given while the batch is still being read do not end it.
  let open = 1
  const done = (): void => {
    if (--open === 0 && answers.length > 0) sink.send(answers, "control")
  }
  const collecting: Sink = {
    ...sink,
    send: (message, lane, relatedTo) => {
      if (Array.isArray(message) || !isAnswer(message)) return sink.send(message, lane, relatedTo)
      answers.push(message)
      done()
    },
    discard: done
  }
  for (const message of messages) {
    if (JsonRpc.isInvalid(message)) {
      answers.push(JsonRpc.failure(message.id ?? unreadableId, McpError.invalidRequest(message.reason)))
    } else {
      if (JsonRpc.isRequest(message)) open++
      receive(message, collecting)
    }
  }
  done()
}

const isAnswer = (message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>): message is JsonRpc.Response =>
  !Array.isArray(message) && !("method" in message)
