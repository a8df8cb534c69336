/** An HTTP client that answers a tool's questions, through a node of its choice. */
import * as Wire from "./Wire.ts"

const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": Wire.stateful
}
const post = (port: number, body: object, session?: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: session === undefined ? headers : { ...headers, "mcp-session-id": session },
    body: JSON.stringify({ jsonrpc: "2.0", ...body })
  })

/** Opens a session for a client that answers questions. */
export const open = async (port: number): Promise<string> => {
  const params = {
    protocolVersion: Wire.stateful,
    capabilities: { elicitation: {} },
    clientInfo: { name: "driver", version: "1.0.0" }
  }
  const response = await post(port, { id: 0, method: "initialize", params })
  await response.text()
  const session = response.headers.get("mcp-session-id")
  if (session === null) throw new Error(`initialize: ${response.status}`)
  await (await post(port, { method: "notifications/initialized" }, session)).text()
  return session
}

let ids = 0
/** Calls a tool that asks through one node and answers through another. Returns the milliseconds from the answer to the result. */
export const time = async (session: string, at: number, answerAt: number): Promise<number> => {
  const id = ++ids
  const called = await post(at, { id, method: "tools/call", params: { name: "ask", arguments: {} } }, session)
  let text = ""
  let from: number | undefined
  let accepted: Promise<Response> | undefined
  for await (const chunk of (called.body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream())) {
    text += chunk
    const found = Wire.messages("text/event-stream", text.slice(0, text.lastIndexOf("\n\n") + 2))
    const question = found.find(({ method }) => method === "elicitation/create")
    if (question !== undefined && accepted === undefined) {
      from = performance.now()
      const result = { action: "accept", content: {} }
      accepted = post(answerAt, { id: question.id, result }, session)
    }
    if (from !== undefined && found.some((message) => message.id === id && message.result !== undefined)) {
      const ms = performance.now() - from
      await (await accepted)?.text()
      return ms
    }
  }
  throw new Error(`The call ended without a result: ${called.status} ${text.slice(-300)}`)
}
