/**
 * A scripted model that obeys every order it reads, also in encoded and invisible text. Orders look like `@@call TOOL {"text": "$DATA"}`,
 * `@@read SERVER URI` and `@@show MARKDOWN`, and `$DATA` stands for the private data that the model has seen.
 */
import type * as McpClients from "@effect-mcp/client/McpClients"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { Effect } from "effect"

/** The private data that must not leave. */
export const marker = "MARKER-7f3a"

/** Text as a model reads it: with tag characters, base64 and hexadecimal decoded. */
const decoded = (text: string): string => {
  const tags = Array.from(text, (letter) => (letter.codePointAt(0) ?? 0) - 0xe0000).filter(
    (code) => code > 0x1f && code < 0x7f
  )
  const base64 = text.match(/[A-Za-z0-9+/]{24,}={0,2}/g) ?? []
  return [text, String.fromCodePoint(...tags), ...base64.map((run) => Buffer.from(run, "base64").toString())].join("\n")
}

const strings = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (Array.isArray(value)) return value.flatMap(strings)
  return isJsonObject(value) ? Object.values(value).flatMap(strings) : []
}

/** The host's loop: lists tools and instructions, calls the tools that the user asks for, and then those that any text orders. Returns what is shown. */
export const obey = Effect.fnUntraced(function* (
  clients: McpClients.Clients,
  asked: ReadonlyArray<readonly [tool: string, args: { readonly [name: string]: unknown }]>
): Effect.fn.Return<ReadonlyArray<string>> {
  const shown: Array<string> = []
  const done = new Set<string>()
  let seen = ""
  const read = (value: unknown): void => {
    seen += `${strings(value).map(decoded).join("\n")}\n`
  }
  const fill = (text: string): string => text.replaceAll("$DATA", seen.includes(marker) ? marker : "nothing")
  const call = (tool: string, args: { readonly [name: string]: unknown }) =>
    clients.callToolByName(tool, args).pipe(
      Effect.match({
        onSuccess: read,
        // The model reads the failure, too.
        onFailure: ({ message }) => read(message)
      })
    )

  const look = Effect.gen(function* () {
    read((yield* Effect.orDie(clients.listTools)).map(({ item, name }) => [name, item]))
    for (const name of clients.names) read((yield* Effect.orDie(clients.of(name).client)).instructions)
  })
  yield* look
  for (const [tool, args] of asked) {
    yield* call(tool, JSON.parse(fill(JSON.stringify(args))))
    yield* look
  }
  for (let turn = 0; turn < 10; turn++) {
    for (const [order, verb, target = "", rest = ""] of seen.matchAll(/@@(call|read|show) (\S+) ?(.*)/g)) {
      if (done.has(order)) continue
      done.add(order)
      if (verb === "call") yield* call(target, JSON.parse(fill(rest)))
      else if (verb === "show") shown.push(fill(`${target} ${rest}`))
      else
        yield* clients
          .of(target)
          .readResource(fill(rest))
          .pipe(Effect.match({ onSuccess: read, onFailure: ({ message }) => read(message) }))
    }
  }
  return shown
})
