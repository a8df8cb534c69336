/**
 * Answers the server's questions from flags or by asking at the terminal.
 *
 * Declares only questions that can be answered: forms and URLs with a terminal, only forms with `--answer`, and everything if all questions
 * are declined. Shows the server's name and the complete URL of a page but never opens it. Esc and Ctrl+C dismiss a question. Typing a call
 * counts as consent. Roots and sampling need a confirmation, unless `--yes` is set or there is no terminal.
 */
import type { Action, Policy } from "@effect-mcp/client/Consent"
import { Requester } from "@effect-mcp/client/Requester"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isBlocks } from "@effect-mcp/protocol/model/Content"
import type * as Model from "@effect-mcp/protocol/model/Elicitation"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Terminal from "effect/Terminal"
import * as Form from "./Form.ts"
import type { Output } from "../terminal/Output.ts"
import type { Settings } from "../target/Settings.ts"
import { jsonLine } from "../render/Text.ts"
import { safe, safeLine } from "../terminal/Style.ts"

type Answer = Model.ElicitResult
type Content = Form.Content

/** Options for answering a server's questions. */
export interface Options {
  /** The server in the user's own words. */
  readonly server: string
  readonly settings: Pick<Settings, "accept" | "answers" | "decline" | "yes">
  readonly output: Output["Service"]
  /** True if another command answers tasks' questions. */
  readonly leavesTasks?: boolean | undefined
}

const declined: Answer = { action: "decline" }
const dismissed: Answer = { action: "cancel" }

/** Runs a dialogue while all other output waits. Esc and Ctrl+C dismiss the question. */
const dialogue = (
  { output, server }: Options,
  message: string,
  ask: (say: Say) => Effect.Effect<Answer, Terminal.QuitError, Prompt.Environment>
): Effect.Effect<Answer, never, Prompt.Environment> =>
  output.exclusive((say) =>
    say(`${output.noteStyle.bold(`${safeLine(server)} asks:`)} ${safe(message)}`).pipe(
      Effect.andThen(ask(say)),
      Effect.catchTag("QuitError", () => Effect.as(say("\nDismissed."), dismissed)),
      Effect.provideService(Prompt.Theme, Prompt.makeTheme({ colors: output.noteStyle.colours }))
    )
  )

type Say = (text: string) => Effect.Effect<void>
type Decision = "accept" | "cancel" | "change" | "decline"

const decide = (message: string, choices: ReadonlyArray<readonly [Decision, string]>) =>
  Prompt.Select({ message, choices: choices.map(([value, title]) => ({ value, title })) })

const refusals = [
  ["decline", "Decline"],
  ["cancel", "Dismiss"]
] as const

/** Asks for a field. Returns `undefined` if an optional field is skipped. */
export const askField = (field: Form.Field): Prompt.Prompt<Model.ElicitValue | undefined> => {
  const { initial, kind, label, required } = field
  const skip = required ? [] : [{ title: "(skip)", value: undefined, selected: initial === undefined }]
  switch (kind._tag) {
    case "Text": {
      // The default is shown escaped. If the user accepts it, return the original text.
      const given = initial === undefined ? undefined : String(initial)
      const shown = given === undefined ? undefined : safeLine(given)
      const read = (typed: string) => Form.read(field, given !== undefined && typed === shown ? given : typed)
      return Prompt.String({
        message: label,
        validate: (typed) => Effect.as(Effect.fromResult(Result.mapError(read(typed), safeLine)), typed),
        ...(shown === undefined ? undefined : { default: shown })
      }).pipe(Prompt.map((typed) => Result.getOrUndefined(read(typed))))
    }
    case "Boolean":
      return Prompt.Select<boolean | undefined>({
        message: label,
        choices: [
          { title: "yes", value: true, selected: initial === true },
          { title: "no", value: false, selected: initial === false },
          ...skip
        ]
      })
    case "One":
      return Prompt.Select<string | undefined>({
        message: label,
        choices: [...kind.choices.map((choice) => ({ ...choice, selected: initial === choice.value })), ...skip]
      })
    default: {
      const { choices, max, min = 0 } = kind
      const isInitial = (value: string) => Array.isArray(initial) && initial.includes(value)
      return Prompt.MultiSelect<string>({
        message: label,
        choices: choices.map((choice) => ({ ...choice, selected: isInitial(choice.value) })),
        ...(required && min > 0 ? { min } : undefined),
        ...(max === undefined ? undefined : { max })
      }).pipe(Prompt.map((values) => (values.length === 0 && !required ? undefined : values)))
    }
  }
}

const fillIn = Effect.fnUntraced(function* (fields: ReadonlyArray<Form.Field>) {
  const entries: Array<readonly [string, Model.ElicitValue]> = []
  for (const field of fields) {
    const value = yield* askField(field)
    if (value !== undefined) entries.push([field.name, value])
  }
  const content: Content = Object.fromEntries(entries)
  return content
})

/** Asks for the fields at the terminal. Returns `undefined` if the user dismisses the form. */
export const askFields = (
  { exclusive, noteStyle }: Output["Service"],
  message: string,
  fields: ReadonlyArray<Form.Field>
): Effect.Effect<Content | undefined, never, Prompt.Environment> =>
  exclusive((say) =>
    Effect.andThen(say(safeLine(message)), fillIn(fields)).pipe(
      Effect.catchTag("QuitError", () => Effect.undefined),
      Effect.provideService(Prompt.Theme, Prompt.makeTheme({ colors: noteStyle.colours }))
    )
  )

