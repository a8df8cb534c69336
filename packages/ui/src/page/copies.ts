/** Texts that the user copies: commands, and tests that repeat a run. */
import { invisible } from "./format.ts"
import type { UserRun, ServerName, WireEntry } from "../messages/Events.ts"

/** Quotes a word for a shell. Characters that a terminal would obey are escaped, in the syntax of bash and zsh. */
export const quoted = (word: string): string => {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  if (word.search(invisible) === -1) return `'${word.replaceAll("'", `'\\''`)}'`
  const hex = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  return `$'${word.replace(/[\\']/g, "\\$&").replace(invisible, hex)}'`
}

const target = ({ url, words }: ServerName): string => (words ?? [url ?? "SERVER"]).map(quoted).join(" ")

/** True if the command line would parse a word as a flag. A hostile server could choose such a name for a tool. */
const isFlag = (word: string): boolean => word.startsWith("-")

/** Returns an `effect-mcp` command that repeats a run, or `undefined` if a name would be parsed as a flag. */
export const asCommand = ({ input, kind, name, revision }: UserRun, server: ServerName): string | undefined => {
  const rest = `--revision ${revision} -- ${target(server)}`
  const hasFlags = Object.keys(input).some(isFlag)
  if (isFlag(name)) return undefined
  switch (kind) {
    case "tool": {
      const args = hasFlags
        ? [`--args=${quoted(JSON.stringify(input))}`]
        : Object.entries(input).map(([key, value]) => quoted(`${key}:=${JSON.stringify(value)}`))
      return ["effect-mcp call", quoted(name), ...args, rest].join(" ")
    }
    case "prompt": {
      const texts = Object.entries(input).map(([key, value]) => quoted(`${key}=${String(value)}`))
      return hasFlags ? undefined : ["effect-mcp prompt", quoted(name), ...texts, rest].join(" ")
    }
    case "resource":
      return `effect-mcp read ${quoted(name)} ${rest}`
    case "task":
      return `effect-mcp tasks result ${quoted(name)} ${rest}`
    default:
      return `effect-mcp ping ${rest}`
  }
}

/** A curl command that sends a message again, or `undefined` if it was not sent over HTTP. Masked secrets have to be filled in. */
export const asCurl = ({ from, http, text }: WireEntry): string | undefined => {
  if (http === undefined || from !== "client") return undefined
  const headers = Object.entries(http.headers)
    .filter(([name]) => name !== "content-length")
    .map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\\n`)
  return `curl -N -X ${http.method} ${quoted(http.url)} \\\n${headers.join("")}  --data-raw ${quoted(text)}`
}

const indented = (value: unknown, by: string): string => JSON.stringify(value, null, 2).replaceAll("\n", `\n${by}`)

const request = ({ input, kind, name }: UserRun): string => {
  const key = JSON.stringify(name)
  if (kind === "tool") return `client.callToolByName(${key}, ${indented(input, "    ")})`
  if (kind === "prompt") return `client.getPromptByName(${key}, ${indented(input, "    ")})`
  if (kind === "task") return `(yield* client.taskById(${key})).result`
  return kind === "resource" ? `client.readResource(${key})` : "client.ping"
}

const expectation = ({ kind, result }: UserRun): string => {
  if (result === undefined || kind === "ping") return ""
  const part = kind === "tool" || kind === "task" ? "content" : kind === "prompt" ? "messages" : "contents"
  const value: unknown = Reflect.get(Object(result), part)
  return `\n    assert.deepStrictEqual(result.${part}, ${indented(value ?? [], "    ")})`
}

/** A test that repeats a run in memory. Its user imports the features of the server. */
export const asTest = (run: UserRun): string => `import { McpTest } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { features } from "./server.ts"

it.effect(${JSON.stringify(`Answers ${run.name} as recorded`)}, () =>
  Effect.gen(function* () {
    const client = yield* McpTest.connect(features, ${JSON.stringify(run.revision)})
    const result = yield* ${request(run)}${expectation(run)}
  }).pipe(Effect.scoped)
)
`
