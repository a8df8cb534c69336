/** `effect-mcp resources`, `read` and `watch`: list resources, read one, and read it again whenever it changes. */
import type { ReadResourceResult } from "@effect-mcp/protocol/model/Resource"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { usage } from "../terminal/Exit.ts"
import { binaryOfResource, embedded } from "../render/Content.ts"
import * as Listing from "../render/Listing.ts"
import { exact, json, jsonLine } from "../render/Text.ts"
import * as Save from "../session/Save.ts"
import * as Session from "../session/Session.ts"
import { safeLine } from "../terminal/Style.ts"
import { all, ifThere, outputFile, print, uri } from "./Shared.ts"

export const resources = Command.make("resources", {}, () =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const resources = yield* all(session.client.listResources)
      const resourceTemplates = yield* ifThere(session, "resource templates", all(session.client.listResourceTemplates))
      yield* print(session, { resources, resourceTemplates }, (view) =>
        Listing.resources(view, resources, resourceTemplates)
      )
    })
  )
).pipe(
  Command.withDescription("List the resources and resource templates"),
  Command.withExamples([{ command: "effect-mcp resources -- node server.js" }])
)

const textOf = ({ contents }: ReadResourceResult): string =>
  contents.flatMap((part) => ("text" in part ? [part.text] : [])).join("\n")

/** Prints text unchanged. On a terminal, binary data is only described; elsewhere, it needs `--output`. */
const printContents = Effect.fnUntraced(function* (session: Session.CommandSession, result: ReadResourceResult) {
  const { output, settings } = session
  const { contents } = result
  const binary = contents.some((part) => binaryOfResource(part) !== undefined)
  const [only] = contents
  const text = exact(output, textOf(result))
  if (settings.json) return yield* output.line(json(result))
  if (binary && !output.isTerminal) {
    return yield* usage("The resource is binary: use --output FILE, or --output - for stdout")
  }
  return yield* binary || only === undefined || contents.length > 1
    ? output.line(contents.map((part) => embedded(output, part)).join("\n"))
    : output.write(output.isTerminal && !text.endsWith("\n") ? `${text}\n` : text)
})

export const read = Command.make("read", { uri, output: outputFile }, ({ output: file, uri }) =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const result = yield* session.client.readResource(uri, session.patient)
      if (Option.isNone(file)) yield* printContents(session, result)
      else {
        const parts = result.contents.flatMap((part) => binaryOfResource(part) ?? [])
        yield* Save.save(file.value, parts, textOf(result))
      }
    })
  )
).pipe(
  Command.withDescription("Read a resource: text to stdout, bytes to --output FILE"),
  Command.withExamples([
    { command: "effect-mcp read file:///notes.txt -- node server.js" },
    { command: "effect-mcp read img://logo --output logo.png -- node server.js", description: "Save an image" }
  ])
)

export const watch = Command.make("watch", { uri }, ({ uri }) =>
  Session.use((session) =>
    Stream.runForEach(
      session.client.watchResource(uri),
      Effect.fnUntraced(function* (event) {
        const { client, output, settings } = session
        const { contents } = yield* client.readResource(uri, session.patient)
        if (settings.json) {
          yield* output.line(jsonLine({ event: event._tag.toLowerCase(), uri: event.uri, contents }))
          return
        }
        yield* output.note(output.noteStyle.dim(`[${event._tag.toLowerCase()}] ${safeLine(event.uri)}`))
        for (const part of contents) {
          const text = "text" in part ? exact(output, part.text) : embedded(output, part)
          yield* output.line(text)
        }
      })
    )
  )
).pipe(
  Command.withDescription("Print a resource, and print it again whenever the server reports a change, until Ctrl+C"),
  Command.withShortDescription("Print a resource, and again on each change"),
  Command.withExamples([
    { command: "effect-mcp watch file:///log.txt -- node server.js" },
    { command: "effect-mcp watch file:///log.txt --json -- node server.js", description: "One JSON line per update" }
  ])
)
