/** `effect-mcp top`: what runs at a server now, and the end of what hangs, by its admin endpoint. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type CommandFailure, usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import { json, jsonLine } from "../render/Text.ts"
import type { Style } from "../terminal/Style.ts"
import * as Settings from "../target/Settings.ts"
import * as Endpoint from "../top/Endpoint.ts"
import { messageLine } from "../top/Frame.ts"
import * as Tree from "../top/Tree.ts"

const duration = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar("DURATION"), Flag.withDescription(description), Flag.optional)

const millisOf = (name: string, given: Option.Option<string>) => {
  if (Option.isNone(given)) return Effect.undefined
  const parsed = Settings.parseDuration(given.value)
  return parsed === undefined
    ? usage(`--${name} ${given.value} is no duration: write 30s, 500ms or 2m`)
    : Effect.succeed(parsed)
}

const flags = {
  url: Argument.String("url").pipe(
    Argument.withDescription(
      `The admin endpoint, as http://127.0.0.1:9464/admin, its token in ${Endpoint.tokenName}; or its Unix socket, as /run/user/1000/hello.sock`
    )
  ),
  filter: Flag.String("filter").pipe(
    Flag.withMetavar("TEXT"),
    Flag.withDescription("Only requests with this in their method, target, client, caller, session or transport"),
    Flag.optional
  ),
  older: duration("older", "Only requests that run for longer: 30s, 2m, 1h"),
  sort: Flag.ChoiceWithValue("sort", [
    ["age", "age"],
    ["method", "method"],
    ["client", "client"]
  ] as const).pipe(Flag.withDescription("The order of requests. Default age"), Flag.optional),
  every: duration("every", "How often the view is made anew. Default 1s"),
  once: Flag.Boolean("once").pipe(
    Flag.withDescription("Print the view once; so it is where there is no terminal, and with --json"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  interrupt: Flag.String("interrupt").pipe(
    Flag.withMetavar("KEY"),
    Flag.withDescription("Interrupt the request of this key, with --reason"),
    Flag.optional
  ),
  session: Flag.String("session").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("The session that --messages and --level are about"),
    Flag.optional
  ),
  messages: Flag.Boolean("messages").pipe(
    Flag.withDescription("Print the messages of a session in the last minute, from the first look on"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  level: Flag.String("level").pipe(
    Flag.withMetavar("LEVEL"),
    Flag.withDescription("Set the least level of log messages that the client of a session is sent"),
    Flag.optional
  ),
  drain: Flag.Boolean("drain").pipe(
    Flag.withDescription("Take nothing new, and end all sessions once no request runs"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  node: Flag.String("node").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription("The node to --drain, of several. Default: the one that is asked"),
    Flag.optional
  ),
  reason: Flag.String("reason").pipe(
    Flag.withMetavar("TEXT"),
    Flag.withDescription("Why: its client is told"),
    Flag.optional
  )
}

interface Steering {
  readonly interrupt: Option.Option<string>
  readonly reason: Option.Option<string>
  readonly session: Option.Option<string>
  readonly messages: boolean
  readonly level: Option.Option<string>
  readonly drain: boolean
  readonly node: Option.Option<string>
}

/** Does what the flags ask for; undefined where they only look. */
const steered = Effect.fnUntraced(function* (
  endpoint: Endpoint.AdminEndpoint,
  { drain, interrupt, level, messages, node, reason, session }: Steering,
  style: Style
): Effect.fn.Return<{ readonly json: object; readonly said: string } | undefined, CommandFailure> {
  if (Option.isSome(interrupt)) {
    if (Option.isNone(reason) || reason.value.trim() === "") {
      return yield* usage("--interrupt needs --reason: the client is told")
    }
    const interrupted = yield* endpoint.interrupt(interrupt.value, reason.value.trim())
    const said = `Request ${interrupt.value} ${interrupted ? "was interrupted" : "had ended"}`
    return { json: { interrupted }, said }
  }
  if (drain) {
    const began = yield* endpoint.drain(Option.getOrUndefined(node))
    return { json: { draining: true, began }, said: began ? "The drain has begun" : "It drains already" }
  }
  if (!messages && Option.isNone(level)) return undefined
  if (Option.isNone(session)) return yield* usage("--messages and --level need --session ID, as the view shows it")
  const id = session.value
  if (Option.isSome(level)) {
    yield* endpoint.level(id, level.value)
    return { json: { level: level.value }, said: `The client of ${id} is sent log messages from ${level.value} on` }
  }
  const found = yield* endpoint.messages(id)
  return { json: { messages: found }, said: found.map((one) => messageLine(one, style)).join("\n") }
})

export const top = Command.make(
  "top",
  flags,
  Effect.fnUntraced(function* (given) {
    const { every, filter: text, older, once, sort, url } = given
    const output = yield* Output
    const settings = yield* Settings.settings
    const token = process.env[Endpoint.tokenName]
    const authorization = token === undefined ? undefined : { authorization: `Bearer ${token}` }
    const endpoint = yield* Endpoint.make(url, { ...authorization, ...settings.headers })
    const done = yield* steered(endpoint, given, output.style)
    if (done !== undefined) return yield* output.line(settings.json ? jsonLine(done.json) : done.said)
    const olderThan = yield* millisOf("older", older)
    const filter: Tree.Filter = {
      text: Option.getOrUndefined(text),
      older: olderThan === undefined ? undefined : Duration.toMillis(olderThan),
      sort: Option.getOrUndefined(sort)
    }
    const period = (yield* millisOf("every", every)) ?? "1 second"
    if (!settings.json && !once && output.isTerminal && output.canAsk) {
      const Screen = yield* Effect.promise(() => import("../top/Screen.ts"))
      return yield* Screen.show(endpoint, filter, period, output.style)
    }
    const snapshot = yield* endpoint.snapshot
    if (settings.json) return yield* output.line(json({ ...snapshot, requests: Tree.matching(snapshot, filter) }))
    const lines = Tree.lines(snapshot, filter, output.style).map(({ text }) => text)
    return yield* output.line([Tree.summary(snapshot), "", ...lines].join("\n"))
  })
).pipe(
  Command.withDescription("Show what runs at a server, interrupt what hangs, and drain it"),
  Command.withExamples([
    { command: "effect-mcp top http://127.0.0.1:9464/admin", description: "Live; i interrupts what is selected" },
    { command: "effect-mcp top /run/user/1000/hello.sock", description: "By a Unix socket, without a token" },
    { command: "effect-mcp top http://127.0.0.1:9464/admin --json --older 5m", description: "For scripts" },
    { command: "effect-mcp top http://127.0.0.1:9464/admin --drain", description: "Take nothing new, and end" },
    {
      command: "effect-mcp top http://127.0.0.1:9464/admin --interrupt 17 --reason 'It hangs'",
      description: "Stop one"
    }
  ])
)
