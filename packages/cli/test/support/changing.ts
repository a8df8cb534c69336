/**
 * A server without any library whose tools are the lines of the file `tools.txt` in its folder, for servers that change. A line is a name, or
 * a name, `|` and a description in JSON. The line `broken` ends it at its start; a call of the tool `fall` ends it later.
 */
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"

const send = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)

const tools = readFileSync("tools.txt", "utf8").trim().split("\n")
const fall = (): void => void process.stderr.write("fatal: out of luck\n", () => process.exit(9))

const results: { readonly [method: string]: (params: any) => object | undefined } = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion < "2026" ? protocolVersion : "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "changing", version: "1" }
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: tools.map((line) => {
      const [name, description] = line.split("|")
      const described = description === undefined ? undefined : { description: JSON.parse(description) }
      return { name, ...described, inputSchema: { type: "object" } }
    })
  }),
  "tools/call": ({ name }) => {
    if (name !== "fall") return { content: [{ type: "text", text: tools.join(" ") }] }
    fall()
    return undefined
  }
}

process.stderr.write(`has ${tools.join(" ")}\n`)
if (tools[0] === "broken") fall()
else {
  createInterface({ input: process.stdin })
    .on("line", (line) => {
      const { id, method, params } = JSON.parse(line)
      if (id === undefined) return
      if (!Object.hasOwn(results, method)) return send({ id, error: { code: -32601, message: `No ${method}` } })
      const result = results[method]?.(params ?? {})
      if (result !== undefined) send({ id, result })
    })
    .on("close", () => process.exit(0))
}
