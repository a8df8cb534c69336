/** A server without any library and with two faults: it takes any cursor, and never answers a request whose params are an array. With `--tool` it lists one. */
import { createInterface } from "node:readline"

const send = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)

const results: { readonly [method: string]: (params: any) => object } = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion === "2025-11-25" ? protocolVersion : "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "faulty", version: "1.0.0" }
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: process.argv.includes("--tool") ? [{ name: "x", inputSchema: { type: "object" } }] : []
  })
}

createInterface({ input: process.stdin }).on("line", (line) => {
  let message: any
  try {
    message = JSON.parse(line)
  } catch {
    return send({ error: { code: -32700, message: "No JSON" } })
  }
  const isRequest = message?.jsonrpc === "2.0" && message.id !== undefined && typeof message.method === "string"
  if (!isRequest || Array.isArray(message.params)) return
  const { id, method, params } = message
  if (typeof id !== "string" && !Number.isInteger(id)) return send({ error: { code: -32600, message: "No id" } })
  const result = Object.hasOwn(results, method) ? results[method] : undefined
  if (result === undefined) return send({ id, error: { code: -32601, message: "No such method" } })
  if (params !== undefined && (typeof params !== "object" || params === null)) {
    return send({ id, error: { code: -32602, message: "No params" } })
  }
  send({ id, result: result(params ?? {}) })
})
