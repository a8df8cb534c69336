/** Runs a program in a CommonJS package and in an ES module package, with the tools that users start TypeScript with. */
import { mkdirSync, writeFileSync } from "node:fs"
import * as Rec from "effect/Record"
import * as path from "node:path"
import { run, Skipped } from "../Command.ts"
import { must } from "../Project.ts"
import { binary, install, versionOf } from "../Toolbox.ts"
import type { Installation } from "./Installs.ts"

const imports = `import { McpClient, McpServer } from "@effect-mcp/promise"
import { z } from "zod"
`

/** A program with a tool that asks its client, over an in-memory connection. */
const main = `
async function main() {
  const server = new McpServer({ name: "calculator", version: "1.0.0" })
  const input = z.object({ a: z.number(), b: z.number() })
  server.tool("add", { description: "Adds", input }, async ({ a, b }, { ask }) => {
    const { again } = await ask("Again?", z.object({ again: z.number() }))
    return String(a + b + again)
  })
  const form = async () => ({ action: "accept", content: { again: 3 } } as const)
  const client = await McpClient.connect(server, { elicitation: { form } })
  const { content } = await client.callTool("add", { a: 1, b: 2 })
  await client.close()
  await server.close()
  return content.map((block) => block.text).join()
}
`

const print = "\nmain().then(console.log)\n"

const required = `const { McpClient, McpServer } = require("@effect-mcp/promise")
const { z } = require("zod")
`

const files: Readonly<Record<string, string>> = {
  // For tools that don't check types, because the types of the blocks differ.
  "program.ts": `// @ts-nocheck\n${imports}${main}${print}`,
  // Imports Effect's `HttpClient` late, which could make tsx load every module a second time.
  "http.ts": `// @ts-nocheck
import { McpClient } from "@effect-mcp/client"
McpClient.layerHttp({ url: "http://127.0.0.1:9/mcp" })
`,
  "program.cjs": `${required}${main.replaceAll(" as const", "")}${print}`,
  "program.test.mjs": `${imports}${main.replaceAll(" as const", "")}\ntest("adds", async () => expect(await main()).toBe("6"))\n`,
  "tsconfig.json": `{ "compilerOptions": { "module": "NodeNext", "target": "ES2022", "types": [] } }`
}

const cure = `Add "type": "module" to your package.json`

const nodes = { node20: "Node 20", node22: "Node 22", node24: "Node 24" } as const

/** Checks a version of Node with every loader. Uses the packages of the project in the parent folder. */
export const check = async (node: keyof typeof nodes, { project }: Installation): Promise<string> => {
  if (process.platform === "win32") throw new Skipped("the check knows only the commands of Unix")
  const command = node === "node24" ? process.execPath : await binary(node)
  const folder = (type: string): string => {
    const directory = path.join(project.directory, "loaders", node, type)
    mkdirSync(directory, { recursive: true })
    const all = { ...files, "package.json": JSON.stringify({ type }) }
    for (const [name, text] of Object.entries(all)) writeFileSync(path.join(directory, name), text)
    return directory
  }
  const [commonjs, module] = [folder("commonjs"), folder("module")]
  const runs = (cwd: string, ...args: ReadonlyArray<string>) => run(command, args, { cwd, timeout: 120_000 })
  const tool = async (name: "tsx" | "tsNode" | "jest", file: string): Promise<string> =>
    path.join(await install(name), "node_modules", file)
  const [tsx, tsNode, jest] = await Promise.all([
    tool("tsx", "tsx/dist/cli.mjs"),
    tool("tsNode", "ts-node/dist/bin.js"),
    tool("jest", "jest/bin/jest.js")
  ])
  must("require", (await runs(commonjs, "program.cjs")).stdout, "6")
  must("tsx", (await runs(module, tsx, "program.ts")).stdout, "6")
  must("tsx in a CommonJS package", (await runs(commonjs, tsx, "program.ts")).stdout, "6")
  const refused = await runs(commonjs, tsx, "http.ts").then(
    ({ stdout }) => `printed ${stdout}`,
    (error: unknown) => String(error)
  )
  if (!refused.includes(cure)) throw new Error(`tsx in a CommonJS package does not say: ${cure}\n${refused}`)
  must("ts-node", (await runs(commonjs, tsNode, "--transpile-only", "program.ts")).stdout, "6")
  await runs(module, "--experimental-vm-modules", jest, "--rootDir=.", "--testMatch=**/*.test.mjs")
  const tools = `tsx ${versionOf("tsx")}, ts-node ${versionOf("tsNode")}, Jest ${versionOf("jest")}`
  return `require, ${tools}; layerHttp by tsx in a CommonJS package is refused with the cure`
}

export const combinations = Rec.keys(nodes)
export const nameOf = (node: keyof typeof nodes): string => `loaders, ${nodes[node]}`
