/** `effect-mcp top`: shows everything running on a server and stops stuck requests, through its admin endpoint. */
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
import * as Rates from "../top/Rates.ts"
import * as Tree from "../top/Tree.ts"

const duration = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar("DURATION"), Flag.withDescription(description), Flag.optional)

const millisOf = (name: string, given: Option.Option<string>) => {
  if (Option.isNone(given)) return Effect.undefined
  const parsed = Settings.parseDuration(given.value)
  return parsed === undefined
    ? usage(`--${name} ${given.value} is not a duration: write 30s, 500ms or 2m`)
    : Effect.succeed(parsed)
}

const flags = {
  url: Argument.String("url").pipe(
    Argument.withDescription(
      `The admin endpoint, such as http://127.0.0.1:9464/admin with its token in ${Endpoint.tokenName}, or its Unix socket, such as /run/user/1000/hello.sock`
    )
  ),
  filter: Flag.String("filter").pipe(
    Flag.withMetavar("TEXT"),
    Flag.withDescription(
      "Only requests with this in their method, target, state, client, caller, session, node or transport"
    ),
    Flag.optional
  ),
  older: duration("older", "Only requests that have run for longer: 30s, 2m, 1h"),
  sort: Flag.ChoiceWithValue(
    "sort",
    Tree.sorts.map((sort) => [sort, sort] as const)
  ).pipe(
    Flag.withDescription("The order of requests: the oldest first (age), the newest first, or by name. Default age"),
    Flag.optional
  ),
  every: duration("every", "How often to refresh the view. Default 1s"),
  once: Flag.Boolean("once").pipe(
    Flag.withDescription("Print the view once. Default without a terminal, and with --json"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  interrupt: Flag.String("interrupt").pipe(
    Flag.withMetavar("KEY"),
    Flag.withDescription("Interrupt the request with this key; needs --reason"),
    Flag.optional
  ),
  session: Flag.String("session").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("The session for --messages and --level"),
    Flag.optional
  ),
  messages: Flag.Boolean("messages").pipe(
    Flag.withDescription("Print a session's messages from the last minute; recording starts with the first request"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  level: Flag.String("level").pipe(
    Flag.withMetavar("LEVEL"),
    Flag.withDescription("Set the minimum level of log messages for a session's client"),
    Flag.optional
  ),
  drain: Flag.Boolean("drain").pipe(
    Flag.withDescription("Reject new work, and close all sessions once no requests are running"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  node: Flag.String("node").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription("With several nodes, the node to --drain. Default: the node that responds"),
    Flag.optional
  ),
  reason: Flag.String("reason").pipe(
    Flag.withMetavar("TEXT"),
    Flag.withDescription("The reason, which is sent to the client"),
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

/** Runs the action that the flags specify, or returns `undefined` if they specify none. */
const steered = Effect.fnUntraced(function* (
  endpoint: Endpoint.AdminEndpoint,
  { drain, interrupt, level, messages, node, reason, session }: Steering,
  style: Style
): Effect.fn.Return<{ readonly json: object; readonly said: string } | undefined, CommandFailure> {
  if (Option.isSome(interrupt)) {
    if (Option.isNone(reason) || reason.value.trim() === "") {
      return yield* usage("--interrupt needs --reason, which the client receives")
    }
    const interrupted = yield* endpoint.interrupt(interrupt.value, reason.value.trim())
    const said = `Request ${interrupt.value} ${interrupted ? "was interrupted" : "had ended"}`
    return { json: { interrupted }, said }
  }
  if (drain) {
    const began = yield* endpoint.drain(Option.getOrUndefined(node))
    return { json: { draining: true, began }, said: began ? "The server is now draining" : "It is already draining" }
  }
  if (!messages && Option.isNone(level)) return undefined
  if (Option.isNone(session)) return yield* usage("--messages and --level need --session ID. The view shows the ids")
  const id = session.value
  if (Option.isSome(level)) {
    yield* endpoint.level(id, level.value)
    return {
      json: { level: level.value },
      said: `The client of ${id} now receives log messages of level ${level.value} and above`
    }
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
    const recent = yield* endpoint.recent(snapshot.time - 15_000)
    if (settings.json) {
      const requests = Tree.matching(snapshot, filter)
      return yield* output.line(json({ ...snapshot, requests, tools: recent?.tools, problems: recent?.problems }))
    }
    const lines = Tree.lines(snapshot, filter, output.style).map(({ text }) => text)
    const rates = Rates.rates(recent, output.style)
    return yield* output.line(
      [
        [Tree.identity(snapshot), Tree.summary(snapshot)].filter((part) => part !== "").join("  "),
        ...(rates === "" ? [] : [rates]),
        "",
        Tree.headings(snapshot, filter),
        ...lines
      ].join("\n")
    )
  })
).pipe(
  Command.withDescription("See running requests, interrupt stuck ones, drain a server"),
  Command.withExamples([
    {
      command: "effect-mcp top http://127.0.0.1:9464/admin",
      description: "Live; press i to interrupt the selected request"
    },
    { command: "effect-mcp top /run/user/1000/hello.sock", description: "Through a Unix socket, without a token" },
    { command: "effect-mcp top http://127.0.0.1:9464/admin --json --older 5m", description: "For scripts" },
    { command: "effect-mcp top http://127.0.0.1:9464/admin --drain", description: "Reject new work and shut down" },
    {
      command: "effect-mcp top http://127.0.0.1:9464/admin --interrupt 17 --reason 'It hangs'",
      description: "Stop one"
    }
  ])
)
