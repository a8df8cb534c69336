/** `effect-mcp call`: calls a tool, shows how far it is, prints what it answers. Leaving it cancels the call, and the task that it became. */
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import {
  assemble,
  orUsage,
  parseBase,
  propertyOf,
  requiredOf,
  signature,
  unknownArgument
} from "../terminal/Arguments.ts"
import * as Calling from "../session/Calling.ts"
import { code, CommandFailure, usage } from "../terminal/Exit.ts"
import * as Following from "../session/Following.ts"
import * as Form from "../questions/Form.ts"
import type { Output } from "../terminal/Output.ts"
import * as Questions from "../questions/Questions.ts"
import { json } from "../render/Text.ts"
import * as Session from "../session/Session.ts"
import { safeLine } from "../terminal/Style.ts"
import { all, assignments, name, noSuchTool, outputFile, progressEvents } from "./Shared.ts"

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
const toolOf = (listed: ReadonlyArray<Tool>, name: string): Effect.Effect<Tool, CommandFailure> => {
  const found = listed.find((tool) => tool.name === name)
  return found === undefined ? Effect.fail(usage(noSuchTool(listed, name))) : Effect.succeed(found)
}

/** A result that is not what the tool's output schema promises has been shown; it still is the server's fault. */
const promised = (tool: Tool, result: CallToolResult): Effect.Effect<void, CommandFailure> => {
  if (tool.outputSchema === undefined || result.isError === true) return Effect.void
  const fault = (message: string) =>
    Effect.fail(
      new CommandFailure({ code: code.connection, message: `The result breaks the tool's output schema: ${message}` })
    )
  if (result.structuredContent === undefined) return fault("it has no structured content")
  const compiled = JsonSchemaValidator.compile(tool.outputSchema)
  if (Result.isFailure(compiled)) return fault(`the schema cannot be used (${compiled.failure.reason})`)
  const [violation] = compiled.success(result.structuredContent)
  return violation === undefined ? Effect.void : fault(`${violation.path} ${violation.message}`.trim())
}

/** Prints the id of the task that the server makes of a call; gives the result of a call that it answers without one. */
const begin = Effect.fnUntraced(function* (
  session: Session.CommandSession,
  shown: Calling.Shown,
  name: string,
  input: JsonObject
) {
  const { client, output, patient, settings } = session
  const task = yield* client.startByName(name, input, { ...patient, follow: false })
  if (task.id === undefined) {
    yield* output.note(output.noteStyle.dim("[answered] The server has answered without a task"))
    const result = yield* task.result
    yield* Calling.print(session, shown, result)
    return result
  }
  yield* output.line(settings.json ? json({ taskId: task.id }) : safeLine(task.id))
  return undefined
})

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
    detach: Flag.Boolean("detach").pipe(
      Flag.withDescription(
        "Print the id of the task that the server makes of the call, and leave: see effect-mcp tasks"
      ),
      Flag.withDefault(false),
      Flag.withoutNegation
    ),
    progress: progressEvents,
    output: outputFile
  },
  ({ args, detach, name, output: file, progress, words }) =>
    Session.use(
      Effect.fnUntraced(function* (session) {
        const { client, output, patient, settings } = session
        const tool = yield* toolOf(yield* all(client.listTools), name)
        const input = yield* argumentsOf(words, args, tool, output)
        const shown = { asEvents: settings.json && progress, file }
        const result = detach
          ? yield* begin(session, shown, name, input)
          : yield* Following.call(session, shown, client.callToolByNameStream(name, input, patient))
        if (result === undefined) return
        yield* promised(tool, result)
        yield* Calling.failing(session, result)
      }),
      { leavesTasks: detach }
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
    { command: "effect-mcp call report --detach -- https://example.com/mcp", description: "Print the id of its task" },
    { command: "effect-mcp call book guests=2 --answer name=Ada -- node server.js", description: "Answer its question" }
  ])
)
