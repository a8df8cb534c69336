/** `effect-mcp call`: calls a tool, shows how far it is, prints what it answers. Leaving it cancels the call. */
import type { CallEvent } from "@effect-mcp/client/McpClient"
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import type { CallToolResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { assemble, orUsage, parseBase, propertyOf, requiredOf, signature, unknownArgument } from "../Arguments.ts"
import { code, Failure, silent, usage } from "../Exit.ts"
import * as Form from "../Form.ts"
import type { Output } from "../Output.ts"
import * as ProgressLine from "../ProgressLine.ts"
import * as Questions from "../Questions.ts"
import { binaryOf, callResult } from "../render/Content.ts"
import { bare, jsonLine } from "../render/Text.ts"
import * as Save from "../Save.ts"
import * as Session from "../Session.ts"
import { all, assignments, name, noSuchTool, outputFile, print } from "./Shared.ts"

/** The arguments as the tool's schema wants them, asked for where they are missing; nothing is sent if they make no sense. */
const argumentsOf = Effect.fnUntraced(function* (
  words: ReadonlyArray<string>,
  base: Option.Option<string>,
  { inputSchema, name }: Tool,
  output: Output["Service"]
) {
  const given = yield* orUsage(
    Result.flatMap(parseBase(Option.getOrElse(base, () => "{}")), (object) => assemble(words, inputSchema, object))
  )
  const usageOf = (problem: string) => usage(`${problem}\n${signature(name, inputSchema)}`)
  const stray = words.flatMap((word) => unknownArgument(word, inputSchema) ?? [])[0]
  if (stray !== undefined) return yield* usageOf(`${name} has no argument ${stray}`)
  const missing = requiredOf(inputSchema).filter((key) => !Object.hasOwn(given, key))
  if (missing.length === 0) return given
  const fields = missing.flatMap((key) => Form.fieldOf(key, propertyOf(inputSchema, key)) ?? [])
  if (!output.canAsk || fields.length < missing.length) {
    return yield* usageOf(`${name} needs ${missing.join(", ")}`)
  }
  const asked = yield* Questions.askFields(output, `${name} needs more:`, fields)
  return asked === undefined ? yield* usageOf(`${name} needs ${missing.join(", ")}`) : { ...given, ...asked }
})

/** The tool of that name, or what it may have been meant to be. */
const toolOf = (listed: ReadonlyArray<Tool>, name: string): Effect.Effect<Tool, Failure> => {
  const found = listed.find((tool) => tool.name === name)
  return found === undefined ? Effect.fail(usage(noSuchTool(listed, name))) : Effect.succeed(found)
}

/** Progress as it comes; the result when it is there. */
const follow = (session: Session.Session, asEvents: boolean) => (event: CallEvent<CallToolResult>) => {
  const { output } = session
  if (event._tag === "Result") {
    return Effect.andThen(
      output.live(undefined),
      asEvents ? output.line(jsonLine({ event: "result", result: event.value })) : Effect.void
    )
  }
  const { message, progress, total } = event
  return asEvents
    ? output.line(jsonLine({ event: "progress", progress, total, message }))
    : output.live(ProgressLine.line(event, output.noteWidth, output.noteStyle))
}

/** A result that is not what the tool's output schema promises has been shown; it still is the server's fault. */
const promised = (tool: Tool, result: CallToolResult): Effect.Effect<void, Failure> => {
  if (tool.outputSchema === undefined || result.isError === true) return Effect.void
  const fault = (message: string) =>
    Effect.fail(
      new Failure({ code: code.connection, message: `The result breaks the tool's output schema: ${message}` })
    )
  if (result.structuredContent === undefined) return fault("it has no structured content")
  const compiled = JsonSchemaValidator.compile(tool.outputSchema)
  if (Result.isFailure(compiled)) return fault(`the schema cannot be used (${compiled.failure.reason})`)
  const [violation] = compiled.success(result.structuredContent)
  return violation === undefined ? Effect.void : fault(`${violation.path} ${violation.message}`.trim())
}

export const call = Command.make(
  "call",
  {
    name: name("The tool's name"),
    words: assignments("Arguments: key=value is text, or what the tool's schema says; key:=json is JSON"),
    args: Flag.String("args").pipe(
      Flag.withMetavar("JSON"),
      Flag.withDescription("All arguments as one JSON object; key=value adds to it and wins"),
      Flag.optional
    ),
    progress: Flag.Boolean("progress").pipe(
      Flag.withDescription("With --json: one line per progress event, then one for the result"),
      Flag.withDefault(false),
      Flag.withoutNegation
    ),
    output: outputFile
  },
  ({ args, name, output: file, progress, words }) =>
    Session.use(
      Effect.fnUntraced(function* (session) {
        const { client, output, patient, settings } = session
        const tool = yield* toolOf(yield* all(client.listTools), name)
        const input = yield* argumentsOf(words, args, tool, output)
        const asEvents = settings.json && progress
        const last = yield* client
          .callToolByNameStream(name, input, patient)
          .pipe(Stream.tap(follow(session, asEvents)), Stream.runLast, Effect.ensuring(output.live(undefined)))
        if (Option.isNone(last) || last.value._tag !== "Result") return
        const result = last.value.value
        if (Option.isSome(file)) {
          const parts = result.content.flatMap((block) => binaryOf(block) ?? [])
          yield* Save.save(file.value, parts, callResult(bare, result))
        } else if (!asEvents) yield* print(session, result, (view) => callResult(view, result))
        yield* promised(tool, result)
        yield* result.isError === true ? silent(code.server) : Effect.void
      })
    )
).pipe(
  Command.withDescription("Call a tool; what you type here is taken as your consent to it"),
  Command.withExamples([
    { command: "effect-mcp call add a=1 b=2 -- node server.js", description: "Text becomes what the schema says" },
    {
      command: `effect-mcp call find where:='{"age": 3}' tags=a tags=b -- node server.js`,
      description: "JSON, a list"
    },
    { command: `effect-mcp call find --args '{"id": 7}' -- node server.js`, description: "All arguments at once" },
    { command: "effect-mcp call draw --output out.png -- node server.js", description: "Save the image it answers" },
    { command: "effect-mcp call build --json --progress -- node server.js", description: "Progress as JSON lines" },
    { command: "effect-mcp call book guests=2 --answer name=Ada -- node server.js", description: "Answer its question" }
  ])
)
