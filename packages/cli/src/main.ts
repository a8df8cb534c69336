#!/usr/bin/env node
/**
 * Runs the command with the streams and signals of this process.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Terminal from "effect/Terminal"
import { run } from "./Cli.ts"
import { atSignal, code } from "./terminal/Exit.ts"
import { Output } from "./terminal/Output.ts"

/** A terminal that draws questions on stderr, because stdout is only for data. */
const terminal = Layer.effect(
  Terminal.Terminal,
  Effect.map(NodeTerminal.make(), (terminal) =>
    Terminal.make({
      ...terminal,
      columns: Effect.sync(() => process.stderr.columns || 80),
      rows: Effect.sync(() => process.stderr.rows || 24),
      display: (text) => Effect.sync(() => void process.stderr.write(text))
    })
  )
)

const impatient = (): void => process.exit(code.interrupted)
/** The first signal shuts down gracefully. A second one exits immediately. */
const onSignal = (): void => {
  process.once("SIGINT", impatient)
  process.once("SIGTERM", impatient)
}
process.once("SIGINT", onSignal)
process.once("SIGTERM", onSignal)

NodeRuntime.runMain(
  Effect.provide(run(process.argv.slice(2)), Layer.mergeAll(NodeServices.layer, terminal, Output.layer)),
  {
    disableErrorReporting: true,
    teardown: (exit, onExit) => {
      const interrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
      const ended = Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : code.connection
      // Ends the process even if a handle still holds it open.
      onExit(interrupted ? atSignal() : ended)
      process.exit(code.ok)
    }
  }
)
