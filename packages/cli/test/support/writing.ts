/** A server without any library. Its tool `write` writes the file in its argument, or returns why it cannot. */
import { writeFileSync } from "node:fs"
import { createInterface } from "node:readline"

const send = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)

const written = (file: string): object => {
  try {
    writeFileSync(file, "written")
    return { content: [{ type: "text", text: "written" }] }
  } catch (error) {
    return { isError: true, content: [{ type: "text", text: String(error) }] }
  }
}

const results: { readonly [method: string]: (params: any) => object } = {
  initialize: () => ({
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "writing", version: "1" }
  }),
  "tools/list": () => ({
    tools: [{ name: "write", inputSchema: { type: "object", properties: { file: { type: "string" } } } }]
  }),
  "tools/call": ({ arguments: { file } }) => written(file)
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const result = results[method]?.(params ?? {})
    send(result === undefined ? { id, error: { code: -32601, message: `No ${method}` } } : { id, result })
  })
  .on("close", () => process.exit(0))
