/** `effect-mcp call`: calls a tool, shows its progress and prints its result. Interrupting it cancels the call and its task. */
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

/** Converts the arguments by the tool's schema and asks for missing ones. Fails if they are invalid. */
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

/** Returns the tool with this name, or fails and suggests a similar name. */
const toolOf = (listed: ReadonlyArray<Tool>, name: string): Effect.Effect<Tool, CommandFailure> => {
  const found = listed.find((tool) => tool.name === name)
  return found === undefined ? Effect.fail(usage(noSuchTool(listed, name))) : Effect.succeed(found)
}

/** Fails if a result does not match the tool's output schema. The result has been printed already. */
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

/** Prints the task's id if the call becomes a task. Otherwise returns the result. */
const begin = Effect.fnUntraced(function* (
  session: Session.CommandSession,
  shown: Calling.Shown,
  name: string,
  input: JsonObject
) {
  const { client, output, patient, settings } = session
  const task = yield* client.startByName(name, input, { ...patient, follow: false })
  if (task.id === undefined) {
    yield* output.note(output.noteStyle.dim("[answered] The server answered without creating a task"))
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
    words: assignments("Arguments: key=value is text or the type in the tool's schema; key:=json is JSON"),
    args: Flag.String("args").pipe(
      Flag.withMetavar("JSON"),
      Flag.withDescription("All arguments as one JSON object; key=value adds to it and takes precedence"),
      Flag.optional
    ),
    detach: Flag.Boolean("detach").pipe(
      Flag.withDescription("If the call becomes a task, print its id and exit: see effect-mcp tasks"),
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
  Command.withDescription("Call a tool; does not ask before it calls"),
  Command.withExamples([
    {
      command: "effect-mcp call add a=1 b=2 -- node server.js",
      description: "Text is converted to the types in the schema"
    },
    {
      command: `effect-mcp call find where:='{"age": 3}' tags=a tags=b -- node server.js`,
      description: "JSON, a list"
    },
    { command: `effect-mcp call find --args '{"id": 7}' -- node server.js`, description: "All arguments at once" },
    { command: "effect-mcp call draw --output out.png -- node server.js", description: "Save the returned image" },
    { command: "effect-mcp call build --json --progress -- node server.js", description: "Progress as JSON lines" },
    { command: "effect-mcp call report --detach -- https://example.com/mcp", description: "Print the id of its task" },
    { command: "effect-mcp call book guests=2 --answer name=Ada -- node server.js", description: "Answer its question" }
  ])
)
