/** Shared by the commands: arguments, and collecting and printing lists. */
import type { ClientError } from "@effect-mcp/client/ClientError"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Argument from "effect/cli/Argument"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { closest } from "@effect-mcp/protocol/internal/closest"
import { json, type View } from "../render/Text.ts"
import type { CommandSession } from "../session/Session.ts"

export const name = (what: string) => Argument.String("name").pipe(Argument.withDescription(what))
export const uri = Argument.String("uri").pipe(Argument.withDescription("The resource's URI"))
/** The `key=value` arguments. */
export const assignments = (what: string) =>
  Argument.String("key=value").pipe(Argument.withDescription(what), Argument.variadic())

export const outputFile = Flag.String("output").pipe(
  Flag.withAlias("o"),
  Flag.withMetavar("FILE"),
  Flag.withDescription("Write the result's bytes to this file (- for stdout), or its text if it has no bytes"),
  Flag.optional
)

export const progressEvents = Flag.Boolean("progress").pipe(
  Flag.withDescription("With --json: one line per progress event, then one for the result"),
  Flag.withDefault(false),
  Flag.withoutNegation
)

/** Reads all pages of a list. */
export const all = <A>(stream: Stream.Stream<A, ClientError>): Effect.Effect<ReadonlyArray<A>, ClientError> =>
  Stream.runCollect(stream)

/** Returns an empty list, with a note, if the server declared the list but doesn't have it, which is common for templates. */
export const ifThere = <A>(
  { output }: CommandSession,
  what: string,
  list: Effect.Effect<ReadonlyArray<A>, ClientError>
): Effect.Effect<ReadonlyArray<A>, ClientError> =>
  Effect.catch(list, (error) =>
    error._tag === "McpError" && error.code === McpError.MethodNotFound
      ? Effect.as(output.note(output.noteStyle.dim(`[ignored] The server cannot list its ${what}`)), [])
      : Effect.fail(error)
  )

/** Prints a value as JSON, or rendered for people. */
export const print = ({ output, settings }: CommandSession, value: unknown, render: (view: View) => string) =>
  output.line(settings.json ? json(value) : render(output))

/** Returns the error message for a tool that the server does not list. */
export const noSuchTool = (listed: ReadonlyArray<{ readonly name: string }>, wanted: string): string => {
  const near = closest(
    wanted,
    listed.map((tool) => tool.name)
  )
  const advice = near === undefined ? "effect-mcp tools lists its tools" : `Did you mean ${near}?`
  return `The server has no tool named ${wanted}. ${advice}`
}
