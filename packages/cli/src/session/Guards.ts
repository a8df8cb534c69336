/** Guards around a command's client: pins from `--lock`, and the rules from `--policy`. Loaded on demand, because most commands have none. */
import * as AnswerStore from "@effect-mcp/host/AnswerStore"
import { type ApproverAnswer, Approver } from "@effect-mcp/host/Approver"
import * as Caller from "@effect-mcp/host/Caller"
import type { HostAction } from "@effect-mcp/host/HostAction"
import * as HostPolicy from "@effect-mcp/host/HostPolicy"
import * as Pins from "@effect-mcp/host/Pins"
import * as PolicyFile from "@effect-mcp/host/PolicyFile"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { indent, jsonLine } from "../render/Text.ts"
import { code, CommandFailure, usage } from "../terminal/Exit.ts"
import type { Output } from "../terminal/Output.ts"
import { safe, safeLine } from "../terminal/Style.ts"

/** The guards to build. */
export interface GuardOptions {
  readonly lock: string | undefined
  readonly policy: string | undefined
  /** The server's name in the lock file and in the rules. */
  readonly name: string
  readonly output: Output["Service"]
}

const pinsOf = ({ lock, name, output }: GuardOptions) => {
  const { note, noteStyle } = output
  const report = ({ message, verdict }: Pins.PinFinding) =>
    note(
      verdict === "harmless"
        ? noteStyle.dim(`[changed] ${safeLine(message)}`)
        : `${noteStyle.red("hidden:")} ${safeLine(message)}.${lock === undefined ? "" : " See effect-mcp verify"}`
    )
  return lock === undefined
    ? Pins.layerMemory({ name, report })
    : Pins.layerFile(lock, { firstUse: "refuse", name, report })
}

/** Asks on the terminal. Without one, everything that needs an answer is denied. */
const approverOf = (output: Output["Service"]) =>
  output.canAsk
    ? Layer.effect(
        Approver,
        Effect.map(Effect.context<Prompt.Environment>(), (terminal) => ({
          ask: ({ input, kind, name, server }: HostAction, reason: string) =>
            output
              .note(
                [
                  `${safeLine(server)}: ${kind} ${safeLine(name)}`,
                  indent(safe(jsonLine(input))),
                  indent(safe(reason))
                ].join("\n")
              )
              .pipe(
                Effect.andThen(
                  output.exclusive(() =>
                    Effect.catchTag(
                      Prompt.run(Prompt.Confirm({ message: "Allow it?", initial: false })),
                      "QuitError",
                      () => Effect.succeed(false)
                    )
                  )
                ),
                Effect.map((allowed): ApproverAnswer => ({ _tag: allowed ? "Allow" : "Deny" })),
                Effect.provideContext(terminal)
              )
        }))
      )
    : Layer.empty

/** Builds the guards. An unreadable file is a usage error. */
export const make = Effect.fnUntraced(function* (options: GuardOptions) {
  const { name, output, policy } = options
  const pins = pinsOf(options)
  if (policy === undefined) return yield* Effect.mapError(Layer.build(pins), ({ message }) => usage(message))
  const guards = Effect.map(PolicyFile.read(policy), (file) =>
    HostPolicy.layer({ ...file, name }).pipe(
      Layer.provideMerge(pins),
      Layer.provide([approverOf(output), AnswerStore.layerMemory])
    )
  )
  return yield* Effect.mapError(Layer.build(Layer.unwrap(guards)), ({ message }) => usage(message))
})

/** Returns the failure for an error of a guard, which an error of the server would resemble. Other errors are unchanged. */
const denied = <E>(error: E): CommandFailure | E => {
  if (error instanceof Pins.PinRefused) {
    const message = `Nothing was sent, because of --lock: ${error.message}`
    return new CommandFailure({ code: code.server, message, detail: "See effect-mcp verify" })
  }
  if (error instanceof HostPolicy.ActionDenied) {
    return new CommandFailure({ code: code.server, message: `Nothing was sent, because of --policy: ${error.message}` })
  }
  return error
}

/** Runs a command's requests as requests of the user, who typed them. Says which flag denied a request. */
export const byUser = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, CommandFailure | E, R> =>
  Effect.mapError(Caller.within(effect, { source: "user" }), denied)