/** Asks for every field, then shows the answer and lets the user change it before it is sent. */
const fillForm = Effect.fnUntraced(function* (fields: ReadonlyArray<Form.Field>, say: Say) {
  const first = fields.length === 0 ? "Accept" : "Answer"
  const begin = yield* decide("Your answer", [["accept", first], ...refusals])
  if (begin === "decline" || begin === "cancel") return { action: begin }
  if (fields.length === 0) return { action: "accept", content: {} } satisfies Answer
  let current = fields
  while (true) {
    const content = yield* fillIn(current)
    for (const [name, value] of Object.entries(content)) yield* say(`  ${safeLine(name)}: ${jsonLine(value)}`)
    const decision = yield* decide("Send this?", [["accept", "Send"], ["change", "Change"], ...refusals])
    if (decision === "accept") return { action: "accept", content } satisfies Answer
    if (decision !== "change") return { action: decision }
    current = fields.map((field) => ({ ...field, initial: content[field.name] }))
  }
})

/** Answers a form from flags if they suffice, otherwise at the terminal, otherwise by declining. */
const form =
  (options: Options) =>
  (params: Model.ElicitFormParams): Effect.Effect<Answer, never, Prompt.Environment> => {
    const { output, server, settings } = options
    const { message, requestedSchema } = params
    const byFlags = settings.accept || Form.concerns(requestedSchema, settings.answers)
    const filled = byFlags ? Form.complete(requestedSchema, settings.answers) : Result.fail("no --answer matches it")
    if (Result.isSuccess(filled)) return Effect.succeed({ action: "accept", content: filled.success })
    if (output.canAsk) {
      return dialogue(options, message, (say) => fillForm(Form.prefilled(requestedSchema, settings.answers), say))
    }
    const note = `Declined a question from ${safeLine(server)} (${safeLine(message)}): ${safeLine(filled.failure)}`
    return Effect.as(output.note(note), declined)
  }

/** Answers a URL question by showing the complete URL. Doesn't open it. */
const page =
  (options: Options) =>
  ({ message, url }: Model.ElicitUrlParams): Effect.Effect<Answer, never, Prompt.Environment> =>
    dialogue(
      options,
      message,
      Effect.fnUntraced(function* (say) {
        const { bold, cyan } = options.output.noteStyle
        const { host } = new URL(url)
        yield* say(`It asks you to open this page on ${bold(safeLine(host))}:`)
        yield* say(`  ${cyan(safeLine(url))}`)
        if (/(^|\.)xn--/.test(host)) yield* say("  Look closely: this name may contain look-alike letters.")
        const decision = yield* decide("Will you open it?", [["accept", "Yes, I will open it myself"], ...refusals])
        return { action: decision === "change" ? "cancel" : decision }
      })
    )

/** Returns the elicitation service to declare, or `undefined` if no question could be answered. */
export const elicitation = (
  options: Options
): Layer.Layer<Elicitation.Elicitation, never, Prompt.Environment> | undefined => {
  const { leavesTasks, output, settings } = options
  /** Never answers questions from a task that is left to another command. The server asks them again on the next connection. */
  const answering =
    <Params, R>(answer: (params: Params) => Effect.Effect<Answer, never, R>) =>
    (params: Params): Effect.Effect<Answer, never, R> =>
      leavesTasks === true
        ? Effect.flatMap(Requester, (requester) => (requester?.task === undefined ? answer(params) : Effect.never))
        : answer(params)
  if (settings.decline) {
    const decline = answering(() => Effect.succeed(declined))
    return Elicitation.layer({ form: decline, url: decline })
  }
  const forms = answering(form(options))
  if (output.canAsk) return Elicitation.layer({ form: forms, url: answering(page(options)) })
  return settings.accept || settings.answers.length > 0 ? Elicitation.layer({ form: forms }) : undefined
}

const textsOf = (content: ReadonlyArray<{ readonly type: string; readonly text?: unknown }>): string =>
  content.map((block) => (typeof block.text === "string" ? block.text : `(${block.type})`)).join(" ")

/** Describes the data or action that the server requests, and the reason that it states. */
const wish = (action: Action): string => {
  if (action._tag === "CallTool")
    return `Let its view call ${action.tool} with ${excerpt(JSON.stringify(action.arguments), 2000)}?`
  if (action._tag === "ListRoots") return "Share your --root folders with it?"
  if (action._tag === "OpenLink") return `Open ${action.url}?`
  if (action._tag === "Download") return `Save its file ${action.file} of ${action.bytes} bytes?`
  if (action._tag === "SendMessage") return `Add this to the conversation?\n  ${textsOf(action.content)}`
  const said = action.params.messages.map(({ content, role }) => {
    return `  ${role}: ${textsOf(isBlocks(content) ? content : [content])}`
  })
  return ["Send it the --sample text as a model's answer to this?", ...said].join("\n")
}

/** Asks for consent before sending data that the user has not just typed. */
export const consent = (options: Options): Effect.Effect<Policy, never, Prompt.Environment> =>
  Effect.map(Effect.context<Prompt.Environment>(), (services) => ({
    ask: (action) => {
      const { output, settings } = options
      const byView = "view" in action && action.view !== undefined
      if (settings.yes || (action._tag === "CallTool" && !byView)) return Effect.succeed(true)
      // Views act on their own, so without a terminal they may do nothing.
      if (!output.canAsk) return Effect.succeed(!byView)
      return dialogue(options, wish(action), () =>
        Effect.map(
          decide("Share this?", [
            ["accept", "Yes"],
            ["decline", "No"]
          ]),
          (decision) => (decision === "accept" ? { action: "accept" } : declined)
        )
      ).pipe(
        Effect.map(({ action }) => action === "accept"),
        Effect.provideContext(services)
      )
    },
    audit: () => Effect.void
  }))
