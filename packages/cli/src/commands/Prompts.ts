/** `effect-mcp prompts`, `prompt` and `complete`: list prompts, get one, and complete arguments. */
import type { CompleteResult, Reference } from "@effect-mcp/protocol/model/Completion"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import { assembleText, orUsage } from "../terminal/Arguments.ts"
import { usage } from "../terminal/Exit.ts"
import { promptResult } from "../render/Content.ts"
import * as Listing from "../render/Listing.ts"
import { json } from "../render/Text.ts"
import * as Session from "../session/Session.ts"
import { safeLine } from "../terminal/Style.ts"
import { all, assignments, name, print } from "./Shared.ts"

export const prompts = Command.make("prompts", {}, () =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const listed = yield* all(session.client.listPrompts)
      yield* print(session, listed, (view) =>
        listed.length === 0 ? "No prompts" : listed.map((prompt) => Listing.prompt(view, prompt)).join("\n\n")
      )
    })
  )
).pipe(
  Command.withDescription("List the prompts with their arguments"),
  Command.withExamples([{ command: "effect-mcp prompts -- node server.js" }])
)

export const prompt = Command.make(
  "prompt",
  { name: name("The prompt's name"), words: assignments("Its arguments, which are all text") },
  Effect.fnUntraced(function* ({ name, words }) {
    const args = Object.fromEntries(yield* orUsage(assembleText(words)))
    yield* Session.use((session) =>
      Effect.flatMap(session.client.getPromptByName(name, args, session.patient), (result) =>
        print(session, result, (view) => promptResult(view, result))
      )
    )
  })
).pipe(
  Command.withDescription("Fill in a prompt and print its messages"),
  Command.withExamples([{ command: "effect-mcp prompt review file=main.ts -- node server.js" }])
)

/** Parses a prompt's name, with or without `prompt:`, or a resource template, which has a scheme. `prompt://` starts a URI. */
const referenceOf = (text: string): Reference => {
  if (text.startsWith("prompt:") && !text.startsWith("prompt://")) {
    return { type: "ref/prompt", name: text.slice("prompt:".length) }
  }
  return /^[a-z][a-z0-9+.-]*:|[{]/i.test(text)
    ? { type: "ref/resource", uri: text }
    : { type: "ref/prompt", name: text }
}

/** Prints a suggestion per line, and a note on stderr if there are more. */
const suggest = ({ output, settings }: Session.CommandSession, completion: CompleteResult["completion"]) => {
  const { hasMore, total, values } = completion
  if (settings.json) return output.line(json(completion))
  const more = hasMore === true || (total !== undefined && total > values.length)
  const note = total === undefined ? "There are more" : `${values.length} of ${total}`
  return Effect.andThen(
    values.length === 0 ? output.note("No suggestions") : output.line(values.map(safeLine).join("\n")),
    more ? output.note(note) : Effect.void
  )
}

export const complete = Command.make(
  "complete",
  {
    reference: Argument.String("reference").pipe(
      Argument.withDescription("A prompt's name (or prompt:NAME), or a resource template's URI")
    ),
    words: assignments("The argument to complete, followed by the arguments that are already set")
  },
  Effect.fnUntraced(function* ({ reference, words }) {
    const [first = "", second] = words
    if (/^[\w.-]+$/.test(first) && second !== undefined && !second.includes("=")) {
      return yield* usage(`Write the argument and its beginning as one word: ${first}=${second}`)
    }
    const [argument, ...settled] = yield* orUsage(assembleText(words))
    if (argument === undefined) return yield* usage("Name the argument to complete: argument=beginning")
    const [name, value] = argument
    const context = settled.length === 0 ? undefined : { context: { arguments: Object.fromEntries(settled) } }
    return yield* Session.use((session) =>
      Effect.flatMap(
        session.client.complete({ ref: referenceOf(reference), argument: { name, value }, ...context }),
        (completion) => suggest(session, completion)
      )
    )
  })
).pipe(
  Command.withDescription("Ask for suggestions for an argument of a prompt or a resource template"),
  Command.withShortDescription("Ask for suggestions for an argument"),
  Command.withExamples([
    { command: "effect-mcp complete review file=ma -- node server.js" },
    {
      command: "effect-mcp complete review file=ma lang=ts -- node server.js",
      description: "With lang already set"
    },
    { command: "effect-mcp complete 'file:///{path}' path=src/ -- node server.js", description: "A resource template" }
  ])
)
