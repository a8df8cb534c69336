/** A client that starts its server and uses the same id for all requests: `stdioMutant.ts COMMAND ARGS...`. */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

const given: ReadonlyArray<string> = JSON.parse(process.env["MCP_SERVER_COMMAND"] ?? "[]")
const words = process.argv.slice(2)
if (given.join() !== words.join()) throw new Error("The command is not that of MCP_SERVER_COMMAND")
const [command = "", ...args] = words
const server = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] })
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]()

const post = (message: object): boolean => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const request = async (id: number, method: string, params?: object): Promise<void> => {
  post({ id, method, params })
  if ((await lines.next()).done === true) throw new Error("The server has exited")
}

await request(1, "initialize", {
  protocolVersion: process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"],
  capabilities: {},
  clientInfo: { name: "mutant", version: "1" }
})
post({ method: "notifications/initialized" })
await request(7, "tools/list")
await request(7, "tools/call", { name: "add_numbers", arguments: { a: 1, b: 2 } })
server.stdin.end()
